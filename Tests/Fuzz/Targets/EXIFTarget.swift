internal import SprocketCodecs
internal import SprocketTIFF

/// A camera's JPEG, and the EXIF segment in it; or that segment by itself.
func feedEXIF(_ input: [UInt8]) {
  let bytes = input.span
  check(bytes)
  guard let segment = CameraStill.exif(in: bytes) else { return }
  expect(segment.upperBound <= input.count, "a segment ends behind the image")
  check(bytes.extracting(min(segment.lowerBound + 10, segment.upperBound)..<segment.upperBound))
}

private func check(_ bytes: Span<UInt8>) {
  guard let header = TIFFHeader(bytes) else { return }
  expect(header.orientation.map { 1...8 ~= $0 } ?? true, "an orientation does not exist")
  for text in [header.make, header.model] {
    expect(text.map { $0.upperBound <= bytes.count } ?? true, "a text ends behind the bytes")
  }
}
