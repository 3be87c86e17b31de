public import Sprocket

/// What happens to a capture: `willBegin` first, `didFinish` last, all others in any order between them.
public enum PhotoEvent: Sendable {
  case willBegin(ResolvedPhotoSettings)
  case willCapture(ResolvedPhotoSettings)
  /// With the time at which the frame was captured.
  case didCapture(ResolvedPhotoSettings, at: Timestamp?)
  /// Once for each expected photograph, also for one that failed.
  case photo(CapturedPhoto)
  /// The movie of a live photo has its last frame; its file is not complete.
  case didRecordLiveMovie(ResolvedPhotoSettings, path: String)
  case liveMovie(LivePhotoMovie)
  /// Nothing comes after it.
  case didFinish(ResolvedPhotoSettings, CaptureError?)
}

/// Receives the events of a capture, on the actor that started it. One function is required.
public protocol PhotoCaptureDelegate: AnyObject {
  /// Called first: the settings are decided.
  func photoOutput(_ output: PhotoOutput, willBeginCaptureFor resolved: ResolvedPhotoSettings)
  /// Called before the frame of the photograph.
  func photoOutput(_ output: PhotoOutput, willCapturePhotoFor resolved: ResolvedPhotoSettings)
  /// Called when the frame was captured; the photograph is still to be made.
  func photoOutput(_ output: PhotoOutput, didCapturePhotoFor resolved: ResolvedPhotoSettings)
  /// Called for each photograph, when it is complete. The one required function.
  func photoOutput(_ output: PhotoOutput, didFinishProcessing photo: CapturedPhoto)
  /// Called when the last frame of a live photograph's movie was captured; the file is still to be completed.
  func photoOutput(
    _ output: PhotoOutput, didFinishRecordingLiveMovieTo path: String,
    for resolved: ResolvedPhotoSettings)
  /// Called when the live photograph's movie is complete.
  func photoOutput(_ output: PhotoOutput, didFinishProcessing movie: LivePhotoMovie)
  /// Called last, exactly once for each capture, with what went wrong.
  func photoOutput(
    _ output: PhotoOutput, didFinishCaptureFor resolved: ResolvedPhotoSettings,
    error: CaptureError?)
}

extension PhotoCaptureDelegate {
  public func photoOutput(
    _ output: PhotoOutput, willBeginCaptureFor resolved: ResolvedPhotoSettings
  ) {}
  public func photoOutput(
    _ output: PhotoOutput, willCapturePhotoFor resolved: ResolvedPhotoSettings
  ) {}
  public func photoOutput(
    _ output: PhotoOutput, didCapturePhotoFor resolved: ResolvedPhotoSettings
  ) {}
  public func photoOutput(
    _ output: PhotoOutput, didFinishCaptureFor resolved: ResolvedPhotoSettings,
    error: CaptureError?
  ) {}
  public func photoOutput(
    _ output: PhotoOutput, didFinishRecordingLiveMovieTo path: String,
    for resolved: ResolvedPhotoSettings
  ) {}
  public func photoOutput(_ output: PhotoOutput, didFinishProcessing movie: LivePhotoMovie) {}
}

extension PhotoOutput {
  /// Takes photographs, and calls `delegate` where the caller is. Returns after its last callback.
  public nonisolated(nonsending) func capture(
    _ settings: consuming PhotoSettings, delegate: some PhotoCaptureDelegate
  ) async throws(CaptureError) {
    for await event in try capture(settings) {
      switch event {
      case .willBegin(let resolved): delegate.photoOutput(self, willBeginCaptureFor: resolved)
      case .willCapture(let resolved): delegate.photoOutput(self, willCapturePhotoFor: resolved)
      case .didCapture(let resolved, _): delegate.photoOutput(self, didCapturePhotoFor: resolved)
      case .photo(let photo): delegate.photoOutput(self, didFinishProcessing: photo)
      case .didRecordLiveMovie(let resolved, let path):
        delegate.photoOutput(self, didFinishRecordingLiveMovieTo: path, for: resolved)
      case .liveMovie(let movie): delegate.photoOutput(self, didFinishProcessing: movie)
      case .didFinish(let resolved, let error):
        delegate.photoOutput(self, didFinishCaptureFor: resolved, error: error)
      }
    }
  }
}

/// The movie of a live photo.
public struct LivePhotoMovie: Sendable {
  public let resolved: ResolvedPhotoSettings
  public let recording: RecordingResult
  /// Where in the movie the photograph is, from its first frame.
  public let photoDisplayTime: Duration

  public var path: String { recording.path }
  public var duration: Duration { recording.duration }
  /// `nil` where all went well.
  public var error: CaptureError? { recording.error }
}
