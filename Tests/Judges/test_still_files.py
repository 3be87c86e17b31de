"""What stills are and say, read by programs that are not ours: exiftool, LibRaw (rawpy), OpenCV, Pillow."""
import datetime
import json
import os
import re
import subprocess
import time

import cv2
import numpy as np
import PIL.Image
import PIL.ImageOps
import pytest
import rawpy

from conftest import read_lines, sprocket
from program import LIMIT, SPROCKET, one_sentence, read_summary, wait_for
from recordings import dump_images
from test_debayer import FORMATS, samples

SCENE = ["run", "--source", "scene", "--quiet"]


def exiftool(*arguments):
    return subprocess.run(["exiftool", *map(str, arguments)], capture_output=True, check=True,
                          timeout=LIMIT).stdout


def tags(path):
    """Every tag of a file by group and name, as numbers where it has them."""
    return json.loads(exiftool("-json", "-n", "-G1", "-a", path))[0]


def complaints(folder):
    """What exiftool says against each file of a folder."""
    found = json.loads(exiftool("-json", "-validate", "-warning", "-error", "-a", folder))
    assert found
    return [file for file in found if file["Validate"] not in ("OK", "0 0 0")]


def files(folder):
    return sorted(folder.iterdir())


def comment(found):
    return json.loads(found["ExifIFD:UserComment"])


# EXIF.

CHAIN = ["--stage", "meter", "--stage", "focus"]


@pytest.mark.parametrize("ending, picture", [
    ("jpg", "MJPG"), ("jpg", "YUYV"), ("jpg", "GREY"), ("png", "YUYV"), ("tif", "RGB3"), ("dng", "RG12")])
def test_exif_says_how_a_frame_was_taken(ending, picture, tmp_path):
    chain = [] if ending == "dng" else CHAIN
    reports = tmp_path / "r.jsonl"
    sprocket(*SCENE, "--format", picture, "--size", "640x360", "--frames", 3, *chain, "--source-set",
             "exposure=20000", "--source-set", "gain=2", "--source-set", "lens=0.25", "--stills",
             tmp_path / "s" / ("{n}." + ending), "--reports", reports)
    assert not complaints(tmp_path / "s")
    for number, (path, line) in enumerate(zip(files(tmp_path / "s"), read_lines(reports), strict=True)):
        found = tags(path)
        assert found["ExifIFD:ExposureTime"] == 0.02
        assert found["ExifIFD:ISO"] == 200
        assert found["IFD0:Model"] == "scene" and found["IFD0:Software"] == "Sprocket"
        assert found["IFD0:Orientation"] == 1
        assert found["Composite:ImageSize"] == "640 360"
        said = comment(found)
        assert said["frame"] == number and said["sequence"] == line["sequence"] and said["epoch"] == 0
        assert said["gain"] == 2 and said["lens_position"] == 0.25
        assert said["captured_s"] == pytest.approx(line["captured_ns"] / 1e9, abs=1e-6)
        # The scene's own time line has no date: runs over the same frames make the same files.
        assert not [name for name in found if name.startswith("ExifIFD:DateTime")]
        if chain:
            assert said["metered_ev"] == pytest.approx(line["meter"]["log_luminance"], abs=1e-6)
            assert said["metered_offset_ev"] == pytest.approx(line["meter"]["offset"], abs=1e-6)
            assert said["focus_score"] == pytest.approx(line["focus"]["score"], abs=1e-6)


@pytest.mark.parametrize("zone, offset", [("UTC", "+00:00"), ("Asia/Kolkata", "+05:30"),
                                          ("America/St_Johns", "-03:30")])
