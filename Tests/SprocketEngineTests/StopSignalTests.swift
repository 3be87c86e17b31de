import Glibc
import SprocketEngine
import Testing

@Suite struct StopSignalTests {
  /// A run that could not begin says why: a Ctrl-C that came meanwhile must not end the process first.
  @Test func aSignalThatNobodyTookGoesWithTheRun() {
    var isTaken = false
    do {
      var signals = StopSignals()
      pthread_kill(pthread_self(), SIGTERM)
      isTaken = signals.take()
      pthread_kill(pthread_self(), SIGTERM)
      pthread_kill(pthread_self(), SIGINT)
    }
    #expect(isTaken)
  }
}
