"""`sprocket photo`, and stills that are taken after a time, or so many of them."""
import json
import subprocess

import cv2
import numpy as np
import pytest

from conftest import read_lines, sprocket
from program import LIMIT, fates, one_sentence

# As fast as frames are taken: which frame it is then depends on frames alone.
SCENE = ["--source", "scene", "--source-set", "pace=fast", "--size", "320x240", "--quiet"]


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "film.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25",
                    "-frames:v", "100", "-c:v", "ffv1", "-pix_fmt", "bgr0", path], check=True, timeout=LIMIT)
    return path


def picture(film, number):
    video = cv2.VideoCapture(str(film))
    for _ in range(number):
        video.grab()
    return video.read()[1]


def number_of(path):
    """The running number of the frame, from the file's EXIF."""
    told = subprocess.run(["exiftool", "-b", "-UserComment", path], capture_output=True, check=True,
                          timeout=LIMIT).stdout
    return json.loads(told)["frame"]


def photo(path, *options, **others):
    return sprocket("photo", path, *SCENE, *options, **others)


@pytest.mark.parametrize("options, number", [
    ([], 0), (["--after", "1s"], 25), (["--after", "1010ms"], 26),
    (["--source-set", "startup=7"], 7), (["--source-set", "startup=7", "--after", "1s"], 32)])
def test_a_photograph_is_the_frame_that_was_asked_for(options, number, film, tmp_path):
    out = tmp_path / "out.png"
    made = sprocket("photo", out, "--source", f"file:{film}", *options)
    assert made.stdout.decode() == f"{out}\n"
    assert np.array_equal(cv2.imread(str(out)), picture(film, number))
    assert [path.name for path in tmp_path.iterdir()] == ["out.png"]


def test_the_sharpest_is_that_of_its_time(tmp_path):
    moving = ["--source-set", "lens=0", "--auto-focus", "auto", "--stage", "focus"]
    sprocket("run", *SCENE, *moving, "--frames", 60, "--reports", tmp_path / "r.jsonl")
    scores = [line["focus"]["score"] for line in read_lines(tmp_path / "r.jsonl")]
    for after, first in [("0s", 0), ("300ms", 9)]:
        out = tmp_path / f"{after}.jpg"
        sprocket("run", *SCENE, *moving, "--duration", "10s", "--sink",
                 f"stills:{out},sharpest=500ms,after={after},count=1")
        best = max(range(first, first + 15), key=scores.__getitem__)
        assert number_of(out) == best
    photo(tmp_path / "out.jpg", "--sharpest", "500ms", "--source-set", "lens=0")
    assert number_of(tmp_path / "out.jpg") < 15


def test_loops_are_waited_for(tmp_path):
    loops = ["--source-set", "exposure=500", "--source-set", "lens=0", "--auto-exposure", "auto",
             "--auto-focus", "auto"]
    sprocket("run", *SCENE, *loops, "--frames", 200, "--reports", tmp_path / "r.jsonl")
    settled = [number for number, line in enumerate(read_lines(tmp_path / "r.jsonl"))
               if line["autoexposure"]["state"] in ("converged", "limited", "locked")
               and line["autofocus"]["state"] in ("focused", "resting", "locked")]
    assert settled[0] > 5
    photo(tmp_path / "out.jpg", *loops)
    assert number_of(tmp_path / "out.jpg") == settled[0]
    late = photo(tmp_path / "late.jpg", *loops, "--within", "100ms", check=False)
    sentence = one_sentence(late.errors)
    assert late.returncode == 1 and not (tmp_path / "late.jpg").exists()
    assert "no frame reached" in sentence and "autoexposure.state == converged" in sentence
    assert "within 100ms" in sentence and "(--within)" in sentence
    timed = sprocket("photo", "{time}.jpg", *SCENE[:-1], cwd=tmp_path).stdout.decode().strip()
    assert list(tmp_path.glob("*-*.jpg")) == [tmp_path / timed] and not photo(tmp_path / "a.png").stdout


def test_what_cannot_be_a_photograph_is_refused_before_anything_starts(tmp_path):
    (tmp_path / "there.jpg").write_bytes(b"mine")
    for name, told in [("there.jpg", "which exists"), ("name", "ends with .jpg"), ("a.gif", "ends with .jpg"),
                       ("no/a.jpg", "make it"), ("no/folder/a.jpg", "does not exist")]:
        refused = photo(tmp_path / name, check=False)
        assert refused.returncode == 2 and told in one_sentence(refused.errors), refused.errors
    assert (tmp_path / "there.jpg").read_bytes() == b"mine"
    assert [path.name for path in tmp_path.iterdir()] == ["there.jpg"]
    photo(tmp_path / "there.jpg", "--overwrite")
    assert cv2.imread(str(tmp_path / "there.jpg")).shape == (240, 320, 3)


@pytest.mark.parametrize("settings, numbers", [
    ("count=3", [0, 1, 2]), ("after=1s,count=2", [25, 26]), ("after=1s,every=1s", [25, 50, 75]),
    ("every=500ms,count=3", [0, 13, 25]), ("after=3900ms", [98, 99])])
def test_stills_begin_and_end_where_they_are_to(settings, numbers, film, tmp_path):
    sprocket("run", "--source", f"file:{film}", "--sink", f"stills:{tmp_path}/s,{settings}", "--quiet")
    names = sorted(path.name for path in (tmp_path / "s").iterdir())
    assert names == [f"still-{number:08}.jpg" for number in numbers]


def test_other_outputs_go_on_when_there_are_stills_enough(film, tmp_path):
    summary = tmp_path / "s.json"
    sprocket("run", "--source", f"file:{film}", "--sink", f"stills:{tmp_path}/s,count=2", "--checksum",
             "--summary", summary, "--quiet")
    told = json.loads(summary.read_text())
    stills, whole = fates(told["sinks"]["stills"]), fates(told["sinks"]["checksum"])
    assert (stills["delivered"], stills["unselected"]) == (2, 98) and whole["delivered"] == 100
