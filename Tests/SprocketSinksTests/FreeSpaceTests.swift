import SprocketFiles
import TestExpectations
import Testing

@Suite struct FreeSpaceTests {
  @Test func whatAFileSystemDoesNotKnowIsNotBelieved() {
    expectEqual(FileCalls.freeByteCount(blocks: 5, of: 10, size: 4096), 20_480)
    // ext4 says so beyond a quota, and FUSE without an answer.
    expectEqual(FileCalls.freeByteCount(blocks: .max, of: 10, size: 4096), nil)
    expectEqual(FileCalls.freeByteCount(blocks: .max, of: .max, size: 4096), nil)
  }
}
