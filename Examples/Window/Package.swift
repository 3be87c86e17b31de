// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "window",
  // Outside Sprocket's tree this is a `url:` and a version.
  dependencies: [.package(name: "sprocket", path: "../..")],
  targets: [
    .systemLibrary(name: "CSDL2", path: "Sources/CSDL2", pkgConfig: "sdl2"),
    .executableTarget(
      name: "window",
      dependencies: ["CSDL2", .product(name: "SprocketCapture", package: "sprocket")],
      path: "Sources/Window"),
  ]
)
