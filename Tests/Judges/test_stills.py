"""Stills, against ffmpeg, OpenCV and the clip's own bytes."""
import os
import re
import resource

import cv2
import numpy as np
import pytest

from conftest import clip, read_lines, sprocket
from program import read_summary
from recordings import without_exif
from test_movies import images, run, stream

SCENE = ["run", "--source", "scene", "--size", "64x48"]


@pytest.fixture(scope="module")
def mjpeg(tmp_path_factory):
    path = tmp_path_factory.mktemp("clip") / "clip.avi"
    run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=24", "-frames:v",
        60, "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", path)
    return path


def stills(folder):
    """Numbers and paths, in the order of names."""
    names = sorted(os.listdir(folder))
    numbers = [int(re.fullmatch(r"still-(\d{8})\.jpg", name).group(1)) for name in names]
    assert numbers == sorted(numbers)
    return numbers, [folder / name for name in names]


def test_untouched_frames_are_the_cameras_own(mjpeg, tmp_path):
    folder = tmp_path / "stills"
    sprocket("run", "--source", f"file:{mjpeg}", "--stills", folder, "--quiet")
    numbers, paths = stills(folder)
    assert numbers == list(range(60))
    assert [without_exif(path.read_bytes()) for path in paths] == images(mjpeg, tmp_path / "own")


@pytest.mark.parametrize("name", ["mjpeg/test.mjpeg", "mjpeg/100_0306.AVI"])
def test_every_viewer_opens_a_cameras_frames(name, tmp_path):
    folder = tmp_path / "stills"
    sprocket("run", "--source", f"file:{clip(name)}", "--stills", folder, "--quiet")
    _, paths = stills(folder)
    for path, own in zip(paths, images(clip(name), tmp_path / "own")):
        data = without_exif(path.read_bytes())
        assert b"\xff\xc4" in data
        assert len(data) == len(own) + (0 if b"\xff\xc4" in own else 420)
        assert cv2.imread(str(path)) is not None


@pytest.mark.parametrize("every, step", [("1s", 24), ("500ms", 12), ("30ms", 1), ("5s", 60)])
def test_the_first_frame_at_or_after_each_multiple(every, step, mjpeg, tmp_path):
    reports, folder = tmp_path / "r.jsonl", tmp_path / "stills"
    sprocket("run", "--source", f"file:{mjpeg}", "--stills", folder, "--every", every, "--reports",
             reports, "--quiet")
    numbers, _ = stills(folder)
    assert numbers == list(range(0, 60, step))


def test_a_multiple_whose_frame_is_missing_takes_the_next(tmp_path):
    reports, folder = tmp_path / "r.jsonl", tmp_path / "stills"
    sprocket(*SCENE, "--frames", 300, "--stills", folder, "--every", "200ms", "--reports", reports,
             "--source-set", "drop=0.1", "--source-set", "corrupt=0.1", "--quiet")
    lines = read_lines(reports)
    intact = [(number, line["captured_ns"]) for number, line in enumerate(lines)
              if line["fate"] == "delivered"]
    start, last, expected = intact[0][1], -1, []
    for number, captured in intact:
        if (captured - start) // 200_000_000 > last:
            last = (captured - start) // 200_000_000
            expected.append(number)
    assert stills(folder)[0] == expected


@pytest.mark.parametrize("size", ["160x120", "161x121"])
@pytest.mark.parametrize("name", ["YUYV", "I420", "NV12", "RGB24", "GREY"])
def test_encoded_stills_show_what_was_captured(name, size, tmp_path):
    scene = ["run", "--source", "scene", "--size", size, "--format", name, "--frames", 3, "--quiet"]
    sprocket(*scene, "--stills", tmp_path / "stills", "--quality", 100)
    y4m = tmp_path / "expected.y4m"
    y4m.write_bytes(sprocket(*scene, "--pipe", "y4m").stdout)
    _, paths = stills(tmp_path / "stills")
    width, height = map(int, size.split("x"))
    for index, path in enumerate(paths):
        # Full range, as JFIF has it, whatever the source's.
        assert stream(path)["pix_fmt"].startswith(("yuvj", "gray"))
        assert b"JFIF" in without_exif(path.read_bytes())[:20]
        found = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        luma = run("ffmpeg", "-v", "error", "-i", y4m, "-vf",
                   f"select=eq(n\\,{index}),scale=out_range=full:flags=accurate_rnd,format=gray",
                   "-frames:v", 1, "-f", "rawvideo", "-")
        expected = np.frombuffer(luma, np.uint8).reshape(height, width)
        # libjpeg's rounding at quality 100, and that of two conversions.
        assert np.abs(found.astype(int) - expected).max() <= 5


