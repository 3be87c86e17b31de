"""Photographs of past moments: the frame that was asked for, by the scene's truth."""
import bisect
import contextlib
import json
import random

import pytest

from conftest import SPROCKET, read_lines, sprocket
from program import fates, one_sentence, read_summary, running, wait_for

FAST = ["--source", "scene", "--source-set", "pace=fast", "--source-set", "cached=30", "--quiet"]
SCENE = [*FAST, "--size", "160x120"]
# Nanoseconds from frame to frame, and how far back is asked.
PERIOD, KEPT = 1e9 / 30, 300_000_000
ASKS = 1000


def right(rule, time, frames):
    """The number of the frame that is right, of those that came whole: (time, number), in order."""
    place = bisect.bisect_right(frames, (time, 1 << 60))
    before = frames[place - 1] if place else None
    after = before if before and before[0] == time else frames[place] if place < len(frames) else None
    if rule == "before":
        return before
    if rule == "after":
        return after
    return after if after and (not before or after[0] - time < time - before[0]) else before


def asked(folder, seed, *damage):
    """A run that is asked for 1,000 moments: what was asked, its records, and the scene's truth."""
    chance = random.Random(seed)
    asks, frame = [], 20
    for _ in range(ASKS):
        frame += chance.randrange(3)
        asks.append({"request": "photo", "at_frame": frame, "ago_s": chance.randrange(KEPT) / 1e9,
                     "moment": chance.choice(["nearest", "after", "before"])})
    script = folder / "script"
    script.write_text("\n".join(map(json.dumps, asks)))
    sprocket("run", *SCENE, "--source-set", f"truth={folder / 'truth'}", *damage, "--frames", frame + 20,
             "--on-demand", "--stills", folder / "stills", "--pre-roll", "300ms", "--script", script,
             "--summary", folder / "summary")
    records = sorted(read_summary(folder / "summary")["recordings"], key=lambda record: record["recording"])
    return asks, records, read_lines(folder / "truth")


@pytest.mark.parametrize("seed", range(10))
def test_a_moment_is_the_frame_that_the_scene_took_then(seed, tmp_path):
    """Among 10,000 asks each nearest frame is at most half a period off, and each other less than one."""
    is_damaged = seed >= 5
    damage = ["--source-set", "drop=0.05", "--source-set", "truncate=0.05"] if is_damaged else []
    asks, records, truth = asked(tmp_path, seed, *damage)
    assert len(records) == ASKS
    # `drop` is said of the frame after those that are lost.
    whole = [(line["taken_ns"], line["number"]) for line in truth if {*line["faults"]} <= {"drop"}]
    if not is_damaged:
        sprocket("run", *SCENE, "--frames", truth[-1]["number"] + 1, "--stills", tmp_path / "all")
    for ask, record in zip(asks, records):
        # A frame that was asked for and is missing is counted from the first that came.
        start = next(time for time, number in whole if number >= ask["at_frame"])
        time = start - round(ask["ago_s"] * 1e9)
        assert record["first_frame"] == right(ask["moment"], time, whole)[1], (ask, record)
        taken = record["first_captured_ns"]
        assert ask["moment"] != "after" or taken >= time
        assert ask["moment"] != "before" or taken <= time
        if not is_damaged:
            assert abs(taken - time) < (PERIOD / 2 if ask["moment"] == "nearest" else PERIOD) + 1
            name = f"still-{record['first_frame']:08}.jpg"
            written = (tmp_path / record["path"]).read_bytes()
            assert written == (tmp_path / "all" / name).read_bytes()
    counts = fates(read_summary(tmp_path / "summary")["sinks"]["stills"])
    assert counts["delivered"] == len({record["first_frame"] for record in records})
    assert len(list((tmp_path / "stills").iterdir())) == ASKS


@contextlib.contextmanager
def live(folder, *options):
    path = folder / "control"
    with running([SPROCKET, "run", "--source", "scene", "--source-set", "cached=30", "--size", "320x240",
                  "--quiet", "--on-demand", "--stills", folder / "stills", "--summary", folder / "summary",
                  "--control-socket", path, *options]) as process:
        wait_for(path.exists)
        try:
            yield path
        finally:
            sprocket("ask", path, "quit")
            process.wait()


