import SprocketCommandLine

sprocketMain(stages: builtinStages + [Vignette.plugin])
