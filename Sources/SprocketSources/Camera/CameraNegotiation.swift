internal import SprocketCore

/// What a camera is set to.
struct CameraMode: Hashable, Sendable {
  var fourCC: String
  var pixelFormat: PixelFormat
  var size: CameraSize
  /// `nil` where the driver does not tell which there are: it is left as it is.
  var rate: FrameRate?
}

/// Chooses a mode among those that a camera offers. Pure.
///
/// What was asked for is given exactly, or refused with what there is. Of what was not asked for:
/// - *size*: the largest of at most 1920x1080 pixels that comes at 24 frames/s or more, in any format
///   that was not ruled out: what most lenses and sensors of webcams resolve, at a rate to which
///   exposure and movement are fit. Where nothing is that fast, what comes closest to it, then the
///   largest; where all is larger, the smallest.
/// - *format*: among those with that size and speed, planar and packed YUV before Motion-JPEG before RGB
///   before grey before Bayer mosaics: exact pixels before compressed, and what costs least to unpack
///   first. A format that libv4l2 emulates comes after all that the camera has itself. H.264 and HEVC are
///   chosen only where there is nothing else.
/// - *rate*: the nearest to 30 frames/s.
struct CameraNegotiation {
  /// What the camera is called in messages.
  let name: String
  let formats: [CameraFormat]
  /// Rates at a size that lies within a range.
  let rates: (_ fourCC: String, CameraSize) -> CameraRates

  /// Frames/s that is chosen if none is requested, and assumed for a camera that lists none: the usual rate
  /// of cameras.
  static let usualRate = 30.0
  /// Frames/s below which a format counts as slow, so that others are preferred. Larger: smaller, faster
  /// formats are chosen. 24 is the lowest rate of film and PAL cameras that still shows smooth movement.
  static let slowest = 24.0
  static let usualSize = CameraSize(1920, 1080)
  /// Largest relative difference between a rate and the requested one. From 0.001 on, 29.97 would be taken
  /// for 30. 10000000/333333, which USB cameras report for 30, must be accepted.
  static let tolerance = 0.0005

  private struct Candidate {
    let format: CameraFormat
    let pixels: PixelFormat
    let size: CameraSize
    let rates: CameraRates
  }

  func choose(_ request: FormatRequest) throws(RunError) -> CameraMode {
    let known = try usable(request.format)
    let size = request.size.map { CameraSize($0.width, $0.height) }
    let fitting = known.flatMap { candidates($0, size) }
    guard !fitting.isEmpty else { throw refusal(ofSize: request, among: known) }
    let matching = fitting.filter { request.rate == nil || rate(request.rate, $0.rates) != nil }
    guard let best = matching.min(by: isBetter) else {
      throw refusal(ofRate: request, among: fitting)
    }
    return CameraMode(
      fourCC: best.format.fourCC, pixelFormat: best.pixels, size: best.size,
      rate: rate(request.rate, best.rates))
  }

  private func usable(_ asked: PixelFormat?) throws(RunError) -> [CameraFormat] {
    guard !formats.isEmpty else {
      throw RunError(
        .failed,
        "\(name) offers no format: it is a loopback that nobody feeds; start the program that writes "
          + "into it first")
    }
    let known = formats.filter { $0.pixelFormat != nil }
    guard !known.isEmpty else {
      throw RunError(
        .usage,
        "\(name) offers only formats that Sprocket does not know (\(list(formats))); try "
          + "conversion=on", change: .source("conversion"))
    }
    guard let asked else {
      // Exact pictures before those of an encoder, whatever their size.
      let pictures = known.filter { $0.pixelFormat?.isPackets == false }
      return pictures.isEmpty ? known : pictures
    }
    let found = known.filter { $0.pixelFormat == asked }
    guard !found.isEmpty else {
      throw RunError(
        .usage,
        "\(name) does not offer \(asked.settingText); it offers "
          + knownList(known.map(\.fourCC), atMost: Self.listed))
    }
    return found
  }

  private func list(_ formats: [CameraFormat]) -> String {
    formats.map(\.fourCC).joined(separator: ", ")
  }

  /// The sizes of a format that may be chosen: the one that was asked for, or each single one; of a
  /// range, those that people expect.
  private func candidates(_ format: CameraFormat, _ asked: CameraSize?) -> [Candidate] {
    guard let pixels = format.pixelFormat else { return [] }
    return format.sizes.flatMap { sizes -> [Candidate] in
      let usual = [Self.usualSize, CameraSize(1280, 720), CameraSize(640, 480), sizes.largest]
      let wanted = asked.map { [$0] } ?? (sizes.isRange ? usual : [sizes.largest])
      return wanted.filter { sizes.contains($0) }.map { size in
        Candidate(
          format: format, pixels: pixels, size: size,
          rates: size == sizes.largest ? sizes.rates : rates(format.fourCC, size))
      }
    }
  }

