internal import CSprocketLibAV
internal import SprocketLibraries

/// The libraries libavutil, libswresample, libavcodec, libavformat and libswscale. They are loaded, 130
/// libraries with those that they need, when something first asks for ``missing``.
public enum LibAV {
  /// Loads the libraries, if that has not been done. `nil` if they are there; otherwise a sentence that says
  /// what is missing and which Debian package has it. Whatever opens a file, a muxer, an encoder or a
  /// resampler asks this first, and throws the sentence. Cost of the first call: about 50 ms.
  public static var missing: String? { loaded.error?.description }

  fileprivate static let libraries = [
    SharedLibrary(
      "libavutil", major: LIBAVUTIL_VERSION_MAJOR, minor: LIBAVUTIL_VERSION_MINOR),
    SharedLibrary(
      "libswresample", major: LIBSWRESAMPLE_VERSION_MAJOR, minor: LIBSWRESAMPLE_VERSION_MINOR),
    SharedLibrary(
      "libavcodec", major: LIBAVCODEC_VERSION_MAJOR, minor: LIBAVCODEC_VERSION_MINOR),
    SharedLibrary(
      "libavformat", major: LIBAVFORMAT_VERSION_MAJOR, minor: LIBAVFORMAT_VERSION_MINOR),
    SharedLibrary(
      "libswscale", major: LIBSWSCALE_VERSION_MAJOR, minor: LIBSWSCALE_VERSION_MINOR),
  ]
}

private let loaded = unsafe LoadedLibraries<sprocket_libav>(
  LibAV.libraries
) { index in
  let function = unsafe sprocket_libav_entry(Int32(index))
  return unsafe LibraryFunction(library: function.library, name: function.name)
}

/// The functions of the libraries. They print nothing on standard error. Reached only through values whose
/// `init` has asked for ``LibAV/missing``.
let libav: sprocket_libav = {
  let functions = loaded.functions
  unsafe functions.av_log_set_callback { owner, level, _, _ in
    unsafe Decoder.note(logged: owner, level)
  }
  return functions
}()
