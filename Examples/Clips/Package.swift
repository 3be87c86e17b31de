// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "clips",
  // Outside Sprocket's tree this is a `url:` and a version.
  dependencies: [.package(name: "sprocket", path: "../..")],
  targets: [
    .executableTarget(
      name: "clips",
      dependencies: [.product(name: "SprocketCapture", package: "sprocket")],
      path: "Sources")
  ]
)
