/// The scene's lens: how blurred the picture is at a lens position. Pure.
package struct SceneLens: Sendable, Hashable {
  /// The position of best focus, 0 (nearest) to 1 (furthest).
  package var focus = 0.5
  /// Standard deviation of the blur, in pixels, per unit of distance from best focus.
  package var blurPerUnit = 11.2

  package init() {}

  /// Standard deviation of the blur at `position`, in pixels; at most the texture's widest.
  package func sigma(at position: Double) -> Double {
    min(abs(position - focus) * blurPerUnit, SceneTexture.sigmas[SceneTexture.sigmas.count - 1])
  }

  package func sigma(in moment: SceneMoment) -> Double {
    sigma(at: moment.lensPosition - moment.focusShift)
  }

  /// The two texture levels to mix for a blur, and the share of the second.
  ///
  /// Shares are such that variance, the second moment of the mixed kernel, is exactly sigma².
  package static func mix(sigma: Double) -> (lower: Int, share: Double) {
    let sigmas = SceneTexture.sigmas
    for upper in 1..<sigmas.count where sigma < sigmas[upper] {
      let low = sigmas[upper - 1] * sigmas[upper - 1]
      let high = sigmas[upper] * sigmas[upper]
      return (upper - 1, (sigma * sigma - low) / (high - low))
    }
    return (sigmas.count - 2, 1)
  }
}
