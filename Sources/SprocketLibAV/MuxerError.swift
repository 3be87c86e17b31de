/// Why a movie cannot be written.
public enum MuxerError: Error, Equatable, Sendable {
  /// The output could not: it knows why.
  case output
  /// libavformat or another of its libraries is not installed here; a sentence says which.
  case library(String)
  /// libavformat would not.
  case refused(operation: String, status: Int32)
  /// Such a file does not hold what this codec makes.
  case unheld(codec: String)
  /// A packet of this stream has no presentation time, and its pictures are shown in another order than they
  /// are decoded.
  case untimed(stream: Int)
  /// An encoder would not.
  case encoder(EncoderError)
}