def test_colours_of_limited_range_are_expanded(tmp_path):
    source = tmp_path / "source.mkv"
    run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=10", "-frames:v", 2,
        "-vf", "scale=out_color_matrix=bt601:out_range=tv,format=yuv444p", "-c:v", "ffv1",
        "-color_range", "tv", "-colorspace", "smpte170m", source)
    sprocket("run", "--source", f"file:{source}", "--stills", tmp_path / "stills", "--quality", 100,
             "--quiet")
    expected = run("ffmpeg", "-v", "error", "-i", source, "-frames:v", 1, "-vf",
                   "scale=flags=accurate_rnd+full_chroma_int,format=bgr24", "-f", "rawvideo", "-")
    found = cv2.imread(str(stills(tmp_path / "stills")[1][0]))
    difference = np.abs(found.astype(int) - np.frombuffer(expected, np.uint8).reshape(64, 96, 3))
    assert difference.max() <= 6 and difference.mean() < 1


# The sharpest of each period.

def sharpest(lines, scores, period):
    """Numbers of the frames with the highest score, in each period since the first frame of an epoch; the
    first frame where none has a score."""
    periods, start, last, epoch = [], None, None, None
    for number, line in enumerate(lines):
        if line["fate"] != "delivered":
            continue
        if line["epoch"] != epoch:
            epoch, start, last = line["epoch"], line["captured_ns"], None
        place = (line["captured_ns"] - start) // period
        if last is None or place > last:
            periods.append([])
            last = place
        score = scores(number, line)
        periods[-1].append((float("-inf") if score is None else score, -number))
    return [-max(frames)[1] for frames in periods]


def focus_score(number, line):
    return (line.get("focus") or {}).get("score")


# The lens and the light change, so that the sharpest frame lies anywhere in its period.
CHANGING = ["run", "--source", "scene", "--source-set", "focusstep=0.4", "--source-set", "focusat=1.1",
            "--source-set", "focusfor=2.3", "--source-set", "noise=3", "--quiet"]


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("faults", [[], ["drop=0.1", "corrupt=0.1", "unplug=0.01", "formatchange=0.01"]])
def test_the_sharpest_frame_of_each_period_is_taken(faults, workers, tmp_path):
    given = [*CHANGING, "--size", "160x120", "--frames", 300, "--workers", workers]
    for fault in faults:
        given += ["--source-set", fault]
    reports, summary = tmp_path / "r.jsonl", tmp_path / "s.json"
    sprocket(*given, "--stills", tmp_path / "stills", "--stills-sharpest", "700ms", "--reports", reports,
             "--summary", summary)
    lines = read_lines(reports)
    expected = sharpest(lines, focus_score, 700_000_000)
    numbers, paths = stills(tmp_path / "stills")
    assert numbers == expected and len(numbers) >= 14
    counts = read_summary(summary)["sinks"]["stills"]
    intact = sum(line["fate"] == "delivered" for line in lines)
    assert counts["delivered"] == len(numbers) and counts["unselected"] == intact - len(numbers)
    # Each has the picture of its own number.
    sprocket(*given, "--stills", tmp_path / "all")
    for path in paths:
        other = tmp_path / "all" / path.name
        assert without_exif(path.read_bytes()) == without_exif(other.read_bytes())


def test_the_sharpest_is_opencvs(tmp_path):
    given = [*CHANGING, "--size", "160x120", "--format", "I420", "--frames", 200]
    reports = tmp_path / "r.jsonl"
    sprocket(*given, "--stage", "focus:measure=laplacian", "--stills", tmp_path / "stills",
             "--stills-sharpest", "1s", "--reports", reports)
    piped = sprocket(*given, "--pipe", "y4m").stdout.split(b"FRAME\n")[1:]
    levels = [np.frombuffer(frame[:160 * 120], np.uint8).reshape(120, 160) for frame in piped]
    if b"XCOLORRANGE=FULL" not in sprocket(*given, "--pipe", "y4m").stdout[:200]:
        levels = [np.clip(np.rint((level - 16.0) * 255 / 219), 0, 255).astype(np.uint8) for level in levels]
    def score(number, line):
        return cv2.Laplacian(levels[number], cv2.CV_64F)[1:-1, 1:-1].var()
    expected = sharpest(read_lines(reports), score, 1_000_000_000)
    assert stills(tmp_path / "stills")[0] == expected and len(set(n % 30 for n in expected)) > 3


@pytest.mark.alone
def test_the_sharpest_are_taken_live(tmp_path):
    reports, summary = tmp_path / "r.jsonl", tmp_path / "s.json"
    sprocket(*CHANGING, "--size", "160x120", "--duration", "5s", "--stills", tmp_path / "stills",
             "--stills-sharpest", "1s", "--reports", reports, "--summary", summary)
    numbers, _ = stills(tmp_path / "stills")
    counts = read_summary(summary)["sinks"]["stills"]
    assert counts["delivered"] == len(numbers) >= 4
    if counts["behind"] == 0:
        assert numbers == sharpest(read_lines(reports), focus_score, 1_000_000_000)


def growing(folder, count):
    """A clip of so many frames of small JPEGs, and as many large ones, 20 a second."""
    small, large, both = folder / "a.avi", folder / "b.avi", folder / "c.avi"
    for path, source in ((small, "color=gray:"), (large, "mandelbrot=")):
        run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"{source}size=320x240:rate=20", "-frames:v",
            count, "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-q:v", 2, path)
    (folder / "list").write_text(f"file {small}\nfile {large}\n")
    run("ffmpeg", "-v", "error", "-f", "concat", "-safe", 0, "-i", folder / "list", "-c", "copy", both)
    return both


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))


