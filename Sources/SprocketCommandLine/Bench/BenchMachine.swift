internal import CSprocketCalls
internal import FoundationEssentials
internal import Sprocket

/// Resource use of the process and the machine at one moment.
struct BenchMoment {
  /// Nanoseconds: the monotonic clock, and CPU time of this process on all cores.
  let time, own: Int64
  /// Kernel ticks: CPU time of all cores together, and time stolen by other virtual machines.
  let busy, stolen: Int
  let switches: Int
  let allocations: UInt
  /// In the order of `BenchCounters.events`; `nil` if they are not counted.
  let counts: [Double]?

  /// Reads the slow file /proc/stat before the first moment and after the last, so that reading it is not
  /// measured.
  static func now(isFirst: Bool, _ counters: HardwareCounters?) -> BenchMoment {
    let before = isFirst ? ticks() : nil
    let allocations = sprocket_call_count()
    let counts = counters?.read()
    let (time, own, switches) = (monotonicNow(), processCPUTime(), involuntarySwitches())
    let (busy, stolen) = before ?? ticks()
    return BenchMoment(
      time: time, own: own, busy: busy, stolen: stolen, switches: switches,
      allocations: allocations, counts: counts)
  }

  /// The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal; see proc(5).
  private static func ticks() -> (busy: Int, stolen: Int) {
    let line = kernelText("/proc/stat")?.prefix { !$0.isNewline } ?? ""
    let numbers = line.split(separator: " ").dropFirst().map { Int($0) ?? 0 }
    guard numbers.count >= 8 else { return (0, 0) }
    return (numbers[0] + numbers[1] + numbers[2] + numbers[5] + numbers[6], numbers[7])
  }
}

/// How much other programs disturbed a round.
struct BenchDisturbance: Codable {
  /// Number of cores used by other programs, and by other virtual machines, on average.
  let others, stolen: Double
  /// Number of times a thread was preempted.
  let switches: Int

  /// Ticks per second in /proc/stat (USER_HZ), the same for every program.
  private static let ticksPerSecond = 100.0

  init(others: Double, stolen: Double, switches: Int) {
    (self.others, self.stolen, self.switches) = (others, stolen, switches)
  }

  init(from first: BenchMoment, to last: BenchMoment) {
    let seconds = max(Double(last.time - first.time) / 1e9, 1e-9)
    let own = Double(last.own - first.own) / 1e9
    let busy = Double(last.busy - first.busy) / Self.ticksPerSecond
    others = max(0, busy - own) / seconds
    stolen = Double(last.stolen - first.stolen) / Self.ticksPerSecond / seconds
    switches = last.switches - first.switches
  }

  /// Number of cores above which a disturbance is reported. Smaller values are the kernel's own work and the
  /// resolution of ticks in a short round.
  static let tolerated = 0.1

  var isTold: Bool { others > Self.tolerated || stolen > Self.tolerated }
}

/// Machine and program of a measurement.
struct BenchMachine: Codable, Equatable {
  let processor: String
  let cores: Int
  let program: String
  /// Read from the program's file: its compiler, and its digest (FNV-1a, 64 bits).
  let compiler, build: String
  let isOptimized: Bool
  /// What sets the clock rate, as the kernel names it; `nil` if it does not say.
  let governor: String?
  /// Cores of `--cpu`; `nil` for all.
  let pinned: [Int32]?

  /// Most bytes of the program's file that are read. Larger than any program.
  private static let mostBytes = 1 << 30

  /// Whether this program is a release build.
  static var isOptimized: Bool { !_isDebugAssertConfiguration() }

  init(pinned: [Int32]? = nil) {
    self.pinned = pinned
    let governors = (0..<processorCount()).compactMap { core in
      kernelText("/sys/devices/system/cpu/cpu\(core)/cpufreq/scaling_governor")?.split(
        whereSeparator: \.isWhitespace
      ).first
    }
    governor = governors.isEmpty ? nil : Set(governors).sorted().joined(separator: ", ")
    let line = kernelText("/proc/cpuinfo")?.split(separator: "\n").first {
      $0.hasPrefix("model name")
    }
    processor =
      line?.split(separator: ":", maxSplits: 1).last.map { String($0.drop { $0 == " " }) }
      ?? "unknown"
    cores = processorCount()
    program = "\(programName) \(sprocketVersion)"
    let file = fileBytes("/proc/self/exe", atMost: Self.mostBytes) ?? []
    compiler = Self.compiler(file)
    var digest: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in file { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01b3 }
    build = String(digest, radix: 16)
    isOptimized = Self.isOptimized
  }

  /// The text that the compiler wrote into the section `.comment`.
  private static func compiler(_ file: [UInt8]) -> String {
    guard let found = Data(file).lastRange(of: Data("clang version ".utf8)) else {
      return "unknown"
    }
    let text = file[found.lowerBound...].prefix(200).prefix { $0 >= 0x20 && $0 < 0x7f }
    return String(decoding: text, as: UTF8.self)
  }

  func isComparable(with earlier: BenchMachine) -> Bool {
    processor == earlier.processor && cores == earlier.cores
  }

  /// What differs from an earlier result's machine, one sentence each.
  func differences(from earlier: BenchMachine) -> [String] {
    var lines: [String] = []
    if !isComparable(with: earlier) {
      lines.append(
        "another processor: \(cores) cores of \(processor), before \(earlier.cores) cores of "
          + earlier.processor)
    }
    if compiler != earlier.compiler || isOptimized != earlier.isOptimized {
      lines.append("another compiler: \(description), before \(earlier.description)")
    }
    if governor != earlier.governor {
      lines.append(
        "another governor: \(governor ?? "not known"), before \(earlier.governor ?? "not known")")
    }
    if pinned != earlier.pinned {
      func words(_ cores: [Int32]?) -> String {
        cores.map(coreText) ?? "all"
      }
      lines.append("other cores: \(words(pinned)), before \(words(earlier.pinned)) (--cpu)")
    }
    if build != earlier.build {
      lines.append("another build: \(program) \(build), before \(earlier.program) \(earlier.build)")
    }
    return lines
  }

  private var description: String { "\(compiler), \(isOptimized ? "release" : "debug")" }
}
