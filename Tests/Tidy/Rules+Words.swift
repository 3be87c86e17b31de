// Words that do not belong into the repository.

/// A word that is banned, where, and what to do instead.
struct BannedWord: Sendable {
  let word: String
  /// Only where it is code of Swift: not in a comment, a string or another file.
  var inCode = false
  /// Only in files whose path begins so.
  var below = ""
  let instead: String
}

extension Rules {
  /// In pieces, because this file is read too.
  static let bannedWords: [BannedWord] =
    [
      BannedWord(word: "TO" + "DO", instead: "finish it, or write an issue"),
      BannedWord(word: "FIX" + "ME", instead: "finish it, or write an issue"),
      BannedWord(word: "XX" + "X", instead: "finish it, or write an issue"),
      BannedWord(word: "not imple" + "mented", instead: "leave it out until it works"),
      BannedWord(word: "not yet imple" + "mented", instead: "leave it out until it works"),
      BannedWord(word: "place" + "holder", instead: "leave it out until it works"),
      BannedWord(word: "Being bu" + "ilt", instead: "leave it out until it works"),
      BannedWord(word: "stub" + "bed", instead: "leave it out until it works"),
      BannedWord(
        word: "try!", inCode: true, instead: "handle the error, or let the test throw"),
      BannedWord(word: "as!", inCode: true, instead: "cast with `as?` and say what was expected"),
      BannedWord(
        word: "fatalError(", inCode: true,
        instead: "use `preconditionFailure` with a message that one can act on"),
      BannedWord(
        word: ".sequentiallyConsistent", inCode: true,
        instead: "let both sides use a read-modify-write on one word (R7)"),
      BannedWord(
        word: "atomicMemoryFence", inCode: true,
        instead: "use acquire and release; ThreadSanitizer does not model fences (R7)"),
      BannedWord(
        word: "DispatchQueue", inCode: true, below: "Sources",
        instead: "threads are the engine's, in one file"),
    ]
    + ["Sprocket", "SprocketCommandLine", "SprocketEngine", "SprocketSinks", "SprocketSources"].map
  {
    BannedWord(
      word: "Mutex", inCode: true, below: "Sources/\($0)/",
      instead: "use `Locked`, whose lock ThreadSanitizer sees")
  }

  static let saysNoBannedWord: Rule = { tree in
    tree.files.filter { $0.path != "Tests/Tidy/Rules+Words.swift" && $0.name != "LICENSE" }
      .flatMap { file in
        bannedWords.filter { file.path.hasPrefix($0.below) && (!$0.inCode || file.isSwift) }
          .flatMap { banned in
            file.lines(with: banned.word, inCode: banned.inCode).map {
              Finding(file, line: $0, "says `\(banned.word)`; \(banned.instead)")
            }
          }
      }
  }

  /// Machine paths and registry hosts tie the repository to one place.
  static let namesNoMachine: Rule = { tree in
    let homes = ["work", "root", "home", "farm", "Users", "opt", "tmp/bash_jobs"]
    let hosts = ["pypi" + ".org", "python" + "hosted.org", "deb.debian" + ".org"]
    return tree.files.filter { $0.path != "Tests/Tidy/Rules+Words.swift" }.flatMap { file in
      homes.flatMap { home in
        file.lines(with: "/\(home)/", inCode: false).filter { line in
          beginsAbsolutePath(file.lines[line], "/\(home)/")
        }.map { Finding(file, line: $0, "names a machine's path, /\(home)/; make it relative") }
      }
        + hosts.flatMap { host in
          file.lines(with: host, inCode: false).map {
            Finding(file, line: $0, "names the host \(host); leave it to the tool's own settings")
          }
        }
    }
  }

  private static func beginsAbsolutePath(_ line: Substring, _ path: String) -> Bool {
    line.ranges(of: path).contains { range in
      guard range.lowerBound > line.startIndex else { return true }
      let before = line[line.index(before: range.lowerBound)]
      return !(before.isLetter || before.isNumber || ".)}$*_-".contains(before))
    }
  }
}

extension File {
  /// The lines that hold `word`, counted from 0.
  func lines(with word: String, inCode: Bool) -> [Int] {
    inCode
      ? code.indices.filter { code[$0].contains(word) }
      : lines.indices.filter { lines[$0].contains(word) }
  }
}
