import SprocketCommandLine

sprocketMain(stages: builtinStages)
