// The files that may hold what the compiler cannot check.

/// Files of a folder that may hold what others may not, and why.
struct Permission: Sendable {
  let folder: String
  /// Without their ending.
  let names: [String]
  let reason: String

  init(_ folder: String, _ names: [String], _ reason: String) {
    self.folder = folder
    self.names = names
    self.reason = reason
  }

  var paths: [String] { names.map { "\(folder)/\($0).swift" } }
}

extension Rules {
  /// Wrappers, the ring and frame memory, and the tests that hand them memory.
  static let mayBeUnsafe = [
    Permission(
      "Benchmarks/Sources/HandOff", ["RingHandOff", "Threads"], "futexes, threads, clocks"),
    Permission("Benchmarks/Sources/SceneClip", ["SceneClip"], "writes to standard output"),
    Permission("Benchmarks/Sources/StageTime", ["LumaFrames"], "frames in memory, a clock"),
    Permission("Benchmarks/Sources/TensorTime", ["Pictures"], "frames in memory, a clock"),
    Permission("Plugins/Undistort", ["CalibrationFile"], "reads a file"),
    Permission(
      "Tests/Own", ["ExportSink", "WireSource"], "maps a frame's memory; reads a descriptor"),
    Permission("Sources/Sprocket", ["FrameCopy"], "copies rows into an array"),
    Permission(
      "Sources/SprocketCapture/Session", ["CaptureExecutor", "CaptureSession"],
      "names an actor's executor"),
    Permission(
      "Sources/SprocketALSA",
      [
        "ALSACapture+Parameters", "ALSACapture", "ALSACard", "ALSAError", "ALSAMixer", "ALSAName",
        "SmallFile",
      ], "wraps libasound and /proc"),
    Permission(
      "Sources/SprocketCodecs",
      [
        "FramePacker", "FrameUnpacker+Image", "FrameUnpacker+JPEG", "FrameUnpacker",
        "ImageView+Planes",
        "JPEGCompleter", "JPEGPacker", "JPEGPicture", "JPEGWorker",
        "Still/ASCIIText", "Still/PNGPacker", "Still/StillThumbnail",
        "LoneFrame", "LumaSource", "LumaWriter", "PlaneCopies", "PlaneStorage+Libraries",
        "Tensor/PictureRows", "Tensor/PictureShortcut", "Tensor/SourceRows",
        "Tensor/TensorPacker",
      ], "hands slots to the wrappers"),
    Permission(
      "Sources/SprocketCommandLine", ["Console", "ProgramArguments", "SprocketMain"],
      "signals, terminals, arguments"),
    Permission(
      "Sources/SprocketCommandLine/Ask",
      [
        "ControlSocket", "Keyboard", "RunConnection", "RunFolder", "ServiceManager",
      ],
      "sockets, folders, and the terminal's settings"),
    Permission(
      "Sources/SprocketCommandLine/Bench", ["BenchClip", "BenchSource"], "lends frames in memory"),
    Permission("Sources/SprocketCommandLine/Files", ["BatchExport", "PlotCommand"], "processes"),
    Permission(
      "Sources/SprocketCommandLine/Top", ["TopScreen"], "the terminal's size, the time of day"),
    Permission(
      "Sources/SprocketCore",
      [
        "Clock/Clocks", "Clock/WallClock", "Errors/Contract", "Errors/RunningCode",
        "Frame/FrameStorage",
        "Pixels/FrameView+Pixels",
        "Frame/FrameView", "Pixels/Plane", "Pixels/PlaneResampler", "Sink/Sink",
        "Source/CaptureSlot", "Stage/Report", "System/SystemMemory",
      ],
      "a slot's memory, and spans over it; clocks; the kernel's limits; a program's last words"),
    Permission("Tests/SprocketTests", ["ShareReader"], "reads shared memory"),
    Permission(
      "Sources/SprocketShare",
      [
        "ListeningSocket", "ShareFolder", "ShareReaders", "ShareReaders+Socket", "SharedMemory",
        "SocketAddress",
      ],
      "sockets, and memory that several programs see"),
    Permission("Sources/SprocketDeflate", ["CRC32", "ZlibCompressor"], "wraps libdeflate"),
    Permission(
      "Sources/SprocketEngine",
      [
        "Ask/PacketHistory", "Audio/AudioMemory", "Run/Engine+Epoch", "Plan/FrameMemory",
        "Lane/LaneWorker",
        "Lane/LaneWorker+Versions",
        "Sink/SinkWorker", "Sink/SinkWorker+Account", "Source/SourceGate", "Source/SourcePump+Fill",
        "Source/SourcePump+Loans", "Threads/HardwareCounters", "Threads/StopSignals",
        "Threads/Threads", "Threads/Waiter",
      ], "lays out slots; threads and futexes"),
    Permission(
      "Sources/SprocketFiles",
      [
        "FileAccess", "FileCalls", "FileMove", "FileWriter+Text", "FileWriter", "NumberedFiles",
        "PartialFile", "PartialFile+Names", "RunError+System", "TextTarget",
      ],
      "wraps open, write and errno; memory that grows"),
    Permission(
      "Sources/SprocketJPEG",
      [
        "Coefficients", "EntropyBits", "HuffmanCodes", "JPEGDecoder", "JPEGEncoder", "JPEGMarkers",
        "PlaneTable",
      ],
      "wraps libturbojpeg"),
    Permission(
      "Sources/SprocketLZ4", ["LZ4BlockCompressor", "LZ4FrameDecoder", "LZ4FrameHeader"],
      "wraps liblz4"),
    Permission(
      "Sources/SprocketLibAV",
      [
        "Converter", "DecodedFrame", "Decoder", "Demuxer", "EncodedPacket", "EncoderConverter",
        "FLACWriter", "HardwareFrames", "HDRMetadata+Library", "TextTrack",
        "ResamplerHandle",
        "FileInput",
        "InputFormats", "LentMedia", "LentPool", "LibAV", "MediaCopy", "MediaCopy+Packets",
        "MediaCopy+Writing", "MediaCopy+Part", "MediaJoin", "MediaPart",
        "MediaDisplay", "MediaError", "MediaInfo",
        "KeyPicture", "MediaReader", "MediaReader+Numbers", "PictureIndex", "WholeFile",
        "MovieContainer", "Muxer", "Muxer+Encoded", "MuxerHandle", "MuxerHeader", "MuxerOutput",
        "OpenedMedia",
        "PacketDecoder",
        "Owned",
        "PixelFormat+Library",
        "SoundBlocks", "SoundEncoder", "SoundFrame", "SoundReader", "SoundTrack+Library",
        "Transparency",
        "VideoEncoder", "VideoEncoder+Settings",
      ], "wraps libavformat and libavcodec"),
    Permission("Sources/SprocketLibraries", ["LoadedLibraries"], "loads libraries: dlopen"),
    Permission(
      "Sources/SprocketMCAP",
      [
        "MCAPBytes", "MCAPChunk", "MCAPError", "MCAPInput", "MCAPInput+Chunk",
        "MCAPInput+Record", "MCAPMessagePacker", "MCAPRecord+Writing", "MCAPRecordReader",
        "MCAPReader+Messages", "MCAPReader+Walk", "MCAPWriter", "MCAPWriter+End",
        "MCAPWriter+Records",
      ], "memory that grows, and spans over it; reads a file"),
    Permission("Sources/SprocketPixels", ["PlaneBytes"], "planes in memory"),
    Permission(
      "Sources/SprocketRing", ["EventWord", "Table"], "aligned memory that threads share"),
    Permission("Sources/SprocketScene", ["SceneFrameWriter"], "lends planes to libyuv"),
    Permission(
      "Sources/SprocketSinks/Dump", ["DumpContents", "DumpPacker"], "hands on text in memory"),
    Permission(
      "Sources/SprocketSinks/Stills", ["PhotoSink", "StillFolder", "StillFolder+Looks"],
      "copies bytes into an array; wraps openat and readdir"),
    Permission(
      "Sources/SprocketSources/Camera",
      ["CameraPackets", "CameraSource+Memory", "CameraSource+Open", "DelayFile"],
      "lends the driver's memory; reads a file"),
    Permission("Sources/SprocketSources/Clips", ["ClipsSource"], "gives memory back"),
    Permission(
      "Sources/SprocketSources/File",
      ["FileFormat", "FileSource", "FileSource+Reading", "PictureNotes+File", "PictureSource"],
      "lends libavformat's and libavcodec's memory"),
    Permission("Sources/SprocketSources/Pipe", ["PipeSource"], "wraps read and poll"),
    Permission(
      "Sources/SprocketSources/Devices", ["DeviceTree", "NodeWatch"], "reads folders, and inotify"),
    Permission("Sources/SprocketMCAP/Messages", ["JSONScanner"], "makes text of bytes"),
    Permission(
      "Sources/SprocketV4L2",
      [
        "V4L2Device+Controls", "V4L2Device+Formats", "V4L2Device+Output", "V4L2Device+Streaming",
        "V4L2Device+Writing", "V4L2Device", "V4L2Error", "V4L2Holder", "V4L2Node",
      ], "wraps libv4l2, /proc and /sys"),
    Permission("Sources/SprocketXXHash", ["XXH3"], "wraps libxxhash"),
    Permission("Sources/SprocketPipelines", ["FileIdentity"], "names of files"),
    Permission("Sources/SprocketYAML", ["YAML", "YAMLParser"], "wraps libyaml"),
    Permission("Sources/SprocketZBar", ["ZBar", "ZBarScanner"], "wraps libzbar"),
    Permission("Sources/SprocketZstd", ["ZstdDecoder"], "wraps libzstd"),
    Permission(
      "Sources/SprocketYUV",
      [
        "BoxMean", "LumaConversion", "PixelConversion+Color", "PixelConversion+Deep",
        "PixelConversion+Interleaved", "PixelConversion+Packed",
        "PixelConversion+RGB", "PixelConversion+RGB444", "PixelConversion+RGBWords",
        "PixelConversion",
      ], "wraps libyuv"),
    Permission("Tests/Fuzz/Program", ["Entry"], "libFuzzer's input"),
    Permission(
      "Tests/Fuzz/Targets", ["InputFile", "JPEGTargets", "SourceTargets"],
      "inputs, planes and a slot in memory"),
    Permission("Tests/SprocketCodecsTests", ["JPEGUnpackingTests"], "pictures in memory"),
    Permission("Tests/SprocketCommandLineTests", ["ListeningSocketTests"], "names of sockets"),
    Permission("Tests/Microphone", ["main"], "interrupts a source from another thread"),
    Permission(
      "Tests/SprocketEngineTests",
      ["EngineHarness", "RequestStormTests", "RequestTests", "ShortFrameTests", "YearTests"],
      "sources and sinks that look at slots; the environment"),
    Permission("Tests/SessionCost", ["SessionCost"], "waits for standard input"),
    Permission("Tests/SprocketJPEGTests", ["Images", "JPEGDecoderTests"], "pictures in memory"),
    Permission("Tests/SprocketLibrariesTests", ["LoadedLibrariesTests"], "a table of functions"),
    Permission("Tests/SprocketLibAVTests", ["Decoded", "MediaReaderTests"], "pictures in memory"),
    Permission(
      "Tests/SprocketRingTests", ["RingStressTests", "Support", "WaitingTests"],
      "futexes, threads, slots"),
    Permission("Tests/SprocketSinksTests", ["DurableCountTests", "SinkFrame"], "frames in memory"),
    Permission(
      "Tests/SprocketSourcesTests", ["SceneSourceTests", "SourceSlot"], "a slot and text in memory"),
    Permission(
      "Sources/SprocketSources/File", ["FileAudioSource", "PictureNames"],
      "asks what kind of file it is; folders"),
    Permission("Sources/SprocketSources/Asked", ["AskedNumbers"], "a socket"),
    Permission(
      "Tests/Own", ["TrapStage", "main"], "reads memory that is not there; the environment"),
    Permission("Tests/Sound", ["main"], "writes a file"),
    Permission("Tests/SoundStorm", ["StormRun"], "a limit of the process"),
    Permission(
      "Tests/Traps", ["Probe", "SoundMistakes", "TestMistakes"],
      "hands over, and writes, memory that it may not"),
    Permission("Tests/SprocketYUVTests", ["Planes"], "planes in memory"),
    Permission("Sources/SprocketTestMemory", ["TestBuffer", "TestSlot"], "frames in memory"),
    Permission(
      "Sources/SprocketTesting", ["FrameMemory", "LentPicture", "TestCamera"], "frames in memory"),
  ]

