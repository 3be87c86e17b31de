"""Pictures in files of their own, streams on standard input, and pictures that are made upright, against
Pillow, OpenCV and ffmpeg."""
import fcntl
import json
import os
import pathlib
import signal
import struct
import subprocess
import termios
import time

import cv2
import numpy as np
import pytest
from PIL import Image, ImageOps

from conftest import gray_frames
from program import LIMIT, SPROCKET, one_sentence, read_lines, read_summary, signals, sprocket, wait_for


def grey(path, level, size=(48, 32)):
    Image.new("L", size, level).save(path)


def report(tmp_path, source, *options):
    """The sink's account, and sequence numbers and times of all that was delivered."""
    sprocket("run", "--source", source, "--reports", tmp_path / "r.jsonl", "--summary", tmp_path / "s.json",
             "--quiet", "--overwrite", *options)
    lines = read_lines(tmp_path / "r.jsonl")
    seen = [(line["sequence"], line["captured_ns"]) for line in lines if line["fate"] == "delivered"]
    return read_summary(tmp_path / "s.json")["sinks"]["reports"], seen


@pytest.fixture
def shots(tmp_path):
    folder = tmp_path / "shots"
    folder.mkdir()
    for number in [1, 2, 3, 9, 10, 11, 100]:
        grey(folder / f"p{number}.png", number)
    (folder / "readme.txt").write_text("no picture")
    (folder / "p4.png").mkdir()
    return folder


@pytest.mark.parametrize("source", ["{}", "{}/", "{}/*.png", "{}/p?*.png"])
def test_a_folder_and_a_pattern_are_in_the_order_of_their_numbers(tmp_path, shots, source):
    source = f"file:{source.format(shots)}"
    frames = gray_frames(["run", "--source", source], 48, 32)
    assert [frame[0, 0] for frame in frames] == [1, 2, 3, 9, 10, 11, 100]
    account, seen = report(tmp_path, source, "--rate", "10")
    assert seen == [(place, place * 100_000_000) for place in range(7)]
    assert account["missing"] == 0


@pytest.mark.parametrize("name, numbers", [("p%d.png", [0, 1, 2, 8, 9, 10, 99]), ("p%03d.png", [0]),
                                           ("p%02d.png", [0, 1, 90])])
def test_numbers_that_are_not_there_are_missing_frames(tmp_path, shots, name, numbers):
    account, seen = report(tmp_path, f"file:{shots}/{name}")
    assert seen == [(number, number * 40_000_000) for number in numbers]
    assert account["missing"] == numbers[-1] + 1 - len(numbers)


def test_a_name_with_letters_of_patterns_is_a_name(tmp_path):
    for name in ["a[1]*.png", "b%03d.png"]:
        grey(tmp_path / name, 7)
        assert len(gray_frames(["run", "--source", f"file:{tmp_path / name}"], 48, 32)) == 1
    inner = tmp_path / "odd [x]*?"
    inner.mkdir()
    grey(inner / "1.png", 9)
    for name in ["", "/%d.png"]:
        assert gray_frames(["run", "--source", f"file:{inner}{name}"], 48, 32)[0, 0, 0] == 9


def test_from_and_the_pace_hold_for_pictures(tmp_path, shots):
    _, seen = report(tmp_path, f"file:{shots}", "--rate", "10", "--from", "250ms")
    assert seen == [(place, place * 100_000_000) for place in range(4)]
    begin = time.monotonic()
    _, seen = report(tmp_path, f"file:{shots}", "--rate", "10", "--source-set", "pace=real")
    assert time.monotonic() - begin >= 0.6  # No sooner, on any machine.
    times = [captured - seen[0][1] for _, captured in seen]
    assert times == [place * 100_000_000 for place in range(7)]


def test_sizes_that_change_begin_epochs(tmp_path):
    for number, size in enumerate([(64, 48), (64, 48), (48, 64), (200, 100), (64, 48)]):
        image = Image.new("RGB", size, (10 * number, 100, 200))
        image.save(tmp_path / f"p{number}.jpg")
    sprocket("run", "--source", f"file:{tmp_path}", "--reports", tmp_path / "r.jsonl", "--quiet")
    assert [line["epoch"] for line in read_lines(tmp_path / "r.jsonl")] == [0, 0, 1, 2, 3]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("ending", ["jpg", "png", "tif"])
