internal import SprocketCore
internal import SprocketRing
internal import Synchronization

// Live settings.
extension SourcePump {
  /// Lets a request hold from frame `number` on.
  func change(_ request: SettingRequest, at number: UInt64) {
    guard let request = shared.settings.fitted(request, note: shared.note) else { return }
    settings = .changed(settings, by: request, count: shared.settings.stageCount)
    request.isStamped.store(true, ordering: .relaxed)
    shared.settings.noteSettled(request)
    shared.events.add(
      Event(kind: .settingsChanged, ticket: request.id, number: number).words)
  }

  /// Repeats a change of settings that a replay's dump tells of. False if the source was abandoned
  /// meanwhile.
  func repeatChange(_ event: Event) -> Bool {
    guard let changed = source.changedSettings(event.ticket) else { return false }
    guard let changed else { return true }
    do throws(RunError) {
      let asked = try shared.settings.change(changed)
      change(try shared.settings.add(asked), at: event.number)
    } catch {
      shared.note("the recorded change of settings is left out: \(error)")
    }
    return true
  }

  /// The settings of the next frame, where the slot does not have them yet. The slot refers to an object
  /// that this pump keeps.
  func newSettings(slot index: Int) -> LiveSettings? {
    guard let settings, slotSettings[index] !== settings else { return nil }
    slotSettings[index] = settings
    return settings
  }
}
