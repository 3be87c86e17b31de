// The stages in `Plugins/`, for programs: `import SprocketStages`.

@_exported public import AutoExposure
@_exported public import AutoFocus
@_exported public import Bracket
@_exported public import Codes
@_exported public import Crop
@_exported public import Debayer
@_exported public import ExposureMeter
@_exported public import FocusScore
@_exported public import Gain
@_exported public import LateFrameDrop
@_exported public import MotionDetector
@_exported public import Negate
@_exported public import RepeatedFrameDrop
@_exported public import Resize
@_exported public import Rotate
public import SprocketCore
@_exported public import Stabilizer
@_exported public import TextOverlay
@_exported public import Undistort

/// The stages that `--stage` knows, by the name of their folder in `Plugins/`.
public let builtinStages: [Plugin] = [
  AutoExposure.plugin,
  AutoFocus.plugin,
  Bracket.plugin,
  Codes.plugin,
  Crop.plugin,
  Debayer.plugin,
  ExposureMeter.plugin,
  FocusScore.plugin,
  LateFrameDrop.plugin,
  MotionDetector.plugin,
  Negate.plugin,
  RepeatedFrameDrop.plugin,
  Resize.plugin,
  Rotate.plugin,
  Stabilizer.plugin,
  TextOverlay.plugin,
  Undistort.plugin,
]

/// The audio stages that `--audio-stage` knows.
public let builtinAudioStages: [AudioPlugin] = [
  Gain.plugin
]
