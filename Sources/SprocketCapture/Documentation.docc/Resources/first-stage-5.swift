import Darkness
import SprocketCommandLine

@main struct Program {
  static func main() { sprocketMain(stages: builtinStages + [Darkness.plugin]) }
}
