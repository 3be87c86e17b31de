import Brightest
import SprocketCommandLine

sprocketMain(stages: builtinStages + [Brightest.plugin])