def test_a_sharpest_still_that_cannot_be_written_is_failed(tmp_path):
    summary = tmp_path / "s.json"
    result = sprocket("run", "--source", f"file:{growing(tmp_path, 40)}", "--stills", tmp_path / "stills",
                      "--stills-sharpest", "1s", "--checksum", "--summary", summary, "--quiet",
                      check=False, preexec_fn=limited)
    assert result.returncode == 1 and "ulimit -f" in result.errors
    # All frames of the first two seconds are alike. The third still is written at frame 60.
    assert stills(tmp_path / "stills")[0] == [0, 20]
    counts = read_summary(summary)["sinks"]["stills"]
    assert (counts["delivered"], counts["unselected"], counts["failed"]) == (2, 57, 21)


def test_the_sharpest_need_no_more_memory_for_a_longer_run(tmp_path):
    peaks = []
    for frames in 200, 1200:
        sprocket(*CHANGING, "--size", "320x240", "--frames", frames, "--stills", tmp_path / "stills",
                 "--stills-sharpest", "2s", "--overwrite", "--summary", tmp_path / "s.json", "--overwrite")
        peaks.append(read_summary(tmp_path / "s.json")["peak_resident_bytes"])
    assert peaks[1] < 1.1 * peaks[0]


# What can go wrong.

def test_stills_that_exist_are_kept_unless_overwrite_is_given(mjpeg, tmp_path):
    folder = tmp_path / "stills"
    arguments = ["run", "--source", f"file:{mjpeg}", "--stills", folder]
    sprocket(*arguments, "--every", "500ms", "--quiet")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "still-mine.jpg").write_text("precious\n")
    (folder / "other.jpg").write_text("precious\n")
    result = sprocket(*arguments, check=False)
    assert result.returncode == 2 and "still-00000000.jpg" in result.errors
    assert "--overwrite" in result.errors and len(result.errors.splitlines()) == 1
    assert all((folder / name).read_bytes() == data for name, data in before.items())
    # What this run does not replace of the earlier one goes; nothing else does.
    result = sprocket(*arguments, "--every", "2s", "--overwrite")
    assert "3 of an earlier run were removed" in result.errors
    assert sorted(os.listdir(folder)) == [
        "other.jpg", "still-00000000.jpg", "still-00000048.jpg", "still-mine.jpg"]


def test_a_run_without_a_still_keeps_those_of_the_earlier_run(tmp_path):
    run = ["run", "--source", "scene", "--size", "64x48", "--frames", 5, "--stills", tmp_path / "stills"]
    sprocket(*run)
    result = sprocket(*run, "--source-set", "corrupt=1", "--overwrite", check=False)
    assert result.returncode == 1 and "5 corrupt" in result.errors
    assert "no frame came" in result.errors and len(os.listdir(tmp_path / "stills")) == 5


def test_a_start_that_fails_leaves_no_folder(tmp_path):
    result = sprocket(*SCENE, "--stills", tmp_path / "stills", "--reports", "no/such/r.jsonl", check=False,
                      cwd=tmp_path)
    assert result.returncode == 2 and os.listdir(tmp_path) == []


@pytest.mark.parametrize("name, says", [("file", "it is a file"), ("no/such", "make it")])
def test_a_folder_that_cannot_be_is_one_sentence(name, says, tmp_path):
    (tmp_path / "file").write_text("")
    result = sprocket(*SCENE, "--frames", 3, "--stills", name, check=False, cwd=tmp_path)
    assert result.returncode == 2 and says in result.errors
    assert len(result.errors.splitlines()) == 1


@pytest.mark.parametrize("arguments", [["--every", "1s"], ["--stills", "s", "--every", "0s"],
                                       ["--stills", "s", "--quality", "0"],
                                       ["--stills-sharpest", "1s"],
                                       ["--stills", "s", "--stills-sharpest", "0s"],
                                       ["--stills", "s", "--stills-sharpest", "1s", "--every", "1s"],
                                       ["--stills", "s", "--stills-sharpest", "1s", "--on-demand"],
                                       ["--sink", "stills:s,sharpest=1s"],
                                       ["--sink", "stills:s,sharpest=1s,every=1s"],
                                       ["--stills", "s", "--quality", "101"]], ids=" ".join)
def test_options_that_make_no_sense_are_one_sentence(arguments, tmp_path):
    result = sprocket(*SCENE, "--frames", 3, *arguments, check=False, cwd=tmp_path)
    assert result.returncode == 2 and len(result.errors.splitlines()) == 1
    assert os.listdir(tmp_path) == []


def test_a_still_that_may_not_be_so_large_leaves_those_before(tmp_path):
    video = growing(tmp_path, 20)
    result = sprocket("run", "--source", f"file:{video}", "--stills", tmp_path / "stills", "--quiet",
                      check=False, preexec_fn=limited)
    assert result.returncode == 1 and "ulimit -f" in result.errors
    assert len(result.errors.splitlines()) == 1
    assert stills(tmp_path / "stills")[0] == list(range(20))
