internal import SprocketCore
internal import SprocketV4L2

// What is asked of a camera beside its format: its priority and the part of the sensor.

extension V4L2Priority {
  init(_ priority: DevicePriority) {
    switch priority {
    case .background: self = .background
    case .interactive: self = .interactive
    case .record: self = .record
    }
  }
}

extension V4L2Rectangle {
  /// As a setting.
  var area: PixelArea { PixelArea(x: x, y: y, width: width, height: height) }
}

extension CameraSource {
  /// Asks for the priority of the settings. It lasts until the device is closed.
  func takePriority() throws(RunError) {
    guard let priority = settings.priority else { return }
    do throws(V4L2Error) {
      try device!.set(V4L2Priority(priority))
    } catch {
      guard error.code == .refused else { throw RunError(error, name: title) }
      throw RunError(
        .usage, "the driver of \(title) has no priorities; leave out the setting priority",
        change: .source("priority"))
    }
  }

  /// An error of the device as a sentence, also where another program's priority is the cause.
  func told(_ error: V4L2Error) -> RunError {
    guard error.code == .busy, isOutranked(settings.priority, device?.priority()) else {
      return RunError(error, name: title)
    }
    return RunError(.failed, "\(title) cannot be set up: \(RunError.priorityRemedy(path))")
  }

  /// The rectangle on the sensor that the settings ask for.
  private func wantedCrop() throws(RunError) -> V4L2Rectangle? {
    guard let area = settings.sensorcrop else { return nil }
    guard let usual = device!.crop(.usual), let bounds = device!.crop(.bounds) else {
      throw RunError(
        .usage,
        "\(title) cannot choose a part of its sensor; leave out sensorcrop, or take the stage crop",
        change: .source("sensorcrop"))
    }
    guard area != .whole else { return usual }
    guard area.x >= bounds.x, area.y >= bounds.y,
      area.x + area.width <= bounds.x + bounds.width,
      area.y + area.height <= bounds.y + bounds.height
    else {
      throw RunError(
        .usage,
        "sensorcrop=\(area.settingText) is not on the sensor of \(title), which is "
          + bounds.area.settingText, change: .source("sensorcrop"))
    }
    return V4L2Rectangle(x: area.x, y: area.y, width: area.width, height: area.height)
  }

  /// Sets the part of the sensor, before the format: by the kernel's documentation the format follows from
  /// it.
  func setCrop() throws(RunError) {
    guard let wanted = try wantedCrop() else { return }
    _ = try asking { () throws(V4L2Error) in try device!.setCrop(wanted) }
  }

  /// Sets it again, if the format has changed it. A part that makes another format necessary is refused.
  /// What the driver made of it is noted.
  func keepCrop(_ format: V4L2Format) throws(RunError) {
    guard let wanted = try wantedCrop() else { return }
    var made = device!.crop(.active)
    if made != wanted {
      made = try asking { () throws(V4L2Error) in try device!.setCrop(wanted) }
      let now = try asking { () throws(V4L2Error) in try device!.format() }
      guard now.size == format.size else {
        throw RunError(
          .usage,
          "\(title) gives \(CameraSize(now.size).text) of sensorcrop=\(wanted.area.settingText), not "
            + "\(CameraSize(format.size).text); ask for that size", change: .size,
          .source("sensorcrop"))
      }
    }
    guard let made, made != wanted else { return }
    let note = "\(title) made sensorcrop=\(made.area.settingText) of \(wanted.area.settingText)"
    if !firstNotes.contains(note) { firstNotes.append(note) }
  }
}
