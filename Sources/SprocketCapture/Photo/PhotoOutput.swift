public import Sprocket
internal import SprocketPipelines

/// Photographs on request, while a session runs.
///
///     let photo = try await photos.photo()
///     try photo.write(to: "first.jpg")
///
/// A photograph is the first frame that was exposed after the asking. It is made of the stream that the
/// session runs, at its size; nothing is packed while none is asked for. Captures may overlap.
public final class PhotoOutput: TakesVideo, SessionOutput {
  public let core = OutputCore("photo")
  let takes: Set<CaptureDevice.MediaType> = [.video]
  /// What captures may ask for.
  public let formats: [PhotoFormat]
  private let quality: Int
  private let hasThumbnails: Bool
  private let mosaic: MosaicLevels
  private let liveMovies: LiveMovies?
  private let preRoll: PreRoll?
  private let turn = OrientationSetting()
  /// What a live photo's movie has of its own.
  let liveChoice = MovieChoice()
  let captures = Locked<[Int64: PhotoProgress]>([:])
  /// The size of the run's photographs, by format.
  private let sizes = Locked<[PhotoFormat: CameraSize]>([:])

  /// - Parameters:
  ///   - formats: each that captures may ask for has room in every frame's memory. With `.dng` the session
  ///     needs a camera that gives a Bayer sensor's mosaic.
  ///   - quality: 1 to 100, of JPEGs that are encoded. A camera's own JPEGs are taken as they are.
  ///   - hasThumbnails: whether JPEGs have a thumbnail in their EXIF.
  ///   - mosaic: levels and white balance for `.dng`.
  ///   - preRoll: frames that are kept so that a capture may ask for one of a past moment
  ///     (`PhotoSettings.moment`). Every frame is then packed, in each format.
  ///   - liveMovies: for live photos. Every frame is then packed, so that a movie has the time before it.
  public init(
    formats: [PhotoFormat] = [.jpeg], quality: Int = 90, hasThumbnails: Bool = true,
    mosaic: MosaicLevels = MosaicLevels(), preRoll: PreRoll? = nil, liveMovies: LiveMovies? = nil
  ) {
    (self.liveMovies, self.preRoll) = (liveMovies, preRoll)
    (self.formats, self.quality) = (formats, quality)
    (self.hasThumbnails, self.mosaic) = (hasThumbnails, mosaic)
    core.state.withLock { [turn] in $0.turn = turn }
  }

  /// How live photos are made.
  public struct LiveMovies: Sendable, Hashable {
    /// What a movie has before the photograph, and after it.
    public var before: Duration
    public var after: Duration

    public init(before: Duration = .milliseconds(1500), after: Duration = .milliseconds(1500)) {
      (self.before, self.after) = (before, after)
    }
  }

  /// How long each exposure of a capture may take: a camera that was unplugged gives none. Larger: a capture
  /// waits longer for it. A live photo also has the time of its movie.
  static let limit = Duration.seconds(30)

  private func giveUp(_ id: Int64, _ run: SessionRun) {
    let asked = captures.withLock { captures -> [RecordingID] in
      guard let progress = captures[id] else { return [] }
      progress.stopSequence()
      return Array(progress.recordings.keys) + [progress.live].compactMap { $0 }
    }
    for recording in asked { _ = try? run.engine?.ask([.stop(recording)]) }
    let error = CaptureError(.timedOut, "no frame has come for the photograph in time")
    update(id) { progress in
      progress.fail(error)
      progress.release()
    }
  }

  var neededPixels: @Sendable (PixelFormat) -> Bool {
    let needsMosaic = formats.contains(.dng)
    return { !needsMosaic || $0.isBayer }
  }

  func makeSinks(_ setup: OutputSetup) throws(CaptureError) -> [any Sink] {
    var sinks: [any Sink] = formats.map { format in
      PhotoSink(
        sinkName(format), format: format, quality: quality, hasThumbnail: hasThumbnails,
        mosaic: mosaic, turn: turn, preRoll: preRoll,
        onSize: { [weak self] width, height in
          self?.sizes.withLock { $0[format] = CameraSize(width, height) }
        }, onPhoto: { [weak self] file in self?.take(file) })
    }
    if let liveMovies {
      var limits = RecordingLimits()
      limits.endsAtDiscontinuity = true
      let (taps, late) = try setup.sound(for: core)
      let movie = MovieSink(
        liveName, path: "live.mov", hasOwnPaths: true, turn: turn, quality: quality,
        isOnDemand: true, limits: limits, preRoll: PreRoll(liveMovies.before),
        sound: taps, lateSound: late)
      movie.choice = liveChoice
      sinks.append(movie)
    }
    return sinks
  }

