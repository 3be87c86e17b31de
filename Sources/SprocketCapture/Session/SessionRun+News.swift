internal import Sprocket

/// An output that was removed from a run while a file of it may be under way.
final class LeavingOutput: Sendable {
  let output: any SessionOutput

  init(_ output: any SessionOutput) { self.output = output }

  /// Whether a sink of the output's is among these: one of those that it had in this run, whichever.
  func isAmong(_ sinks: Set<String>) -> Bool {
    let name = output.core.name
    return sinks.contains { $0 == name || $0.hasPrefix("\(name)-") }
  }
}

extension SessionRun {
  func attach(_ output: any SessionOutput, _ sinks: [any Sink]) {
    state.withLock { state in
      state.outputs = state.outputs.filter { $0 !== output } + [output]
      state.leaving.removeAll { $0.output === output }
    }
    let names = sinks.map(\.name)
    output.core.state.withLock { ($0.run, $0.sinks) = (self, names) }
  }

  /// Its sinks have left, or leave with the next frame. It gets the news of its files until these are
  /// complete.
  func detach(_ output: any SessionOutput) {
    output.core.leaveRun()
    state.withLock { state in
      state.outputs = state.outputs.filter { $0 !== output }
      state.leaving = state.leaving + [LeavingOutput(output)]
    }
    deliverNews()
  }

  /// Lets go of the engine, which has ended.
  func close() {
    deliverNews()
    noteClosed()
    let old = state.withLock { state in
      defer {
        (state.engine, state.sound, state.onEnd) = (nil, nil, nil)
        (state.outputs, state.leaving) = ([], [])
        (state.settling, state.brackets, state.ramp) = ([], [], nil)
      }
      return state
    }
    updateChanges { $0.cancel(because: "the session stopped") }
    for wait in old.settling { wait.reply.answer(.failure(SettleWait.isOver)) }
    old.device?.state.withLock { if $0.run === self { $0.run = nil } }
    for output in old.outputs {
      output.core.leaveRun()
      output.didLeave()
    }
    for left in old.leaving { left.output.didLeave() }
  }

  /// Hands on what happened to recordings and settings, in order. Outputs must not call the run from there.
  func deliverNews() {
    delivery.withLock { mark in
      let before = state.withLock { (engine: $0.engine, leaving: $0.leaving) }
      guard let engine = before.engine else { return }
      // Read before the news: if a sink is not busy now, the news contain the end of each of its files.
      let busy = before.leaving.isEmpty ? [] : engine.busySinks
      if engine.hasNews(since: mark) {
        let news = engine.news(since: &mark)
        // Read after the news, so that every output that requested one of these files is included.
        let now = state.withLock { $0.outputs + $0.leaving.map(\.output) }
        for item in news {
          if case .settings(let changed, let first) = item { didSet(changed, from: first) }
          for output in now { output.take(item) }
        }
      }
      // After the ends of their recordings.
      endBrackets()
      for left in before.leaving where !left.isAmong(busy) {
        // If the output was added again in the meantime, it stays.
        let isLeft = state.withLock { state in
          let others = state.leaving.filter { $0 !== left }
          defer { state.leaving = others }
          return others.count < state.leaving.count
        }
        if isLeft { left.output.didLeave() }
      }
    }
  }

  private func didSet(_ changed: ChangedSettings, from first: UInt64) {
    guard let loop = CaptureDevice.Loop(rawValue: changed.stage) else { return }
    let number = state.withLock { state in
      state.loopsTold[loop, default: 0] += 1
      state.loopStarts[loop] = first
      return state.loopsTold[loop, default: 0]
    }
    updateChanges { $0.begin(loop, number, from: first) }
  }
}
