// swift-tools-version: 6.2
import PackageDescription

/// What every target of the package is compiled with.
let settings: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// Vending `Span` from a type of one's own needs this; `SprocketCore` alone does so.
let lifetimes: [SwiftSetting] = [.enableExperimentalFeature("Lifetimes")]

/// One stage, one folder under `Plugins/`. Removing a name here, its folder and its line in
/// `SprocketStages.swift` removes the stage.
let stages = [
  "AutoExposure", "AutoFocus", "Bracket", "Codes", "Crop", "Debayer", "ExposureMeter", "FocusScore",
  "Gain", "LateFrameDrop", "MotionDetector", "Negate", "RepeatedFrameDrop", "Resize", "Rotate",
  "Stabilizer", "TextOverlay", "Undistort",
]

/// Wrappers of libraries that a stage needs, by its folder: for programs that have the stage, and no other.
let stageLibraries: [String: [Target.Dependency]] = ["Codes": ["SprocketZBar"]]

/// Test targets that are built: all, unless this names some. A package has one bundle of tests, so what
/// runs few of them under a sanitizer would build all. Only `make` sets it.
let chosenTests = Context.environment["SPROCKET_TESTS"]?.split(separator: ",").map(String.init)

/// The traits that are there where nobody chooses: none, but in what `make` builds, which alone sets this.
let traits = Context.environment["SPROCKET_PAGE"]?.isEmpty == false ? ["Page"] : []

let argumentParser = Target.Dependency.product(
  name: "ArgumentParser", package: "swift-argument-parser")
let nio: [Target.Dependency] = ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket"].map {
  .product(name: $0, package: "swift-nio", condition: .when(traits: ["Page"]))
}
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

func library(_ name: String, _ dependencies: [Target.Dependency] = [], extra: [SwiftSetting] = [])
  -> Target
{
  .target(name: name, dependencies: dependencies, swiftSettings: settings + extra)
}

func test(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["TestExpectations"], swiftSettings: settings)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: "Sprocket\(name)", dependencies: dependencies, path: "Tests/\(name)",
    swiftSettings: settings)
}

