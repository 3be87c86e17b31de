import SprocketCommandLine

sprocketMain(stages: builtinStages + [Overlay.plugin])
