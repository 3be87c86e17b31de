import Glibc
import SprocketEngine
import TestExpectations
import Testing

@Suite struct StopSignalTests {
  /// A run that could not begin says why: a Ctrl-C that came meanwhile must not end the process first.
  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func aSignalThatNobodyTookGoesWithTheRun(number: Int32) {
    // A test run under nohup has SIGHUP ignored, which is left so.
    let before = signal(number, SIG_DFL)
    defer { signal(number, before) }
    var isTaken = false
    do {
      var signals = StopSignals()
      pthread_kill(pthread_self(), number)
      isTaken = signals.take()
      pthread_kill(pthread_self(), number)
      pthread_kill(pthread_self(), SIGINT)
    }
    expectTrue(isTaken)
  }

  @Test func aTerminalThatClosesIsOneRequest() {
    let before = signal(SIGHUP, SIG_DFL)
    defer { signal(SIGHUP, before) }
    var taken: [Bool] = []
    do {
      var signals = StopSignals()
      for number in [SIGHUP, SIGHUP, SIGINT] {
        pthread_kill(pthread_self(), number)
        taken.append(signals.take())
      }
      taken.append(signals.take())
    }
    expectEqual(taken, [true, false, true, false])
  }
}
