// For tests of stages, sources, sinks and programs: `import SprocketTesting`.

@_exported public import Sprocket
@_exported public import SprocketTestMemory
