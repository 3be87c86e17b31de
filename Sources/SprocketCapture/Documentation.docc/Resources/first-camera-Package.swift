// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "camera",
  dependencies: [.package(name: "sprocket", path: "../sprocket")],
  targets: [
    .executableTarget(
      name: "camera",
      dependencies: [.product(name: "SprocketCapture", package: "sprocket")],
      path: "Sources")
  ]
)
