internal import Sprocket

/// Words of other programs (ffmpeg, GStreamer, libcamera, v4l2-ctl, OpenCV), and what to write instead.
enum ForeignWords {
  /// A row names the commands that have no such option (`sprocket`: no such command), the words, and what
  /// to write: options, or a command line without the program's name. Then a comma or a bar begins a note.
  static let table = """
    run export: fps framerate frame-rate r desired-fps set-parm => --rate 30
    run export: y force => --overwrite
    run export: hflip mirror flip => --stage rotate:mirror=horizontal
    run export: vflip => --stage rotate:mirror=vertical
    run export: stabilise vstab => --stage stabilize
    run: width height w resolution res video-size set-fmt-video s => --size 640x480
    run: pix-fmt pixel-format pixelformat input-format fourcc => --format YUYV
    run: device d camera cam index => --source camera:/dev/video0
    run: input i file => --source file:clip.mov
    run: ss start seek => --source file:clip.mov --from 5s
    run: list list-cameras list-devices list-formats list-formats-ext list-ctrls list-controls l => devices
    run: timeout t time length => --duration 10s
    run: vframes frames:v num-buffers stream-count count => --frames 300
    run: output o out record stream-to => --movie clip.mov
    run: vcodec c:v video-codec encoder c => --movie clip.mov --codec h264
    run: bitrate b:v b => --movie clip.mov --codec h264:bitrate=2M
    run: crf preset profile tune => --movie clip.mov --codec h264:crf=20,preset=veryfast
    run: segment => --movie clip-{n}.mov --split 60s
    run: circular => --movie clip-{n}.mov --on-demand --pre-roll 5s
    run: keypress => --movie clip-{n}.mov --on-demand
    run: timelapse interval tl => --stills shots --every 10s
    run: encoding e => --stills shots/{n}.png
    run: raw => --dump take.mcap
    run: metadata save-pts => --reports frames.jsonl
    run: preview p display show view window fullscreen => --pipe y4m | ffplay -
    run: nopreview n => --null, or nothing: there is no window
    run: gain analoggain iso => --control gain=4, or --auto-exposure continuous
    run: shutter exposure-time => --control exposure_time_absolute=100, or --auto-exposure continuous
    run: exposure ev => --auto-exposure continuous
    run: autofocus autofocus-mode af => --auto-focus continuous
    run: brightness contrast saturation sharpness hue gamma set-ctrl => --control brightness=128
    run: awb white-balance => --control white_balance_automatic=1
    run: rotate rotation => --stage rotate:turn=180
    run: crop roi => --stage crop:pixels=0/0/640/480
    run: scale resize vf filter:v => --stage resize:size=640x
    run: audio mic audio-device => --microphone auto
    run: an no-audio mute => --microphone none
    run: acodec c:a => --movie clip.mov --audio-codec aac
    run: b:a => --movie clip.mov --audio-codec aac --audio-bitrate 128k
    run: ar sample-rate => --sound clip.wav --audio-rate 48000
    run: ac channels => --sound clip.wav --audio-channels 1
    run: threads => --workers 4
    run: loglevel => --quiet, or --verbose
    run: debug => --verbose
    run: jpeg snapshot => --stills shots --every 1s
    photo: timeout t skip delay s => --after 2s
    photo: output o => photo shot.jpg
    photo: wait settle => --within 20s
    run: motion trigger => --movie clip-{n}.mov --stage motion --record-when 'motion.score > 0.2'
    run: prebuffer => --movie clip-{n}.mov --on-demand --pre-roll 5s
    run: segment-time => --movie clip-{n}.mov --split 60s
    export: size resize resolution s => --scale 640x480
    export: width w => --scale 640x
    export: height => --scale x480
    export: rotation => --rotate 90
    export: ss start seek => --from 5s
    export: end stop => --to 10s
    export: duration time t => --to 10s, a time of the file and not a length
    export: bitrate b:v b => --codec h264:bitrate=2M
    export: crf preset profile tune quality => --codec h264:crf=20,preset=veryfast
    export: vcodec c:v video-codec encoder => --codec h264
    export: c => --codec h264, or --copy
    export: an no-audio mute => --audio none
    export: acodec c:a audio-codec microphone => --audio aac
    export: vn => export in.mov out.wav
    export: input i output o movie => export in.mov out.mp4
    export: vf filter:v => --stage stabilize, or --crop, --aspect, --scale or --rotate
    export: fs => --target-size 10M
    export: square => --upright
    sprocket: list ls l cameras scan list-devices list-cameras list-formats => devices
    sprocket: record capture video grab start o output => run --movie clip.mov
    sprocket: i input => run --source file:clip.mov
    sprocket: still snap snapshot picture photograph => photo shot.jpg
    sprocket: play view show preview display => run --pipe y4m | ffplay -
    sprocket: replay => run --source replay:take.mcap
    sprocket: dump => run --dump take.mcap
    sprocket: convert transcode encode remux trim cut => export in.mov out.mp4
    sprocket: info probe identify => inspect clip.mov
    sprocket: repair fix => recover take.partial.mov take.mov
    sprocket: control controls set set-ctrl c => devices /dev/video0 --control brightness=128
    sprocket: filters effects plugins elements sources sinks => stages
    sprocket: monitor status stats => top
    sprocket: v version => --version
    """

  static var rows: [(commands: [Substring], words: [Substring], answer: Substring)] {
    table.split(separator: "\n").compactMap { row in
      guard let colon = row.firstRange(of: ": "), let arrow = row.firstRange(of: " => ") else {
        return nil
      }
      return (
        row[..<colon.lowerBound].split(separator: " "),
        row[colon.upperBound..<arrow.lowerBound].split(separator: " "), row[arrow.upperBound...]
      )
    }
  }

  /// What to write instead of an option of a command, or, without one, of a command or an option before it.
  static func answer(to given: String, of command: String?) -> String? {
    let word = given.drop { $0 == "-" }.replacing("_", with: "-").lowercased()
    let row = rows.first { row in
      row.commands.contains { $0 == command ?? "sprocket" } && row.words.contains { $0 == word }
    }
    if let row {
      let isOption = command != nil && row.answer.hasPrefix("--")
      return "write \(isOption ? "" : programName + " ")\(row.answer)"
    }
    guard command == nil, given.hasPrefix("--") else { return nil }
    let owner = (try? CommandHelp.root)?.subcommands?.first { command in
      command.shown.contains { $0.longNames.contains(given) }
    }
    return owner.map { "write \(programName) \($0.commandName) \(given)" }
  }

  /// Adds to the parser's sentence about an unknown option what to write instead.
  static func improved(_ sentence: String, command: String?) -> String {
    let start = "Unknown option '"
    guard sentence.hasPrefix(start) else { return sentence }
    let option = String(sentence.dropFirst(start.count).prefix { $0 != "'" })
    return answer(to: option, of: command).map { "\(start)\(option)'; \($0)" } ?? sentence
  }
}
