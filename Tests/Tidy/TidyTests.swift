// Style as a test: the rules, held against the repository.

import Foundation
import Testing

@Suite("The repository is tidy")
struct TidyTests {
  struct Claim: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let rule: Rule

    init(_ words: String, _ rule: @escaping Rule) {
      testDescription = words
      self.rule = rule
    }
  }

  static let claims = [
    Claim("files are short", Rules.filesAreShort),
    Claim("functions are short", Rules.functionsAreShort),
    Claim("lines are short", Rules.linesAreShort),
    Claim("lines end cleanly", Rules.linesEndCleanly),
    Claim("no banned word is said", Rules.saysNoBannedWord),
    Claim("no machine is named", Rules.namesNoMachine),
    Claim("unsafe stays in its places", Rules.unsafeStaysInItsPlaces),
    Claim("sendability is checked", Rules.sendabilityIsChecked),
    Claim("rooms import only their neighbours", Rules.roomsImportOnlyTheirNeighbours),
    Claim("text stays at the doors", Rules.textStaysAtTheDoors),
    Claim("each library has one wrapper", Rules.eachLibraryHasOneWrapper),
    Claim("listed functions are called", Rules.listedFunctionsAreCalled),
    Claim("every stage is listed", Rules.everyStageIsListed),
    Claim("lists are alphabetical", Rules.listsAreAlphabetical),
    Claim("every file is mentioned", Rules.everyFileIsMentioned),
    Claim("files are small", Rules.filesAreSmall),
    Claim("changes are told", Rules.changesAreTold),
    Claim("the README names the two commands", Rules.readmeNamesTheTwoCommands),
    Claim("reports are public and documented", Rules.reportsAreDocumented),
    Claim("links lead somewhere", Rules.linksLeadSomewhere),
  ]

  @Test(arguments: claims)
  func holds(_ claim: Claim) throws {
    let findings = claim.rule(try Tree.repository.get())
    for finding in findings { Issue.record("\(finding)") }
  }

  /// A tree without git's records (an unpacked archive) tracks nothing.
  @Test func tracksNothingThatIsIgnored() throws {
    let git = Process()
    let output = Pipe()
    git.executableURL = URL(filePath: "/usr/bin/env")
    git.arguments = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    git.currentDirectoryURL = Tree.root
    git.standardOutput = output
    git.standardError = Pipe()
    try git.run()
    let names = try output.fileHandleForReading.readToEnd() ?? Data()
    git.waitUntilExit()
    for name in String(decoding: names, as: UTF8.self).split(separator: "\n") {
      Issue.record("\(name):1: is tracked, but .gitignore names it; run `git rm --cached` on it")
    }
  }
}
