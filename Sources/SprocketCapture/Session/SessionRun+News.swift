internal import Sprocket

/// An output that was removed from a run while a file of it may be under way.
struct LeavingOutput: Sendable {
  let output: any SessionOutput
  let sinks: [String]
}

extension SessionRun {
  func attach(_ output: any SessionOutput, _ sinks: [any Sink]) {
    state.withLock { state in
      state.outputs = state.outputs + [output]
      state.leaving.removeAll { $0.output === output }
    }
    let names = sinks.map(\.name)
    output.core.state.withLock { ($0.run, $0.sinks) = (self, names) }
  }

  /// Its sinks have left, or leave with the next frame. It gets the news of its files until these are
  /// complete.
  func detach(_ output: any SessionOutput) {
    let sinks = output.core.state.withLock { core in
      defer { (core.run, core.sinks) = (nil, []) }
      return core.sinks
    }
    state.withLock { state in
      state.outputs = state.outputs.filter { $0 !== output }
      state.leaving = state.leaving + [LeavingOutput(output: output, sinks: sinks)]
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
        (state.settling, state.brackets) = ([], [])
      }
      return state
    }
    updateChanges { $0.cancel() }
    for wait in old.settling { wait.reply.answer(.failure(SettleWait.isOver)) }
    old.device.state.withLock { if $0.run === self { $0.run = nil } }
    for output in old.outputs {
      output.core.state.withLock { ($0.run, $0.sinks) = (nil, []) }
      output.didLeave()
    }
    for left in old.leaving { left.output.didLeave() }
  }

  /// Hands on what happened to recordings and settings, in order. Outputs must not call the run from there.
  func deliverNews() {
    delivery.withLock { mark in
      let now = state.withLock { (engine: $0.engine, outputs: $0.outputs, leaving: $0.leaving) }
      guard let engine = now.engine else { return }
      // Before the news are read: these tell the ends of all files of the other sinks.
      let busy = now.leaving.isEmpty ? [] : engine.busySinks
      if engine.hasNews(since: mark) {
        for item in engine.news(since: &mark) {
          if case .settings(let changed, let first) = item { didSet(changed, from: first) }
          for output in now.outputs { output.take(item) }
          for left in now.leaving { left.output.take(item) }
        }
      }
      // After the ends of their recordings.
      endBrackets()
      for left in now.leaving where busy.isDisjoint(with: left.sinks) {
        state.withLock { state in
          state.leaving = state.leaving.filter { $0.output !== left.output }
        }
        left.output.didLeave()
      }
    }
  }

  private func didSet(_ changed: ChangedSettings, from first: UInt64) {
    guard let loop = CaptureDevice.Loop(rawValue: changed.stage) else { return }
    state.withLock { state in
      state.loopChanges[loop] = max(0, (state.loopChanges[loop] ?? 0) - 1)
      state.loopStarts[loop] = first
    }
  }
}
