import Sprocket

/// A mistake in a program's code that ends the program with a sentence.
enum Mistake: String, CaseIterable, SettingValue {
  // Of a stage, at a frame.
  case luma, image, encoded, edit, sensorMap, source, row, rowOfPlane, plane, sourcePlane, event
  case eventOrder, earlier, later, control, reportByType, resamplingTable, resampledRow
  // Of a stage, in configure.
  case history, lookahead, report, steers, format
  // Of a sink.
  case sinkImage, value, upsideDown
  // Of a source.
  case fill, take, cameraTake, sceneReclaim, replayReclaim
  // Of the program that sets up a run.
  case dumpSources, dumpSource, fourthPlane, pairedSource
  case field, words, size, planeSize, workers, manyWorkers, traceLimit, movieQuality, stillQuality,
    sharpest,
    preRoll, preRollSlack, preRollBytes, movieBegin, stillsBegin,
    unpacker,
    unpackerRange
  // Of sound.
  case audioFormat, audioBlock, audioTap, audioRead, emptyReclaim
  case copies, secondLoop, pushEncoded, pushRoom, pushBytes
  case pushSoundRoom, pushSoundBytes
  // Mistakes in tests.
  case testEncoded, testPlanes, testPlaneBytes, testEarlier, testLater, testFormat, testLuma,
    testReport
  case testDamaged, testPadding, testDelay, testMissing, testWorkers, testChange, testValue
}
