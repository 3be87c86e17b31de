internal import CSprocketALSA
internal import Glibc

/// An open PCM that sound is captured from.
///
/// Life: opened, narrowed down (``choose(_:)`` and so on, see `ALSACapture+Parameters`), ``configure``,
/// ``start``, then ``wait``, ``status`` and ``read`` on one thread. It is opened non-blocking: nothing but
/// ``wait`` waits.
///
/// The device is told never to stop by itself, so that it goes on counting when nobody reads: `available`
/// then exceeds the buffer by the number of samples that were overwritten. A driver may stop it all the same.
@safe
public struct ALSACapture: ~Copyable {
  let pcm: OpaquePointer
  /// What is possible, until `configure`; then what was chosen.
  let parameters: OpaquePointer
  let statusMemory: OpaquePointer
  /// What it was opened by.
  public let name: String

  /// Opens by any name that ALSA knows: `default`, `hw:1,0`, `plughw:CARD=USB`. Throws `.refused` for one
  /// that captures nothing interleaved.
  ///
  /// The corresponding C functions are `snd_pcm_open` and `snd_pcm_hw_params_any`.
  public init(name: String) throws(ALSAError) {
    self.name = name
    unsafe (pcm, parameters, statusMemory) = unsafe try Self.open(name)
  }

  private static func open(_ name: String) throws(ALSAError) -> (
    pcm: OpaquePointer, parameters: OpaquePointer, status: OpaquePointer
  ) {
    sprocket_alsa_be_quiet()
    var opened: OpaquePointer?
    var result = unsafe snd_pcm_open(
      &opened, name, SND_PCM_STREAM_CAPTURE, Int32(SND_PCM_NONBLOCK))
    guard result >= 0, let pcm = unsafe opened else {
      throw ALSAError(operation: "snd_pcm_open", result: result, name: name, isOpening: true)
    }
    var parameters: OpaquePointer?
    var status: OpaquePointer?
    result = unsafe snd_pcm_hw_params_malloc(&parameters)
    if result >= 0 { result = unsafe snd_pcm_status_malloc(&status) }
    if result >= 0 { result = unsafe snd_pcm_hw_params_any(pcm, parameters) }
    if result >= 0 {
      result = unsafe snd_pcm_hw_params_set_access(
        pcm, parameters, SND_PCM_ACCESS_RW_INTERLEAVED)
    }
    guard result >= 0, let parameters = unsafe parameters, let status = unsafe status else {
      unsafe snd_pcm_close(pcm)
      unsafe snd_pcm_hw_params_free(parameters)
      unsafe snd_pcm_status_free(status)
      throw ALSAError(operation: "snd_pcm_hw_params_any", result: result, name: name)
    }
    return unsafe (pcm, parameters, status)
  }

  /// The corresponding C function is `snd_pcm_close`.
  deinit {
    unsafe snd_pcm_close(pcm)
    unsafe snd_pcm_hw_params_free(parameters)
    unsafe snd_pcm_status_free(statusMemory)
  }

  /// Throws for what is below 0.
  func demand(_ result: Int32, _ operation: String) throws(ALSAError) {
    guard result < 0 else { return }
    throw ALSAError(operation: operation, result: result, name: name)
  }

  /// The card that it belongs to; `nil` for a PCM that stands for none, as a sound server's.
  ///
  /// The corresponding C function is `snd_pcm_info`.
  public func cardNumber() -> Int? {
    var info: OpaquePointer?
    guard unsafe snd_pcm_info_malloc(&info) >= 0, let info = unsafe info else { return nil }
    defer { unsafe snd_pcm_info_free(info) }
    guard unsafe snd_pcm_info(pcm, info) >= 0 else { return nil }
    let number = unsafe snd_pcm_info_get_card(info)
    return number < 0 ? nil : Int(number)
  }
}

// Capturing.

