@_exported public import SprocketTestMemory
