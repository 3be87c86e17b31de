import TestExpectations
import Testing

@testable import SprocketEngine

@Suite struct BuildWarningTests {
  @Test func onlyAProgramThatUsesLessThanTheProcessorHasWarns() {
    expectNil(missedAVX2(isForAVX2: true, hasAVX2: true))
    expectNil(missedAVX2(isForAVX2: false, hasAVX2: false))
    expectTrue(missedAVX2(isForAVX2: false, hasAVX2: true)?.contains("-target-cpu") == true)
  }
}