def test_a_photograph_of_a_run_that_goes_on(tmp_path):
    with live(tmp_path, "--pre-roll", "1s") as path:
        # The run is as old as the moment.
        wait_for(lambda: json.loads(sprocket("ask", path, "status").stdout)["status"]["elapsed_s"] > 2)
        paths = [sprocket("photo", "--run", path, *options).stdout.decode().strip() for options in [
            [], ["--ago", "300ms"], ["--ago", "300ms", "--moment", "before"], ["--moment", "after"]]]
        asked = json.loads(sprocket("ask", path, "photo", "ago=100ms", "moment=nearest").stdout)
        assert asked["ok"] and asked["recording"] == 5
    records = read_summary(tmp_path / "summary")["recordings"]
    assert [record["path"] for record in records[:4]] == paths
    ago = [record["asked"] - record["first_frame"] for record in records]
    # A frame may have come while the request was on its way.
    assert ago[0] == 0 and ago[1] > 0 and ago[2] > 0 and ago[3] >= 0


def test_what_is_not_kept_is_refused(tmp_path):
    with live(tmp_path) as path:
        refused = sprocket("photo", "--run", path, "--ago", "1s", check=False)
        assert refused.returncode == 1 and "give stills a pre-roll" in one_sentence(refused.errors)
    (tmp_path / "second").mkdir()
    with live(tmp_path / "second", "--pre-roll", "500ms") as path:
        refused = sprocket("photo", "--run", path, "--ago", "1s", check=False)
        assert refused.returncode == 1 and "the latest 500ms" in one_sentence(refused.errors)
        for options, sentence in [
                (["out.jpg", "--run", path], "leave out.jpg out"), (["--ago", "1s", "out.jpg"], "by --run"),
                ([], "needs a name"), (["--run", path, "--quality", "80"], "leave --quality out"),
                (["--run", path, "--size", "640x480"], "leave --size out"),
                (["--run", path, "--moment", "next"], "one of 'nearest', 'after' or 'before'")]:
            refused = sprocket("photo", *options, check=False)
            assert refused.returncode == 2 and sentence in one_sentence(refused.errors)
        refused = sprocket("ask", path, "photo", "moment=next", check=False)
        assert refused.returncode == 1 and "there is no moment `next`" in refused.stdout.decode()
    script = tmp_path / "script"
    script.write_text(json.dumps({"request": "photo", "at_frame": 3, "ago_s": 0.2}))
    # The run is younger than the moment.
    early = sprocket("run", *SCENE, "--frames", 20, "--on-demand", "--stills", tmp_path / "early",
                     "--pre-roll", "300ms", "--script", script, check=False)
    assert early.returncode == 1 and "those of the latest 100ms" in one_sentence(early.errors)
    assert not (tmp_path / "early").exists()


def test_kept_stills_are_bounded_in_bytes(tmp_path):
    script = tmp_path / "script"
    script.write_text(json.dumps({"request": "photo", "at_frame": 900, "ago_s": 20}))
    # 750 stills of 80 kB.
    run = ["run", *FAST, "--size", "640x480", "--frames", 1000, "--on-demand", "--stills",
           tmp_path / "stills", "--pre-roll", "25s", "--script", script, "--summary",
           tmp_path / "summary", "--overwrite"]
    sprocket(*run)
    peak = read_summary(tmp_path / "summary")["peak_resident_bytes"]
    few = sprocket(*run, "--pre-roll-memory", "500K", check=False)
    assert few.returncode == 1 and "no frame of that time is kept" in one_sentence(few.errors)
    assert read_summary(tmp_path / "summary")["peak_resident_bytes"] < peak - 20_000_000


@pytest.mark.parametrize("options, sentence", [
    (["--every", "1s", "--pre-roll", "1s"], "on demand"),
    (["--on-demand", "--pre-roll-memory", "1M"], "give its time"),
])
def test_a_pre_roll_of_stills_needs_requests(options, sentence, tmp_path):
    refused = sprocket("run", *SCENE, "--frames", 2, "--stills", tmp_path / "stills", *options, check=False)
    assert refused.returncode == 2 and sentence in one_sentence(refused.errors)
