// swift-tools-version: 6.2
import PackageDescription

/// A program for one article.
func program(_ name: String, _ folder: String) -> Target {
  .executableTarget(
    name: name,
    dependencies: [
      "ArticleTools",
      .product(name: "SprocketCapture", package: "sprocket"),
    ],
    path: "Sources/\(folder)")
}

let package = Package(
  name: "articles",
  // Outside Sprocket's tree this is a `url:` and a version.
  dependencies: [.package(name: "sprocket", path: "../..")],
  targets: [
    program("manual-camera", "ManualCamera"),
    program("photo-capture", "PhotoCapture"),
    program("quick-camera", "QuickCamera"),
    program("session-camera", "SessionCamera"),
    program("three-ways", "ThreeWays"),
    .target(
      name: "ArticleTools",
      dependencies: [.product(name: "SprocketCapture", package: "sprocket")]),
  ]
)
