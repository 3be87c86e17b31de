import SprocketCommandLine

sprocketMain()
