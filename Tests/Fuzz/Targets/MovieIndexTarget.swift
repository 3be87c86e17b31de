@testable import SprocketLibAV

/// The first bytes say which frames the movie has, the rest is the index that its recording began with.
func feedMovieIndex(_ input: [UInt8]) {
  guard input.count >= 4 else { return }
  var table = SampleTable(ticksPerSecond: 90_000)
  var tick: Int64 = 0
  for frame in 0..<Int(input[0]) {
    table.append(byteCount: Int(input[1]) + frame, tick: tick)
    // Times of years, and of no time at all, too.
    tick += Int64(input[2]) << Int64(input[3] & 31)
    if frame % 7 == 6 { table.endChunk(at: UInt64(1 << 20) * UInt64(frame + 1)) }
  }
  table.close(nominal: input[0] % 2 == 0 ? nil : UInt64(input[1]))
  var sound = SampleTable(ticksPerSecond: 48_000, sampleBytes: 4)
  sound.append(samples: Int(input[1]) << Int(input[3] & 15))
  sound.endChunk(at: 1 << 30)
  sound.close(nominal: nil)
  _ = MovieIndex.make(from: Array(input.dropFirst(4)).span, tables: [table, sound])
}
