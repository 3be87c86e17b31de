// AVFoundation's capture API over the engine: docs/capture.md.

@_exported public import Sprocket
@_exported public import SprocketStages
