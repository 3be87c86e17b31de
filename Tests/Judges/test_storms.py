"""Every fault of the scene at random: each frame's fate against the scene's own list of what it did."""
import json
import os
import random

from conftest import read_lines, sprocket

RUNS = int(1500 * float(os.environ.get("SPROCKET_STRESS", "1")))
DAMAGE = {"corrupt", "truncate"}


def weather(seed):
    """Settings that follow from the seed alone."""
    draw = random.Random(seed)
    def chance(percent):
        return draw.choice([0, draw.uniform(0, percent / 100)])
    settings = {
        "seed": seed, "startup": draw.randrange(3), "drop": chance(20), "corrupt": chance(20),
        "truncate": chance(20), "stall": chance(4), "stallfor": "2ms", "late": chance(10),
        "latefor": "1ms", "backwards": chance(10), "unplug": chance(4), "unplugfor": "3ms",
        "formatchange": chance(4), "pace": draw.choice(["fast", "fast", "real"]),
    }
    arguments = ["run", "--source", "scene", "--size",
                 f"{draw.randrange(40, 90)}x{draw.randrange(30, 70)}",
                 "--rate", 2000, "--frames", draw.randrange(1, 60), "--workers",
                 draw.randrange(1, 9), "--wait", draw.choice(["park", "spin-park", "spin"])]
    for stage in draw.sample(["latedrop", "meter", "focus", "negate"], draw.randrange(5)):
        arguments += ["--stage", stage]
    if draw.randrange(4) == 0:
        arguments += ["--format", draw.choice(["YUYV", "GREY", "NV12", "RGB24"])]
    return arguments, settings


def caused(truth):
    """The fate that the scene causes, if any."""
    if "lost" in truth["faults"]:
        return "missing"
    if DAMAGE & set(truth["faults"]):
        return "corrupt"
    return "startup" if truth["startup"] else None


def test_every_fault_at_random_is_accounted_for_as_the_scene_did_it(tmp_path):
    reports, summary, truth = (tmp_path / name for name in ("r.jsonl", "s.json", "t.jsonl"))
    for seed in range(1, RUNS + 1):
        arguments, settings = weather(seed)
        for key, value in settings.items():
            arguments += ["--source-set", f"{key}={value}"]
        sprocket(*arguments, "--source-set", f"truth={truth}", "--reports", reports, "--summary",
                 summary, "--checksum", "--overwrite", "--quiet")
        ledger, lines, done = json.loads(summary.read_text()), read_lines(reports), read_lines(truth)
        assert len(lines) == ledger["produced"], seed
        for sink in ledger["sinks"].values():
            fates = [value for value in sink.values() if isinstance(value, int)]
            assert sum(fates) == ledger["produced"], seed
        by_name = {(line["epoch"], line["sequence"]): line for line in done}
        for line in lines:
            fate = caused(by_name[line["epoch"], line["sequence"]])
            if fate is not None:
                assert line["fate"] == fate, (seed, line)
            else:
                assert line["fate"] not in ("missing", "corrupt", "startup", "failed", "flushed")
                if settings["pace"] == "fast":
                    assert line["fate"] == "delivered", (seed, line)
