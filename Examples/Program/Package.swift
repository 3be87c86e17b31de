// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "program",
  // Outside Sprocket's tree this is a `url:` and a version.
  dependencies: [.package(name: "sprocket", path: "../..")],
  targets: [
    .executableTarget(
      name: "program",
      dependencies: [
        .product(name: "Sprocket", package: "sprocket"),
        .product(name: "SprocketStages", package: "sprocket"),
      ],
      path: "Sources")
  ]
)
