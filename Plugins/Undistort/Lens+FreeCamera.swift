import SprocketCore

extension Lens {
  /// The camera whose undistorted picture has no black borders (`alpha` 0), or all pixels (1), or lies
  /// between; `nil` where the lens has no straight picture of the edges.
  ///
  /// Of the model `pinhole` that of `cv2.getOptimalNewCameraMatrix`, of `fisheye` that of
  /// `cv2.fisheye.estimateNewCameraMatrixForUndistortRectify`.
  func freeCamera(alpha: Double, width: Int, height: Int) -> Camera? {
    switch model {
    case .pinhole: freePinhole(alpha, width, height)
    case .fisheye: freeFisheye(alpha, Double(width), Double(height))
    }
  }

  /// From the rectangles within and around the straight picture of a grid of 9 by 9 points.
  private func freePinhole(_ alpha: Double, _ width: Int, _ height: Int) -> Camera? {
    let last = 8
    var inner = (left: -Double.infinity, right: Double.infinity)
    var innerRows = inner
    var outer = (left: Double.infinity, right: -Double.infinity)
    var outerRows = outer
    for row in 0...last {
      for column in 0...last {
        guard
          let point = straight(
            Double(column * (width - 1)) / Double(last), Double(row * (height - 1)) / Double(last))
        else { return nil }
        outer = (min(outer.left, point.x), max(outer.right, point.x))
        outerRows = (min(outerRows.left, point.y), max(outerRows.right, point.y))
        if column == 0 { inner.left = max(inner.left, point.x) }
        if column == last { inner.right = min(inner.right, point.x) }
        if row == 0 { innerRows.left = max(innerRows.left, point.y) }
        if row == last { innerRows.right = min(innerRows.right, point.y) }
      }
    }
    func line(_ range: (left: Double, right: Double), _ count: Int) -> (
      focal: Double, center: Double
    ) {
      let focal = Double(count - 1) / (range.right - range.left)
      return (focal, -focal * range.left)
    }
    let (x0, x1) = (line(inner, width), line(outer, width))
    let (y0, y1) = (line(innerRows, height), line(outerRows, height))
    func between(_ none: Double, _ all: Double) -> Double { none * (1 - alpha) + all * alpha }
    return Camera(
      focalX: between(x0.focal, x1.focal), focalY: between(y0.focal, y1.focal),
      centerX: between(x0.center, x1.center), centerY: between(y0.center, y1.center)
    ).usable
  }

  /// From the straight pictures of the middles of the four edges.
  private func freeFisheye(_ balance: Double, _ width: Double, _ height: Double) -> Camera? {
    let ratio = camera.focalX / camera.focalY
    let (middleX, middleY) = ((width / 2).rounded(.down), (height / 2).rounded(.down))
    var points: [(x: Double, y: Double)] = []
    for (x, y) in [(middleX, 0), (width, middleY), (middleX, height), (0, middleY)] {
      guard let point = straight(x, y) else { return nil }
      points.append((point.x, point.y * ratio))
    }
    let center = (
      x: points.reduce(0) { $0 + $1.x } / 4, y: points.reduce(0) { $0 + $1.y } / 4
    )
    var focals: [Double] = []
    for point in [points[0], points[2]] {
      focals.append(height / 2 * ratio / abs(point.y - center.y))
    }
    for point in [points[1], points[3]] { focals.append(width / 2 / abs(point.x - center.x)) }
    guard let least = focals.min(), let most = focals.max() else { return nil }
    let focal = balance * least + (1 - balance) * most
    return Camera(
      focalX: focal, focalY: focal / ratio, centerX: width / 2 - center.x * focal,
      centerY: height / 2 - center.y * focal / ratio
    ).usable
  }

  /// Where a point of the distorted picture lies in the plane at distance 1 before the camera, by Newton's
  /// method.
  private func straight(_ x: Double, _ y: Double) -> (x: Double, y: Double)? {
    let unit = Camera(focalX: 1, focalY: 1, centerX: 0, centerY: 0)
    let plane = Lens(model: model, camera: unit, undistorted: unit, distortion: distortion)
    let goal = (
      x: (x - camera.centerX) / camera.focalX, y: (y - camera.centerY) / camera.focalY
    )
    var point = goal
    // Units of the plane: a 10,000th of a pixel at a focal length of 1,000.
    let (step, enough) = (1e-6, 1e-7)
    for _ in 0..<100 {
      let here = plane.distort(point.x, point.y)
      let error = (x: goal.x - here.x, y: goal.y - here.y)
      guard error.x.isFinite, error.y.isFinite else { return nil }
      if abs(error.x) + abs(error.y) < enough { return point }
      let right = plane.distort(point.x + step, point.y)
      let below = plane.distort(point.x, point.y + step)
      let (a, b) = ((right.x - here.x) / step, (below.x - here.x) / step)
      let (c, d) = ((right.y - here.y) / step, (below.y - here.y) / step)
      let determinant = a * d - b * c
      // Where it is not above 0, the lens folds the plane over.
      guard determinant > 0 else { return nil }
      var move = (
        x: (d * error.x - b * error.y) / determinant, y: (a * error.y - c * error.x) / determinant
      )
      // No further than the point is away, so that no step leaves where the model holds.
      let most = 0.5 * (1 + (point.x * point.x + point.y * point.y).squareRoot())
      let length = (move.x * move.x + move.y * move.y).squareRoot()
      if length > most { move = (move.x * most / length, move.y * most / length) }
      point = (point.x + move.x, point.y + move.y)
    }
    return nil
  }
}

extension Lens.Camera {
  fileprivate var usable: Lens.Camera? {
    let isFinite = centerX.isFinite && centerY.isFinite && focalX.isFinite && focalY.isFinite
    return isFinite && focalX > 0 && focalY > 0 ? self : nil
  }
}
