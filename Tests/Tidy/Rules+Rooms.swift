// Who may import whom.

extension Rules {
  /// Modules of this package, and packages, that each module may import. Nothing else.
  static let mayImport: [String: Set<String>] = [
    "SprocketCommand": ["SprocketCommandLine"],
    // FoundationEssentials encodes the summary.
    "SprocketCommandLine": [
      "Sprocket", "SprocketPage", "SprocketPipelines", "SprocketShare", "SprocketStages",
      "CSprocketCalls", "ArgumentParser", "Logging", "FoundationEssentials",
    ],
    "SprocketStages": [
      "SprocketCore", "AutoExposure", "AutoFocus", "Bracket", "Codes", "Crop", "Debayer",
      "ExposureMeter",
      "FocusScore", "Gain", "LateFrameDrop", "MotionDetector", "Negate", "RepeatedFrameDrop",
      "Resize", "Rotate",
      "Stabilizer", "TextOverlay",
      "Undistort",
    ],
    "Sprocket": [
      "SprocketEngine", "SprocketSources", "SprocketScene", "SprocketSinks", "SprocketFiles",
      "SprocketCodecs", "SprocketCore",
    ],
    "SprocketPipelines": ["Sprocket", "SprocketYAML"],
    "SprocketPage": ["Sprocket", "NIOCore", "NIOHTTP1", "NIOPosix", "NIOWebSocket"],
    "SprocketCapture": ["Sprocket", "SprocketPipelines", "SprocketStages"],
    "SprocketTestMemory": ["SprocketCore"],
    "SprocketTesting": [
      "Sprocket", "SprocketCodecs", "SprocketCore", "SprocketTestMemory", "CSprocketAllocations",
    ],
    "SprocketEngine": ["SprocketCore", "SprocketRing", "CSprocketSystem"],
    "SprocketSources": [
      "SprocketALSA", "SprocketCore", "SprocketCodecs", "SprocketFiles", "SprocketLibAV",
      "SprocketMCAP", "SprocketPixels", "SprocketRecords", "SprocketScene", "SprocketTimes",
      "SprocketV4L2",
    ],
    "SprocketScene": [
      "SprocketCore", "SprocketCodecs", "SprocketFiles", "SprocketPixels", "SprocketYUV",
    ],
    "SprocketSinks": [
      "SprocketCore", "SprocketCodecs", "SprocketFiles", "SprocketLibAV", "SprocketMCAP",
      "SprocketPixels", "SprocketRecords", "SprocketShare", "SprocketV4L2", "SprocketXXHash",
    ],
    "SprocketFiles": ["SprocketCore", "CSprocketSystem"],
    "SprocketRecords": ["SprocketCore", "SprocketFiles", "SprocketMCAP", "SprocketTimes"],
    "SprocketShare": ["SprocketCore", "SprocketFiles", "CSprocketSystem"],
    "SprocketCodecs": [
      "SprocketCore", "SprocketDeflate", "SprocketJPEG", "SprocketPixels", "SprocketTIFF",
      "SprocketYUV",
    ],
    "SprocketTIFF": [],
    "SprocketMCAP": ["SprocketDeflate", "SprocketLZ4", "SprocketZstd"],
    "SprocketALSA": ["CSprocketALSA"],
    "SprocketDeflate": ["CSprocketDeflate"],
    "SprocketJPEG": ["SprocketPixels", "CSprocketJPEG"],
    "SprocketYUV": ["SprocketPixels", "CSprocketYUV"],
    "SprocketLZ4": ["CSprocketLZ4"],
    "SprocketLibAV": ["SprocketLibraries", "SprocketPixels", "SprocketTimes", "CSprocketLibAV"],
    "SprocketLibraries": [],
    "SprocketTimes": [],
    "SprocketV4L2": ["CSprocketV4L2"],
    "SprocketXXHash": ["CSprocketXXHash"],
    "SprocketYAML": ["SprocketLibraries", "CSprocketYAML"],
    "SprocketZBar": ["SprocketLibraries", "CSprocketZBar"],
    "SprocketZstd": ["CSprocketZstd"],
    // For mathematics, as in plug-ins; and for clocks, limits, and the message of `contractBroken`.
    "SprocketCore": ["SprocketPixels", "Glibc", "CSprocketSystem"],
    "SprocketPixels": [],
    "SprocketRing": [],
  ]

