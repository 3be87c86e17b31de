"""What a storm is like: command, limits, descriptors and signals, all of it drawn from one number."""
import dataclasses
import random

# A storm's recordings, which others of its kind read: made once per batch, see storms.py.
MOVIE, DUMP = "input.mov", "input.mcap"
SINKS = ["movie", "stills", "dump", "reports", "checksum", "checksums", "pipe", "null"]
STAGES = ["latedrop", "latedrop:budget=1ms", "meter", "meter:mode=zones", "focus", "negate",
          "stabilize", "stabilize:mode=standard", "stabilize:mode=cinematic,lookahead=3",
          "crop:region=0.1/0.2/0.7/0.5", "crop:aspect=1:1", "resize:size=100x",
          "resize:size=64x64,mode=letterbox,filter=lanczos", "rotate:turn=90",
          "rotate:turn=180,mirror=vertical"]
# What standard output and error lead to, beside a reader: nothing, a pipe that is full and is not read, a
# pipe whose reader is gone, a device that is full.
ENDS = ["closed", "stuck", "gone", "full"]


@dataclasses.dataclass
class Storm:
    """One run. Times are in seconds from its start."""
    seed: int
    arguments: list
    # What the scene makes of it is known only there.
    is_scene: bool
    # The frames are counted and come as fast as they are taken: the run ends by itself.
    is_finite: bool
    limits: dict = dataclasses.field(default_factory=dict)  # prlimit's names; bytes, or a number.
    ends: dict = dataclasses.field(default_factory=dict)  # Descriptor: "closed" or one of ENDS.
    signals: list = dataclasses.field(default_factory=list)  # (seconds, name), in order.
    # When it is interrupted, where it does not end before, and after how long once more.
    end: float = 0.3
    patience: float = 0.3

    @property
    def is_undisturbed(self):
        return not (self.limits or self.ends or self.signals)


def storm(seed, is_sanitized=False):
    """The storm of a number. Sanitizers map terabytes, start threads and a symbolizer of their own, and write
    files: they get no limits."""
    draw = random.Random(seed)
    kind = draw.choices(["scene", "file", "replay"], [8, 1, 1])[0]
    is_fast = draw.random() < 0.5
    frames = draw.randrange(1, 60) if draw.random() < 0.7 else None
    arguments = ["run", *(scene(draw, seed, is_fast) if kind == "scene" else recording(kind)),
                 *chain(draw), *outputs(draw)]
    if frames is not None:
        arguments += ["--frames", frames]
    elif draw.random() < 0.5:
        arguments += ["--duration", f"{draw.randrange(1, 400)}ms"]
    is_finite = kind != "scene" or (is_fast and frames is not None)
    found = Storm(seed, list(map(str, arguments)), kind == "scene", is_finite)
    # Half of all runs have no limits, no special descriptors and no signals: otherwise success would never
    # be tested.
    if draw.random() < 0.5:
        found.limits = limits(draw, is_sanitized)
        found.ends = ends(draw)
        found.signals = signals(draw)
    found.end, found.patience = draw.uniform(0.05, 0.6), draw.uniform(0, 0.5)
    return found


def scene(draw, seed, is_fast):
    def chance(percent):
        return draw.choice([0, draw.uniform(0, percent / 100)])
    rate = round(10 ** draw.uniform(0, 3.302), draw.choice([0, 3]))
    settings = {
        "seed": seed, "startup": draw.randrange(3), "drop": chance(20), "corrupt": chance(20),
        "truncate": chance(20), "stall": chance(4), "stallfor": "2ms", "late": chance(10),
        "latefor": "1ms", "backwards": chance(10), "unplug": chance(4), "unplugfor": "3ms",
        "formatchange": chance(4), "pace": "fast" if is_fast else "real", "truth": "truth.jsonl",
    }
    # Everything fails, now and then.
    if draw.random() < 0.03:
        settings[draw.choice(["drop", "corrupt", "truncate", "backwards", "formatchange", "unplug"])] = 1
    if draw.random() < 0.1:
        settings["cached"] = draw.randrange(1, 20)
    # The stabilizer does nothing on the smallest.
    largest = draw.choices([(90, 70), (320, 240), (640, 480)], [5, 4, 1])[0]
    words = ["--source", "scene", "--size",
             f"{draw.randrange(40, largest[0])}x{draw.randrange(30, largest[1])}",
             "--rate", min(max(rate, 1), 2000)]
    if draw.random() < 0.4:
        words += ["--format", draw.choice(["MJPG", "YUYV", "GREY", "Y16", "NV12", "I420", "RGB24"])]
    for key, value in settings.items():
        words += ["--source-set", f"{key}={value}"]
    return words


def recording(kind):
    return ["--source", f"file:../{MOVIE}" if kind == "file" else f"replay:../{DUMP}"]


def chain(draw):
    words = []
    for stage in draw.sample(STAGES, draw.choice([0, 1, 1, 2, 3, 4])):
        name = stage.split(":")[0]
        if not any(word.split(":")[0] == name for word in words):
            words += ["--stage", stage]
    if draw.random() < 0.1:
        words += ["--auto-exposure", draw.choice(["continuous", "auto", "locked"])]
    if draw.random() < 0.1:
        words += ["--auto-focus", draw.choice(["continuous", "auto", "locked"])]
    return words + ["--workers", draw.randrange(1, 9), "--wait",
                    draw.choice(["park", "park", "spin-park", "spin"])]


def outputs(draw):
    words = ["--summary", "summary.json"]
    for sink in draw.sample(SINKS, draw.randrange(5)) + ["reports"] * (draw.random() < 0.5):
        words += [word for word in {
            "movie": ["--movie", f"movie.{draw.choice(['mov', 'mp4', 'mkv'])}"],
            "stills": ["--stills", "stills", *draw.choice([[], ["--every", "20ms"]])],
            "dump": ["--dump", "dump.mcap"], "reports": ["--reports", "reports.jsonl"],
            "checksum": ["--checksum"], "checksums": ["--checksums", "sums.txt"],
            "pipe": ["--pipe", draw.choice(["y4m", "gray"])], "null": ["--null"],
        }[sink] if sink != "reports" or "--reports" not in words]
    return words + draw.choice([[], ["--quiet"], ["--quiet"], ["--verbose"]])


def limits(draw, is_sanitized):
    # With less than 10^8.35 bytes of address space the loader cannot map the libraries, and the program
    # does not start.
    choice = draw.choice(["none", "none", "nofile", "fsize", "nproc", "as"])
    value = {"none": None, "nofile": draw.randrange(3, 40), "fsize": int(10 ** draw.uniform(0, 6.5)),
             "nproc": draw.randrange(1, 30), "as": int(10 ** draw.uniform(8.4, 9.3))}[choice]
    if choice == "none" or is_sanitized:
        return {}
    return {choice: value}


def ends(draw):
    found = {0: "closed"} if draw.random() < 0.15 else {}
    for descriptor in (1, 2):
        if draw.random() < 0.3:
            found[descriptor] = draw.choice(ENDS)
    return found


def signals(draw):
    if draw.random() < 0.4:
        return []
    names = ["SIGINT", "SIGINT", "SIGTERM", "SIGHUP"]
    times = sorted(draw.choice([draw.uniform(0, 0.02), draw.uniform(0, 0.1), draw.uniform(0, 0.5)])
                   for _ in range(draw.choice([1, 1, 2, 3])))
    return [(time, draw.choice(names)) for time in times]
