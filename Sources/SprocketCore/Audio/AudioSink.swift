/// Where sound goes by itself, without pictures: a file, a list of levels, a program's own code. It has a
/// thread of its own.
///
///     func run(_ tap: any AudioTap) throws(RunError) {
///       while true {
///         switch tap.next(timeout: 100_000_000) {
///         case .nothing: continue
///         case .end: return tap.close()
///         case .block:
///           let count = tap.withBlock { record, samples in
///             use(samples)
///             return record.count
///           }
///           tap.count(UInt64(count), as: .delivered)
///           tap.release()
///         }
///       }
///     }
public protocol AudioSink: AnyObject {
  /// The key in the summary.
  var name: String { get }
  /// Learns what sound comes, before the run begins. What it throws refuses the run.
  func configure(_ sound: AudioDescription) throws(RunError)
  /// Takes blocks until `tap.next` says `.end`, then completes what was written. Accounts for every sample
  /// (`AudioTap.count`).
  func run(_ tap: any AudioTap) throws(RunError)
  /// Sentences for the user about what was written; read after `run`.
  var notes: [String] { get }
}

extension AudioSink {
  public var notes: [String] { [] }
}
