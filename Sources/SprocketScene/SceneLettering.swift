/// Capital letters of 3 by 5 cells, for the signs in the scene: small type has corners and strokes
/// in every direction, which is what trackers and focus measures feed on.
enum SceneLettering {
  /// Rows from the top, 3 bits each, the left cell highest.
  private static let glyphs: [Character: UInt16] = [
    "A": 0b010_101_111_101_101, "B": 0b110_101_110_101_110, "C": 0b011_100_100_100_011,
    "D": 0b110_101_101_101_110, "E": 0b111_100_110_100_111, "F": 0b111_100_110_100_100,
    "G": 0b011_100_101_101_011, "H": 0b101_101_111_101_101, "I": 0b111_010_010_010_111,
    "K": 0b101_101_110_101_101, "L": 0b100_100_100_100_111, "M": 0b101_111_111_101_101,
    "N": 0b111_101_101_101_101, "O": 0b010_101_101_101_010, "P": 0b110_101_110_100_100,
    "R": 0b110_101_110_101_101, "S": 0b011_100_010_001_110, "T": 0b111_010_010_010_010,
    "U": 0b101_101_101_101_111, "V": 0b101_101_101_101_010, "X": 0b101_101_010_101_101,
    "Y": 0b101_101_010_010_010,
    "Z": 0b111_001_010_100_111, "0": 0b111_101_101_101_111, "1": 0b010_110_010_010_111,
    "2": 0b110_001_010_100_111, "4": 0b101_101_111_001_001, "7": 0b111_001_010_010_010,
  ]

  static let words = [
    "SPROCKET", "CAFE", "CINEMA", "HOTEL", "FILM", "OPTIK", "RADIO", "BAKERY", "TELE", "PHOTO",
    "MARKET", "LENS", "MUSIC", "BANK", "STUDIO", "TAXI", "FOTO 24", "APOTHEKE",
  ]

  /// Whether the cell of a glyph is inked; unknown characters are blank.
  static func inked(_ character: Character, column: Int, row: Int) -> Bool {
    guard let bits = glyphs[character] else { return false }
    return bits >> UInt16((4 - row) * 3 + 2 - column) & 1 == 1
  }
}

extension SceneCanvas {
  /// Writes a word; `cell` is the side of one of a letter's 3 by 5 cells, in pixels.
  ///
  /// Letters are four cells apart. `x` and `y` are the upper left corner.
  mutating func write(_ word: String, x: Float, y: Float, cell: Float, _ color: SceneColor) {
    var left = x
    for character in word {
      for row in 0..<5 {
        for column in 0..<3
        where SceneLettering.inked(character, column: column, row: row) {
          let cx = left + Float(column) * cell
          let cy = y + Float(row) * cell
          rectangle(x: cx...cx + cell, y: cy...cy + cell, color)
        }
      }
      left += 4 * cell
    }
  }
}