  static let unsafeStaysInItsPlaces: Rule = { tree in
    permitted(mayBeUnsafe, "unsafe", in: tree) { line in
      line.split { !($0.isLetter || $0.isNumber || $0 == "_") }.contains("unsafe")
    }
  }

  /// Each says why above the type, too.
  static let mayBeUncheckedSendable = [
    Permission(
      "Sources/SprocketCore/Errors", ["RunningCode"],
      "what changes is read and written by atomic operations alone"),
    Permission(
      "Sources/SprocketEngine",
      [
        "Ask/RecordingJob", "Ask/RecordingList", "Ask/SinkRecorder",
        "Threads/BackgroundWork", "Plan/ChainStage", "Run/ChangePort", "Run/Engine",
        "Run/Engine+Leaving", "Run/Epoch", "Plan/FrameMemory",
        "Audio/AudioChain", "Audio/AudioEngine", "Audio/AudioMemory", "Audio/AudioSeat",
        "Audio/AudioSinkWorker",
        "Lane/LaneWorker",
        "Sink/SinkState", "Sink/SinkWorker", "Source/SourceGate",
        "Source/SourcePump", "Threads/Threads", "Account/Trace",
      ],
      "belong to one thread at a time, or to whom the ring lets pass"),
    Permission(
      "Sources/SprocketYAML", ["YAMLParser"], "one thread uses a parser at a time"),
    Permission(
      "Sources/SprocketCommandLine", ["Console", "RunJob"],
      "a semaphore; a source of which one function may be called from any thread"),
    Permission(
      "Sources/SprocketCommandLine/Bench", ["BenchClip", "BenchCommand+Cases"],
      "written before they are shared"),
    Permission("Sources/SprocketLibAV", ["LentPool"], "who takes an element has it alone"),
    Permission(
      "Sources/SprocketSinks/Dump", ["DumpFile", "DumpOutput"], "touched under its lock alone"),
    Permission("Sources/SprocketSinks/Movie", ["MovieSound"], "one thread reads with what it has"),
    Permission(
      "Sources/SprocketPage", ["PageConnection", "PageHub", "PageSocket", "PageStream"],
      "used on the server's event loop alone"),
    Permission("Sources/SprocketSinks/Page", ["PagePicture"], "filled while nobody else has it"),
    Permission("Sources/SprocketSinks/Pairing", ["FramePairing"], "touched under its lock alone"),
    Permission(
      "Sources/SprocketCapture/Audio", ["SoundRecording"],
      "one thread uses the file; all else is atomic"),
    Permission(
      "Sources/SprocketRing", ["Table"], "owns its memory, never moves it, lends it immutably"),
    Permission(
      "Tests/SprocketEngineTests",
      [
        "AudioEngineTests", "EngineHarness", "EventTests", "FrailSource", "NeighbourTests",
        "RequestHarness", "RestTests",
        "TapTests", "YearTests",
      ],
      "used on one thread at a time"),
    Permission("Tests/SprocketRingTests", ["Support"], "slots that the ring itself guards"),
  ]

