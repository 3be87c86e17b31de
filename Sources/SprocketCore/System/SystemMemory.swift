internal import Glibc

/// How much memory this process may still take, by the machine, its control groups and its limits.
package struct SystemMemory {
  /// Bytes that can become resident; `.max` where nobody says.
  package var available = Int.max
  /// Bytes of address space beyond the reserve; `.max` without a limit (`ulimit -v`).
  package var addressSpace = Int.max

  package init() {}

  /// Bytes of address space kept free for allocations during a run, by decoders, sinks and Swift, which ends
  /// the process if an allocation fails. Larger: more runs are refused under `ulimit -v`. By trial: 16 MB was
  /// too little for all sinks at once; a dump's chunks alone take 10 MB.
  package static let reserve = 32 << 20

  package static func now() -> SystemMemory {
    var memory = SystemMemory()
    if let text = kernelText("/proc/meminfo"),
      let kilobytes = number(after: "MemAvailable:", in: text)
    {
      memory.available = kilobytes * 1024
    }
    for folder in groups(kernelText("/proc/self/cgroup") ?? "") {
      memory.available = min(memory.available, left(inGroup: folder))
    }
    memory.addressSpace = addressSpaceLeft()
    return memory
  }

  /// Bytes of this process that were resident at its peak; 0 where the kernel does not say. `getrusage` would
  /// count those of the program that has started it.
  package static func peakResident() -> Int {
    kernelText("/proc/self/status").flatMap { number(after: "VmHWM:", in: $0) }.map { $0 * 1024 }
      ?? 0
  }

  /// Bytes of address space beyond the reserve; `.max` without a limit, which costs one system call.
  package static func addressSpaceLeft() -> Int {
    guard let limit = addressSpaceLimit() else { return .max }
    // The first number is the size of the address space in pages.
    let pages = kernelText("/proc/self/statm").flatMap { Int($0.prefix { $0 != " " }) } ?? 0
    return max(0, limit - pages * Int(sysconf(Int32(_SC_PAGESIZE))) - reserve)
  }

  /// Bytes; `nil` where there is none.
  package static func addressSpaceLimit() -> Int? {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0,
      limit.rlim_cur < rlim_t(Int.max)
    else { return nil }
    return Int(limit.rlim_cur)
  }

  /// Reserves memory. A page becomes resident when it is written. Returns `nil` if the address space left
  /// does not hold both this memory and the reserve.
  ///
  /// The corresponding C function is `mmap`.
  package static func map(_ byteCount: Int) -> UnsafeMutableRawPointer? {
    guard byteCount <= addressSpaceLeft() else { return nil }
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    let mapped = unsafe mmap(nil, byteCount, PROT_READ | PROT_WRITE, flags, -1, 0)
    return unsafe mapped == MAP_FAILED ? nil : mapped
  }

  /// A number of bytes in a common unit, with at least two digits.
  package static func text(_ bytes: Int) -> String {
    let units: [(shift: Int, name: String)] = [(30, "GB"), (20, "MB"), (10, "kB")]
    guard let unit = units.first(where: { bytes >> $0.shift >= 10 || $0.shift == 10 }) else {
      return "\(bytes) bytes"
    }
    return "\(bytes >> unit.shift) \(unit.name)"
  }

  /// Folders of the control groups that this process is in, whose limits hold for it: version 2 has one
  /// hierarchy, version 1 one for memory. In a container the path may be one of outside.
  package static func groups(_ text: String) -> [String] {
    var folders: [String] = []
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      let isUnified = parts[0] == "0" && parts[1].isEmpty
      guard isUnified || parts[1].split(separator: ",").contains("memory") else { continue }
      var folder = "/sys/fs/cgroup" + (isUnified ? "" : "/memory")
      folders.append(folder)
      for part in parts[2].split(separator: "/") {
        folder += "/\(part)"
        folders.append(folder)
      }
    }
    return folders
  }

  private static func left(inGroup folder: String) -> Int {
    func value(_ name: String) -> Int? {
      kernelText("\(folder)/\(name)").flatMap { Int($0.prefix { !$0.isNewline }) }
    }
    guard let limit = value("memory.max") ?? value("memory.limit_in_bytes"),
      let used = value("memory.current") ?? value("memory.usage_in_bytes")
    else { return .max }
    let statistics = kernelText("\(folder)/memory.stat") ?? ""
    return left(limit: limit, used: used, statistics: statistics)
  }

  /// Cached files count as used and can be given up, unless they are shared memory.
  package static func left(limit: Int, used: Int, statistics: String) -> Int {
    let file = number(after: "file", in: statistics) ?? number(after: "total_cache", in: statistics)
    let shared =
      number(after: "shmem", in: statistics) ?? number(after: "total_shmem", in: statistics)
    return max(0, limit - max(0, used - max(0, (file ?? 0) - (shared ?? 0))))
  }

  /// The number that follows a word at the beginning of a line.
  private static func number(after word: String, in text: String) -> Int? {
    // Splits bytes, because splitting a string by characters costs ten times more.
    let (space, tab) = (UInt8(ascii: " "), UInt8(ascii: "\t"))
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) where line.starts(with: word.utf8) {
      let parts = line.split { $0 == space || $0 == tab }
      if parts.count > 1, parts[0].count == word.utf8.count { return Int(Substring(parts[1])) }
    }
    return nil
  }
}

/// The first 16 kB of one of the kernel's files, such as /proc/meminfo; `nil` where it cannot be read.
package func kernelText(_ path: String) -> String? {
  fileBytes(path, atMost: 16_384).map { String(decoding: $0, as: UTF8.self) }
}

/// The first bytes of a file; `nil` where it cannot be read, or where a pipe's writer sends nothing for 5 s.
package func fileBytes(_ path: String, atMost limit: Int) -> [UInt8]? {
  let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  var status = stat()
  let isRegular = unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  var bytes: [UInt8] = []
  var piece = [UInt8](repeating: 0, count: 16_384)
  while bytes.count < limit {
    guard isRegular || isReadable(descriptor) else { return nil }
    let count = unsafe read(descriptor, &piece, min(piece.count, limit - bytes.count))
    if count < 0, errno == EINTR { continue }
    guard count >= 0 else { return nil }
    if count == 0 { break }
    bytes += piece[..<count]
  }
  return bytes
}

/// Longest wait in ms for the next bytes of a pipe. A larger value waits longer for a program that starts
/// slowly, and tells later that a pipe has no writer.
private let pipePatience: Int32 = 5_000

/// Waits until a pipe has bytes, or its writer has closed it. The corresponding C function is `poll`.
private func isReadable(_ descriptor: Int32) -> Bool {
  var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  let end = monotonicNow().clampedSum(Int64(pipePatience) * 1_000_000)
  while true {
    let count = unsafe poll(&request, 1, pipePatience)
    guard count < 0, errno == EINTR, monotonicNow() < end else { return count > 0 }
  }
}
