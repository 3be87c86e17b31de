import SprocketCore
import Testing

@Suite struct ControlDescriptionTests {
  @Test func numbersHaveARangeAndSteps() {
    let any = ControlDescription(name: "exposure", unit: "us", minimum: 10, maximum: 100)
    #expect(any.value("12.5") == 12.5)
    #expect(any.value("9") == nil && any.value("much") == nil && any.value("nan") == nil)
    #expect(any.allowed == "10 to 100 (us)")
    let stepped = ControlDescription(name: "focus", unit: "", minimum: 1, maximum: 11, step: 5)
    #expect(stepped.value("6") == 6 && stepped.value("7") == nil)
    #expect(stepped.allowed == "1 to 11 in steps of 5")
    #expect(any.advice(insteadOf: "9") == "give 10 to 100 (us)")
    let whole = ControlDescription(name: "gain", unit: "", minimum: 0, maximum: 255, step: 1)
    #expect(whole.advice(insteadOf: "300") == "give 0 to 255")
    #expect(
      ["12.5", "abc"].map { whole.advice(insteadOf: $0) }.allSatisfy {
        $0 == "give a whole number from 0 to 255"
      })
  }

  @Test func wideRangesAreWrittenOut() {
    let wide = ControlDescription(
      name: "wide", unit: "", minimum: Double(Int64.min), maximum: Double(Int64.max))
    #expect(wide.allowed == "-9223372036854775808 to 9223372036854775807")
    #expect(wide.text(of: 1e15) == "1000000000000000")
    #expect(wide.text(of: 0.25) == "0.25")
  }

  /// A Double cannot hold every 64-bit integer: such a value is refused, not rounded.
  @Test func wholeNumbersThatADoubleIsNotAreRefused() {
    let wide = ControlDescription(
      name: "wide", unit: "", minimum: Double(Int64.min), maximum: Double(Int64.max), step: 1)
    #expect(wide.value("9007199254740992") == 0x1p53 && wide.value("9007199254740993") == nil)
    #expect(
      wide.advice(insteadOf: "9007199254740993")
        == "give 9007199254740992, the nearest of 53 significant bits")
    #expect(wide.value("9007199254740992.0") == 0x1p53 && wide.value("1e18") == 1e18)
    // The limits, as profiles write them; and one more than these.
    #expect(wide.value("9223372036854775807") == 0x1p63)
    #expect(wide.value("-9223372036854775808") == -0x1p63)
    #expect(wide.value("9223372036854775808") == nil && wide.value("-9223372036854775809") == nil)
  }

  @Test func aRangeThatIsNoneTakesNothing() {
    let none = ControlDescription(name: "none", unit: "", minimum: 3, maximum: -3)
    #expect(none.value("0") == nil)
  }

  @Test func booleansAreSpelled() {
    let flip = ControlDescription(name: "flip", unit: "", minimum: 0, maximum: 1, kind: .boolean)
    #expect(["on", "True", "1"].map { flip.value($0) } == [1, 1, 1])
    #expect(["off", "no", "0"].map { flip.value($0) } == [0, 0, 0])
    #expect(flip.value("2") == nil)
  }

  @Test func menusTakeNumbersAndNames() {
    let choices = [ControlChoice(value: 1, name: "manual"), ControlChoice(value: 3, name: "1")]
    let menu = ControlDescription(
      name: "mode", unit: "", minimum: 0, maximum: 3, kind: .menu(choices))
    #expect(menu.value("Manual") == 1)
    // A number is the entry's own, before it is a name.
    #expect(menu.value("1") == 1 && menu.value("3") == 3)
    #expect(menu.value("2") == nil && menu.value("auto") == nil)
    #expect(menu.allowed == "manual (1), 1 (3)")
  }
}
