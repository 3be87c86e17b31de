internal import Glibc
internal import SprocketCore

/// Descriptors that the program was started with. A sink names one as `fd:4`, and each can be taken once. A
/// client must not name any other descriptor: that may be a recording or a socket of the program.
public enum GivenDescriptors {
  /// Descriptors that can be taken; `nil` before `note`.
  private static let free = Locked<Set<Int32>?>(nil)
  /// Numbers from 3 to below this are looked at. Larger: programs with more open files may start this one,
  /// and its start takes longer, by some 100 ns for each.
  private static let end: Int32 = 4096

  /// Stores which descriptors are open now, without the standard ones. The program has to call it before it
  /// opens a file. If it is not called, any open descriptor can be taken. The corresponding C function is
  /// `fcntl`.
  public static func note() {
    let open = (3..<end).filter { fcntl($0, F_GETFD) >= 0 }
    free.withLock { $0 = Set(open) }
  }

  /// Takes a descriptor. Throws if the program was not started with it, or if it was taken before.
  static func take(_ number: Int32, _ what: String) throws(RunError) -> GivenDescriptor {
    let copy = free.withLock { free -> Int32 in
      guard free?.contains(number) ?? true else { return -1 }
      let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
      if copy >= 0 { free?.remove(number) }
      return copy
    }
    guard copy >= 0 else {
      throw RunError(
        .usage,
        "\(what): the program was not started with descriptor \(number), or it is taken; give the number of "
          + "one that it was started with")
    }
    return GivenDescriptor(number, copy: copy)
  }

  fileprivate static func giveBack(_ number: Int32) { free.withLock { _ = $0?.insert(number) } }
}

/// A descriptor that a sink has taken. If the sink is released before it used the descriptor, because the run
/// refused the sink, the descriptor can be taken again.
final class GivenDescriptor {
  private let number: Int32
  /// Another number of the same open file. Its taker closes it.
  let copy: Int32
  private var isUsed = false

  fileprivate init(_ number: Int32, copy: Int32) { (self.number, self.copy) = (number, copy) }

  /// Closes the number that was given, so that the copy is the only one.
  func use() {
    guard !isUsed else { return }
    isUsed = true
    close(number)
  }

  deinit { if !isUsed { GivenDescriptors.giveBack(number) } }
}
