// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "camera-manager",
  products: [.library(name: "CameraManager", targets: ["CameraManager"])],
  // Outside Sprocket's tree this is a `url:` and a version.
  dependencies: [.package(name: "sprocket", path: "../..")],
  targets: [
    .target(
      name: "CameraManager",
      dependencies: [.product(name: "SprocketCapture", package: "sprocket")]),
    .executableTarget(
      name: "camera-manager", dependencies: ["CameraManager"], path: "Sources/Program"),
  ]
)
