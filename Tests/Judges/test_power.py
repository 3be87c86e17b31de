"""What is left when the power fails: what was synced, and no more."""
import json
import os
import random
import subprocess
import time

import pytest

from program import LIMIT, SPROCKET, one_sentence, preloaded, sprocket, wait_for_lines
from recordings import stream_messages
from test_codecs import probe

SYNC = 1.0
CUTS = int(3 * float(os.environ.get("SPROCKET_STRESS", "1")))
SCENE = ["--source", "scene", "--source-set", "pace=real", "--size", "160x120", "--quiet",
         "--microphone", "scene"]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return preloaded("power_cut.c", tmp_path_factory.mktemp("power"))


def cut(folder, library, options, seconds, frames=1):
    """Runs live until so many frames were taken, and so long after that the power fails: the folder `after`
    has what the disk had. Returns when the newest frame was captured that a sink had taken, nanoseconds."""
    run, disk, after = (folder / name for name in ("run", "disk", "after"))
    for path in (run, disk, after):
        path.mkdir(parents=True)
    process = subprocess.Popen(
        [SPROCKET, "run", *SCENE, "--reports", folder / "reports.jsonl", *options], cwd=run,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "LD_PRELOAD": str(library), "DISK": str(disk)})
    try:
        lines = folder / "reports.partial.jsonl"
        wait_for_lines(lines, process, frames)
        time.sleep(seconds)
    finally:
        process.kill()
        process.wait()
    names = disk / str(run.stat().st_ino)
    for line in names.read_text().splitlines() if names.exists() else []:
        inode, name = line.split(" ", 1)
        if (disk / inode).exists():
            (after / name).write_bytes((disk / inode).read_bytes())
    # The last line may have been cut off.
    text = lines.read_text()
    return json.loads(text[:text.rindex("\n")].splitlines()[-1])["captured_ns"]


def end_of(path):
    """When the last picture, and the last sound, of a file ends, nanoseconds of the run's clock."""
    found = probe(path, "-show_entries", "format_tags:packet=stream_index,pts_time,duration_time")
    tags = found["format"]["tags"]
    start = int(next(value for key, value in tags.items() if key.lower().endswith("captured_ns")))
    ends = {}
    for packet in found["packets"]:
        at = float(packet["pts_time"]) + float(packet.get("duration_time", 0))
        ends[packet["stream_index"]] = max(ends.get(packet["stream_index"], 0), at)
    return [start + int(at * 1e9) for at in ends.values()]


@pytest.mark.parametrize("name, options", [
    ("a.mov", []), ("a.mp4", ["--codec", "h264", "--rate", "5"]), ("a.mkv", ["--codec", "hevc"]),
])
def test_a_movie_loses_a_second_at_most(tmp_path, library, name, options):
    draw = random.Random(name)
    for turn in range(CUTS):
        folder = tmp_path / str(turn)
        newest = cut(folder, library, ["--movie", name, "--sync", f"{SYNC}s", *options],
                     1.5 + 2 * draw.random())
        left = folder / "after" / name.replace(".", ".partial.")
        out = folder / f"out.{name.split('.')[1]}"
        sprocket("recover", left, out, "--quiet")
        lost = [(newest - end) / 1e9 for end in end_of(out)]
        print(name, [round(one, 2) for one in lost])
        assert len(lost) == 2 and max(lost) <= SYNC


def test_a_picture_does_not_wait_for_the_next(tmp_path, library):
    """One each 2.5 s; the newest is at least 1.2 s old when the power fails."""
    cut(tmp_path, library, ["--movie", "a.mov", "--dump", "a.mcap", "--sync", f"{SYNC}s", "--rate", "0.4"],
        1.2, frames=2)
    shown = (tmp_path / "reports.partial.jsonl").read_text().count("\n")
    found = probe(tmp_path / "after/a.partial.mov", "-select_streams", "v", "-show_entries",
                  "packet=pts_time")
    assert len(found["packets"]) == shown >= 2
    dumped = [schema for schema, _ in stream_messages(tmp_path / "after/a.partial.mcap")]
    assert dumped.count("sprocket.source") == shown


@pytest.mark.parametrize("name", ["a.wav", "a.flac"])
def test_sound_loses_a_second_at_most(tmp_path, library, name):
    newest = cut(tmp_path, library, ["--sound", name, "--sync", f"{SYNC}s"], 2.7)
    left = tmp_path / "after" / name.replace(".", ".partial.")
    found = json.loads(subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "format_tags:packet=pts_time,duration_time", "-of",
         "json", left], capture_output=True, check=True, timeout=LIMIT).stdout)
    tags = " ".join(f"{key}={value}" for key, value in found["format"]["tags"].items())
    start = int(tags.lower().split("captured_ns=")[1].split()[0])
    last = found["packets"][-1]
    end = start + int((float(last["pts_time"]) + float(last["duration_time"])) * 1e9)
    print(name, (newest - end) / 1e9)
    assert (newest - end) / 1e9 <= SYNC


def test_a_dump_and_reports_lose_a_second_at_most(tmp_path, library):
    newest = cut(tmp_path, library, ["--dump", "a.mcap", "--sync", f"{SYNC}s"], 2.7)
    times = [json.loads(message.data)["captured_ns"]
             for schema, message in stream_messages(tmp_path / "after/a.partial.mcap")
             if schema == "sprocket.source"]
    disk, reports = tmp_path / "disk", tmp_path / "reports.partial.jsonl"
    assert reports.name in (disk / str(tmp_path.stat().st_ino)).read_text()
    text = (disk / str(reports.stat().st_ino)).read_text()
    line = json.loads(text[:text.rindex("\n")].splitlines()[-1])
    lost = [(newest - time) / 1e9 for time in (max(times), line["captured_ns"])]
    print(lost)
    assert max(lost) <= SYNC


def test_without_it_nothing_is_promised(tmp_path, library):
    """The judge sees what it is to see."""
    cut(tmp_path, library, ["--movie", "a.mov"], 2.5)
    assert not list((tmp_path / "after").iterdir())


@pytest.mark.parametrize("options, says", [
    (["--sync", "1s"], "add one of them"), (["--sync", "10ms", "--movie", "a.mov"], "100ms or more"),
])
def test_what_cannot_be_is_refused(options, says):
    failed = sprocket("run", "--source", "scene", "--frames", "1", *options, check=False)
    assert failed.returncode != 0 and says in failed.errors
