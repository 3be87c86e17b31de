// The descriptors of the published messages (github.com/foxglove/foxglove-sdk, schemas/proto, version
// of 2025, and google/protobuf/timestamp.proto), put together as `google.protobuf.FileDescriptorSet`.

enum FoxgloveSchemas {
  static let rawImage = set(
    "RawImage",
    [
      ("timestamp", 1, .message), ("frame_id", 7, .string), ("width", 2, .fixed32),
      ("height", 3, .fixed32), ("encoding", 4, .string), ("step", 5, .fixed32), ("data", 6, .bytes),
    ])

  static let compressedImage = set(
    "CompressedImage",
    [
      ("timestamp", 1, .message), ("frame_id", 4, .string), ("data", 2, .bytes),
      ("format", 3, .string),
    ])

  static let rawAudio = set(
    "RawAudio",
    [
      ("timestamp", 1, .message), ("data", 2, .bytes), ("format", 3, .string),
      ("sample_rate", 4, .fixed32), ("number_of_channels", 5, .fixed32),
    ])

  /// `google.protobuf.FieldDescriptorProto.Type`.
  private enum FieldType: UInt64 {
    case int64 = 3
    case int32 = 5
    case fixed32 = 7
    case string = 9
    case message = 11
    case bytes = 12
  }

  private typealias Field = (name: String, number: UInt64, type: FieldType)

  private static let timestampFile = "google/protobuf/timestamp.proto"

  /// A set of two files: the time's, and the message's, which refers to it.
  private static func set(_ name: String, _ fields: [Field]) -> [UInt8] {
    var set = ProtobufMessage()
    set.add(
      1,
      file(
        timestampFile, package: "google.protobuf", imports: [],
        message("Timestamp", [("seconds", 1, .int64), ("nanos", 2, .int32)])))
    set.add(
      1,
      file(
        "foxglove/\(name).proto", package: "foxglove", imports: [timestampFile],
        message(name, fields)))
    return set.bytes
  }

  /// `FileDescriptorProto`: name 1, package 2, dependency 3, message_type 4, syntax 12.
  private static func file(
    _ name: String, package: String, imports: [String], _ message: ProtobufMessage
  ) -> ProtobufMessage {
    var file = ProtobufMessage()
    file.add(1, name)
    file.add(2, package)
    for path in imports { file.add(3, path) }
    file.add(4, message)
    file.add(12, "proto3")
    return file
  }

  /// `DescriptorProto`: name 1, field 2.
  private static func message(_ name: String, _ fields: [Field]) -> ProtobufMessage {
    var message = ProtobufMessage()
    message.add(1, name)
    for field in fields { message.add(2, descriptor(of: field)) }
    return message
  }

  /// `FieldDescriptorProto`: name 1, number 3, label 4, type 5, type_name 6, json_name 10.
  private static func descriptor(of field: Field) -> ProtobufMessage {
    var descriptor = ProtobufMessage()
    descriptor.add(1, field.name)
    descriptor.add(3, field.number)
    // LABEL_OPTIONAL.
    descriptor.add(4, 1)
    descriptor.add(5, field.type.rawValue)
    if field.type == .message { descriptor.add(6, ".google.protobuf.Timestamp") }
    descriptor.add(10, jsonName(of: field.name))
    return descriptor
  }

  /// `frame_id` becomes `frameId`.
  private static func jsonName(of name: String) -> String {
    let words = name.split(separator: "_")
    return words[0] + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }
}
