internal import CSprocketYAML
internal import SprocketLibraries

/// The library, which is loaded when the first file is read.
enum YAML {
  /// Loads the library, if that has not been done. `nil` if it is there; otherwise a sentence that says what
  /// is missing and which Debian package has it.
  static var missing: String? { loaded.error?.description }
}

private let loaded = unsafe LoadedLibraries<sprocket_yaml>(
  [SharedLibrary("libyaml-0", major: 2)]
) { index in
  let function = unsafe sprocket_yaml_entry(Int32(index))
  return unsafe LibraryFunction(library: function.library, name: function.name)
}

/// The functions of the library. Only a parser uses them, and its `init` checks ``YAML/missing`` first.
let yaml: sprocket_yaml = loaded.functions