def test_a_picture_is_made_upright_as_its_file_says(tmp_path, ending, orientation):
    path = tmp_path / f"a.{ending}"
    pixels = np.zeros((64, 96), np.uint8)
    pixels[:32, :48], pixels[:32, 48:], pixels[32:, :48] = 60, 120, 180
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(pixels).save(path, exif=exif, **({"quality": 100} if ending == "jpg" else {}))
    # Pillow turns a TIFF when it loads it, and again when asked to: a PNG shows what is meant.
    Image.fromarray(pixels).save(tmp_path / "wanted.png", exif=exif)
    wanted = np.asarray(ImageOps.exif_transpose(Image.open(tmp_path / "wanted.png")))
    height, width = wanted.shape
    found, = gray_frames(["run", "--source", f"file:{path}", "--stage", "rotate:upright=true"], width, height)
    assert np.abs(found.astype(int) - wanted).max() <= 2
    sprocket("export", path, tmp_path / "a.mp4", "--upright", "--quiet")
    assert cv2.VideoCapture(str(tmp_path / "a.mp4")).read()[1].shape[:2] == (height, width)


def test_damaged_files_are_corrupt_frames_and_told(tmp_path):
    good = tmp_path / "a1.jpg"
    Image.fromarray(np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8)).save(good)
    data = good.read_bytes()
    (tmp_path / "a0.jpg").write_bytes(data[:200])
    (tmp_path / "a2.jpg").write_bytes(data[:-200])
    (tmp_path / "a3.png").write_bytes(b"no picture at all")
    (tmp_path / "a4.png").write_bytes(b"")
    (tmp_path / "a5.jpg").write_bytes(data)
    (tmp_path / "a6.png").symlink_to(tmp_path / "nowhere")
    result = sprocket("run", "--source", f"file:{tmp_path}", "--null", "--summary", tmp_path / "s.json")
    counts = read_summary(tmp_path / "s.json")["sinks"]["null"]
    assert counts["delivered"] == 2 and counts["corrupt"] == 4
    for name in ["a0.jpg", "a2.jpg", "a3.png", "a4.png"]:
        assert name in result.errors
    for name in ["a0.jpg", "a3.png", "a4.png"]:
        failed = sprocket("run", "--source", f"file:{tmp_path / name}", "--null", check=False)
        assert failed.returncode != 0 and one_sentence(failed.errors), failed.errors


@pytest.mark.parametrize("source, options, says", [
    ("empty", [], "has no pictures"), ("*.gif", [], "no file matches"), ("Q-%02d.png", [], "with a number"),
    ("p1.png", ["--size", "10x10"], "as they are"),
    ("p1.png", ["--rate", "0"], "rate"), ("p1.png", ["--from", "1s"], "begin earlier"),
])
def test_what_cannot_be_is_one_sentence(tmp_path, source, options, says):
    (tmp_path / "empty").mkdir()
    grey(tmp_path / "p1.png", 1)
    failed = sprocket("run", "--source", f"file:{source}", "--null", *options, check=False, cwd=tmp_path)
    assert failed.returncode != 0 and one_sentence(failed.errors) and says in failed.errors, failed.errors


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("clip") / "clip.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=320x240:duration=4", "-c:v",
                    "libx264", "-pix_fmt", "yuv420p", path], check=True, timeout=LIMIT)
    return path


@pytest.mark.parametrize("format, codec", [
    ("matroska", "copy"), ("mpegts", "copy"), ("yuv4mpegpipe", "wrapped_avframe"), ("mjpeg", "mjpeg"),
    ("avi", "mjpeg"), ("matroska", "mjpeg")])
def test_a_stream_on_standard_input_is_the_file(tmp_path, clip, format, codec):
    data = subprocess.run(["ffmpeg", "-v", "error", "-i", clip, "-c:v", codec, "-f", format, "-"],
                          capture_output=True, check=True, timeout=LIMIT).stdout
    path = tmp_path / f"a.{format}"
    path.write_bytes(data)
    found = []
    for source, options in [(path, {}), ("-", {"input": data}), ("-", {"stdin": path.open("rb")})]:
        command = ["run", "--source", f"file:{source}", "--pipe", "gray", "--quiet"]
        found.append(sprocket(*command, **options).stdout)
    assert len(found[0]) == 100 * 320 * 240 and found[0] == found[1] == found[2]


def test_a_stream_may_begin_later(tmp_path, clip):
    sprocket("run", "--source", "file:-", "--from", "2s", "--reports", tmp_path / "r.jsonl", "--quiet",
             input=clip.read_bytes())
    lines = read_lines(tmp_path / "r.jsonl")
    assert len(lines) == 50 and lines[0]["captured_ns"] == 2_000_000_000


def test_what_is_no_stream_is_one_sentence(tmp_path, clip):
    movie = tmp_path / "a.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i",
                    "testsrc=size=640x480:duration=8,noise=alls=90", "-c:v", "mpeg4", "-q:v", "1", movie],
                   check=True, timeout=LIMIT)
    for data, says in [(b"", "standard input"), (b"nothing of the kind", "standard input"),
                       (movie.read_bytes(), "MKV")]:
        failed = sprocket("run", "--source", "file:-", "--null", input=data, check=False)
        assert failed.returncode != 0 and one_sentence(failed.errors) and says in failed.errors, failed.errors
    failed = sprocket("run", "--source", "file:-", "--null", stdin=subprocess.DEVNULL, check=False)
    assert failed.returncode != 0 and "terminal" in failed.errors


