internal import SprocketCore
internal import SprocketRing

/// A producer that outlives the job in which it is used.
final class ProducerHand {
  var producer: Producer
  init(_ ring: Ring) { producer = ring.makeProducer() }
}

extension ArrivedFrame {
  /// The fate that the source gives the frame: `corrupt`, else `startup`, else `overrun`; `nil` if none. It
  /// takes precedence over the `overrun` of a frame without a free slot.
  var fate: Fate? {
    isCorrupt ? .corrupt : isStartup ? .startup : isOverrun ? .overrun : nil
  }
}
