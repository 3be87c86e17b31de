#if Page
  /// A file of the page, as it is built into the program: page.html, and those that it names.
  struct PageFile {
    let type: String
    let text: String

    static let all: [String: PageFile] = [
      "/": PageFile(type: "text/html; charset=utf-8", text: text(PackageResources.page_html)),
      "/page.css": PageFile(type: "text/css; charset=utf-8", text: text(PackageResources.page_css)),
      "/page.js": PageFile(
        type: "text/javascript; charset=utf-8", text: text(PackageResources.page_js)),
      "/page.svg": PageFile(type: "image/svg+xml", text: text(PackageResources.page_svg)),
    ]

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
  }
#endif