  /// Wrappers of libraries that a plug-in may import beside `SprocketCore`.
  static let pluginMayImport: [String: Set<String>] = ["Codes": ["SprocketZBar"]]

  /// The parts of the system: what no row of the table forbids.
  static let system: Set<String> = ["Glibc", "Synchronization"]
  /// These know no system: the standard library, its atomics, and what their row says.
  static let pure: Set<String> = ["SprocketCore", "SprocketPixels", "SprocketRing"]

  static let roomsImportOnlyTheirNeighbours: Rule = { tree in
    tree.files.filter(\.isSwift).flatMap { file -> [Finding] in
      guard let module = file.module else { return [] }
      // A catalogue of documentation has programs of its readers.
      if file.path.contains(".docc/") { return [] }
      let isPlugin = file.path.hasPrefix("Plugins/")
      let plugin = pluginMayImport[module, default: []].union(["SprocketCore"])
      guard let row = isPlugin ? plugin : mayImport[module] else {
        return [Finding(file, "\(module) has no row in Tests/Tidy's table of imports; add one")]
      }
      let allowed =
        isPlugin
        ? row.union(["Glibc"])
        : row.union(pure.contains(module) ? ["Synchronization"] : system)
      return file.imports.filter { !allowed.contains($0.module) }.map {
        Finding(
          file, line: $0.line,
          "\(module) may not import \($0.module); it may import "
            + allowed.sorted().joined(separator: ", "))
      }
    }
  }

  /// `CSprocketSystem` is no library but Linux itself: futexes for the engine, formats for sinks.
  static let sharedShims: Set<String> = ["CSprocketSystem"]

  static let eachLibraryHasOneWrapper: Rule = { tree in
    var importers: [String: Set<String>] = [:]
    for file in tree.files where file.isSwift {
      guard let module = file.module else { continue }
      for found in file.imports where found.module.hasPrefix("CSprocket") {
        importers[found.module, default: []].insert(module)
      }
    }
    return importers.filter { $0.value.count > 1 && !sharedShims.contains($0.key) }
      .map { library, modules in
        Finding(
          "Sources/\(library)/module.modulemap",
          "\(library) is imported by \(modules.sorted().joined(separator: " and ")); one wraps it")
      }
  }
}

// Libraries that are not linked: their wrappers load them by a list of functions.
extension Rules {
  /// A function that is called and not listed is an error of the linker.
  static let listedFunctionsAreCalled: Rule = { tree in
    tree.files.filter { $0.path.hasSuffix("/shim.h") }.flatMap { shim -> [Finding] in
      let listed = shim.lines.enumerated().compactMap { index, line in
        line.contains("  FUNCTION(")
          ? (index, String(line.split { " (,)\\".contains($0) }[2])) : nil
      }
      guard !listed.isEmpty, let library = shim.module else { return [] }
      let folder = "Sources/\(library.dropFirst())/"
      let called = Set(
        tree.files.filter { $0.isSwift && $0.path.hasPrefix(folder) }.flatMap(\.code)
          .flatMap { $0.split { !$0.isLetter && !$0.isNumber && $0 != "_" } }.map(String.init))
      return listed.filter { !called.contains($0.1) }.map { line, name in
        Finding(
          shim, line: line, "\(name) is listed, and nothing in \(folder) calls it; leave it out")
      }
    }
  }
}

extension File {
  /// The modules that this file imports.
  var imports: [(line: Int, module: String)] {
    code.enumerated().compactMap { index, line in
      let words = line.split { $0 == " " || $0 == "." }.map(String.init)
      guard let at = words.firstIndex(of: "import"),
        words[..<at].allSatisfy({ $0.hasPrefix("@") || Self.accessLevels.contains($0) }),
        words.count > at + 1
      else { return nil }
      let rest = words[(at + 1)...].drop { Self.kinds.contains($0) }
      return rest.first.map { (index, $0) }
    }
  }

  private static let accessLevels = ["public", "package", "internal", "private", "fileprivate"]
  private static let kinds = [
    "struct", "class", "enum", "protocol", "func", "var", "let", "typealias",
  ]
}