def test_times_of_a_live_source_are_the_walls(zone, offset, tmp_path):
    before = datetime.datetime.now(datetime.timezone.utc)
    sprocket(*SCENE, "--size", "64x48", "--frames", 6, "--source-set", "pace=real", "--stills",
             tmp_path / "s" / "{time}-{n}.jpg", "--reports", tmp_path / "r.jsonl",
             env={"TZ": zone, "PATH": "/usr/bin:/bin"})
    # A pause between the two clocks makes the difference larger.
    monotonic_to_wall = min(time.time_ns() - time.monotonic_ns() for _ in range(100))
    after = datetime.datetime.now(datetime.timezone.utc)
    times = []
    for path in files(tmp_path / "s"):
        found = tags(path)
        assert found["ExifIFD:OffsetTimeOriginal"] == offset
        assert found["ExifIFD:DateTimeOriginal"] == found["ExifIFD:CreateDate"]
        text = f"{found['ExifIFD:DateTimeOriginal']}.{found['ExifIFD:SubSecTimeOriginal']!s:0>6}{offset}"
        times.append(datetime.datetime.strptime(text, "%Y:%m:%d %H:%M:%S.%f%z"))
        # The name has the same time, to the millisecond.
        name = re.fullmatch(r"(\d{8}-\d{6})-(\d{3})-\d{8}\.jpg", path.name)
        assert times[-1].strftime("%Y%m%d-%H%M%S") == name.group(1)
        assert times[-1].microsecond // 1000 == int(name.group(2))
    assert before - datetime.timedelta(milliseconds=200) <= times[0] and times[-1] <= after
    # By the clock of the reports, and the difference of the two clocks, read here.
    for found, line in zip(times, read_lines(tmp_path / "r.jsonl"), strict=True):
        assert found.timestamp() == pytest.approx((line["captured_ns"] + monotonic_to_wall) / 1e9, abs=1e-3)
    # 30 frames a second; captured times, and not those of writing.
    steps = [(b - a).total_seconds() for a, b in zip(times, times[1:])]
    assert all(step == pytest.approx(1 / 30, abs=2e-6) for step in steps)


@pytest.mark.parametrize("picture", ["MJPG", "YUYV", "NV12", "GREY", "RGB3"])
@pytest.mark.parametrize("size", ["1920x1080", "161x121", "64x48", "720x1280", "1601x99"])
def test_thumbnails_show_the_picture(size, picture, tmp_path):
    sprocket(*SCENE, "--format", picture, "--size", size, "--frames", 1, "--stills", tmp_path / "s")
    path, = files(tmp_path / "s")
    width, height = map(int, size.split("x"))
    data = np.frombuffer(exiftool("-b", "-ThumbnailImage", path), np.uint8)
    small = cv2.imdecode(data, cv2.IMREAD_COLOR)
    divisor = round(width / small.shape[1])
    assert small.shape[1] in (width // divisor, -(-width // divisor))
    assert small.shape[0] in (height // divisor, -(-height // divisor))
    assert 160 <= max(small.shape) < 320 or divisor == 1
    rows, columns = height // divisor, width // divisor
    whole = cv2.imread(str(path)).astype(float)[:rows * divisor, :columns * divisor]
    means = whole.reshape(rows, divisor, columns, divisor, 3).mean(axis=(1, 3))
    # The colours of 2x2 pixels are one; JPEG of quality 75 adds the rest.
    expected, found = (cv2.blur(image, (4, 4)) for image in (means, small[:rows, :columns].astype(float)))
    assert np.abs(expected - found).mean() < 4.5


def test_a_thumbnail_can_be_left_out(tmp_path):
    sprocket(*SCENE, "--frames", 1, "--sink", f"stills:{tmp_path}/s,thumbnail=false")
    assert not [name for name in tags(*files(tmp_path / "s")) if "Thumbnail" in name]


def test_a_cameras_own_exif_is_merged(tmp_path):
    """Maker, model and orientation are the camera's; the segment is there once."""
    sprocket(*SCENE, "--size", "320x240", "--frames", 1, "--stills", tmp_path / "own")
    own, = files(tmp_path / "own")
    subprocess.run(["exiftool", "-q", "-overwrite_original", "-Make=Maker", "-Model=Type 5",
                    "-Orientation#=6", "-ExposureTime=1", own], check=True, timeout=LIMIT)
    clip = tmp_path / "clip.avi"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "image2", "-i", str(own), "-c", "copy", str(clip)],
                   check=True, timeout=LIMIT)
    sprocket("run", "--source", f"file:{clip}", "--stills", tmp_path / "s", "--quiet")
    path, = files(tmp_path / "s")
    found = tags(path)
    assert (found["IFD0:Make"], found["IFD0:Model"], found["IFD0:Orientation"]) == ("Maker", "Type 5", 6)
    assert "ExifIFD:ExposureTime" not in found
    assert path.read_bytes().count(b"Exif\0\0") == 1
    assert not complaints(tmp_path / "s")
    before, after = (data[data.index(b"\xff\xdb"):] for data in (own.read_bytes(), path.read_bytes()))
    assert before == after


