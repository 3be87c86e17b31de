// Runs one storm of Tests/Judges/sound_storms.py, in the folder that it is started in:
//
//     SprocketSoundStorm SEED [show]
//
// and says for each microphone, as a line of JSON, where its samples ended. `show` only says what it is like.

import Glibc
import Sprocket

signal(SIGXFSZ, SIG_IGN)
guard CommandLine.arguments.count > 1, let seed = UInt64(CommandLine.arguments[1]) else {
  print("give a number")
  exit(2)
}
do {
  let storm = try Storm(seed: seed)
  for line in CommandLine.arguments.count > 2 ? storm.told : try storm.run() { print(line) }
} catch {
  print("storm \(seed): \(error)")
  exit(1)
}
