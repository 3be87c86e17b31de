// What the tests of the ring share.

import CSprocketSystem
import SprocketRing

/// A ring whose waiters are woken by futex.
func makeRing(depth: Int, lanes: [RingPlan.Lane], taps: [RingPlan.Tap] = []) -> Ring {
  Ring(RingPlan(depth: depth, lanes: lanes, taps: taps)) { event in
    unsafe sprocket_futex_wake(event.address)
  }
}
