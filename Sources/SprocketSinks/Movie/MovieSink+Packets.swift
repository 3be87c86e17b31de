internal import SprocketCodecs
internal import SprocketCore
internal import SprocketLibAV

// What becomes a movie: JPEG images, pictures to be encoded, or packets of a camera's own H.264 or HEVC.
extension MovieSink {
  /// Declares what of each frame is read, and how it gets into the file.
  func declare(
    _ setup: inout SinkSetup, _ container: MovieContainer
  ) throws(RunError) -> (JPEGPacker.Requirements?, MovieEncoding?) {
    passesPackets =
      codec.isAutomatic && constantRate == nil && resize == nil
      && setup.untouchedSource?.packets != nil
    if passesPackets {
      try declarePackets(&setup, container)
      return (nil, nil)
    }
    guard codec.isJPEG else { return try declareEncoded(&setup, container) }
    try Self.checkJPEG(container)
    let needs =
      resize == nil
      ? try setup.readsJPEGs(name, note) : try declareJPEGs(&setup, resize?.format ?? setup.format)
    if let matrix = setup.format.color.matrixUnknownToJPEG, needs?.isGray == false {
      note("\(name): colours are marked as \(matrix)'s; most players take BT.601's for granted")
    }
    return (needs, nil)
  }

  func count(_ lost: LostFrame) {
    if lost.fate == .behind { framesBehind += 1 }
    if passesPackets, lost.fate == .unselected, recording?.isEmpty == false || !isOnDemand {
      framesBeforeKey += 1
    }
  }

  func declarePackets(_ setup: inout SinkSetup, _ container: MovieContainer) throws(RunError) {
    guard let packets = setup.source.format.packets else { return }
    guard container.holds(packets: packets.format) else {
      throw RunError(
        .usage,
        ".\(container.rawValue) files do not hold \(packets.format.settingText); record a .mkv, or choose "
          + "another codec", change: .codec)
    }
    guard !packets.parameterSets.isEmpty else {
      throw RunError(
        .failed,
        "\(setup.source.name) gives packets without the parameter sets that a movie needs; let it say them"
      )
    }
    try setup.reads(.packet)
    setup.needsEarlierFrames = true
  }

  /// What is not in the movie because a key frame was missing.
  func notePackets() {
    guard framesBeforeKey > 0 else { return }
    let frames = framesBeforeKey == 1 ? "1 frame is" : "\(framesBeforeKey) frames are"
    note(
      "\(name): \(frames) not in it, since pictures of the camera's encoder need those before them: a file "
        + "begins with a key frame, and goes on with one behind a frame that it lacks; give a codec, and "
        + "every frame is encoded anew")
  }
}
