import Foundation
import TestExpectations
import Testing

@testable import SprocketV4L2

/// What needs no device; the lab tries the rest on real drivers.
@Suite struct V4L2Tests {
  /// `v4l2_fourcc('Y', 'U', 'Y', 'V')` of linux/videodev2.h is 0x56595559.
  @Test func fourccsAreLittleEndianText() {
    expectEqual(V4L2FourCC("YUYV").rawValue, 0x5659_5559)
    expectEqual(V4L2FourCC(rawValue: 0x5659_5559).text, "YUYV")
    expectEqual(V4L2FourCC("Y10"), V4L2FourCC("Y10 "))
    expectEqual(V4L2FourCC("Y10").text, "Y10")
  }

  /// `V4L2_PIX_FMT_Y16_BE` is `v4l2_fourcc_be('Y', '1', '6', ' ')`: bit 31 is set.
  @Test func bigEndianFourccsSaySo() {
    expectEqual(V4L2FourCC(rawValue: 0xA036_3159).text, "Y16-BE")
    expectEqual(V4L2FourCC(rawValue: 0x0001_3159).text, "Y1??")
  }

  /// Titles of uvcvideo and vivid, and what `v4l2-ctl --list-ctrls` of v4l-utils 1.22 calls them.
  @Test(arguments: [
    ("Exposure Time, Absolute", "exposure_time_absolute"), ("Brightness", "brightness"),
    ("White Balance, Automatic", "white_balance_automatic"), ("Y'CbCr Encoding", "y_cbcr_encoding"),
    ("Power Line Frequency", "power_line_frequency"), ("Integer (32 Bits)", "integer_32_bits"),
    ("U8 2x3x4x5 Array", "u8_2x3x4x5_array"), ("", ""), (" - ", ""),
  ])
  func namesAreThoseOfV4L2Ctl(_ title: String, _ name: String) {
    expectEqual(V4L2Control.name(of: title), name)
  }

  /// 0x80000000 does not fit a signed 32-bit number, in which the kernel exchanges bitmasks.
  @Test func bitmasksHaveNoSign() {
    let mask = V4L2Control(
      id: 1, title: "Bitmask", kind: .bitmask, minimum: 0, maximum: 0x8000_2000)
    expectEqual(mask.packed(0x8000_0000), Int32.min)
    expectEqual(mask.unpacked(Int32.min), 0x8000_0000)
    let number = V4L2Control(id: 1, title: "Number", kind: .integer, minimum: -1, maximum: 1)
    expectEqual(number.packed(-1), -1)
    expectEqual(number.unpacked(-1), -1)
    expectEqual(number.packed(1 << 40), .max)
  }

  /// `V4L2_FIELD_ANY`, `_NONE`, `_TOP`, `_INTERLACED`, `_SEQ_TB`, `_ALTERNATE`, `_INTERLACED_TB`
  /// and `_INTERLACED_BT` of linux/videodev2.h.
  @Test(arguments: [
    (UInt32(0), V4L2Field.progressive), (1, .progressive), (2, .single), (4, .interlaced),
    (5, .sequential), (7, .single), (8, .interlacedTopFirst), (9, .interlacedBottomFirst),
  ])
  func fieldsAreToldApart(_ number: UInt32, _ field: V4L2Field) {
    expectEqual(V4L2Field(number), field)
  }

  @Test func aMissingDeviceIsToldFromOneThatIsNone() throws {
    let missing = #expect(throws: V4L2Error.self) { _ = try V4L2Device(path: "/dev/video4095") }
    expectEqual(missing?.code, .notFound)
    expectEqual(missing?.description.contains("/dev/video4095"), true)
    let other = #expect(throws: V4L2Error.self) { _ = try V4L2Device(path: "/dev/null") }
    expectEqual(other?.code, .notACamera)
  }

  @Test(arguments: [
    (ENOENT, V4L2Error.Code.notFound), (EACCES, .notPermitted), (EBUSY, .busy), (ENODEV, .gone),
    (ENOSPC, .noBandwidth), (EIO, .failed), (EINVAL, .refused),
  ])
  func errorsSayWhatToDo(_ errno: Int32, _ code: V4L2Error.Code) {
    let error = V4L2Error(operation: "VIDIOC_STREAMON", errno: errno, path: "/dev/video7")
    expectEqual(error.code, code)
    expectTrue(error.description.contains("/dev/video7"))
  }

  @Test func noPermissionNamesTheGroup() {
    let error = V4L2Error(operation: "open", errno: EACCES, path: "/dev/video0")
    expectTrue(error.description.contains("sudo usermod -aG video $USER"))
  }

  @Test func whoHoldsAFileIsFound() throws {
    let path = "/etc/passwd"
    let child = Process()
    child.executableURL = URL(fileURLWithPath: "/bin/sh")
    child.arguments = ["-c", "exec 3<\(path); read line"]
    let input = Pipe()
    child.standardInput = input
    try child.run()
    defer {
      try? input.fileHandleForWriting.close()
      child.waitUntilExit()
    }
    var found: V4L2Holder?
    for _ in 0..<2000 where found == nil {
      found = V4L2Holder.all(of: path).first { $0.process == child.processIdentifier }
      usleep(5000)
    }
    expectEqual(found?.name, "sh")
  }
}
