internal import Glibc

// What libFuzzer, whose `main` this program has, calls with each input.

/// The corresponding C function is `LLVMFuzzerTestOneInput`.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
  target.feed(input)
  return 0
}

/// The one that the environment names: one program for all takes one build.
private let target: FuzzTarget = {
  let name = unsafe getenv("SPROCKET_FUZZ_TARGET").map { unsafe String(cString: $0) }
  guard let found = FuzzTarget.all.first(where: { $0.name == name }) else {
    print("SPROCKET_FUZZ_TARGET is", FuzzTarget.all.map(\.name).joined(separator: " or "))
    exit(2)
  }
  return found
}()