@pytest.mark.parametrize("ending", ["jpg", "png", "tif"])
def test_turned_pictures_say_so(ending, tmp_path):
    clip, turned = tmp_path / "a.mov", tmp_path / "b.mov"
    sprocket(*SCENE, "--size", "96x64", "--frames", 2, "--movie", clip)
    subprocess.run(["ffmpeg", "-v", "error", "-i", str(clip), "-c", "copy", "-metadata:s:v", "rotate=90",
                    str(turned)], check=True, timeout=LIMIT)
    result = sprocket("run", "--source", f"file:{turned}", "--stills", tmp_path / "s" / ("{n}." + ending))
    assert "are turned" not in result.errors
    # FFmpeg turns the film as it says, Pillow the stills as EXIF says.
    shown = subprocess.run(["ffmpeg", "-v", "error", "-i", str(turned), "-pix_fmt", "bgr24", "-f",
                            "rawvideo", "-"], capture_output=True, check=True, timeout=LIMIT).stdout
    for path, data in zip(files(tmp_path / "s"), np.frombuffer(shown, np.uint8).reshape(2, 96, 64, 3)):
        upright = np.array(PIL.ImageOps.exif_transpose(PIL.Image.open(path)).convert("RGB"))[:, :, ::-1]
        assert upright.shape == data.shape
        assert np.abs(upright.astype(int) - data).mean() < 4


# PNG and TIFF: every bit.

def raw(picture, size, tmp_path, frames=2):
    path = tmp_path / "a.mcap"
    sprocket(*SCENE, "--format", picture, "--size", size, "--frames", frames, "--dump", path)
    return [image.message.data for image in dump_images(path)]


def written(ending, picture, size, tmp_path, *more, frames=2):
    folder = tmp_path / ending
    sprocket(*SCENE, "--format", picture, "--size", size, "--frames", frames, *more, "--stills",
             folder / ("{n}." + ending))
    assert not complaints(folder)
    pictures = [cv2.imread(str(path), cv2.IMREAD_UNCHANGED) for path in files(folder)]
    assert len(pictures) == frames
    return [image[:, :, ::-1] if image.ndim == 3 else image for image in pictures]


@pytest.mark.parametrize("size", ["160x120", "161x121"])
@pytest.mark.parametrize("ending", ["png", "tif"])
@pytest.mark.parametrize("picture, order", [("RGB3", [0, 1, 2]), ("BGR3", [2, 1, 0]), ("BGR4", [2, 1, 0]),
                                            ("RGB4", [1, 2, 3])])
def test_rgb_is_the_frame_bit_for_bit(picture, order, ending, size, tmp_path):
    width, height = map(int, size.split("x"))
    for data, found in zip(raw(picture, size, tmp_path), written(ending, picture, size, tmp_path)):
        pixels = np.frombuffer(data, np.uint8).reshape(height, width, -1)
        assert np.array_equal(found, pixels[:, :, order])


@pytest.mark.parametrize("size", ["160x120", "161x121"])
@pytest.mark.parametrize("ending", ["png", "tif"])
@pytest.mark.parametrize("picture, bits", [("GREY", 8), ("Y10", 10), ("Y16", 16)])
def test_grey_is_the_frame_bit_for_bit(picture, bits, ending, size, tmp_path):
    """Samples of 10 bits fill 16: the sample, and its upper bits again."""
    width, height = map(int, size.split("x"))
    for data, found in zip(raw(picture, size, tmp_path), written(ending, picture, size, tmp_path)):
        expected = np.frombuffer(data, np.uint8 if bits == 8 else "<u2").reshape(height, width)
        assert found.dtype == (np.uint8 if bits == 8 else np.uint16)
        if bits == 10:
            assert np.array_equal(found >> 6, expected) and np.array_equal(found & 63, expected >> 4)
        else:
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("ending", ["png", "tif"])
@pytest.mark.parametrize("picture", ["YUYV", "NV12", "422P", "MJPG"])
def test_yuv_is_what_the_pipe_makes_of_it(picture, ending, tmp_path):
    stream = sprocket(*SCENE, "--format", picture, "--size", "162x120", "--frames", 2, "--sink",
                      "pipe:rgb,exact=true").stdout
    expected = np.frombuffer(stream, np.uint8).reshape(2, 120, 162, 3)
    assert np.array_equal(expected, np.stack(written(ending, picture, "162x120", tmp_path)))


