public import SprocketCore
internal import SprocketScene

/// All sources that Sprocket brings, in alphabetical order. A source is its folder and its line here.
public let builtinSources: [SourceKind] = [
  CameraSource.kind,
  FileSource.kind,
  EmptySource.kind,
  PipeSource.kind,
  ReplaySource.kind,
  SceneSource.kind,
]
