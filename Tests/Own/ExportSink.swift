import Glibc
import Sprocket

/// Maps the memory that frames are exported in, as another device would, and compares it with their planes.
final class ExportSink: Sink {
  static let kind = SinkKind("exported", "compares exported memory with frames") {
    (_) throws(RunError) in ExportSink()
  }

  let name = "exported"
  private var counts = (equal: 0, unlike: 0, none: 0)

  func configure(_ setup: inout SinkSetup) throws(RunError) { try setup.reads(.encoded) }

  func write(_ frame: borrowing PackedFrame) throws(RunError) {
    let exported = frame.view.exportedPlanes
    guard exported.count > 0 else {
      counts.none += 1
      return
    }
    var isEqual = exported.count == frame.view.format.pixelFormat.planeCount
    for index in 0..<exported.count {
      let plane = frame.view.sourcePlane(index)
      isEqual = isEqual && Self.holds(exported[index], plane)
    }
    if isEqual { counts.equal += 1 } else { counts.unlike += 1 }
  }

  /// The corresponding C functions are `mmap` and `munmap`.
  private static func holds(_ place: ExportedPlanes.Plane, _ plane: borrowing Plane) -> Bool {
    let size = place.offset + place.bytesPerRow * plane.rows
    guard let memory = unsafe mmap(nil, size, PROT_READ, MAP_SHARED, place.descriptor, 0),
      unsafe memory != MAP_FAILED
    else { return false }
    defer { unsafe munmap(memory, size) }
    for y in 0..<plane.rows {
      let row = plane[row: y]
      let start = unsafe memory + place.offset + y * place.bytesPerRow
      for x in row.indices {
        guard unsafe start.load(fromByteOffset: x, as: UInt8.self) == row[x] else { return false }
      }
    }
    return true
  }

  var notes: [String] {
    ["exported: \(counts.equal) equal, \(counts.unlike) unlike, \(counts.none) not exported"]
  }
}