@pytest.mark.parametrize("part", [0, 2000])
def test_a_stream_that_stalls_ends_at_a_signal(tmp_path, clip, part):
    reader, writer = os.pipe()
    os.write(writer, clip.read_bytes()[:part])
    command = [SPROCKET, "run", "--source", "file:-", "--null"]
    with subprocess.Popen(command, stdin=reader, stderr=subprocess.DEVNULL) as process:
        os.close(reader)
        # It has read what there is, and its threads sleep, the source's in a read that nothing ends.
        wait_for(lambda: signal.SIGINT in signals(process, "SigBlk") and not unread(writer)
                 and is_asleep(process), process)
        process.send_signal(signal.SIGINT)
        process.wait(LIMIT)
    os.close(writer)


def unread(pipe):
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def is_asleep(process):
    """Whether no thread runs, for as long as it takes to look ten times."""
    tasks = pathlib.Path(f"/proc/{process.pid}/task")
    return all(path.read_text().rpartition(")")[2].split()[0] == "S"
               for _ in range(10) for path in tasks.glob("*/stat"))


def entries(path, names):
    """What ffprobe says of the stream."""
    command = ["ffprobe", "-v", "error", "-show_entries", f"stream={names}", "-of", "csv=p=0", path]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT).stdout.strip()


def test_oblong_pixels_become_square(tmp_path):
    clip = tmp_path / "dv.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=720x576:duration=0.2", "-vf",
                    "setsar=16/15", "-c:v", "libx264", clip], check=True, timeout=LIMIT)
    sprocket("export", clip, tmp_path / "a.mp4", "--upright", "--quiet")
    told = entries(tmp_path / "a.mp4", "width,height,sample_aspect_ratio")
    assert told == "768,576,1:1"


def test_a_folder_becomes_a_movie_at_its_rate(tmp_path, shots):
    sprocket("export", shots, tmp_path / "a.mp4", "--rate", "5", "--quiet")
    told = entries(tmp_path / "a.mp4", "r_frame_rate,nb_frames,duration")
    assert told == "5/1,1.400000,7"


@pytest.mark.parametrize("ending", ["jpg", "png", "tif"])
def test_inspect_says_what_exiftool_says(tmp_path, ending):
    sprocket("run", "--source", "scene", "--source-set", "pace=fast", "--frames", 1, "--stills",
             tmp_path / f"a.{ending}", "--stage", "meter", "--quiet")
    entry, = json.loads(sprocket("inspect", "--json", tmp_path / f"a.{ending}").stdout)
    tags, = json.loads(subprocess.run(
        ["exiftool", "-j", "-n", tmp_path / f"a.{ending}"], capture_output=True, check=True,
        timeout=LIMIT).stdout)
    picture, (track,) = entry["picture"], entry["tracks"]
    assert track["pixel_format"].startswith({"jpg": "yuvj", "png": "rgb24", "tif": "rgb24"}[ending])
    assert track["duration_s"] == 0 and "frames_per_second" not in track
    assert (entry["tracks"][0]["width"], entry["tracks"][0]["height"]) == (1280, 720)
    assert picture["exposure_s"] == pytest.approx(tags["ExposureTime"]) and picture["iso"] == tags["ISO"]
    assert picture["model"] == tags["Model"] and picture["orientation"] == tags["Orientation"]
    assert json.loads(picture["comment"])["metered_ev"] == json.loads(tags["UserComment"])["metered_ev"]
    assert "exposed for 1/100 s, ISO 100" in sprocket("inspect", tmp_path / f"a.{ending}").stdout.decode()


@pytest.mark.parametrize("ending", ["jpg", "png"])
def test_a_thumbnail_is_upright_and_small(tmp_path, clip, ending):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (640, 480), (200, 30, 30)).save(tmp_path / "a.jpg", exif=exif)
    for source, size in [(clip, (320, 240)), (tmp_path / "a.jpg", (320, 427))]:
        thumbnail = tmp_path / f"thumbnail.{ending}"
        sprocket("inspect", source, "--thumbnail", thumbnail, "--overwrite")
        assert Image.open(thumbnail).size == size
    assert Image.open(thumbnail).convert("RGB").getpixel((5, 5))[0] > 180
    failed = sprocket("inspect", clip, "--thumbnail", thumbnail, check=False)
    assert failed.returncode != 0 and one_sentence(failed.errors)
