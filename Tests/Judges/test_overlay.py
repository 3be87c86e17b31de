"""The stage overlay, read by NumPy: letters are learned from a known text, then places are read."""
import datetime
import json
import re
import subprocess

import cv2
import numpy as np
import pytest

from program import LIMIT, frame_count, one_sentence, read_lines, sprocket

# Pixels per dot, and of a letter with the gap behind it; the box has a dot's margin.
SIZE, WIDTH, HEIGHT = 2, 640, 360
STEP, LINE, MARGIN = 6 * SIZE, 11 * SIZE, 4 * SIZE
SCENE = ["run", "--source", "scene", "--size", f"{WIDTH}x{HEIGHT}", "--format", "I420", "--quiet"]


def lumas(text, frames, *more, settings=""):
    overlay = f"overlay:text={text},size={SIZE},place=top-left,opacity=1{settings}"
    data = sprocket(*SCENE, "--frames", frames, "--stage", overlay, "--pipe", "gray", *more).stdout
    return np.frombuffer(data, np.uint8).reshape(-1, HEIGHT, WIDTH)


def letters(picture, count):
    """The cells of a line at the top left."""
    line = picture[MARGIN:MARGIN + LINE]
    return [(line[:, start:start + STEP] > 128).tobytes()
            for start in range(MARGIN + SIZE, MARGIN + SIZE + count * STEP, STEP)]


@pytest.fixture(scope="module")
def alphabet():
    known = "0123456789:.-+UTC |Z"
    picture = lumas(known, 1)[0]
    found = dict(zip(letters(picture, len(known)), known))
    assert len(found) == len(known)
    return found


def read(picture, alphabet):
    text = ""
    for cell in letters(picture, (WIDTH - 2 * MARGIN) // STEP):
        if cell not in alphabet:
            break
        text += alphabet[cell]
    return text.rstrip()


def test_the_frame_and_the_time_are_those_of_the_reports(alphabet, tmp_path):
    reports = tmp_path / "r.jsonl"
    before = datetime.datetime.now(datetime.timezone.utc)
    pictures = lumas("{frame}|{date} {time} {zone}|", 40, "--reports", reports, "--source-set", "pace=real",
                     settings=",zone=utc")
    after = datetime.datetime.now(datetime.timezone.utc)
    lines = [line for line in read_lines(reports) if line["fate"] == "delivered"]
    assert len(pictures) == len(lines) > 5
    times = []
    for picture, line in zip(pictures, lines):
        number, text, _ = read(picture, alphabet).split("|")
        assert int(number) == line["sequence"]
        time = datetime.datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f UTC")
        times.append((time.replace(tzinfo=datetime.timezone.utc), line["captured_ns"]))
    assert before - datetime.timedelta(milliseconds=1) <= times[0][0] <= times[-1][0] <= after
    # One clock lies a constant time behind the other; what is shown is cut to milliseconds.
    offsets = [time.timestamp() - captured / 1e9 for time, captured in times]
    assert max(offsets) - min(offsets) < 0.0025


def test_local_time_is_that_of_the_zone(alphabet, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    picture = lumas("{time} {zone}", 1, "--source-set", "pace=real")[0]
    found = re.fullmatch(r"(\d\d):(\d\d):\d\d\.\d{3} \+05:30", read(picture, alphabet))
    now = datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=5, minutes=30)))
    minutes = int(found[1]) * 60 + int(found[2])
    assert (now.hour * 60 + now.minute - minutes) % 1440 <= 20


def test_a_film_shows_its_own_time(alphabet, tmp_path):
    film = tmp_path / "a.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size={WIDTH}x{HEIGHT}:rate=25",
                    "-frames:v", "30", "-c:v", "ffv1", film], check=True, timeout=LIMIT)
    overlay = f"overlay:text={{date}} {{time}} {{zone}},size={SIZE},place=top-left,opacity=1"
    data = sprocket("run", "--source", f"file:{film}", "--quiet", "--stage", overlay, "--pipe", "gray").stdout
    pictures = np.frombuffer(data, np.uint8).reshape(-1, HEIGHT, WIDTH)
    texts = [read(picture, alphabet) for picture in pictures]
    assert texts == [f"00:00:0{index // 25}.{index % 25 * 40:03}" for index in range(30)]