  private func isBetter(_ one: Candidate, _ other: Candidate) -> Bool {
    rank(one).lexicographicallyPrecedes(rank(other))
  }

  /// The smaller the better, first number first.
  private func rank(_ candidate: Candidate) -> [Double] {
    let fastest = candidate.rates.fastest ?? Self.usualRate
    let isSlow = fastest < Self.slowest
    let area = Double(candidate.size.area)
    let isLarge = candidate.size.area > Self.usualSize.area
    return [
      candidate.format.isEmulated ? 1 : 0, isSlow ? 1 : 0, isLarge ? 1 : 0, isSlow ? -fastest : 0,
      isLarge ? area : -area, Double(Self.preference(candidate.pixels)),
    ]
  }

  private static func preference(_ format: PixelFormat) -> Int {
    switch format.layout {
    case .planar(.yuv420, .eight, _): 0
    case .semiPlanar420: 1
    case .planar(.gray, _, _): 6
    case .planar(_, .eight, _): 2
    case .planar(_, .ten, _), .planar(_, .twelve, _), .planar(_, .sixteen, _): 6
    case .semiPlanar420Words, .packedGray, .rgbWords: 6
    case .packed422: 3
    case .encoded: format.isPackets ? 9 : 4
    case .rgb: 5
    case .bayer(_, .eight): 7
    case .bayer: 8
    }
  }

  /// The rate that is offered and was asked for, or lies nearest to 30; `nil` where there is none.
  private func rate(_ asked: FrameRate?, _ offered: CameraRates) -> FrameRate? {
    let wanted = asked?.framesPerSecond ?? Self.usualRate
    func distance(_ rate: FrameRate) -> Double { abs(rate.framesPerSecond - wanted) }
    let nearest: FrameRate? =
      switch offered {
      // Not told: what was asked for is tried.
      case .these([]): asked
      case .these(let list): list.min { distance($0) < distance($1) }
      case .range(let slowest, let fastest):
        wanted <= slowest.framesPerSecond
          ? slowest
          : wanted >= fastest.framesPerSecond
            ? fastest : asked ?? FrameRate(framesPerSecond: wanted)
      }
    guard let nearest, asked != nil else { return nearest }
    return Self.isSame(nearest, wanted) ? nearest : nil
  }

  static func isSame(_ rate: FrameRate, _ wanted: Double) -> Bool {
    abs(rate.framesPerSecond - wanted) <= wanted * tolerance
  }

  /// What the sizes do not have, and which there are: of the format that was asked for, else of all.
  private func refusal(ofSize request: FormatRequest, among formats: [CameraFormat]) -> RunError {
    let asked = request.size.map { "\($0.width)x\($0.height)" } ?? "any size"
    let format = request.format.map { " in \($0.settingText)" } ?? ""
    let sizes = distinct(formats.flatMap { $0.sizes.map(\.text) })
    return RunError(
      .usage,
      "\(name) does not offer \(asked)\(format); it offers \(knownList(sizes, atMost: Self.listed))"
    )
  }

  /// What the rates do not have, and which there are at the size and in the format that were asked for.
  private func refusal(ofRate request: FormatRequest, among candidates: [Candidate]) -> RunError {
    let format = request.format.map { " in \($0.settingText)" } ?? ""
    let size = request.size.map { " at \($0.width)x\($0.height)" } ?? ""
    let rates = distinct(candidates.map(\.rates.text))
    let offered = rates.map { text in
      let those = candidates.filter { $0.rates.text == text }
      // Where all have the same rates, it does not matter which they are.
      if rates.count == 1 { return text }
      if request.size == nil {
        let sizes = distinct(those.map(\.size.text))
        return "\(text) at \(knownList(sizes, atMost: Self.listedPerRate))"
      }
      let formats = distinct(those.map(\.format.fourCC))
      return "\(text) in \(knownList(formats, atMost: Self.listedPerRate))"
    }
    let more = offered.count - Self.listedPerRate
    return RunError(
      .usage,
      "\(name) does not offer \(request.rate?.text ?? "any") frames/s\(size)\(format); it offers "
        + offered.prefix(Self.listedPerRate).joined(separator: "; ")
        + (more > 0 ? "; and other rates in \(more) more modes" : ""))
  }

  /// Most sizes that an error lists. Larger: longer sentences.
  private static let listed = 12
  /// Most rates that an error lists, and most sizes or formats for each. Larger: longer sentences.
  private static let listedPerRate = 6

  /// Each once, in the order of the first.
  private func distinct(_ names: [String]) -> [String] {
    var known: Set<String> = []
    return names.filter { known.insert($0).inserted }
  }
}
