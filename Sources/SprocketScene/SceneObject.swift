/// A thing before the camera that moves on its own: a rectangle of the picture's proportions that goes
/// from side to side, turns at the edges, and shows another part of the texture, which moves with it.
/// The camera's motion does not move it.
package struct SceneObject: Sendable, Hashable {
  /// Of the picture that it covers; 0 is none.
  package var share = 0.0
  /// How far it has gone since the start, in pixels; it begins in the middle.
  package var way = 0.0

  package init() {}
}

/// Where the object is in one frame.
struct SceneObjectPlace {
  /// Whole pairs of pixels, so that chroma has the same edges.
  let columns: Range<Int>
  let rows: Range<Int>
  /// What the object shows begins there, in pixels.
  let left: Double
  let top: Double

  init?(_ object: SceneObject, width: Int, height: Int) {
    let side = object.share.squareRoot()
    let (across, down) = (side * Double(width), side * Double(height))
    guard across >= 2, down >= 2 else { return nil }
    let room = max(Double(width) - across, 1)
    // From the middle to the right, back to the left, and so on.
    let part = (object.way / room + 0.5).truncatingRemainder(dividingBy: 2)
    let turned = part < 0 ? part + 2 : part
    left = room * (turned <= 1 ? turned : 2 - turned)
    top = (Double(height) - down) / 2
    columns = Self.pairs(from: left, of: across, within: width)
    rows = Self.pairs(from: top, of: down, within: height)
  }

  private static func pairs(from start: Double, of length: Double, within side: Int) -> Range<Int> {
    let first = Int(start / 2) * 2
    return first..<min(first + Int(length / 2) * 2, side & ~1)
  }
}

extension SceneRenderer {
  /// Draws the object's part of a row over `values`: samples of one plane that begin at luma pixel `x`
  /// and are `stride` apart.
  mutating func cover(plane: Int, _ moment: SceneMoment, x: Double, y: Double, stride: Int) {
    guard let place = SceneObjectPlace(moment.object, width: width, height: height),
      place.rows.contains(Int(y)), !place.columns.isEmpty
    else { return }
    let samples = place.columns.lowerBound / stride..<place.columns.upperBound / stride
    var line = SceneLine(
      x: x + Double(place.columns.lowerBound) - place.left, y: y - place.top, step: Double(stride),
      slope: 0)
    // A fifth down: the town, and not only the sky.
    line.y += 0.2 * Double(texture.height)
    if plane > 0 {
      line.x = (line.x - 0.5) / 2
      line.y = (line.y - 0.5) / 2
      line.step /= 2
    }
    swap(&values, &object)
    sample(plane: plane, along: line, count: samples.count, sigma: sigma(in: moment))
    swap(&values, &object)
    for index in 0..<samples.count { values[samples.lowerBound + index] = object[index] }
  }
}
