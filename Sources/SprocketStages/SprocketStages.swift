import AutoExposure
import AutoFocus
import ExposureMeter
import FocusScore
import LateFrameDrop
import Negate
public import SprocketCore
import Stabilizer

/// The stages that `--stage` knows, by the name of their folder in `Plugins/`.
public let builtinStages: [Plugin] = [
  AutoExposure.plugin,
  AutoFocus.plugin,
  ExposureMeter.plugin,
  FocusScore.plugin,
  LateFrameDrop.plugin,
  Negate.plugin,
  Stabilizer.plugin,
]
