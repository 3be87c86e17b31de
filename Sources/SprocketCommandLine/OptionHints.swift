internal import Sprocket

/// Translates options of other programs to those of Sprocket.
enum OptionHints {
  /// Adds to the parser's error about an unknown option the Sprocket option that has the same effect, if the
  /// unknown option is known from another program.
  static func improved(_ sentence: String, command: String?) -> String {
    let start = "Unknown option '"
    guard sentence.hasPrefix(start) else { return sentence }
    let option = String(sentence.dropFirst(start.count).prefix { $0 != "'" })
    let known = command == "export" ? export : command == "run" ? run : [:]
    guard let here = known[String(option.drop { $0 == "-" })] else { return sentence }
    return "\(start)\(option)'; here it is \(here)"
  }

  private static let codec = "a setting of --codec, such as h264:crf=20,preset=veryfast"

  private static let both = [
    "fps": "--rate", "framerate": "--rate", "frame-rate": "--rate", "r": "--rate",
    "crf": codec, "preset": codec, "bitrate": codec, "b:v": codec, "profile": codec,
    "vcodec": "--codec", "c:v": "--codec", "video-codec": "--codec", "encoder": "--codec",
    "y": "--overwrite", "force": "--overwrite",
  ]
  private static let filters = "--crop, --aspect, --scale, --rotate or --stage"
  private static let export = both.merging([
    "size": "--scale", "resize": "--scale", "width": "--scale 640x", "height": "--scale x480",
    "s": "--scale", "start": "--from", "ss": "--from", "end": "--to", "stop": "--to",
    "duration": "--to, a time of the file and not a length", "time": "--to",
    "t": "--to, a time of the file and not a length",
    "no-audio": "--audio none", "an": "--audio none", "mute": "--audio none",
    "acodec": "--audio", "c:a": "--audio", "audio-codec": "--audio", "microphone": "--audio",
    "input": "the first argument: export in.mov out.mp4",
    "i": "the first argument: export in.mov out.mp4",
    "output": "the last argument: export in.mov out.mp4",
    "o": "the last argument: export in.mov out.mp4", "quality": codec,
    "movie": "the last argument: export in.mov out.mp4",
    "vf": filters, "filter:v": filters, "fs": "--target-size", "c": "--codec, or --copy",
    "square": "--upright", "deinterlace": "none: deinterlace before",
  ]) { $1 }
  private static let run = both.merging([
    "input": "--source file:PATH", "i": "--source file:PATH", "device": "--source camera:PATH",
    "output": "--movie PATH", "o": "--movie PATH", "time": "--duration", "t": "--duration",
    "length": "--duration", "resolution": "--size", "scale": "--stage resize:size=640x",
    "crop": "--stage crop:pixels=0/0/640/480", "audio": "--microphone", "mic": "--microphone",
    "acodec": "--audio-codec", "c:a": "--audio-codec",
  ]) { $1 }
}
