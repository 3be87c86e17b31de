import SprocketCore
import TestExpectations
import Testing

@testable import SprocketEngine

/// Enumerates the states of two recordings, three requests about them, one split and one failure: in every
/// order in which callers, stamps, the sink, the finisher and the run's end can come.
struct RecordingBookTests {
  @Test func everyInterleavingGivesBackWhatItTook() {
    var seen: Set<BookModel> = [BookModel()]
    var waiting = [BookModel()]
    var ends = 0
    while let model = waiting.popLast() {
      if let violation = model.violation {
        expectNil(violation)
        return
      }
      let followers = model.followers
      if followers.isEmpty { ends += 1 }
      for follower in followers where seen.insert(follower).inserted { waiting.append(follower) }
    }
    expectGreater(ends, 0)
    expectGreater(seen.count, 50_000)
  }

  /// A book with a recording of `a.mov` that has begun, and the order of its first file.
  private func openRecording() throws -> (RecordingBook, RecordingBook.Order) {
    var book = RecordingBook()
    book.attach(0, name: "movie")
    let first = try #require(try book.reserve(0, path: "a.mov"))
    try book.add(first, counts: false, at: .now)
    _ = book.begin(first.recording)
    return (book, first)
  }

  @Test func aRefusedNextLeavesTheRecordingsPath() throws {
    let (opened, first) = try openRecording()
    var book = opened
    let refused = try #require(try book.reserve(0, path: "/nonexistent/x.mov", of: first.recording))
    book.release(refused)
    let split = try #require(try book.reserve(0, path: nil, of: first.recording))
    expectEqual(split.part.path, "a.mov")
    expectEqual(split.part.index, 2)
  }

  @Test func aPathHoldsFromItsStampOn() throws {
    let (opened, first) = try openRecording()
    var book = opened
    let later = try #require(try book.reserve(0, path: "b.mov", of: first.recording))
    try book.add(next: later)
    let split = try #require(try book.reserve(0, path: nil, of: first.recording))
    book.goOn(in: split)
    expectEqual(split.part.path, "a.mov")
    expectTrue(book.goOn(in: later.part.file))
    let after = try #require(try book.reserve(0, path: nil, of: first.recording))
    expectEqual([after.part.path, "\(after.part.index)"], ["b.mov", "2"])
  }
}

/// The book, and what each of its users has in hand.
private struct BookModel: Hashable {
  private enum Stamp: Hashable {
    case begin(RecordingID, FileID)
    case next(FileID)
    case end(RecordingID)
  }

  private var book = RecordingBook()
  private var asked = 0
  private var splits = 0
  private var failures = 0
  private var isOver = false
  /// Files that a caller makes.
  private var making: [RecordingBook.Order] = []
  private var stamps: [Stamp] = []
  private var orders: [FileID: RecordingBook.Order] = [:]
  /// The file of each recording that has begun.
  private var open: [RecordingID: RecordingBook.Order] = [:]
  private var completing: [RecordingBook.Order] = []
  private var problem: String?

  init() { book.attach(0, name: "movie") }

  var violation: String? {
    if let problem { return problem }
    let taken = book.places.values.reduce(0, +)
    let waits = book.sinks.values.flatMap(\.recordings).flatMap(\.waiting).count
    let held = making.count + waits + open.count + completing.count
    if taken != held { return "\(taken) places are taken for \(held) files" }
    for (id, order) in open {
      guard let recording = book.recording(id) else { return "\(id) is open and has ended" }
      if recording.path != order.part.path { return "\(id) has the path of a file not under way" }
    }
    if isOver, making.isEmpty, stamps.isEmpty, open.isEmpty, completing.isEmpty {
      if taken > 0 { return "a place is left" }
      if book.sinks.values.contains(where: { !$0.recordings.isEmpty }) { return "one is left" }
    }
    return nil
  }

