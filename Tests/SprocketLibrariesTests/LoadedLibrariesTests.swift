import Testing

@testable import SprocketLibraries

@Suite("Libraries that are loaded when needed") struct LoadedLibrariesTests {
  /// Tables of one function and of two.
  private typealias Number = @convention(c) (Double) -> Double
  private struct Two {
    let first: Number
    let second: Number
  }

  private static let mathematics = SharedLibrary("libm", major: 6)
  private static let absent = SharedLibrary("libsprocketnone", major: 7)

  /// A list of functions of the first library.
  private func list(_ names: StaticString...) -> (Int) -> LibraryFunction? {
    { index in
      unsafe LibraryFunction(
        library: 0,
        name: index < names.count
          ? UnsafeRawPointer(names[index].utf8Start).assumingMemoryBound(to: CChar.self) : nil)
    }
  }

  @Test func functionsComeInTheOrderOfTheList() throws {
    let loaded = unsafe LoadedLibraries<Two>([Self.mathematics], list("exp2", "sqrt"))
    #expect(loaded.error == nil)
    #expect(loaded.functions.first(5) == 32)
    #expect(loaded.functions.second(81) == 9)
  }

  @Test func absentLibrariesAreNamedTogether() {
    let other = SharedLibrary("libsprocketnot", major: 1)
    let loaded = unsafe LoadedLibraries<Number>(
      [Self.mathematics, Self.absent, other], list("exp2"))
    #expect(loaded.error == .absent([Self.absent, other]))
    #expect(
      loaded.error?.description
        == "libsprocketnone.so.7, libsprocketnot.so.1 are not installed here; install the Debian packages: "
        + "apt-get install libsprocketnone7 libsprocketnot1")
    let one = unsafe LoadedLibraries<Number>([Self.absent], list("exp2"))
    #expect(
      one.error?.description
        == "libsprocketnone.so.7 is not installed here; install the Debian package: apt-get install "
        + "libsprocketnone7")
  }

  @Test func functionThatIsMissingIsNamed() {
    let loaded = unsafe LoadedLibraries<Two>(
      [Self.mathematics], list("exp2", "sprocket_none"))
    #expect(loaded.error == .incomplete(Self.mathematics, function: "sprocket_none"))
    #expect(
      loaded.error?.description.hasPrefix("libm.so.6 has no function sprocket_none here")
        == true)
  }

  @Test func libraryWithoutVersionIsRefusedWhereOneIsNeeded() {
    let library = SharedLibrary("libm", major: 6, minor: 0)
    let loaded = unsafe LoadedLibraries<Number>([library], list("exp2"))
    #expect(loaded.error == .incomplete(library, function: "m_version"))
  }

  @Test func laterMinorVersionsAreTaken() {
    let library = SharedLibrary("libavformat", major: 59, minor: 27)
    let takes = { (major: UInt32, minor: UInt32) in
      library.takes(LibraryVersion(major << 16 | minor << 8 | 100))
    }
    #expect(takes(59, 27) && takes(59, 28))
    #expect(!takes(59, 26) && !takes(58, 99) && !takes(60, 27))
    #expect(library.versionFunction == "avformat_version")
    #expect(SharedLibrary("libzbar", major: 0).takes(LibraryVersion(0)))
  }

  @Test func otherVersionIsToldWithBoth() {
    let library = SharedLibrary("libavformat", major: 59, minor: 27)
    let error = LibraryError.otherVersion(library, found: LibraryVersion(59 << 16 | 16 << 8 | 100))
    #expect(
      error.description
        == "libavformat.so.59 has version 59.16 here, and 59.27 is needed; install a newer Debian package: "
        + "apt-get install libavformat59")
  }

  @Test func missingLibrariesEndAProgramThatCallsThem() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let absent = SharedLibrary("libsprocketnone", major: 7)
      _ = unsafe LoadedLibraries<@convention(c) () -> Void>([absent]) { _ in nil }.functions
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("libsprocketnone.so.7 is not installed here"))
  }
}
