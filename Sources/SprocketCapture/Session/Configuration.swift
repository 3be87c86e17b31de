public import Sprocket

extension CaptureSession {
  /// A change of a session, which holds as a whole when `configure` ends, or not at all.
  ///
  /// What is refused is collected, and thrown by `configure`: calls in its body need no `try`.
  public struct Configuration: ~Copyable {
    var shape: SessionShape
    var refusals: [CaptureError] = []
    /// Outputs that were added, with the number of their addition.
    var added: [(output: any CaptureOutput, addition: Int)] = []
    private let session: ObjectIdentifier
    /// Outputs that the session has now.
    private let present: [any CaptureOutput]

    init(_ shape: SessionShape, of session: ObjectIdentifier) {
      (self.shape, self.session) = (shape, session)
      present = shape.outputs
    }

    /// A part of the same change: it holds when the outermost `configure` ends.
    @discardableResult
    public mutating func configure<Result>(
      _ body: (inout Configuration) throws(CaptureError) -> Result
    ) throws(CaptureError) -> Result {
      try body(&self)
    }

    // MARK: Inputs

    public var inputs: [DeviceInput] { shape.inputs }

    /// Whether the input could be added now, and if not, why.
    public func canAdd(_ input: DeviceInput) -> Answer { shape.mayAdd(input) }

    public mutating func add(_ input: DeviceInput) {
      if let reason = canAdd(input).reason { return refuse(reason) }
      shape.inputs.append(input)
    }

    public mutating func remove(_ input: DeviceInput) {
      guard let index = shape.inputs.firstIndex(where: { $0 === input }) else {
        return refuse(
          CaptureError(
            .inputRefused,
            "\(input.device.localizedName) is no input of the session, so it stays away"))
      }
      shape.inputs.remove(at: index)
    }

    // MARK: Outputs

    public var outputs: [any CaptureOutput] { shape.outputs }

    /// Whether the output could be added now, and if not, why.
    public func canAdd(_ output: any CaptureOutput) -> Answer { shape.mayAdd(output, to: session) }

    /// Adds an output, and returns its place in the session, which has its links. If the configuration is
    /// refused, that place is `.removed`.
    @discardableResult
    public mutating func add<Output: CaptureOutput>(_ output: Output) -> Added<Output> {
      if let reason = canAdd(output).reason {
        refuse(reason)
        return Added(output: output, addition: -1)
      }
      if present.contains(where: { $0 === output }) {
        // It was removed in this body, so it stays, with its links.
        shape.outputs.append(output)
        return Added(output: output, addition: output.core.state.withLock(\.addition))
      }
      let session = session
      let addition = output.core.state.withLock { state in
        state.addition += 1
        state.membership = .pending
        state.session = session
        state.link = LinkSettings()
        state.turn?.value = .upright
        return state.addition
      }
      shape.outputs.append(output)
      added.append((output, addition))
      return Added(output: output, addition: addition)
    }

    public mutating func remove(_ output: any CaptureOutput) {
      guard let index = shape.outputs.firstIndex(where: { $0 === output }) else {
        return refuse(
          CaptureError(.outputRefused, "\(output.core.name) is no output of the session"))
      }
      shape.outputs.remove(at: index)
      shape.stabilization[ObjectIdentifier(output)] = nil
    }

    // MARK: Formats

    /// Whether the camera offers the preset, with the inputs and outputs that the session has now.
    public func canSet(_ preset: SessionPreset) -> Answer { shape.maySet(preset) }

    /// Checked when the configuration ends, for the camera that the session has then.
    public var preset: SessionPreset {
      get { shape.preset }
      set {
        shape.preset = newValue
        // Another preset decides over rate and format again.
        shape.rate = nil
      }
    }

    /// Sets the format of a camera with its rate, and the preset to `.inputPriority`. A `frameRate` that is
    /// set later replaces the format's.
    public mutating func setFormat(_ format: FormatChoice, of device: CaptureDevice) {
      let known = device.formats.filter { $0.offers(format.size) }
      guard
        known.contains(where: { format.pixelFormat == nil || $0.pixelFormat == format.pixelFormat })
      else {
        return refuse(
          CaptureError(.formatUnsupported, "\(device.localizedName) does not offer \(format)"))
      }
      shape.formats[device.uniqueID] = format
      shape.preset = .inputPriority
      shape.rate = format.rate
    }

    /// Frames per second; `nil` for what the preset has. With a rate that the camera does not offer for the
    /// size the configuration is refused with the code `valueOutOfRange` (`DeviceFormat.offers`).
    public var frameRate: FrameRate? {
      get { shape.rate }
      set { shape.rate = newValue }
    }

    /// What pictures pass on their way to all outputs.
    public var stages: [StageChoice] {
      get { shape.chosenStages }
      set { shape.chosenStages = newValue }
    }

    /// What the microphone's sound passes on its way to all outputs.
    public var soundStages: [AudioChoice] {
      get { shape.soundStages }
      set { shape.soundStages = newValue }
    }

    /// Asks for steadied pictures at an output. One chain serves all outputs of a session, so all of them get
    /// these; the last addition of an output that asks for more decides. `.off`, the default, takes it back.
    public mutating func setPreferredStabilization<Output: TakesVideo>(
      _ mode: StabilizationMode, of added: Added<Output>
    ) {
      shape.stabilization[ObjectIdentifier(added.output)] = mode
    }

    private mutating func refuse(_ reason: CaptureError) { refusals.append(reason) }
  }
}
