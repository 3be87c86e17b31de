/// What a film of high dynamic range says of the display on which it was graded and of its own light, for
/// displays that show less.
public struct HDRMetadata: Sendable, Hashable {
  /// The display (SMPTE ST 2086).
  public struct Display: Sendable, Hashable {
    /// Colours in CIE 1931's x and y, in units of 0.00002.
    public var red: SIMD2<UInt16>
    public var green: SIMD2<UInt16>
    public var blue: SIMD2<UInt16>
    public var white: SIMD2<UInt16>
    /// Luminance of its white and its black, in 0.0001 cd/m².
    public var brightest: UInt32
    public var darkest: UInt32

    public init(
      red: SIMD2<UInt16>, green: SIMD2<UInt16>, blue: SIMD2<UInt16>, white: SIMD2<UInt16>,
      brightest: UInt32, darkest: UInt32
    ) {
      (self.red, self.green, self.blue, self.white) = (red, green, blue, white)
      (self.brightest, self.darkest) = (brightest, darkest)
    }
  }

  /// The film's light in cd/m² (CTA-861.3): of the brightest pixel, and the mean of the brightest picture.
  public struct Light: Sendable, Hashable {
    public var pixel: UInt16
    public var picture: UInt16

    public init(pixel: UInt16, picture: UInt16) { (self.pixel, self.picture) = (pixel, picture) }
  }

  public var display: Display?
  public var light: Light?

  public init(display: Display?, light: Light?) { (self.display, self.light) = (display, light) }

  /// Takes each part from the first, or from the second if the first lacks it. `nil` if both are `nil`.
  public init?(_ first: HDRMetadata?, _ second: HDRMetadata?) {
    guard first != nil || second != nil else { return nil }
    self.init(display: first?.display ?? second?.display, light: first?.light ?? second?.light)
  }
}
