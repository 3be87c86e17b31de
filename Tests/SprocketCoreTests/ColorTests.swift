import SprocketCore
import TestExpectations
import Testing

@Test func everyTransferFunctionRunsFromBlackToWhite() {
  let all: [Color.Transfer] = [
    .unspecified, .srgb, .bt709, .linear, .gamma22, .gamma28, .pq, .hlg,
  ]
  for transfer in all {
    expectLess(abs(transfer.luminance(ofSignal: 0)), 1e-9)
    expectLess(abs(transfer.luminance(ofSignal: 1) - 1), 1e-6)
    let table = (0..<256).map { transfer.luminance(ofSignal: Double($0) / 255) }
    expectTrue(zip(table, table.dropFirst()).allSatisfy { $0 < $1 }, "\(transfer) does not rise")
  }
}

@Test func transferFunctionsPassThroughPublishedPoints() {
  // ITU-R BT.2100: HLG 0.5 is 1/12, 0.75 is 0.265; PQ 0.5 is 92.2 cd/m2 of 10,000.
  expectLess(abs(Color.Transfer.hlg.luminance(ofSignal: 0.5) - 1.0 / 12), 1e-12)
  expectLess(abs(Color.Transfer.hlg.luminance(ofSignal: 0.75) - 0.26496), 1e-5)
  expectLess(abs(Color.Transfer.pq.luminance(ofSignal: 0.5) * 10_000 - 92.2457), 1e-3)
  // IEC 61966-2-1: 18 % grey is sRGB level 118; BT.709 puts it at 0.409.
  expectLess(abs(Color.Transfer.srgb.luminance(ofSignal: 118 / 255) - 0.18), 0.002)
  expectLess(abs(Color.Transfer.bt709.luminance(ofSignal: 0.409) - 0.18), 0.001)
  // Pure powers: half the signal.
  expectLess(abs(Color.Transfer.gamma22.luminance(ofSignal: 0.5) - 0.217637640824031), 1e-12)
  expectLess(abs(Color.Transfer.gamma28.luminance(ofSignal: 0.5) - 0.14358729437462936), 1e-12)
}
