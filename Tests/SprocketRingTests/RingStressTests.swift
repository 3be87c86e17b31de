// Balance: what goes in comes out once, in order, with its contents intact, whatever the shape.
// SPROCKET_STRESS multiplies the counts.

import SprocketRing
import Testing

@Suite(.serialized) struct RingStressTests {
  @Test func r7WakesWhoeverParkedWithOnePositionOnly() {
    let plan = RingPlan(depth: 1, lanes: [.init(upstream: .source)])
    let outcome = Traffic.run(plan, count: stressed(200_000), dawdling: 2)
    #expect(outcome.faults == Faults())
    #expect(outcome.parks > 0)
  }
}
