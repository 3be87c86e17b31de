// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "brightest",
  // Outside Sprocket's tree this is a `url:` and a version.
  dependencies: [.package(name: "sprocket", path: "../..")],
  targets: [
    .target(
      name: "Brightest",
      dependencies: [.product(name: "SprocketCore", package: "sprocket")]),
    .executableTarget(
      name: "brightest",
      dependencies: ["Brightest", .product(name: "SprocketCommandLine", package: "sprocket")],
      path: "Sources/BrightestCommand"),
    .testTarget(
      name: "BrightestTests",
      dependencies: ["Brightest", .product(name: "SprocketTesting", package: "sprocket")],
      path: "Tests"),
  ]
)