let package = Package(
  name: "sprocket",
  products: [.executable(name: "sprocket", targets: ["SprocketCommand"])]
    + [
      "Sprocket", "SprocketStages", "SprocketCapture", "SprocketCore", "SprocketCommandLine",
      // SprocketTesting: for tests of stages, sources and sinks. The last two: what Benchmarks/ measures.
      "SprocketPipelines", "SprocketTesting", "SprocketRing", "CSprocketSystem",
    ].map { .library(name: $0, targets: [$0]) },
  traits: [
    .trait(name: "Page", description: "`run --page`: the camera in a browser"),
    .default(enabledTraits: Set(traits)),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
  ],
  targets: [
    // System libraries: a module map and a shim, no Swift.
    .systemLibrary(name: "CSprocketALSA", pkgConfig: "alsa"),
    .systemLibrary(name: "CSprocketDeflate", pkgConfig: "libdeflate"),
    .systemLibrary(name: "CSprocketJPEG", pkgConfig: "libturbojpeg"),
    .systemLibrary(name: "CSprocketYAML"), .systemLibrary(name: "CSprocketYUV"),
    .systemLibrary(name: "CSprocketZBar"), .systemLibrary(name: "CSprocketLibAV"),
    .systemLibrary(name: "CSprocketZstd", pkgConfig: "libzstd"),
    .systemLibrary(name: "CSprocketSystem"),
    .systemLibrary(name: "CSprocketLZ4", pkgConfig: "liblz4"),
    .systemLibrary(name: "CSprocketV4L2", pkgConfig: "libv4l2"),
    .systemLibrary(name: "CSprocketXXHash", pkgConfig: "libxxhash"),

    // How pixels lie in memory; what the times of a file mean. Wrappers of libraries share them. The last
    // loads libraries that are not linked: those without `link` in their module maps.
    library("SprocketPixels"), library("SprocketTimes"), library("SprocketLibraries"),

    // One thin wrapper each; they know nothing of frames.
    library("SprocketALSA", ["CSprocketALSA"]), library("SprocketDeflate", ["CSprocketDeflate"]),
    library("SprocketJPEG", ["SprocketPixels", "CSprocketJPEG"]),
    library("SprocketYUV", ["SprocketPixels", "CSprocketYUV"]),
    library(
      "SprocketLibAV", ["SprocketLibraries", "SprocketPixels", "SprocketTimes", "CSprocketLibAV"]),
    library("SprocketLZ4", ["CSprocketLZ4"]), library("SprocketV4L2", ["CSprocketV4L2"]),
    library("SprocketXXHash", ["CSprocketXXHash"]),
    library("SprocketYAML", ["SprocketLibraries", "CSprocketYAML"]),
    library("SprocketZBar", ["SprocketLibraries", "CSprocketZBar"]),
    library("SprocketZstd", ["CSprocketZstd"]),

    // File formats; they know nothing of frames either.
    library("SprocketTIFF"),
    library("SprocketMCAP", ["SprocketDeflate", "SprocketLZ4", "SprocketZstd"]),

    // The engine's rooms.
    library("SprocketCore", ["SprocketPixels", "CSprocketSystem"], extra: lifetimes),
    library("SprocketRing"),
    library("SprocketEngine", ["SprocketCore", "SprocketRing", "CSprocketSystem"]),
    library("SprocketFiles", ["SprocketCore", "CSprocketSystem"]),
    // JSON of frames: what dumps and reports write, and replays read.
    library("SprocketRecords", ["SprocketCore", "SprocketFiles", "SprocketMCAP", "SprocketTimes"]),
    library("SprocketShare", ["SprocketCore", "SprocketFiles", "CSprocketSystem"]),
    library(
      "SprocketCodecs",
      [
        "SprocketCore", "SprocketDeflate", "SprocketJPEG", "SprocketPixels", "SprocketTIFF",
        "SprocketYUV",
      ]),
    library(
      "SprocketScene",
      ["SprocketCore", "SprocketCodecs", "SprocketFiles", "SprocketPixels", "SprocketYUV"]),
    library(
      "SprocketSources",
      [
        "SprocketALSA", "SprocketCore", "SprocketCodecs", "SprocketFiles", "SprocketLibAV",
        "SprocketMCAP", "SprocketPixels", "SprocketRecords", "SprocketScene", "SprocketTimes",
        "SprocketV4L2",
      ]),
    library(
      "SprocketSinks",
      [
        "SprocketCore", "SprocketCodecs", "SprocketFiles", "SprocketLibAV", "SprocketMCAP",
        "SprocketPixels", "SprocketRecords", "SprocketShare", "SprocketV4L2", "SprocketXXHash",
      ]),
    library(
      "Sprocket",
      [
        "SprocketEngine", "SprocketSources", "SprocketScene", "SprocketSinks", "SprocketFiles",
        "SprocketCodecs", "SprocketCore",
      ]),
    library("SprocketStages", stages.map { .byName(name: $0) } + ["SprocketCore"]),
    // What a run is to be, as a value, and how files describe it.
    library("SprocketPipelines", ["Sprocket", "SprocketYAML"]),
    library("SprocketCapture", ["Sprocket", "SprocketPipelines", "SprocketStages"]),
    // The camera in a browser. The server itself is there with the trait `Page` alone.
    .target(
      name: "SprocketPage", dependencies: ["Sprocket"] + nio,
      resources: ["css", "html", "js", "svg"].map { .embedInCode("Files/page.\($0)") },
      swiftSettings: settings),
    // Counts allocations for `bench`.
    .target(name: "CSprocketCalls"),
    library(
      "SprocketCommandLine",
      [
        "Sprocket", "SprocketPage", "SprocketPipelines", "SprocketShare", "SprocketStages",
        "CSprocketCalls", argumentParser, logging,
      ]),
    .executableTarget(
      name: "SprocketCommand", dependencies: ["SprocketCommandLine"], swiftSettings: settings),

    // What tests are written with: patterns and slots, which the tests of single libraries need, too;
    // stages shown frames by hand; whole runs.
    library("SprocketTestMemory", ["SprocketCore"]),
    .target(name: "CSprocketAllocations"),
    library(
      "SprocketTesting",
      ["Sprocket", "SprocketCodecs", "SprocketCore", "SprocketTestMemory", "CSprocketAllocations"]),

    test("SprocketRingTests", ["SprocketRing", "CSprocketSystem"]),
    test(
      "SprocketCoreTests",
      ["SprocketCore", "SprocketTesting", "TestSupport", "CSprocketAllocations"]),
    test(
      "SprocketTests",
      ["Sprocket", "SprocketTesting", "SprocketStages", "AutoFocus", "TestSupport"]),
    test(
      "SprocketCaptureTests",
      ["SprocketCapture", "SprocketPipelines", "SprocketTestMemory", "TestSupport"]),
    test("SprocketCommandLineTests", ["SprocketCommandLine", "SprocketTestMemory"]),
    test("SprocketEngineTests", ["SprocketEngine", "SprocketCore", "CSprocketAllocations"]),
    test("SprocketJPEGTests", ["SprocketJPEG", "SprocketPixels", "TestSupport"]),
    test("SprocketLibAVTests", ["SprocketLibAV", "SprocketPixels", "TestSupport"]),
    test("SprocketPageTests", ["SprocketPage", "Sprocket"]),
    test("SprocketPipelinesTests", ["SprocketPipelines", "SprocketStages"]),
    test("SprocketALSATests", ["SprocketALSA"]), test("SprocketV4L2Tests", ["SprocketV4L2"]),
    test("SprocketYUVTests", ["SprocketPixels", "SprocketYUV", "TestSupport"]),
    test("SprocketZBarTests", ["SprocketZBar", "SprocketTestMemory", "CSprocketAllocations"]),
    test("SprocketTIFFTests", ["SprocketTIFF"]), test("SprocketTimesTests", ["SprocketTimes"]),
    test("SprocketLibrariesTests", ["SprocketLibraries"]),
    test("SprocketDeflateTests", ["SprocketDeflate", "TestSupport"]),
    test("SprocketLZ4Tests", ["SprocketLZ4", "TestSupport"]),
    test("SprocketMCAPTests", ["SprocketMCAP", "TestSupport"]),
    test(
      "SprocketCodecsTests",
      [
        "SprocketCodecs", "SprocketCore", "SprocketJPEG", "SprocketPixels", "TestSupport",
        "CSprocketAllocations",
      ]),
    test("SprocketSourcesTests", ["SprocketSources", "TestSupport", "CSprocketAllocations"]),
    .target(
      name: "TestSupport", dependencies: ["SprocketCore", "SprocketTestMemory"],
      path: "Tests/TestSupport", swiftSettings: settings),
    test(
      "SprocketSinksTests",
      [
        "SprocketSinks", "SprocketCore", "SprocketFiles", "SprocketMCAP", "SprocketRecords",
        "SprocketV4L2", "TestSupport", "CSprocketAllocations",
      ]),
    // Makes each mistake that docs/traps.md lists: `make judge` builds it as a release.
    program("Traps", ["Sprocket", "SprocketTesting"]),
    program("Own", ["Sprocket", "SprocketCommandLine"]),
    // Writes and reads files with sound, for `make judge`, too.
    program("Sound", ["SprocketCore", "SprocketLibAV", "SprocketSinks", "SprocketSources"]),
    // Runs with pictures and sound in which all goes wrong, for `make storms`.
    program("SoundStorm", ["Sprocket", "SprocketStages"]),
    // Reads a microphone, for `make lab`.
    program("Microphone", ["Sprocket", "CSprocketAllocations"]),
    // A capture session beside the bare engine, for `make judge` and `make bench`.
    program("SessionCost", ["Sprocket", "SprocketCapture", "SprocketEngine"]),
    .target(name: "TestExpectations", path: "Tests/Expect", swiftSettings: settings),
    .testTarget(
      name: "TidyTests", dependencies: ["TestExpectations"], path: "Tests/Tidy",
      swiftSettings: settings),
  ]
    + stages.map { name in
      .target(
        name: name, dependencies: ["SprocketCore"] + (stageLibraries[name] ?? []),
        path: "Plugins/\(name)", exclude: ["README.md", "Tests"], swiftSettings: settings)
    }
    + stages.map { name in
      .testTarget(
        name: "\(name)Tests",
        dependencies: [
          .byName(name: name), "SprocketCore", "SprocketTesting", "TestSupport", "TestExpectations",
        ],
        path: "Plugins/\(name)/Tests", swiftSettings: settings)
    }
)

