// The library that people import: everything but the command line and the built-in stages.

@_exported public import SprocketCodecs
@_exported public import SprocketCore
@_exported public import SprocketEngine
@_exported public import SprocketSinks
@_exported public import SprocketSources
