internal import SprocketCore

/// A sink in one epoch: what it declared for it, and where the plan has put it.
struct SinkPlace {
  let state: SinkState
  /// Its tap of the ring, and its entry in a slot's `packedCounts`.
  let index: Int
  /// `nil` if the sink takes no part in the epoch: it failed, or refused the format.
  var setup: SinkSetup?
  /// Why the sink takes no part; `nil` if it does, or has failed.
  var refusal: RunError?
  var hasSelector = false
  /// Offset of this sink's area in a slot's packed memory.
  var packedOffset = 0
  /// The record that the sink reads. The sink follows the lane that seals this record.
  var tap = RecordIndex.source

  init(_ state: SinkState, index: Int) {
    self.state = state
    self.index = index
  }

  /// A sink that keeps what it declared, in an epoch with other sinks.
  init(_ place: SinkPlace, index: Int) {
    self.init(place.state, index: index)
    (setup, refusal, hasSelector) = (place.setup, place.refusal, place.hasSelector)
  }

  var sink: any Sink { state.sink }
  var isOnDemand: Bool { state.isOnDemand }
  var tapsSource: Bool { setup?.tapsSource ?? false }
  /// Whether lanes run packers for this sink.
  var packs: Bool { (setup?.packedCapacity ?? 0) > 0 }
}
