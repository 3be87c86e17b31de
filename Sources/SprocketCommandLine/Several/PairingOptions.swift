internal import ArgumentParser
internal import Sprocket

/// How the frames of several sources are paired.
struct PairingOptions: ParsableArguments {
  @Option(

    "Of several sources: pairs each frame of the first with the nearest of each other one, at most so far "
      + "apart in time: 5ms.", takes: "duration", as: Duration.parsePositive)
  var pair: Duration?

  @Option(

    "With --pair: writes each pair, and each frame without a partner, as JSON Lines.",
    takes: "path", completion: .file())
  var pairs: String?
}
