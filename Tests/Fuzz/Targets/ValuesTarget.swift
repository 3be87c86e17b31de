internal import SprocketCore
internal import SprocketSources

/// Lines, each as a value of every kind, and as `key=value` for the sources that have such a setting.
func feedValues(_ input: [UInt8]) {
  let lines = input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    .prefix(20).map { String(decoding: $0, as: UTF8.self) }
  for line in lines {
    readsAgain(Duration(settingText: line))
    readsAgain(Double(settingText: line))
    readsAgain(Int(settingText: line))
    readsAgain(UInt64(settingText: line))
    readsAgain(Point(settingText: line))
    readsAgain(PixelFormat(settingText: line))
    readsAgain(OutputName(settingText: line))
    readsAgain(ByteCount(settingText: line))
    readsAgain(Extent(settingText: line))
    readsAgain(FrameSize(settingText: line))
    if let region = Region(settingText: line) { _ = region.pixels(width: 640, height: 480) }
    set(line)
  }
}

/// What is spelled out is read as the same.
private func readsAgain<Value: SettingValue & Equatable>(_ value: Value?) {
  guard let value else { return }
  let text = value.settingText
  expect(Value(settingText: text) == value, "\(value) is spelled \(text), and read as another")
}

/// Nothing is opened yet.
private func set(_ line: String) {
  guard let equals = line.firstIndex(of: "=") else { return }
  let values = [String(line[..<equals]): String(line[line.index(after: equals)...])]
  for kind in builtinSources { _ = try? kind.make(argument: "x", values: values) }
}
