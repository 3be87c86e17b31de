// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "overlay",
  // Outside Sprocket's tree this is a `url:` and a version.
  dependencies: [.package(name: "sprocket", path: "../..")],
  targets: [
    .executableTarget(
      name: "overlay",
      dependencies: [
        .product(name: "SprocketCore", package: "sprocket"),
        .product(name: "SprocketCommandLine", package: "sprocket"),
      ],
      path: "Sources")
  ]
)
