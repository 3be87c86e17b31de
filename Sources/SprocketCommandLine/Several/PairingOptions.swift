internal import ArgumentParser
internal import Sprocket

/// How the frames of several sources are paired.
struct PairingOptions: ParsableArguments {
  @Option(
    name: .customLong("pair"), parsing: .unconditional,
    help: ArgumentHelp(
      "Of several sources: pairs each frame of the first with the nearest of each other one, at most so far "
        + "apart in time: 5ms.", valueName: "duration"),
    transform: Duration.parsePositive)
  var tolerance: Duration?

  @Option(
    name: .customLong("pairs"),
    help: ArgumentHelp(
      "With --pair: writes each pair, and each frame without a partner, as JSON Lines.",
      valueName: "path"), completion: .file())
  var path: String?
}