/// What `ALSACapture.status` tells.
public struct ALSAStatus: Sendable, Hashable {
  /// Samples that the device has and nobody has read; more than the buffer holds after an overrun.
  public var available: Int
  /// When it had them, on the clock of ``ALSASetup``.
  public var nanoseconds: Int64

  public init(available: Int, nanoseconds: Int64) {
    self.available = available
    self.nanoseconds = nanoseconds
  }
}

extension ALSACapture {
  /// Makes the device start. It can be called again after it was stopped.
  ///
  /// The corresponding C functions are `snd_pcm_prepare` and `snd_pcm_start`.
  public mutating func start() throws(ALSAError) {
    try demand(unsafe snd_pcm_prepare(pcm), "snd_pcm_prepare")
    try demand(unsafe snd_pcm_start(pcm), "snd_pcm_start")
  }

  /// Stops the device; what was not read is lost. Never fails in a way that matters.
  ///
  /// The corresponding C function is `snd_pcm_drop`.
  public mutating func stop() { unsafe _ = snd_pcm_drop(pcm) }

  /// Waits until a period can be read; false when the time is over before.
  ///
  /// The corresponding C function is `snd_pcm_wait`, which calls `poll`.
  public mutating func wait(milliseconds: Int32) throws(ALSAError) -> Bool {
    let result = unsafe snd_pcm_wait(pcm, milliseconds)
    if result == -EAGAIN || result == -EINTR { return false }
    // What a device says that was stopped without an overrun: its state tells.
    if result == -EIO { _ = try status() }
    try demand(result, "snd_pcm_wait")
    return result > 0
  }

  /// Where the device is, and when that was. Throws `.stopped` and the like where it does not run.
  ///
  /// The corresponding C function is `snd_pcm_status`.
  public mutating func status() throws(ALSAError) -> ALSAStatus {
    try demand(unsafe snd_pcm_status(pcm, statusMemory), "snd_pcm_status")
    let result: Int32
    switch unsafe snd_pcm_status_get_state(statusMemory) {
    case SND_PCM_STATE_RUNNING, SND_PCM_STATE_DRAINING: result = 0
    case SND_PCM_STATE_SUSPENDED: result = -ESTRPIPE
    case SND_PCM_STATE_DISCONNECTED: result = -ENODEV
    default: result = -EPIPE
    }
    try demand(result, "snd_pcm_status")
    return ALSAStatus(
      available: Int(unsafe snd_pcm_status_get_avail(statusMemory)),
      nanoseconds: unsafe sprocket_alsa_time(statusMemory))
  }

  /// Reads at most `count` samples to the start of `bytes`, which has room for them; returns how many, 0
  /// where there are none.
  ///
  /// The corresponding C function is `snd_pcm_readi`.
  public mutating func read(_ count: Int, into bytes: inout MutableSpan<UInt8>) throws(ALSAError)
    -> Int
  {
    let result = unsafe bytes.withUnsafeMutableBytes { buffer in
      precondition(
        unsafe snd_pcm_frames_to_bytes(pcm, count) <= buffer.count, "the samples do not fit in")
      return unsafe snd_pcm_readi(pcm, buffer.baseAddress, snd_pcm_uframes_t(count))
    }
    if result == -Int(EAGAIN) || result == -Int(EINTR) { return 0 }
    try demand(Int32(clamping: min(result, 0)), "snd_pcm_readi")
    return result
  }

  /// Passes over the oldest `count` samples; returns how many these were.
  ///
  /// The corresponding C function is `snd_pcm_forward`.
  public mutating func skip(_ count: Int) throws(ALSAError) -> Int {
    let result = unsafe snd_pcm_forward(pcm, snd_pcm_uframes_t(count))
    try demand(Int32(clamping: min(result, 0)), "snd_pcm_forward")
    return result
  }

  /// After the machine slept: whether the device is awake again, so that it can be started.
  ///
  /// The corresponding C function is `snd_pcm_resume`.
  public mutating func isAwake() -> Bool { unsafe snd_pcm_resume(pcm) != -EAGAIN }
}
