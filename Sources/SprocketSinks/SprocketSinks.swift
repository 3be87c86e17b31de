public import SprocketCore

/// All sinks that Sprocket brings, in alphabetical order. A sink is its file and its line here.
public let builtinSinks: [SinkKind] = [
  ChecksumSink.kind,
  DumpSink.kind,
  MovieSink.kind,
  NullSink.kind,
  PageSink.kind,
  PipeSink.kind,
  ReportSink.kind,
  ShareSink.kind,
  StillSink.kind,
  VirtualSink.kind,
]
