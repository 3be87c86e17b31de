/// Where sound goes by itself, without pictures: a file, a list of levels. It has a thread of its own.
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
