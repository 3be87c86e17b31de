// The files of the repository, as the rules read them.

import Foundation

/// A text file of the repository.
struct File: Sendable {
  /// Relative to the repository's root.
  let path: String
  let text: String
  let lines: [Substring]
  /// For a Swift file, its lines with comments and strings blanked out; otherwise `lines`.
  let code: [String]

  init(path: String, text: String) {
    self.path = path
    self.text = text
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    code =
      path.hasSuffix(".swift")
      ? SwiftCode.blanked(text).split(separator: "\n", omittingEmptySubsequences: false).map {
        String($0)
      } : lines.map { String($0) }
  }

  var isSwift: Bool { path.hasSuffix(".swift") }
  var name: String { String(path.split(separator: "/").last ?? "") }

  /// `Sources/X/...` is of module X, `Plugins/X/...` of X too, unless it is a test.
  var module: String? {
    let parts = path.split(separator: "/")
    guard parts.count > 2, ["Sources", "Plugins"].contains(parts[0]), parts[2] != "Tests" else {
      return nil
    }
    return String(parts[1])
  }
}

/// The repository, or a small one made up by a test.
struct Tree: Sendable {
  let files: [File]
  /// Files that are not text: their sizes in bytes by path.
  var others: [String: Int] = [:]

  init(_ texts: [String: String]) {
    files = texts.sorted { $0.key < $1.key }.map { File(path: $0.key, text: $0.value) }
  }

  /// Reads the tree below `root`, leaving out what `.gitignore` names.
  init(root: URL) throws {
    let ignored = try String(contentsOf: root.appending(path: ".gitignore"), encoding: .utf8)
      .split(separator: "\n").map { $0.trimmingCharacters(in: ["/"]) }
    var texts: [String: String] = [:]
    var others: [String: Int] = [:]
    let walk = FileManager.default.enumerator(atPath: root.path)
    while let path = walk?.nextObject() as? String {
      let name = String(path.split(separator: "/").last ?? "")
      if name == ".git" || ignored.contains(name) {
        walk?.skipDescendants()
        continue
      }
      let url = root.appending(path: path)
      guard try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else {
        continue
      }
      let data = try Data(contentsOf: url)
      // Inputs of the fuzzer are bytes, even where they look like text.
      let isInput = path.hasPrefix("Tests/Fuzz/Corpus/")
      if !isInput, let text = String(data: data, encoding: .utf8) {
        texts[path] = text
      } else {
        others[path] = data.count
      }
    }
    self.init(texts)
    self.others = others
  }

  /// Where the repository is that this file belongs to.
  static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  static let repository = Result { try Tree(root: root) }

  subscript(path: String) -> File? { files.first { $0.path == path } }
}

/// Something that a rule found, as a sentence that starts with the place.
struct Finding: CustomStringConvertible, Hashable {
  let path: String
  let line: Int
  let sentence: String

  init(_ file: File, line index: Int = 0, _ sentence: String) {
    self.init(file.path, line: index, sentence)
  }

  /// `line` counts from 0.
  init(_ path: String, line index: Int = 0, _ sentence: String) {
    self.path = path
    line = index + 1
    self.sentence = sentence
  }

  var description: String { "\(path):\(line): \(sentence)" }
}

/// A rule reads a tree and says what is wrong with it.
typealias Rule = @Sendable (Tree) -> [Finding]