  var part: Part {
    var settings = StillSettings()
    (settings.isOnDemand, settings.quality, settings.thumbnail) = (true, quality, hasThumbnails)
    settings.preRoll = preRoll?.duration ?? .zero
    if let preRoll { settings.preRollMemory = ByteCount(preRoll.bytes) }
    return Part(StillSink.kind.name, id: core.name, settings)
  }

  private var liveName: String { "\(core.name)-live" }

  private func sinkName(_ format: PhotoFormat) -> String { "\(core.name)-\(format.name)" }

  // MARK: Capturing

  /// Takes photographs. Returns at once; the sequence tells of everything that happens, and may be ignored.
  ///
  /// Throws if the output is part of no running session, if its link is disabled, if a format was not
  /// declared, if the bracket cannot be made, if there is no flash, if moments are not kept, and if 64
  /// requests wait.
  public func capture(_ settings: consuming PhotoSettings) throws(CaptureError) -> PhotoCapture {
    let run = try core.requireRun("the photo output")
    let (bracket, moment, metadata) = (settings.bracket, settings.moment, settings.metadata)
    let resolved = try resolve(settings, run)
    let (events, reader) = AsyncStream.makeStream(of: PhotoEvent.self)
    let id = resolved.uniqueID
    try core.ask("the photo output") { now throws(CaptureError) in
      let error: CaptureError? = captures.withLock { captures in
        guard now === run else { return CaptureError(.cancelled, "the session has stopped") }
        if resolved.livePhotoMoviePath != nil, captures.values.contains(where: { $0.live != nil }) {
          return CaptureError(.busy, "another live photo is under way; ask again when it has ended")
        }
        captures[id] = PhotoProgress(resolved, bracket: bracket, metadata, reader)
        let error =
          bracket.isEmpty
          ? Self.ask(self, run, moment, &captures[id]) : Self.ask(self, run, bracket, &captures[id])
        if error != nil { captures[id] = nil }
        return error
      }
      if let error { throw error }
    }
    let limit = Self.limit * max(1, bracket.count)
    let timer = Task { [weak self] in
      do { try await Task.sleep(for: limit) } catch { return }
      self?.giveUp(id, run)
    }
    reader.onTermination = { _ in timer.cancel() }
    return PhotoCapture(resolved: resolved, events: events)
  }

  /// Takes one photograph, and waits for it: the first of those that the settings ask for.
  public func photo(
    _ settings: consuming PhotoSettings = PhotoSettings()
  ) async throws(CaptureError) -> CapturedPhoto {
    var first: CapturedPhoto?
    for await case .photo(let photo) in try capture(settings) { first = first ?? photo }
    guard let first else {
      throw CaptureError(.cancelled, "the task was cancelled before the photograph was taken")
    }
    if let error = first.error { throw error }
    return first
  }

  private func resolve(
    _ settings: borrowing PhotoSettings, _ run: SessionRun
  ) throws(CaptureError) -> ResolvedPhotoSettings {
    guard core.link.isEnabled else {
      throw CaptureError(.settingsRefused, "the link of the photo output is disabled; enable it")
    }
    guard let camera = run.device else {
      throw CaptureError(.noInput, "the session has no camera; add one to take photographs")
    }
    guard !settings.formats.isEmpty, Set(settings.formats).count == settings.formats.count else {
      throw CaptureError(.settingsRefused, "a capture asks for one format or more, each once")
    }
    for format in settings.formats where !formats.contains(format) {
      throw CaptureError(
        .settingsRefused,
        "this photo output was not made for \(format); name it in PhotoOutput(formats:)")
    }
    guard settings.bracket.count <= Self.maxBracketedCapturePhotoCount else {
      throw CaptureError(
        .settingsRefused,
        "a bracket has at most \(Self.maxBracketedCapturePhotoCount) steps, not \(settings.bracket.count)"
      )
    }
    guard settings.metadata.tags.all.isEmpty else {
      throw CaptureError(
        .settingsRefused, "a photograph's EXIF has no tags of one's own; leave out metadata.tags")
    }
    if !settings.bracket.isEmpty { _ = try run.plan(settings.bracket) }
    if settings.flashMode == .on { throw camera.noFlash }
    if settings.moment != .next, preRoll == nil || !settings.bracket.isEmpty {
      throw CaptureError(
        .settingsRefused,
        "a photograph of a moment needs PhotoOutput(preRoll:), and is taken without a bracket")
    }
    if settings.livePhotoMoviePath != nil, liveMovies == nil || !settings.bracket.isEmpty {
      throw CaptureError(
        .settingsRefused,
        "a live photo needs PhotoOutput(liveMovies:), and is taken without a bracket")
    }
    let size = sizes.withLock { [format = settings.formats[0]] in $0[format] }
    return ResolvedPhotoSettings(
      uniqueID: settings.uniqueID, size: size ?? CameraSize(0, 0),
      formats: settings.formats,
      expectedPhotoCount: settings.formats.count * max(1, settings.bracket.count),
      bracketCount: settings.bracket.count, isFlashEnabled: false,
      livePhotoMoviePath: settings.livePhotoMoviePath)
  }

