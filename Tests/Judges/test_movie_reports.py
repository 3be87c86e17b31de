"""The track of a movie that has the lines of --reports, read by ffprobe and ffmpeg."""
import json
import signal
import subprocess
import time

import pytest

from program import LIMIT, SPROCKET, running, sprocket, wait_for_bytes
from test_codecs import assert_decodes, streams

SCENE = ["--source", "scene", "--size", "160x120", "--rate", "30", "--source-set", "cached=8", "--quiet"]


def track(path):
    """Times, in seconds, and the lines at each; and the lines as ffmpeg takes them out of the file."""
    kind = "s" if path.suffix == ".mkv" else "d"
    out = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", kind, "-show_entries", "packet=pts_time", "-of", "json",
         path], capture_output=True, check=True, timeout=LIMIT).stdout
    at = [float(packet["pts_time"]) for packet in json.loads(out)["packets"]]
    text = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-map", f"0:{kind}", "-c", "copy", "-f",
                           "data", "-"], capture_output=True, check=True, timeout=LIMIT).stdout.decode()
    # Matroska has no line end behind the last one.
    return at, [json.loads(line) for line in text.replace("}{", "}\n{").splitlines()]


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("ending, codec", [
    ("mov", "mjpeg"), ("mp4", "h264"), ("mkv", "mjpeg"), ("mkv", "h264"), ("mov", "h264:rate=25"),
])
def test_lines_are_those_of_reports(tmp_path, ending, codec):
    movie, reports = tmp_path / f"a.{ending}", tmp_path / "r.jsonl"
    sprocket("run", *SCENE, "--frames", 150, "--source-set", "drop=0.1", "--source-set", "startup=2",
             "--stage", "meter", "--stage", "latedrop", "--microphone", "scene", "--movie", movie, "--codec",
             codec, "--movie-reports", "--reports", reports)
    at, lines = track(movie)
    expected = lines_of(reports)
    assert len(expected) == 150 and lines == expected
    assert {line["fate"] for line in lines} == {"delivered", "missing", "startup"}
    shown = [line["captured_ns"] for line in lines if line["fate"] == "delivered"]
    tolerance = 0.0006 if ending == "mkv" else 1e-5
    # Behind the last frame, one more for what was lost since.
    assert len(shown) <= len(at) <= len(shown) + 1
    assert all(abs(one - (time - shown[0]) / 1e9) < tolerance for one, time in zip(at, shown))
    assert_decodes(movie)
    # Players leave the track alone.
    for stream in streams(movie).values():
        assert stream["codec_type"] in ("video", "audio") or not stream["disposition"]["default"]


@pytest.mark.parametrize("first", ["mov", "mkv"])
@pytest.mark.parametrize("second", ["mov", "mp4", "mkv"])
def test_a_copy_keeps_them(tmp_path, first, second):
    movie, out = tmp_path / f"a.{first}", tmp_path / f"b.{second}"
    sprocket("run", *SCENE, "--frames", 90, "--stage", "meter", "--movie", movie, "--codec", "h264",
             "--movie-reports")
    sprocket("export", movie, out, "--copy", "--quiet")
    assert track(out)[1] == track(movie)[1]
    assert all(abs(one - other) < 0.001 for one, other in zip(track(out)[0], track(movie)[0]))
    entry, = json.loads(sprocket("inspect", "--json", out).stdout)
    assert [(one["kind"], one["count"], one["gaps"]) for one in entry["tracks"]] == [
        ("video", 90, 0), ("reports", 90, 0)]
    said = sprocket("export", movie, tmp_path / "c.mp4", "--codec", "h264:preset=ultrafast").errors
    assert f"the reports of {movie} are left out" in said
    # A part has the lines of its own pictures.
    sprocket("export", movie, out, "--copy", "--from", "1s", "--overwrite", "--quiet")
    assert [line["sequence"] for line in track(out)[1]] == list(range(30, 90))


