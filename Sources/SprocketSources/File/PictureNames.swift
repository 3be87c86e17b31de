internal import Glibc
internal import SprocketCodecs
internal import SprocketCore
internal import SprocketLibAV

/// Files of pictures that one argument names, in the order in which they are shown.
struct PictureNames: Equatable {
  /// A picture's file, and its place from 0: numbers that a pattern leaves out are missing frames.
  struct Entry: Equatable {
    var path: String
    var place: UInt64
  }

  var entries: [Entry]
  /// Number of files of the folder or pattern that are not shown.
  var leftOut = 0

  /// Endings of pictures' files, in lower case. A file of another name may be one, too, if it is named.
  static let endings: Set<String> = [
    "avif", "bmp", "dng", "dpx", "exr", "gif", "jfif", "jp2", "jpe", "jpeg", "jpg", "jxl", "pam",
    "pbm", "pgm", "png", "pnm", "ppm", "qoi", "tif", "tiff", "webp",
  ]

  /// What `text` names: a folder's pictures, those that match `*`, `?` or `[...]`, those numbered by `%d` or
  /// `%03d`, or a single picture by its ending. `nil` for any other file. A file of that very name goes
  /// first. Throws where nothing is found.
  init?(_ text: String) throws(RunError) {
    let kind = fileKind(text)
    if kind == .folder {
      let all = namesMatching(escaped(text) + "/*").filter { fileKind($0).holdsBytes }
      let found = all.filter(Self.isPicture)
      guard !found.isEmpty else {
        throw RunError(
          .usage,
          "the folder \(text) has no pictures, of which the names end in "
            + Self.endings.sorted().map { ".\($0)" }.joined(separator: ", ") + "; name another one",
          change: .source)
      }
      self.init(inOrder: found)
      leftOut = all.count - found.count
    } else if kind.holdsBytes {
      guard Self.isPicture(text), Self.orientationOfFilm(text) == nil else { return nil }
      self.init(inOrder: [text])
    } else if let pattern = NumberPattern(text) {
      try self.init(pattern, text)
    } else if text.contains(where: { "*?[".contains($0) }) {
      try self.init(matching: text)
    } else {
      return nil
    }
  }

  private init(inOrder paths: [String]) {
    entries = inOrder(paths).enumerated().map { Entry(path: $1, place: UInt64($0)) }
  }

  /// Takes the pictures that match, by their names. Takes all that match if no name is that of a picture or
  /// of a movie, dump or sound.
  private init(matching text: String) throws(RunError) {
    let all = namesMatching(text).filter { fileKind($0).holdsBytes }
    guard !all.isEmpty else {
      throw RunError(
        .usage, "no file matches \(text); check the spelling, and quote it for the shell",
        change: .source)
    }
    let named = all.filter(Self.isPicture)
    if named.isEmpty { try Self.refuseMedia(all, text) }
    let found = named.isEmpty ? all : named
    self.init(inOrder: found)
    leftOut = all.count - found.count
  }

  /// Throws if a name is that of a movie, a dump or sound: a film of pictures would show only the first
  /// picture of a movie.
  private static func refuseMedia(_ paths: [String], _ text: String) throws(RunError) {
    guard let film = paths.first(where: FileSource.isNamedMedia) else { return }
    throw RunError(
      .usage,
      "\(text) matches movies or sound, and no pictures; name one of them alone, such as \(film)",
      change: .source)
  }

  private init(_ pattern: NumberPattern, _ text: String) throws(RunError) {
    let found = namesMatching(escaped(pattern.before) + "*" + escaped(pattern.after))
      .filter { fileKind($0).holdsBytes }
      .compactMap { path in pattern.number(of: path).map { (path, $0) } }
      .sorted { $0.1 < $1.1 }
    guard let first = found.first?.1 else {
      throw RunError(
        .usage, "no file is named \(text) with a number; check the spelling and the digits",
        change: .source)
    }
    try Self.refuseMedia(found.map(\.0), text)
    entries = found.map { Entry(path: $0.0, place: $0.1 - first) }
  }

  /// Returns the orientation of an animation: a GIF, an APNG or an animated AVIF, which gives each picture a
  /// time. Returns `nil` for other files, and for a file that cannot be read.
  static func orientationOfFilm(_ path: String) -> Orientation? {
    guard ["avif", "png"].contains(ending(of: path)) else {
      return ending(of: path) == "gif" ? .upright : nil
    }
    guard let file = try? WholeFileReader().read(path: path) else { return nil }
    let bytes = unsafe Span(_unsafeElements: file.bytes)
    let orientation = PictureFile.isFilm(bytes) ? PictureFile.orientation(of: bytes) : nil
    // The bytes are there as long as the file is.
    _ = consume file
    return orientation
  }

  /// Whether the name is that of a JPEG.
  static func namesJPEG(_ path: String) -> Bool {
    ["jfif", "jpe", "jpeg", "jpg"].contains(ending(of: path))
  }

  /// Whether the name is that of a TIFF.
  static func namesTIFF(_ path: String) -> Bool { ["tif", "tiff"].contains(ending(of: path)) }

  private static func isPicture(_ path: String) -> Bool { endings.contains(ending(of: path)) }
}

/// What follows the last dot, in lower case; empty without a dot.
private func ending(of path: String) -> String {
  path.lastIndex(of: ".").map { path[path.index(after: $0)...].lowercased() } ?? ""
}