  /// Requests for a photograph of each format.
  func requests(
    _ resolved: ResolvedPhotoSettings, step: Int, _ rule: FrameChoice.Rule? = nil
  ) -> [Request] {
    resolved.formats.map { format in
      let (sink, path) = (sinkName(format), "\(resolved.uniqueID)/\(step)")
      return rule.map { .choose(sink: sink, path: path, FrameChoice($0)) }
        ?? .record(sink: sink, path: path, frames: 1)
    }
  }

  /// Asks for a photograph of each format. Under the lock, so that none comes before it is expected.
  private static func ask(
    _ output: PhotoOutput, _ run: SessionRun, _ moment: PhotoMoment,
    _ progress: inout PhotoProgress?
  ) -> CaptureError? {
    guard let resolved = progress?.resolved, let engine = run.engine else {
      return CaptureError(.cancelled, "the session has stopped")
    }
    var requests = output.requests(resolved, step: 0, moment.choice?.rule)
    if let path = resolved.livePhotoMoviePath {
      requests.append(.record(sink: output.liveName, path: path))
    }
    do throws(RunError) {
      let now = Timestamp(nanoseconds: monotonicNow(), clock: .monotonic)
      let ids = try output.liveChoice.hold(MovieChoice.Value(metadata: progress?.metadata)) {
        () throws(RunError) in
        try engine.ask(requests, at: .captured(moment.choice?.time ?? now))
      }
      for (id, format) in zip(ids, resolved.formats) {
        progress?.expect(id, PhotoProgress.Place(format: format, step: 0))
      }
      if ids.count > resolved.formats.count, let after = output.liveMovies?.after {
        progress?.expect(live: ids[ids.count - 1])
        let (live, end) = (ids[ids.count - 1], deadline(in: after.nanosecondCount))
        do throws(RunError) {
          try engine.ask(
            [.stop(live)], at: .captured(Timestamp(nanoseconds: end, clock: .monotonic)))
        } catch {
          try engine.ask([.stop(live)])
        }
      }
      return nil
    } catch {
      return CaptureError(error, .fileRefused)
    }
  }

  // MARK: What comes

  private func take(_ file: PhotoFile) {
    let parts = file.key.split(separator: "/")
    guard parts.count == 2, let id = Int64(parts[0]), let step = Int(parts[1]) else { return }
    update(id) { $0.take(file, step: step) }
  }

  func take(_ news: RunNews) {
    guard case .ended(let record) = news else { return }
    let id = captures.withLock { captures in
      captures.first { $0.value.expects(record.id) }?.key
    }
    if let id { update(id) { $0.end(record) } }
  }

  func didLeave() {
    let ids = captures.withLock { Array($0.keys) }
    let error = CaptureError(.cancelled, "the session stopped before the photograph was taken")
    for id in ids {
      update(id) { progress in
        progress.fail(error)
        progress.release()
      }
    }
  }

  func update(_ id: Int64, _ change: (inout PhotoProgress) -> Void) {
    captures.withLock { captures in
      guard var progress = captures[id] else { return }
      change(&progress)
      captures[id] = progress.isOver ? nil : progress
    }
  }
}

extension StillFormat {
  fileprivate var name: String { "\(self)" }
}