@pytest.mark.parametrize("ending, codec", [("mov", "mjpeg"), ("mp4", "h264"), ("mkv", "h264")])
def test_a_crash_leaves_them(tmp_path, ending, codec):
    broken, out = tmp_path / f"a.partial.{ending}", tmp_path / f"b.{ending}"
    # At 25 frames/s times are whole milliseconds, to which edit lists are rounded.
    scene = ["25" if word == "30" else word for word in SCENE]
    with running([SPROCKET, "run", *scene, "--movie", tmp_path / f"a.{ending}", "--codec", codec,
                  "--movie-reports"]) as process:
        wait_for_bytes(broken, process, 20_000)
        time.sleep(2.5)  # Two fragments more.
        process.send_signal(signal.SIGKILL)
        process.wait()
    sprocket("recover", broken, out, "--quiet")
    pictures = int(streams(out)["video"]["nb_read_frames"])
    numbers = [line["sequence"] for line in track(out)[1]]
    assert numbers == list(range(len(numbers))) == [line["sequence"] for line in track(broken)[1]]
    # An encoder gives out pictures later than their lines; what was cut off may lack the last of these.
    assert pictures >= 30 and abs(len(numbers) - pictures) <= 3


# The last two are full with a frame or two: a frame that comes makes room by writing an earlier one.
@pytest.mark.parametrize("pre_roll", [[], ["--pre-roll", "1s"],
                                      ["--pre-roll", "1s", "--pre-roll-memory", "8k"],
                                      ["--pre-roll", "1s", "--pre-roll-memory", "24k"]])
def test_each_recording_has_its_own(tmp_path, pre_roll):
    script, reports = tmp_path / "script", tmp_path / "r.jsonl"
    script.write_text("\n".join(json.dumps(request) for request in [
        {"request": "record", "at_frame": 60}, {"request": "stop", "at_frame": 100},
        {"request": "record", "path": str(tmp_path / "again.mkv"), "at_frame": 130}]))
    sprocket("run", *SCENE, "--frames", "160", "--source-set", "drop=0.1", "--stage", "meter", "--movie",
             tmp_path / "a.mov", "--movie-reports", "--on-demand", *pre_roll, "--script", script, "--reports",
             reports)
    expected = lines_of(reports)
    for path, end in (("a.mov", 100), ("again.mkv", 160)):
        at, lines = track(tmp_path / path)
        first = lines[0]["sequence"]
        found = expected[first:first + len(lines)]
        assert lines == found and len(lines) > 20
        pictures = int(streams(tmp_path / path)["video"]["nb_read_frames"])
        assert pictures == sum(line["fate"] == "delivered" for line in lines)
        # One more for what was lost behind the last one.
        assert len(at) == pictures + (lines[-1]["fate"] != "delivered")


def test_it_is_for_movies():
    failed = sprocket("run", "--source", "scene", "--frames", "1", "--movie-reports", check=False)
    assert failed.returncode != 0 and "add --movie PATH" in failed.errors


def test_files_that_follow_each_other_lose_no_line(tmp_path):
    script, reports = tmp_path / "script", tmp_path / "r.jsonl"
    script.write_text('{"request": "record", "at_frame": 40}')
    sprocket("run", *SCENE, "--frames", "260", "--source-set", "drop=0.1", "--movie", tmp_path / "a-{n}.mov",
             "--movie-reports", "--on-demand", "--split", "1s", "--script", script, "--reports", reports)
    files = sorted(tmp_path.glob("a-*.mov"), key=lambda path: int(path.stem[2:]))
    found = [line for path in files for line in track(path)[1]]
    expected = lines_of(reports)
    first = found[0]["sequence"]
    assert len(files) > 5 and found == expected[first:first + len(found)]
    assert found[-1]["sequence"] >= max(
        line["sequence"] for line in expected if line["fate"] == "delivered")
