import Glibc

/// A test chart on a board: a colour for each place, u to the right and v down from its middle, in
/// pixels. Edges are softened over one pixel.
enum SceneChart {
  /// A Siemens star with 18 pairs of spokes (ISO 15775); it fades to gray where spokes are finer
  /// than a pixel.
  case star(half: Float)
  case checker(half: Float)
  case rings(half: Float)
  /// Line pairs that become finer from left to right.
  case bars(half: Float)
  /// A dark square whose edges lean by some 5 degrees (ISO 12233).
  case slantedEdge(half: Float)

  @inline(__always)
  func color(_ u: Float, _ v: Float) -> SceneColor {
    switch self {
    case .star(let half):
      let radius = hypotf(u, v)
      let wave = sinf(atan2f(v, u) * 18) * radius / 18
      return Self.ink(wave * edge(half * 0.85 - radius) - 2 * edge(radius - half * 0.85))
    case .checker(let half):
      let cell = half / 4
      let across = Self.toEdge(u, cell)
      let down = Self.toEdge(v, cell)
      return Self.ink(min(max(across * 2, -1), 1) * min(max(down * 2, -1), 1) * 0.5)
    case .rings(let half):
      let radius = hypotf(u, v)
      return Self.ink(Self.toEdge(radius, half / 9))
    case .bars(let half):
      let place = (u + half) / (2 * half)
      let cell = max(1.2, half / 5 * (1 - 0.85 * (place * 6).rounded(.down) / 6))
      return Self.ink(v < 0 ? Self.toEdge(u, cell) : Self.toEdge(v, cell))
    case .slantedEdge(let half):
      return Self.ink(max(abs(u), abs(v)) - half * 0.6)
    }
  }

  /// Signed distance to the nearest line of a grating with lines every `cell`; signs alternate.
  @inline(__always)
  private static func toEdge(_ place: Float, _ cell: Float) -> Float {
    let index = (place / cell).rounded(.down)
    let inside = place - index * cell
    let distance = min(inside, cell - inside)
    let odd = index - 2 * (index / 2).rounded(.down)
    return odd < 0.5 ? distance : -distance
  }

  /// Paper where positive, ink where negative, one pixel between.
  @inline(__always)
  private static func ink(_ inside: Float) -> SceneColor {
    SceneColor(repeating: 0.06 + 0.87 * edge(inside))
  }
}
