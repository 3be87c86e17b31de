internal import CSprocketZBar
internal import SprocketLibraries

/// The library, which is loaded when the first scanner is made.
enum ZBar {
  /// Loads the library, if that has not been done. `nil` if it is there; otherwise a sentence that says what
  /// is missing and which Debian package has it.
  static var missing: String? { loaded.error?.description }
}

// Its headers have no version; a library that lacks a function is refused.
private let loaded = unsafe LoadedLibraries<sprocket_zbar>(
  [SharedLibrary("libzbar", major: 0)]
) { index in
  let function = unsafe sprocket_zbar_entry(Int32(index))
  return unsafe LibraryFunction(library: function.library, name: function.name)
}

/// The functions of the library. Only a scanner uses them, and its `init` checks ``ZBar/missing`` first.
let zbar: sprocket_zbar = loaded.functions