if let chosenTests {
  package.targets.removeAll { $0.isTest && !chosenTests.contains($0.name) }
}

let unbuilt = ["Corpus", "fuzz", "seeds.py"]
if Context.environment["SPROCKET_FUZZ"] != nil {
  // The program that `make fuzz` runs: its `main` is libFuzzer's, so that it cannot be built with the rest.
  package.targets.append(
    .executableTarget(
      name: "SprocketFuzz", dependencies: ["SprocketPipelines", "SprocketSources"],
      path: "Tests/Fuzz", exclude: unbuilt + ["Tests"], sources: ["Program", "Targets"],
      swiftSettings: settings))
} else if chosenTests?.contains("FuzzTests") != false {
  package.targets.append(
    .testTarget(
      name: "FuzzTests",
      dependencies: ["SprocketPipelines", "SprocketSources", "TestExpectations"],
      path: "Tests/Fuzz", exclude: unbuilt + ["Program"], sources: ["Targets", "Tests"],
      swiftSettings: settings))
}

/// SwiftPM compiles a module again when one that its target names has changed. A module also depends on the
/// layout of structures in modules that it sees only through others, so that each target has to name all
/// modules beneath it: here they are added. A product has them for the packages that depend on it.
/// Which module may import which is the matter of Tests/Tidy/Rules+Rooms.swift.
func addDependencies(to package: Package) {
  var named: [String: [String]] = [:]
  for target in package.targets {
    named[target.name] = target.dependencies.compactMap { dependency in
      switch dependency {
      case .byNameItem(let name, _), .targetItem(let name, _): name
      default: nil
      }
    }
  }
  /// Adds `name`, and all beneath it, to `found`.
  func collect(_ name: String, into found: inout Set<String>) {
    guard let below = named[name], found.insert(name).inserted else { return }
    for next in below { collect(next, into: &found) }
  }
  for target in package.targets {
    var found: Set<String> = [target.name]
    for name in named[target.name, default: []] { collect(name, into: &found) }
    found.subtract([target.name] + named[target.name, default: []])
    target.dependencies += found.sorted().map { .byName(name: $0) }
  }
  let modules = Set(package.targets.filter { $0.type == .regular }.map(\.name))
  package.products = package.products.map { product in
    guard let library = product as? Product.Library else { return product }
    var found: Set<String> = []
    for name in library.targets { collect(name, into: &found) }
    // Libraries of the system cannot be added to a product of Swift modules.
    found.formIntersection(modules)
    return .library(name: library.name, targets: found.union(library.targets).sorted())
  }
}
addDependencies(to: package)