def test_the_label_is_the_source(tmp_path):
    named, plain = (sprocket("run", "--source", source, "--size", f"{WIDTH}x{HEIGHT}", "--quiet", "--frames",
                             1, "--stage", f"overlay:text={text}", "--pipe", "gray").stdout
                    for source, text in [("door=scene", "{source}"), ("scene", "door")])
    assert named == plain


@pytest.mark.parametrize("place", ["top-left", "top", "top-right", "bottom-left", "bottom", "bottom-right"])
@pytest.mark.parametrize("format", ["I420", "YUYV", "GREY", "NV12"])
def test_nothing_but_the_box_changes(place, format):
    scene = ["run", "--source", "scene", "--size", "322x242", "--format", format, "--frames", "2", "--quiet"]
    overlay = f"overlay:text=Ag,size=2,place={place},color=red,box=blue"
    old, new = (np.frombuffer(sprocket(*scene, *stage, "--pipe", "rgb").stdout, np.uint8)
                .reshape(-1, 242, 322, 3) for stage in ([], ["--stage", overlay]))
    rows, columns = np.nonzero((old != new).any(axis=(0, 3)))
    height, width = np.ptp(rows) + 1, np.ptp(columns) + 1
    # A chroma sample beside the box may be interpolated with one in it.
    assert 20 <= height <= 26 and 24 <= width <= 30
    middle = columns.min() + width / 2
    assert {"left": middle < 100, "right": middle > 220}.get(place.rpartition("-")[2], 130 < middle < 190)
    assert (rows.max() < 60) == place.startswith("top") and (rows.min() > 180) == place.startswith("bottom")


def test_colours_come_out_of_a_movie_as_they_were_asked_for(tmp_path):
    path = tmp_path / "a.mkv"
    sprocket("run", "--source", "scene", "--size", "320x240", "--format", "YUYV", "--frames", 3, "--quiet",
             "--stage", "overlay:text=||||,size=8,place=top-left,color=255/128/0,box=blue,opacity=1",
             "--movie", path, "--quality", 100)
    assert frame_count(path) == 3
    picture = cv2.VideoCapture(str(path)).read()[1].astype(int)
    line = picture[32:32 + 88, 32:32 + 200]
    # A box begins with a margin of a dot; a bar stands in the middle of a letter.
    box, bar = line[4, 4], line[40, 8 + 2 * 8 + 4]
    assert abs(box - [255, 0, 0]).max() <= 6, box
    assert abs(bar - [0, 128, 255]).max() <= 6, bar


def test_what_is_too_wide_is_cut_and_said(tmp_path):
    summary = tmp_path / "s.json"
    said = sprocket("run", "--source", "scene", "--size", "64x48", "--frames", 3, "--null", "--summary",
                    summary, "--stage", "overlay:text=four words are more,size=1")
    assert "overlay: the text is wider than the picture" in said.errors
    assert "overlay: the text is wider" in json.loads(summary.read_text())["notes"][0]


@pytest.mark.parametrize("settings,sentence", [
    ("text={tmie}", "{time}"), ("color=pink", "255/128/0"), ("place=middle", "top-left"),
    ("size=0", "1 to 64"), ("opacity=2", "0 to 1"), ("zone=CET", "local, utc"),
])
def test_wrong_settings_are_one_sentence(settings, sentence):
    said = sprocket("run", "--source", "scene", "--stage", f"overlay:{settings}", "--null", check=False)
    assert said.returncode == 2 and sentence in one_sentence(said.errors)
