internal import SprocketCore
internal import SprocketLibAV

// What a user should know of a file.

extension FileSource {
  func note(_ info: MediaInfo) {
    if settings.stream < 0, info.streams.count > 1 {
      let numbers = info.streams.map(String.init).joined(separator: ", ")
      streamNote =
        "\(path) has pictures in the streams \(numbers); \(info.streamIndex) is taken, stream=N chooses"
    }
    if !info.hasTimes, settings.rate == nil, !isReal {
      timeNotes = [
        "\(path) has no times: \(FrameRate(info.frameRate).settingText) frames/s are assumed; give the rate"
      ]
    }
  }

  public var notes: [String] {
    var notes: [String] = []
    if hasSound, !isSoundTaken {
      notes.append("the sound of \(path) is left out: only its pictures are taken")
    }
    if let streamNote { notes.append(streamNote) }
    notes += timeNotes + (reader?.timeNotes ?? clockNotes)
    if missingByteCount > 0 {
      notes.append("\(path) is cut off: \(missingByteCount) bytes are missing at its end")
    }
    if hasOddAngle {
      notes.append(
        "\(path) says that its pictures are turned by an angle that is no quarter of a turn; they are "
          + "taken as they lie")
    }
    return notes
  }
}