  var followers: [BookModel] {
    var found: [BookModel] = []
    func add(_ step: (inout BookModel) -> Void) {
      var copy = self
      step(&copy)
      if copy != self { found.append(copy) }
    }
    if asked < 3, !isOver {
      for moment in [Moment.now, .frame(9)] {
        add { $0.reserve(of: nil, moment) }
        for id in ids {
          for path in [nil, "b.mov"] { add { $0.reserve(of: id, path: path, moment) } }
          add { $0.stop(id, moment) }
        }
      }
    }
    for index in making.indices {
      add { $0.book.release($0.making.remove(at: index)) }
      for moment in [Moment.now, .frame(9)] { add { $0.accept(index, moment) } }
    }
    // Requests at later frames take effect in any order.
    for index in stamps.indices { add { $0.apply($0.stamps.remove(at: index)) } }
    for id in open.keys.sorted(by: { $0.number < $1.number }) {
      if splits == 0 { add { $0.split(id) } }
      if failures == 0 {
        add { model in
          model.failures = 1
          model.end(id, .error)
        }
      }
    }
    for index in completing.indices {
      add { $0.book.giveBack($0.completing.remove(at: index).owner) }
    }
    for (file, _) in orders.sorted(by: { $0.key.number < $1.key.number }) {
      add { $0.withdraw(file) }
    }
    if asked == 3, !isOver { add { $0.finish() } }
    return found
  }

  /// The two recordings that may be asked about.
  private var ids: [RecordingID] { [RecordingID(1), RecordingID(2)] }

  private mutating func reserve(of id: RecordingID?, path: String? = "a.mov", _ moment: Moment) {
    if id == nil, making.contains(where: { !$0.part.isFurther }) { return }
    if let order = try? book.reserve(0, path: path, of: id) {
      making.append(order)
      asked += 1
    }
  }

  private mutating func accept(_ index: Int, _ moment: Moment) {
    let order = making.remove(at: index)
    do {
      if order.part.isFurther {
        try book.add(next: order)
        stamps.append(.next(order.part.file))
      } else {
        try book.add(order, counts: false, at: moment)
        stamps.append(.begin(order.recording, order.part.file))
      }
      orders[order.part.file] = order
    } catch {
      book.release(order)
    }
  }

  private mutating func stop(_ id: RecordingID, _ moment: Moment) {
    if let accepted = try? book.add(stop: id, at: moment), accepted.isFirst {
      stamps.append(.end(id))
      asked += 1
    }
  }

  private mutating func apply(_ stamp: Stamp) {
    switch stamp {
    case .begin(let id, _):
      guard let file = book.begin(id) else { return }
      guard let order = orders.removeValue(forKey: file), order.recording == id else {
        problem = "recording \(id) begins in a file that is not its own"
        return
      }
      // Another one is under way: it is refused, as the gate does.
      if open.isEmpty { open[id] = order } else { drop(order, .refused) }
    case .next(let file):
      guard book.goOn(in: file) else { return }
      guard let order = orders.removeValue(forKey: file) else {
        problem = "an unknown file"
        return
      }
      guard let before = open.updateValue(order, forKey: order.recording) else {
        // It has not begun: its file is dropped with it.
        open[order.recording] = nil
        completing.append(order)
        return
      }
      completing.append(before)
    case .end(let id): end(id, .asked)
    }
  }

  private mutating func drop(_ order: RecordingBook.Order, _ reason: RecordingEnd) {
    completing.append(order)
    leave(book.end(order.recording, reason))
  }

  private mutating func end(_ id: RecordingID, _ reason: RecordingEnd) {
    if let order = open.removeValue(forKey: id) { completing.append(order) }
    leave(book.end(id, reason))
  }

  private mutating func leave(_ unused: [FileID]) {
    for file in unused {
      guard let order = orders.removeValue(forKey: file) else {
        problem = "a file is left that nobody made"
        return
      }
      completing.append(order)
    }
  }

  private mutating func split(_ id: RecordingID) {
    splits = 1
    guard let before = open[id], let order = try? book.reserve(0, path: nil, of: id) else { return }
    book.goOn(in: order)
    completing.append(before)
    open[id] = order
  }

  /// A ticket lets one thread alone withdraw or stamp.
  private mutating func withdraw(_ file: FileID) {
    guard let order = orders[file] else { return }
    let place = stamps.firstIndex { stamp in
      switch stamp {
      case .begin(_, let other), .next(let other): other == file
      case .end: false
      }
    }
    guard let place else { return }
    stamps.remove(at: place)
    leave(book.withdraw([file], stops: []))
    if orders[file] != nil, book.recording(order.recording) != nil { problem = "a file is kept" }
  }

  private mutating func finish() {
    isOver = true
    leave(book.close())
    for id in open.keys.sorted(by: { $0.number < $1.number }) { end(id, .end) }
    for id in book.sinks.values.flatMap(\.recordings).map(\.id) { leave(book.end(id, .end)) }
  }
}