@pytest.mark.parametrize("ending", ["png", "tif"])
def test_deep_colours_have_16_bits(ending, tmp_path):
    """The stage debayer makes 4:4:4 of 12 bits; RGB of it in float64, rounded."""
    chain = ["--stage", "debayer:depth=source"]
    found = written(ending, "RG12", "96x64", tmp_path, *chain)
    stream = sprocket(*SCENE, "--format", "RG12", "--size", "96x64", "--frames", 2, *chain, "--pipe",
                      "y4m").stdout
    size = 3 * 96 * 64 * 2
    start = stream.index(b"FRAME\n") + 6
    for index, image in enumerate(found):
        data = stream[start + index * (size + 6):][:size]
        y, u, v = np.frombuffer(data, "<u2").reshape(3, 64, 96).astype(float)
        u, v = u - 2048, v - 2048
        rgb = np.stack([y + 1.402 * v, y - (0.114 * 1.772 * u + 0.299 * 1.402 * v) / 0.587, y + 1.772 * u],
                       axis=-1)
        expected = np.clip(rgb / 4095, 0, 1) * 65535
        assert image.dtype == np.uint16
        assert np.abs(image - expected).max() <= 0.6
        assert len(np.unique(image & 255)) > 64


# DNG.

def test_every_mosaic_is_kept_to_the_bit(tmp_path):
    for code, (pattern, bits, _) in FORMATS.items():
        place = tmp_path / code.strip()
        place.mkdir()
        data = raw(code, "96x64", place, frames=1)[0]
        expected = samples(data, code, 96, 64)
        sprocket(*SCENE, "--format", code, "--size", "96x64", "--frames", 1, "--source-set", "gamma=1",
                 "--stills", place / "s/{n}.dng")
        linear = raw_of(place / "s")
        again = samples(linear_data(code, place), code, 96, 64)
        assert np.array_equal(linear.raw_image_visible, again), code
        assert linear.white_level == (1 << bits) - 1
        assert linear.raw_colors_visible[:2, :2].tolist() == [
            [colour(linear, letter, y) for letter in pattern[2 * y:2 * y + 2]] for y in range(2)], code
        assert not complaints(place / "s")
        assert expected.max() < 1 << bits


def linear_data(code, place):
    path = place / "linear.mcap"
    sprocket(*SCENE, "--format", code, "--size", "96x64", "--frames", 1, "--source-set", "gamma=1", "--dump",
             path)
    image, = dump_images(path)
    return image.message.data


def raw_of(folder):
    path, = files(folder)
    return rawpy.imread(str(path))


def colour(image, letter, row):
    """LibRaw's number of a colour: the second green has its own."""
    numbers = [index for index, name in enumerate(image.color_desc.decode()) if name == letter]
    return numbers[0] if len(numbers) == 1 else numbers[0 if row == green_row(image) else 1]


def green_row(image):
    return int(np.argwhere(image.raw_pattern == 1)[0][0])


CHART = {"red": (0.5, 0.05, 0.05), "green": (0.05, 0.5, 0.1), "blue": (0.05, 0.1, 0.5),
         "yellow": (0.6, 0.5, 0.05), "cyan": (0.05, 0.5, 0.5), "magenta": (0.5, 0.05, 0.4),
         "grey": (0.2, 0.2, 0.2), "white": (0.9, 0.9, 0.9)}


@pytest.mark.parametrize("bits, pattern", [(8, "rggb"), (8, "gbrg"), (16, "rggb"), (16, "bggr"),
                                           (16, "grbg")])