  static let sendabilityIsChecked: Rule = { tree in
    permitted(mayBeUncheckedSendable, unchecked, in: tree) { $0.contains(unchecked) }
      + tree.files.filter(\.isSwift).flatMap { file in
        file.lines(with: unchecked, inCode: true).filter { line in
          // The declaration and the comment above it, or the first line in its braces.
          let above = file.lines[..<line].reversed().prefix { $0.contains { "/@".contains($0) } }
          let near = above + file.lines[line...].dropFirst().prefix(1)
          return !near.contains { $0.lowercased().contains("unchecked") }
        }.map { Finding(file, line: $0, "the comment does not say why it is unchecked") }
      }
  }

  private static let unchecked = "@unchecked Sendable"

  /// A line for which `holds` is true may be in the files of `list` alone, of those files that the rule is
  /// about. An entry of the list must be needed. `place` is the file of the list.
  static func permitted(
    _ list: [Permission], _ what: String, in tree: Tree, place: String = "Rules+Unsafe.swift",
    isAbout: (File) -> Bool = { _ in true }, holds: (String) -> Bool
  ) -> [Finding] {
    var allowed = Set(list.flatMap(\.paths))
    var found: [Finding] = []
    for file in tree.files where file.isSwift && isAbout(file) {
      guard let line = file.code.firstIndex(where: holds) else { continue }
      if allowed.remove(file.path) == nil {
        found.append(
          Finding(file, line: line, "says `\(what)`; only files listed in \(place) may"))
      }
    }
    return found
      + allowed.sorted().map {
        Finding($0, "is listed in \(place), but does not say `\(what)`: take it off")
      }
  }
}
