// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that who uses Sprocket does not build its benchmarks.

let settings: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "sprocket-benchmarks",
  dependencies: [.package(name: "sprocket", path: "..")],
  targets: [
    .executableTarget(
      name: "HandOff",
      dependencies: [
        .product(name: "Sprocket", package: "sprocket"),
        .product(name: "SprocketRing", package: "sprocket"),
        .product(name: "CSprocketSystem", package: "sprocket"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "SceneClip", dependencies: [.product(name: "Sprocket", package: "sprocket")],
      swiftSettings: settings),
    .executableTarget(
      name: "StageTime",
      dependencies: [
        .product(name: "SprocketCommandLine", package: "sprocket"),
        .product(name: "SprocketCore", package: "sprocket"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "TensorTime", dependencies: [.product(name: "Sprocket", package: "sprocket")],
      swiftSettings: settings),
  ]
)
