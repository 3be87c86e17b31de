import TestExpectations
import Testing

@testable import SprocketEngine

@Suite struct BuildWarningTests {
  @Test func onlyAProgramThatUsesLessThanTheProcessorHasWarns() {
    expectNil(buildWarning(isForAVX2: true, hasAVX2: true))
    expectNil(buildWarning(isForAVX2: false, hasAVX2: false))
    expectTrue(buildWarning(isForAVX2: false, hasAVX2: true)?.contains("-target-cpu") == true)
  }
}
