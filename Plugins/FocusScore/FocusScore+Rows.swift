// One pass over the rows of the window.

import SprocketCore

/// The grid's cells, row by row.
typealias CellSums = InlineArray<16, FocusSums>

extension FocusScore {
  /// Sums over all cells. Rows are read again up to 12 rows later, while they are in cache.
  mutating func sums(_ luma: borrowing Plane, _ grid: FocusGrid) -> CellSums {
    var cells = CellSums(repeating: FocusSums())
    for row in 0..<FocusGrid.side {
      for column in 0..<FocusGrid.side {
        cells[row * FocusGrid.side + column].counts = grid.counts(column: column, row: row)
      }
    }
    for y in grid.rows {
      let row = luma[row: y]
      let first = grid.cellRow(of: y) * FocusGrid.side
      if grid.isSampled(y) {
        addLevels(row, grid, to: &cells, from: first)
        if grid.middleRows.contains(y) {
          let half = FocusSums.lag / 2
          addDifferences(luma[row: y - half], luma[row: y + half], grid, to: &cells, from: first)
        }
      }
      if grid.innerRows.contains(y) {
        Self.respond(
          settings.measure, above: luma[row: y - 1].extracting(grid.columns),
          row: row.extracting(grid.columns), below: luma[row: y + 1].extracting(grid.columns),
          &differences, &responses, &gradients, &noises)
        addResponses(grid, to: &cells, from: first)
      }
    }
    return cells
  }

  /// Levels, and differences along the row.
  private func addLevels(
    _ row: Span<UInt8>, _ grid: FocusGrid, to cells: inout CellSums, from first: Int
  ) {
    let half = FocusSums.lag / 2
    for column in 0..<FocusGrid.side {
      let pixels = grid.columns(of: column, in: grid.columns)
      cells[first + column].levels += levelSum(of: row.extracting(pixels))
      let middles = grid.columns(of: column, in: grid.middleColumns)
      cells[first + column].along += squaredDifferences(
        row.extracting(middles.lowerBound - half..<middles.upperBound - half),
        row.extracting(middles.lowerBound + half..<middles.upperBound + half))
    }
  }

  /// Differences down the columns.
  private func addDifferences(
    _ above: Span<UInt8>, _ below: Span<UInt8>, _ grid: FocusGrid, to cells: inout CellSums,
    from first: Int
  ) {
    for column in 0..<FocusGrid.side {
      let pixels = grid.columns(of: column, in: grid.columns)
      cells[first + column].down += squaredDifferences(
        above.extracting(pixels), below.extracting(pixels))
    }
  }

  /// A row's second differences, responses of the measure and of the noise mask. `gradients` are the
  /// responses down the columns of a measure that has such.
  private static func respond(
    _ measure: Measure, above: Span<UInt8>, row: Span<UInt8>, below: Span<UInt8>,
    _ differences: inout [Int16], _ responses: inout [Int16], _ gradients: inout [Int16],
    _ noises: inout [Int16]
  ) {
    let inner = row.count - 2
    var differences = differences.mutableSpan
    var vertical = differences._mutatingExtracting(0..<row.count)
    secondDifference(above: above, row: row, below: below, into: &vertical)
    var noises = noises.mutableSpan
    var noise = noises._mutatingExtracting(0..<inner)
    noiseResponse(vertical.span, into: &noise)
    var responses = responses.mutableSpan
    var response = responses._mutatingExtracting(0..<inner)
    if measure == .tenengrad {
      sobelAlong(above: above, row: row, below: below, into: &response)
      var gradients = gradients.mutableSpan
      var down = gradients._mutatingExtracting(0..<inner)
      sobelDown(above: above, below: below, into: &down)
    } else {
      laplacian(vertical.span, row: row, into: &response)
    }
  }

  private func addResponses(_ grid: FocusGrid, to cells: inout CellSums, from first: Int) {
    let (response, noise) = (responses.span, noises.span)
    for column in 0..<FocusGrid.side {
      let inner = grid.responses(of: column)
      cells[first + column].noise += energy(of: noise.extracting(inner))
      cells[first + column].energy += energy(of: response.extracting(inner))
      switch settings.measure {
      case .normalized: break
      case .laplacian: cells[first + column].response += sum(of: response.extracting(inner))
      case .tenengrad:
        cells[first + column].energy += energy(of: gradients.span.extracting(inner))
      }
    }
  }
}
