// Runs one storm of Tests/Judges/sound_storms.py, in the folder that it is started in:
//
//     SprocketSoundStorm SEED
//
// and says for each microphone, as a line of JSON, where its samples ended.

import Glibc
import Sprocket

signal(SIGXFSZ, SIG_IGN)
guard CommandLine.arguments.count == 2, let seed = UInt64(CommandLine.arguments[1]) else {
  print("give a number")
  exit(2)
}
do {
  for line in try Storm(seed: seed).run() { print(line) }
} catch {
  print("storm \(seed): \(error)")
  exit(1)
}