/// A name with a number in it: `Z-%03d.png`.
struct NumberPattern: Equatable {
  let before: String
  let after: String
  /// Digits at least; 0: no zeros in front.
  let digits: Int

  /// `nil` where there is no `%d` or `%0Nd`, or more than one.
  init?(_ text: String) {
    let parts = text.split(separator: "%", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 2, let end = parts[1].firstIndex(of: "d") else { return nil }
    let width = parts[1][..<end]
    guard width.isEmpty || width.first == "0" && width.count <= 3,
      let digits = width.isEmpty ? 0 : Int(width)
    else { return nil }
    before = String(parts[0])
    after = String(parts[1][parts[1].index(after: end)...])
    self.digits = digits
  }

  /// The number in a name; `nil` if it does not match.
  func number(of name: String) -> UInt64? {
    guard name.hasPrefix(before), name.hasSuffix(after),
      name.utf8.count > before.utf8.count + after.utf8.count
    else { return nil }
    let text = name.utf8.dropFirst(before.utf8.count).dropLast(after.utf8.count)
    // As printf writes it: zeros in front only up to the width.
    guard text.allSatisfy({ 0x30...0x39 ~= $0 }), text.count >= digits, text.count <= 18,
      text.count == max(digits, 1) || text.first != 0x30
    else { return nil }
    return UInt64(String(text) ?? "")
  }
}

extension FileSource {
  /// Whether the name of a file ends as those of pictures do, a GIF and a DNG among them.
  package static func isNamedPicture(_ path: String) -> Bool {
    PictureNames.endings.contains(ending(of: path))
  }

  /// Whether the name of a file ends as those of movies, dumps and sound do.
  package static func isNamedMedia(_ path: String) -> Bool {
    isNamedSound(path) || filmEndings.contains(ending(of: path))
  }

  /// Whether the name of a file ends as those of sound alone do.
  package static func isNamedSound(_ path: String) -> Bool {
    soundEndings.contains(ending(of: path))
  }

  private static let filmEndings: Set<String> = [
    "3gp", "avi", "flv", "m2ts", "m4v", "mcap", "mjpeg", "mkv", "mov", "mp4", "mpe", "mpeg", "mpg",
    "mts",
    "mxf", "ogv", "ts", "vob", "webm", "wmv", "y4m",
  ]
  private static let soundEndings: Set<String> = [
    "aac", "aiff", "flac", "m4a", "mp3", "ogg", "opus", "wav", "wma",
  ]

  /// Paths of the files in a folder, or of those that match a pattern, sorted by name, without hidden files;
  /// none where `text` is the name of a file.
  package static func files(in text: String) -> [String] {
    let kind = fileKind(text)
    let pattern = kind == .folder ? escaped(text) + "/*" : text
    guard !kind.holdsBytes else { return [] }
    return inOrder(namesMatching(pattern).filter { fileKind($0).holdsBytes })
  }
}

/// Sorts paths by name. Numbers within names are compared by value: Z-9 comes before Z-10.
private func inOrder(_ paths: [String]) -> [String] {
  paths.sorted { comesBefore(Array($0.utf8), Array($1.utf8)) }
}

/// By bytes, but numbers by their value.
private func comesBefore(_ one: [UInt8], _ other: [UInt8]) -> Bool {
  var (left, right) = (one[...], other[...])
  while let a = left.first, let b = right.first {
    let (first, second) = (digits(left), digits(right))
    guard first.isEmpty || second.isEmpty else {
      let (x, y) = (first.drop { $0 == zero }, second.drop { $0 == zero })
      if x.count != y.count { return x.count < y.count }
      if x != y { return x.lexicographicallyPrecedes(y) }
      (left, right) = (left.dropFirst(first.count), right.dropFirst(second.count))
      continue
    }
    if a != b { return a < b }
    (left, right) = (left.dropFirst(), right.dropFirst())
  }
  if left.count != right.count { return left.count < right.count }
  return one.lexicographicallyPrecedes(other)
}

private let zero: UInt8 = 0x30

private func digits(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
  text.prefix { zero...0x39 ~= $0 }
}

enum FileKind {
  case none, folder, file
  /// A pipe or a device.
  case other

  var holdsBytes: Bool { self == .file || self == .other }
}

/// The corresponding C function is `stat`.
func fileKind(_ path: String) -> FileKind {
  var status = stat()
  guard unsafe stat(path, &status) == 0 else { return .none }
  switch status.st_mode & S_IFMT {
  case S_IFDIR: return .folder
  case S_IFREG: return .file
  default: return .other
  }
}

/// Files that match; hidden ones only where the pattern has the dot.
///
/// The corresponding C function is `glob`.
private func namesMatching(_ pattern: String) -> [String] {
  var found = unsafe glob_t()
  defer { unsafe globfree(&found) }
  guard unsafe glob(pattern, GLOB_NOSORT, nil, &found) == 0 else { return [] }
  return unsafe (0..<Int(found.gl_pathc)).compactMap { index in
    unsafe found.gl_pathv[index].map { unsafe String(cString: $0) }
  }
}

/// `text` with what `glob` takes for more than itself made plain.
private func escaped(_ text: String) -> String {
  text.reduce(into: "") { result, letter in
    if "*?[\\".contains(letter) { result.append("\\") }
    result.append(letter)
  }
}
