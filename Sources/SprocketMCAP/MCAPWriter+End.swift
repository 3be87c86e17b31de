internal import SprocketDeflate

// The end of a file: its summary.

extension MCAPWriter where Output: ~Copyable {
  /// Ends the file: what it holds, and where.
  public mutating func end() throws(Output.Failure) {
    try endChunk()
    scratch.removeAll()
    scratch.append(.dataEnd(checksum: options.hasDataChecksum ? checksum.value : 0))
    let summary = scratch.count
    let groups = appendSummary()
    let offsets = scratch.count
    if options.hasSummaryOffsets { appendOffsets(groups) }
    let summaryStart = offsets == summary ? 0 : offset + UInt64(summary)
    let offsetStart = scratch.count == offsets ? 0 : offset + UInt64(offsets)
    let footer = scratch.beginRecord(MCAPOpcode.footer)
    scratch.append(summaryStart)
    scratch.append(offsetStart)
    // The length is part of what the checksum is of.
    scratch.endRecord(footer, length: MCAPFormat.footerSize)
    var checksum = CRC32()
    let elements = unsafe scratch.elements
    checksum.update(unsafe Span(_unsafeElements: elements).extracting(summary..<elements.count))
    scratch.append(checksum.value)
    scratch.append(MCAPFormat.magic)
    try writeScratch()
  }

  /// Where each kind of records begins, in `scratch`; the last entry is where they end.
  private mutating func appendSummary() -> [(opcode: UInt8, start: Int)] {
    var groups: [(opcode: UInt8, start: Int)] = []
    func begin(_ opcode: UInt8, at start: Int) { groups.append((opcode, start)) }
    let padding = options.padding
    begin(MCAPOpcode.schema, at: scratch.count)
    if options.repeatsSchemas {
      for schema in schemas { scratch.append(.schema(schema), padding: padding) }
    }
    begin(MCAPOpcode.channel, at: scratch.count)
    if options.repeatsChannels {
      for channel in channels { scratch.append(.channel(channel), padding: padding) }
    }
    begin(MCAPOpcode.statistics, at: scratch.count)
    if options.hasStatistics { scratch.append(.statistics(statistics), padding: padding) }
    begin(MCAPOpcode.chunkIndex, at: scratch.count)
    if options.hasChunkIndexes {
      scratch.append(unsafe Span(_unsafeElements: chunkIndexes.elements))
    }
    begin(MCAPOpcode.attachmentIndex, at: scratch.count)
    for index in attachmentIndexes { scratch.append(.attachmentIndex(index), padding: padding) }
    begin(MCAPOpcode.metadataIndex, at: scratch.count)
    for index in metadataIndexes { scratch.append(.metadataIndex(index), padding: padding) }
    begin(0, at: scratch.count)
    return groups
  }

  private var statistics: MCAPStatistics {
    var statistics = MCAPStatistics()
    statistics.messageCount = messageCounts.reduce(0, +)
    statistics.schemaCount = UInt16(schemas.count)
    statistics.channelCount = UInt32(channels.count)
    statistics.attachmentCount = attachmentCount
    statistics.metadataCount = metadataCount
    statistics.chunkCount = chunkCount
    statistics.startTime = startTime ?? 0
    statistics.endTime = endTime
    for (channel, count) in zip(channels, messageCounts) {
      statistics.channelMessageCounts[channel.id] = count
    }
    return statistics
  }

  private mutating func appendOffsets(_ groups: [(opcode: UInt8, start: Int)]) {
    for (group, next) in zip(groups, groups.dropFirst()) where next.start > group.start {
      let place = MCAPSummaryOffset(
        opcode: group.opcode, start: offset + UInt64(group.start),
        length: UInt64(next.start - group.start))
      scratch.append(.summaryOffset(place), padding: options.padding)
    }
  }
}
