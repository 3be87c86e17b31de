public import SprocketCore
internal import SprocketFiles
internal import SprocketLibAV

// Recordings on demand.
extension MovieSink {
  /// Makes the file, empty and under its partial name.
  public func prepare(_ order: RecordingOrder) throws(RunError) -> any RecordingFile {
    let asked = order.path.map { OutputName($0) } ?? pattern
    let container = try Self.container(asked.path)
    _ = try sound.check(container, asked.path)
    let name = try takeName(asked, order.index)
    let room = asked == pattern ? keptTotal?.makeRoom() : nil
    let file = try make(
      name, container, isMadeUp: order.isMadeUp || asked.hasNumber, sound: sound)
    file.choice = choice?.value ?? file.choice
    file.note(room)
    return file
  }

  func make(
    _ name: MovieName, _ container: MovieContainer, isMadeUp: Bool, sound: MovieSound
  ) throws(RunError) -> MovieRecording {
    try MovieRecording(
      name, container: container, overwrite: overwrite, isMadeUp: isMadeUp, sound: sound,
      constantRate: constantRate, hasReports: reports != nil, sync: sync, keptTotal: keptTotal)
  }

  /// Throws if the first file could not be made: makes it, and removes it.
  func checkName(_ container: MovieContainer) throws(RunError) {
    try make(
      try takeName(pattern, 1), container, isMadeUp: pattern.hasNumber, sound: MovieSound()
    ).abandon()
  }

  public func begin(_ file: any RecordingFile) throws(RunError) {
    guard let file = file as? MovieRecording else {
      contractBroken("begins a movie that its `prepare` did not make; begin what it returned")
    }
    // Of frames that no recording has.
    reports?.removeAll()
    describe(file)
    recording = file
  }

  public func withHeldBytes(of frame: borrowing PackedFrame, _ body: (Span<UInt8>) -> Void) {
    let bytes = passesPackets ? frame.view.packet : needs == nil ? frame.view.encoded : frame.packed
    guard reports != nil else { return body(bytes) }
    // Out of the property: what is called may keep another frame, and write lines.
    var kept = keptText.take() ?? TextBuffer()
    // A text in memory takes every line.
    try? reports?.keep(frame, bytes, in: &kept)
    kept.withBytes(body)
    keptText = consume kept
  }

  public func write(held bytes: Span<UInt8>, _ record: FrameRecord) throws(RunError) {
    guard reports != nil else { return try write(image: bytes, record) }
    let parts = MovieReports.parts(of: bytes)
    try write(image: bytes.extracting(parts.frame), record)
    reports?.add(lines: bytes.extracting(parts.lines))
    try writeReports()
  }

  /// Writes the camera's own bytes, or those that a packer made.
  func write(image bytes: Span<UInt8>, _ record: FrameRecord) throws(RunError) {
    if encoding != nil {
      try recording?.write(kept: bytes, record)
    } else if needs == nil, !passesPackets {
      try recording?.write(
        complete: bytes, hasFieldImages: format?.hasFieldImages ?? false, record)
    } else {
      try recording?.write(bytes, record)
    }
  }

  public func pause(before next: Timestamp?) -> Int64? {
    try? writeReports()
    // An error is the file's, and the next frame's `write` tells it.
    return (try? recording?.pause(before: next)) ?? nil
  }

  public func end(before next: Timestamp?) {
    if let recording { count(recording) }
    // Of frames that were lost behind the last one; an error is the file's.
    try? writeReports()
    // An error is the file's, and its `finish` tells it.
    try? recording?.endSound(before: next)
    recording = nil
  }
}
