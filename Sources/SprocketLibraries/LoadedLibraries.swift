internal import Glibc

/// A function in a wrapper's list.
@unsafe
public struct LibraryFunction {
  /// Place of its library among those that are loaded.
  let library: Int
  let name: UnsafePointer<CChar>

  /// `nil` without a name: behind the end of a list.
  public init?(library: Int32, name: UnsafePointer<CChar>?) {
    guard let name = unsafe name else { return nil }
    unsafe (self.library, self.name) = (Int(library), name)
  }
}

/// Libraries that were loaded, or the reason why not.
///
/// A wrapper keeps one value in a global constant, which Swift initialises once, whichever thread comes
/// first. `Functions` is the wrapper's table: a structure of C that has a pointer to each function in its
/// list, in the same order, and nothing else.
///
/// What was loaded stays: unloading is not safe where a library has threads, or values of threads.
public enum LoadedLibraries<Functions: Sendable>: Sendable {
  case complete(Functions)
  case missing(LibraryError)

  /// Loads libraries; those that others need come first. `function` gives the list, from 0 to the first
  /// `nil`. Symbols are bound at once, so that what is missing is found now and not at a call.
  ///
  /// The corresponding C functions are `dlopen` and `dlsym`.
  public init(_ libraries: [SharedLibrary], _ function: (Int) -> LibraryFunction?) {
    do throws(LibraryError) {
      let handles = unsafe try Self.open(libraries)
      for index in libraries.indices {
        unsafe try Self.checkVersion(of: libraries[index], handles[index])
      }
      self = unsafe .complete(try Self.find(libraries, handles, function))
    } catch {
      self = .missing(error)
    }
  }

  /// Why the libraries cannot be used; `nil` if they can.
  public var error: LibraryError? {
    guard case .missing(let error) = self else { return nil }
    return error
  }

  /// The table. Traps where the libraries are missing, with their names on standard error: whoever calls them
  /// asks for ``error`` before.
  public var functions: Functions {
    switch self {
    case .complete(let functions): return functions
    case .missing(let error):
      // Release builds leave out the message of a failed precondition.
      var text = "\(error)\n"
      _ = text.withUTF8 { bytes in unsafe write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
      preconditionFailure("ask for `error` before a library's functions")
    }
  }

  /// The corresponding C function is `dlopen`.
  private static func open(
    _ libraries: [SharedLibrary]
  ) throws(LibraryError) -> [UnsafeMutableRawPointer] {
    // Swift ends a process where an allocation fails: of a limited address space some is left, also where a
    // library cannot be loaded. What is held meanwhile is nothing but addresses.
    guard let held = unsafe hold(reserve) else {
      throw .unloadable(libraries[0], reason: noSpace)
    }
    defer { unsafe munmap(held, reserve) }
    var handles = unsafe [UnsafeMutableRawPointer]()
    var absent: [SharedLibrary] = []
    var failure: LibraryError?
    for library in libraries {
      if let handle = unsafe dlopen(library.name, RTLD_NOW | RTLD_LOCAL) {
        unsafe handles.append(handle)
        continue
      }
      let reason = unsafe dlerror().map { unsafe String(cString: $0) } ?? "dlopen gives no reason"
      // In the language of the program's locale, as dlerror(3) has it.
      let noSuchFile = unsafe strerror(ENOENT).map { unsafe String(cString: $0) } ?? ""
      if reason.hasPrefix("\(library.name): ") && reason.hasSuffix(noSuchFile) {
        absent.append(library)
      } else {
        failure = failure ?? .unloadable(library, reason: reason)
      }
    }
    // A library that needs one of the absent ones cannot be loaded either.
    if !absent.isEmpty { throw .absent(absent) }
    if let failure { throw failure }
    // What libraries do when they are loaded can fail unseen where there is no space.
    guard let more = unsafe hold(margin) else {
      throw .unloadable(libraries[libraries.count - 1], reason: noSpace)
    }
    unsafe munmap(more, margin)
    return unsafe handles
  }

  private static var noSpace: String { "there is too little address space" }

  /// Address space without memory; `nil` if there is not so much.
  ///
  /// The corresponding C function is `mmap`.
  private static func hold(_ byteCount: Int) -> UnsafeMutableRawPointer? {
    let held = unsafe mmap(nil, byteCount, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    return unsafe held == MAP_FAILED ? nil : held
  }

  /// Address space that is left to what is allocated later, in bytes: as SprocketCore leaves.
  private static var reserve: Int { 32 << 20 }
  /// Address space beyond that, in bytes: more than what libraries allocate when they are loaded.
  private static var margin: Int { 8 << 20 }

  private static func checkVersion(
    of library: SharedLibrary, _ handle: UnsafeMutableRawPointer
  ) throws(LibraryError) {
    guard library.minor != nil else { return }
    guard let address = unsafe dlsym(handle, library.versionFunction) else {
      throw .incomplete(library, function: library.versionFunction)
    }
    let version = unsafe unsafeBitCast(address, to: (@convention(c) () -> UInt32).self)
    let found = LibraryVersion(version())
    if !library.takes(found) { throw .otherVersion(library, found: found) }
  }

  /// The corresponding C function is `dlsym`.
  private static func find(
    _ libraries: [SharedLibrary], _ handles: [UnsafeMutableRawPointer],
    _ function: (Int) -> LibraryFunction?
  ) throws(LibraryError) -> Functions {
    let size = unsafe MemoryLayout<UnsafeMutableRawPointer>.size
    let count = MemoryLayout<Functions>.size / size
    let table = UnsafeMutableRawPointer.allocate(
      byteCount: MemoryLayout<Functions>.size, alignment: MemoryLayout<Functions>.alignment)
    defer { unsafe table.deallocate() }
    var index = 0
    while let next = unsafe function(index) {
      precondition(index < count, "the list has more functions than the table")
      let library = unsafe libraries[next.library]
      guard let address = unsafe dlsym(handles[next.library], next.name) else {
        throw .incomplete(library, function: unsafe String(cString: next.name))
      }
      unsafe table.storeBytes(
        of: address, toByteOffset: index * size, as: UnsafeMutableRawPointer.self)
      index += 1
    }
    precondition(index == count, "the table has more functions than the list")
    return unsafe table.load(as: Functions.self)
  }
}
