/// A shared library that is loaded when something first needs it, instead of being linked: a program that
/// does not need it starts without it, sooner, and on machines that do not have it.
public struct SharedLibrary: Equatable, Sendable {
  /// Name without version, such as "libavformat".
  private let stem: String
  private let major: Int32
  /// Minor version of the headers that the program was compiled with; `nil` for a library that has no such
  /// headers.
  let minor: Int32?

  /// `major` is the number in the library's file name. With `minor`, the library must have that minor version
  /// or a later one: only then its structures have all fields that the headers have. Such a library has a
  /// function like `avformat_version`.
  public init(_ stem: String, major: Int32, minor: Int32? = nil) {
    (self.stem, self.major, self.minor) = (stem, major, minor)
  }

  /// File name, as the loader knows it: "libavformat.so.59".
  public var name: String { "\(stem).so.\(major)" }

  /// Debian package that has it: "libavformat59", "libyaml-0-2".
  public var package: String {
    stem.last?.isNumber == true ? "\(stem)-\(major)" : "\(stem)\(major)"
  }

  /// Function that returns the version, as `major << 16 | minor << 8 | micro`.
  var versionFunction: String { "\(stem.dropFirst(3))_version" }

  /// Whether a library that has the version `found` can be used.
  func takes(_ found: LibraryVersion) -> Bool {
    minor.map { found.major == major && found.minor >= $0 } ?? true
  }

  /// The version of the headers.
  var needed: LibraryVersion { LibraryVersion(major: major, minor: minor ?? 0) }
}

/// Version of a library.
public struct LibraryVersion: Equatable, Sendable, CustomStringConvertible {
  public let major: Int32
  public let minor: Int32

  init(major: Int32, minor: Int32) { (self.major, self.minor) = (major, minor) }

  /// From the number that libraries give: `major << 16 | minor << 8 | micro`.
  init(_ number: UInt32) {
    self.init(major: Int32(number >> 16), minor: Int32(number >> 8 & 0xFF))
  }

  public var description: String { "\(major).\(minor)" }
}

/// Why libraries cannot be used.
public enum LibraryError: Error, Equatable, Sendable {
  /// These are not installed.
  case absent([SharedLibrary])
  /// The loader found the library and could not load it, for that reason.
  case unloadable(SharedLibrary, reason: String)
  /// The library is older than the headers, or of another kind.
  case otherVersion(SharedLibrary, found: LibraryVersion)
  /// The library has no function of that name.
  case incomplete(SharedLibrary, function: String)
}

extension LibraryError: CustomStringConvertible {
  /// A sentence that says what is missing and which Debian package has it.
  public var description: String {
    switch self {
    case .absent(let libraries):
      let names = libraries.map(\.name).joined(separator: ", ")
      let packages = libraries.map(\.package).joined(separator: " ")
      let isOne = libraries.count == 1
      return "\(names) \(isOne ? "is" : "are") not installed here; install the Debian "
        + "\(isOne ? "package" : "packages"): apt-get install \(packages)"
    case .unloadable(let library, let reason):
      return "\(library.name) cannot be loaded (\(reason)); give it more memory if that is why "
        + "(ulimit -v), or install the Debian package anew: apt-get install --reinstall \(library.package)"
    case .otherVersion(let library, let found):
      return
        "\(library.name) has version \(found) here, and \(library.needed) is needed; install a newer "
        + "Debian package: apt-get install \(library.package)"
    case .incomplete(let library, let function):
      return "\(library.name) has no function \(function) here; install a newer Debian package: "
        + "apt-get install \(library.package)"
    }
  }
}