def test_a_chart_comes_out_in_its_colours(bits, pattern, tmp_path):
    """Linear light through a sensor that needs white balance and has a level of black."""
    red, blue, black = 2.0, 1.6, 1 / 16
    white = (1 << bits) - 1
    patches = np.array(list(CHART.values()))
    light = np.repeat(np.repeat(patches.reshape(2, 4, 3), 64, axis=0), 64, axis=1)
    sensor = light / [red, 1, blue]
    y, x = np.indices(light.shape[:2])
    letters = np.array(["rgb".index(letter) for letter in pattern])[y % 2 * 2 + x % 2]
    level = np.take_along_axis(sensor, letters[:, :, None], axis=2)[:, :, 0]
    mosaic = np.round((black + level * (1 - black)) * white).astype("<u2" if bits == 16 else np.uint8)
    clip = tmp_path / "chart.nut"
    name = f"bayer_{pattern}{'16le' if bits == 16 else '8'}"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", name, "-s", "256x128", "-i", "-",
                    "-c:v", "rawvideo", str(clip)], input=mosaic.tobytes(), check=True, timeout=LIMIT)
    sprocket("run", "--source", f"file:{clip}", "--quiet", "--sink",
             f"stills:{tmp_path}/s/{{n}}.dng,red={red},blue={blue},black={black}")
    assert not complaints(tmp_path / "s")
    image = raw_of(tmp_path / "s")
    assert np.allclose(image.camera_whitebalance[:3] / np.array(image.camera_whitebalance[1]),
                       [red, 1, blue], rtol=1e-3)
    found = image.postprocess(use_camera_wb=True, no_auto_bright=True, gamma=(1, 1), output_bps=16,
                              output_color=rawpy.ColorSpace.sRGB, adjust_maximum_thr=0) / 65535
    for index, (patch, wanted) in enumerate(CHART.items()):
        row, column = 64 * (index // 4), 64 * (index % 4)
        mean = found[row + 16:row + 48, column + 16:column + 48].mean(axis=(0, 1))
        # A patch of a colour that 8 bits hold within 0.4 %, times the white balance.
        assert np.allclose(mean, wanted, atol=0.012 if bits == 8 else 0.006), (patch, mean)


def test_a_curve_is_undone(tmp_path):
    """The scene's mosaics have sRGB's curve: the picture is that of the stage debayer."""
    scene = [*SCENE, "--format", "RG12", "--size", "320x240", "--frames", 1]
    sprocket(*scene, "--stills", tmp_path / "d/{n}.dng")
    sprocket(*scene, "--stage", "debayer", "--stills", tmp_path / "p/{n}.png")
    found = raw_of(tmp_path / "d").postprocess(
        use_camera_wb=True, no_auto_bright=True, gamma=(2.4, 12.92), output_bps=8, adjust_maximum_thr=0)
    path, = files(tmp_path / "p")
    expected = cv2.imread(str(path))[:, :, ::-1]
    # Two ways to find the missing colours.
    assert np.abs(found.astype(int) - expected).mean() < 5
    assert np.abs(cv2.blur(found, (4, 4)).astype(int) - cv2.blur(expected, (4, 4))).mean() < 2
    data = exiftool("-b", "-ThumbnailTIFF", *files(tmp_path / "d"))
    preview = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)[:, :, ::-1]
    small = cv2.resize(expected, preview.shape[1::-1], interpolation=cv2.INTER_AREA)
    assert np.abs(cv2.blur(preview, (4, 4)).astype(int) - cv2.blur(small, (4, 4))).mean() < 3


# Names.

def test_a_pattern_names_the_files(tmp_path):
    sprocket(*SCENE, "--size", "64x48", "--frames", 4, "--every", "66ms", "--stills",
             tmp_path / "s" / "{name}_{n}x{time}.png")
    assert [path.name for path in files(tmp_path / "s")] == [
        "scene_00000000x000000-000.png", "scene_00000002x000000-066.png"]


def test_other_files_of_the_folder_stay(tmp_path):
    (tmp_path / "still-00000000.jpg").write_bytes(b"old")
    given = [*SCENE, "--size", "64x48", "--frames", 2, "--stills", tmp_path / "a-{n}.jpg"]
    sprocket(*given)
    first = [path.read_bytes() for path in files(tmp_path)]
    assert first[2] == b"old" and len(first) == 3
    refused = sprocket(*given, check=False)
    assert refused.returncode != 0 and "a-00000000.jpg" in refused.errors
    assert [path.read_bytes() for path in files(tmp_path)] == first
    sprocket(*given[:-1], tmp_path / "a-{n}.jpg", "--overwrite", "--stage", "negate")
    assert [path.name for path in files(tmp_path)] == ["a-00000000.jpg", "a-00000001.jpg",
                                                       "still-00000000.jpg"]


@pytest.mark.parametrize("pattern, reason", [
    ("x.jpg", "add {n}"), ("{foo}.png", "{n}, {time}, {name}"), ("{n}.bmp", ".jpg, .png, .tif or .dng"),
    ("{n}", ".jpg, .png, .tif or .dng"), ("{n}/{n}.jpg", "only the file's name"), ("{name}.dng", "add {n}"),
    ("{n.png", "a brace of the name is written twice"), ("{n}.dng", "none")])
def test_bad_patterns_are_refused(pattern, reason, tmp_path):
    result = sprocket(*SCENE, "--frames", 2, "--stills", tmp_path / pattern, check=False)
    assert result.returncode == 2 and reason in one_sentence(result.errors)
    assert not files(tmp_path)


