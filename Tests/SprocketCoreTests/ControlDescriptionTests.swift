import SprocketCore
import TestExpectations
import Testing

@Suite struct ControlDescriptionTests {
  @Test func numbersHaveARangeAndSteps() {
    let any = ControlDescription(name: "exposure", unit: "us", minimum: 10, maximum: 100)
    expectEqual(any.value("12.5"), 12.5)
    expectNil(any.value("9"))
    expectNil(any.value("much"))
    expectNil(any.value("nan"))
    expectEqual(any.allowed, "10 to 100 (us)")
    let stepped = ControlDescription(name: "focus", unit: "", minimum: 1, maximum: 11, step: 5)
    expectEqual(stepped.value("6"), 6)
    expectNil(stepped.value("7"))
    expectEqual(stepped.allowed, "1 to 11 in steps of 5")
    expectEqual(any.advice(insteadOf: "9"), "give 10 to 100 (us)")
    let whole = ControlDescription(name: "gain", unit: "", minimum: 0, maximum: 255, step: 1)
    expectEqual(whole.advice(insteadOf: "300"), "give 0 to 255")
    expectTrue(
      ["12.5", "abc"].map { whole.advice(insteadOf: $0) }.allSatisfy {
        $0 == "give a whole number from 0 to 255"
      })
  }

  @Test func wideRangesAreWrittenOut() {
    let wide = ControlDescription(
      name: "wide", unit: "", minimum: Double(Int64.min), maximum: Double(Int64.max))
    expectEqual(wide.allowed, "-9223372036854775808 to 9223372036854775807")
    expectEqual(wide.text(of: 1e15), "1000000000000000")
    expectEqual(wide.text(of: 0.25), "0.25")
  }

  /// A Double cannot hold every 64-bit integer: such a value is refused, not rounded.
  @Test func wholeNumbersThatADoubleIsNotAreRefused() {
    let wide = ControlDescription(
      name: "wide", unit: "", minimum: Double(Int64.min), maximum: Double(Int64.max), step: 1)
    expectEqual(wide.value("9007199254740992"), 0x1p53)
    expectNil(wide.value("9007199254740993"))
    expectEqual(
      wide.advice(insteadOf: "9007199254740993"),
      "give 9007199254740992, the nearest of 53 significant bits")
    expectEqual(wide.value("9007199254740992.0"), 0x1p53)
    expectEqual(wide.value("1e18"), 1e18)
    // The limits, as profiles write them; and one more than these.
    expectEqual(wide.value("9223372036854775807"), 0x1p63)
    expectEqual(wide.value("-9223372036854775808"), -0x1p63)
    expectNil(wide.value("9223372036854775808"))
    expectNil(wide.value("-9223372036854775809"))
  }

  @Test func aRangeThatIsNoneTakesNothing() {
    let none = ControlDescription(name: "none", unit: "", minimum: 3, maximum: -3)
    expectNil(none.value("0"))
  }

  @Test func booleansAreSpelled() {
    let flip = ControlDescription(name: "flip", unit: "", minimum: 0, maximum: 1, kind: .boolean)
    expectEqual(["on", "True", "1"].map { flip.value($0) }, [1, 1, 1])
    expectEqual(["off", "no", "0"].map { flip.value($0) }, [0, 0, 0])
    expectNil(flip.value("2"))
  }

  @Test func menusTakeNumbersAndNames() {
    let choices = [ControlChoice(value: 1, name: "manual"), ControlChoice(value: 3, name: "1")]
    let menu = ControlDescription(
      name: "mode", unit: "", minimum: 0, maximum: 3, kind: .menu(choices))
    expectEqual(menu.value("Manual"), 1)
    // A number is the entry's own, before it is a name.
    expectEqual(menu.value("1"), 1)
    expectEqual(menu.value("3"), 3)
    expectNil(menu.value("2"))
    expectNil(menu.value("auto"))
    expectEqual(menu.allowed, "manual (1), 1 (3)")
  }
}
