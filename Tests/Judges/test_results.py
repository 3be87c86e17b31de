"""The same results however the work is shared out, and in the hands of other programs."""
import json
import subprocess

import pytest

from conftest import LIMIT, SPROCKET, clip, read_lines, sprocket

SCENE = ["run", "--source", "scene", "--size", "320x240", "--frames", "120",
         "--source-set", "corrupt=0.05", "--source-set", "truncate=0.05", "--source-set", "drop=0.05"]


def without_times(lines):
    """A report's lines without what differs from run to run: fields in `_ns` and `_us`."""
    return [{key: value for key, value in line.items() if not key.endswith(("_ns", "_us"))}
            for line in lines]


def outcome(arguments, folder, workers, wait):
    name = f"{workers}-{wait}"
    reports, summary = folder / f"{name}.jsonl", folder / f"{name}.json"
    sprocket(*arguments, "--stage", "meter", "--stage", "focus", "--stage", "stabilize", "--stage", "negate",
             "--workers", workers, "--wait", wait, "--checksum", "--reports", reports, "--summary",
             summary, "--quiet")
    result = json.loads(summary.read_text())
    for sink in result["sinks"].values():
        fates = [value for value in sink.values() if isinstance(value, int)]
        assert sum(fates) == result["produced"]
    return result["sinks"]["checksum"]["digest"], without_times(read_lines(reports))


@pytest.mark.parametrize("kind", ["scene", "clip"])
def test_workers_and_waiting_do_not_change_results(kind, tmp_path):
    arguments = SCENE
    if kind == "clip":
        path = clip("generic/flipping_a_pancake.mkv")
        arguments = ["run", "--source", f"file:{path}", "--frames", "120"]
    first = outcome(arguments, tmp_path, 1, "park")
    assert len(first[1]) == 120
    for workers in (1, 2, 4, 8):
        for wait in ("park", "spin-park", "spin"):
            if (workers, wait) != (1, "park"):
                assert outcome(arguments, tmp_path, workers, wait) == first, (workers, wait)


@pytest.mark.parametrize("name", ["generic/box.mp4", "generic/vtest.avi", "mjpeg/100_0306.AVI"])
def test_ffmpeg_reads_the_pipe_as_it_reads_the_clip(name):
    path = clip(name)
    hashes = ["-f", "framemd5", "-"]
    ours = subprocess.Popen(
        [SPROCKET, "run", "--source", f"file:{path}", "--frames", "50", "--pipe", "y4m", "--quiet"],
        stdout=subprocess.PIPE)
    piped = subprocess.run(["ffmpeg", "-v", "error", "-i", "-", *hashes], stdin=ours.stdout,
                           capture_output=True, timeout=LIMIT).stdout.decode()
    ours.stdout.close()
    assert ours.wait(LIMIT) == 0
    direct = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(path), "-map", "0:v", "-fps_mode", "passthrough",
         "-frames:v", "50", *hashes], capture_output=True, timeout=LIMIT).stdout.decode()
    def digests(text):
        return [line.split(",")[-1].strip() for line in text.splitlines() if line[0] != "#"]
    assert len(digests(piped)) == len(digests(direct)) > 0
    if "AVI" not in name:
        assert digests(piped) == digests(direct)  # Decoders of JPEG may differ by a level.


def test_negate_is_ffmpegs():
    path = clip("generic/flipping_a_pancake.mkv")
    ours = sprocket("run", "--source", f"file:{path}", "--frames", 30, "--stage", "negate", "--pipe",
                    "y4m", "--quiet").stdout
    theirs = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(path), "-map", "0:v", "-frames:v", "30", "-vf", "negate",
         "-f", "rawvideo", "-"], capture_output=True, check=True, timeout=LIMIT).stdout
    frames = ours.split(b"FRAME\n", 1)[1]
    size = 426 * 240 * 3 // 2
    pictures = b"".join(frames[start:start + size] for start in range(0, len(frames), size + 6))
    assert pictures == theirs