def test_photographs_that_are_asked_for(tmp_path):
    script, summary = tmp_path / "script", tmp_path / "s.json"
    script.write_text('{"request":"photo","frames":2,"at_frame":5}\n{"request":"photo","at_frame":20}\n')
    sprocket(*SCENE, "--format", "RG10", "--size", "96x64", "--frames", 30, "--on-demand", "--script",
             script, "--stills", tmp_path / "s/shot-{n}.dng", "--summary", summary)
    assert [path.name for path in files(tmp_path / "s")] == [
        f"shot-{number:08d}.dng" for number in (5, 6, 20)]
    assert [comment(tags(path))["frame"] for path in files(tmp_path / "s")] == [5, 6, 20]
    records = json.loads(summary.read_text())["recordings"]
    assert [record["path"] for record in records] == [
        str(tmp_path / f"s/shot-{number:08d}.dng") for number in (5, 20)]


@pytest.mark.parametrize("ending", ["jpg", "png", "tif"])
def test_the_sharpest_are_files_of_any_kind(ending, tmp_path):
    reports = tmp_path / "r.jsonl"
    sprocket(*SCENE, "--size", "160x120", "--frames", 60, "--source-set", "focusstep=0.4", "--source-set",
             "focusat=0.5", "--stills", tmp_path / "s" / ("{n}." + ending), "--stills-sharpest", "700ms",
             "--reports", reports)
    scores = [line["focus"]["score"] for line in read_lines(reports)]
    for path in files(tmp_path / "s"):
        said = comment(tags(path))
        assert said["frame"] == int(path.stem)
        period = [score for number, score in enumerate(scores)
                  if number * 1000 // 30 // 700 == said["frame"] * 1000 // 30 // 700]
        assert said["focus_score"] == pytest.approx(max(period), abs=1e-6)


def test_no_still_of_a_run_replaces_another(tmp_path):
    # Two and more frames in each millisecond have the same time in their names.
    movie = tmp_path / "fast.mov"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=64x48:rate=4000",
                    "-frames:v", "24", "-c:v", "png", movie], check=True)
    for overwrite in ([], ["--overwrite"]):
        folder = tmp_path / f"s{len(overwrite)}"
        sprocket("run", "--source", f"file:{movie}", "--stills", folder / "{time}.jpg", *overwrite)
        names = {path.name for path in files(folder)}
        assert len(names) == 24 and "000000-000.jpg" in names and "000000-000-2.jpg" in names
    # An earlier run's are replaced where that is wished, and left where not.
    sprocket("run", "--source", f"file:{movie}", "--stills", tmp_path / "s0" / "{time}.jpg")
    assert len(files(tmp_path / "s0")) == 48
    sprocket("run", "--source", f"file:{movie}", "--stills", tmp_path / "s1" / "{time}.jpg", "--overwrite")
    assert len(files(tmp_path / "s1")) == 24


# Seconds since 1970 to which the clock is set, one after the other: back and back again, and an hour of
# autumn that comes twice in Berlin.
@pytest.mark.parametrize("times", [[1_700_000_000, 1_699_999_999, 1_699_999_998],
                                   [1_792_888_200, 1_792_891_800]])
@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_no_still_has_the_name_of_another_whatever_the_clock_does(times, overwrite, tmp_path):
    clock, folder = tmp_path / "clock", tmp_path / "stills"

    def set_clock(seconds):
        (tmp_path / "new").write_text(f"{seconds - time.time():+.0f}")
        os.replace(tmp_path / "new", clock)

    set_clock(times[0])
    environment = {**os.environ, "TZ": "Europe/Berlin", "FAKETIME_NO_CACHE": "1", "DONT_FAKE_MONOTONIC": "1",
                   "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    # The file with the time is read where no variable has one.
    command = ["faketime", "-m", "-f", "+0", "env", "-u", "FAKETIME", SPROCKET, *SCENE, "--source-set",
               "pace=real", "--size", "64x48", "--rate", "25", "--frames", 60 * len(times), "--stills",
               folder / "{time}.jpg", "--summary", tmp_path / "s.json", *overwrite]
    with subprocess.Popen(list(map(str, command)), env=environment) as process:
        for count, seconds in enumerate(times[1:], 1):
            wait_for(lambda: folder.exists() and len(files(folder)) >= 50 * count, process)
            set_clock(seconds)
        assert process.wait(LIMIT) == 0
    delivered = read_summary(tmp_path / "s.json")["sinks"]["stills"]["delivered"]
    assert len(files(folder)) == delivered > 50
