"""What cameras make of JPEG: what others show is shown and counted, and damage is found, judged by djpeg,
Pillow and ffmpeg."""
import collections
import io
import json
import random
import subprocess

import numpy as np
import pytest
from mcap.writer import Writer
from PIL import Image

from program import DATA, LIMIT, SPROCKET, read_summary, sprocket
from test_tracks import cdr

KINDS = {"baseline": {}, "progressive": {"progressive": True}, "restarts": {"restart_marker_blocks": 2}}
ODDITIES = ["whole", "between", "before", "no end", "half an end", "two starts", "cut"]


def jpeg(kind, seed=0):
    """64 x 48 pixels of noise."""
    pixels = np.random.default_rng(seed).integers(0, 256, (48, 64, 3), dtype=np.uint8)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "JPEG", **KINDS[kind])
    return data.getvalue()


def made_odd(data, oddity):
    tables = data.index(b"\xff\xdb")
    return {
        "whole": data, "between": data[:tables] + b"\0\x07\xff\0" + data[tables:],
        "before": b"\0\x17\xd8" + data, "no end": data[:-2], "half an end": data[:-1],
        "two starts": b"\xff\xd8" + data, "cut": data[:-12]
    }[oddity]


def write_folder(folder, images):
    folder.mkdir()
    for number, image in enumerate(images):
        (folder / f"{number:03}.jpg").write_bytes(image)
    return folder


def source_of(door, folder, images):
    """A file with these images, as they are: the argument of --source."""
    if door == "folder":
        return f"file:{write_folder(folder / 'in', images)}"
    if door == "stream":
        (folder / "in.mjpeg").write_bytes(b"".join(images))
        return f"file:{folder / 'in.mjpeg'}"
    if door == "avi":
        write_folder(folder / "in", images)
        subprocess.run(
            ["ffmpeg", "-v", "error", "-i", folder / "in/%03d.jpg", "-c", "copy", folder / "in.avi"],
            check=True, timeout=LIMIT)
        return f"file:{folder / 'in.avi'}"
    with open(folder / "in.mcap", "wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("sensor_msgs/msg/CompressedImage", "ros2msg", b"x")
        channel = writer.register_channel("/camera", "cdr", schema)
        for number, image in enumerate(images):
            time = 10**18 + number * 40_000_000
            writer.add_message(channel, time, cdr(time, "jpeg", image), time)
        writer.finish()
    return f"replay:{folder / 'in.mcap'}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("oddity", ODDITIES)
@pytest.mark.parametrize("door", ["folder", "stream", "avi", "mcap"])
def test_what_others_show_is_shown_and_counted(door, oddity, kind, tmp_path):
    images = [jpeg(kind, seed) for seed in range(5)]
    # The first is whole, so that each door knows what it opens.
    odd = images[:1] + [made_odd(image, oddity) for image in images[1:]]
    source = source_of(door, tmp_path, odd)
    stills = tmp_path / "stills"
    sprocket("run", "--source", source, "--stills", stills, "--movie", tmp_path / "m.mov", "--verify",
             "--summary", tmp_path / "s.json", "--quiet")
    summary = read_summary(tmp_path / "s.json")
    repaired = summary["source"]["counts"].get("repaired", 0)
    files = sorted(stills.iterdir())
    if oddity == "cut":
        assert summary["sinks"]["movie"]["corrupt"] == 4 and len(files) == 1 and repaired == 0
        return
    assert summary["sinks"]["movie"]["delivered"] == 5
    # A stream has no packets but those that start markers make.
    at_least = 0 if door == "stream" and oddity in ("before", "two starts") else 4
    assert at_least <= repaired <= 4 if oddity != "whole" else repaired == 0
    # For viewers it is the picture that it was, without a warning.
    for file, image in zip(files, images):
        ours, warnings = djpeg(file.read_bytes())
        assert not warnings and ours == djpeg(image)[0]
    errors = subprocess.run(["ffmpeg", "-v", "warning", "-i", tmp_path / "m.mov", "-f", "null", "-"],
                            capture_output=True, timeout=LIMIT).stderr
    # ffmpeg 5.1 misses the end of each progressive picture.
    assert b"overread" not in errors
    assert b"EOI missing" not in errors or kind == "progressive", errors


def grey(interval=None):
    """(header of 8 x 8 grey pixels up to its scan's data, the data)"""
    image = io.BytesIO()
    Image.new("L", (8, 8), 90).save(image, "JPEG")
    data = image.getvalue()
    scan = data.index(b"\xff\xda")
    start = scan + 2 + int.from_bytes(data[scan + 2:scan + 4], "big")
    restart = b"" if interval is None else b"\xff\xdd\0\x04" + interval.to_bytes(2, "big")
    return data[:scan] + restart + data[scan:start], data[start:-2]


# Data behind the last interval, and whether others show the picture without a gap.
@pytest.mark.parametrize("rest, verified", [
    (b"\xff\xff\0\xff\xd0\0\0", False), (b"\xff\xd0\xff\xff\xd1\0\0\xff\xd9", False),
    (b"\xff\xd0\xff\xd9", True), (b"\xff\xd0\xff\xd1\xff\xd9", False), (b"\0\0\0\xff\xd9", True),
    (b"\x12\x77\x35\x91\x3c\xff\xd9", False)])
def test_what_follows_the_picture_data_stops_nothing(rest, verified, tmp_path):
    header, data = grey(1)
    (tmp_path / "a.jpg").write_bytes(header + data + b"\xff\xd9")
    (tmp_path / "b.jpg").write_bytes(header + data + rest)
    for options in [], ["--verify"]:
        sprocket("run", "--source", f"file:{tmp_path}", "--null", "--summary", tmp_path / "s.json", "--quiet",
                 "--overwrite", *options)
        fates = read_summary(tmp_path / "s.json")["sinks"]["null"]
        assert fates["delivered"] + fates["corrupt"] == 2
        # Without an end marker the data is looked at in any case.
        if verified or not options and rest.endswith(b"\xff\xd9"):
            assert fates["delivered"] == 2
        elif options:
            assert fates["corrupt"] == 1


def test_a_mended_still_keeps_its_exif_and_ends_where_the_next_image_begins(tmp_path):
    exif = Image.Exif()
    exif[271] = "ACME"
    image = io.BytesIO()
    Image.fromarray(np.zeros((48, 64, 3), np.uint8)).save(image, "JPEG", exif=exif)
    data = image.getvalue()
    folder = write_folder(tmp_path / "in", [data, b"\xff\xd8" + data, b"\0\1" + data, data[:-2] + data])
    sprocket("run", "--source", f"file:{folder}", "--stills", tmp_path / "out", "--verify", "--quiet")
    files = sorted((tmp_path / "out").iterdir())
    assert len(files) == 4
    for file in files:
        assert Image.open(file).getexif()[271] == "ACME"
        assert djpeg(file.read_bytes())[1] == ""


def djpeg(data):
    """The pixels in a PPM, and what libjpeg complained about."""
    result = subprocess.run(["djpeg", "-pnm"], input=data, capture_output=True, timeout=LIMIT)
    return result.stdout, result.stderr.decode()


def pixels(ppm):
    return np.asarray(Image.open(io.BytesIO(ppm)).convert("RGB")).astype(int) if ppm else None


def is_wrong(right, found):
    """More than 1 % of the pixels are off by more than 8."""
    if found is None or found.shape != right.shape:
        return True
    return (np.abs(found - right).max(axis=2) > 8).mean() > 0.01


def camera_frames(name, count):
    data, found, place = (DATA / name).read_bytes(), [], 0
    while len(found) < count and (start := data.find(b"\xff\xd8\xff", place)) >= 0:
        place = data.index(b"\xff\xd9", start) + 2
        found.append(data[start:place])
    return found


def damaged(data, way, numbers):
    scan = data.index(b"\xff\xda")
    start, end = scan + 2 + int.from_bytes(data[scan + 2:scan + 4], "big"), len(data) - 2
    changed = bytearray(data)
    at = numbers.randrange(start, end)
    size = min(numbers.choice([16, 64, 512, 1024]), end - at)
    if way == "flipped":
        for _ in range(numbers.choice([1, 1, 3])):
            changed[numbers.randrange(start, end)] ^= 1 << numbers.randrange(8)
    elif way == "zeroed":
        changed[at:at + size] = bytes(size)
    elif way == "lost":
        del changed[at:at + size]
    elif way == "doubled":
        changed[at:at] = changed[at:at + size]
    else:
        other = numbers.randrange(start, end - size)
        changed[at:at + size], changed[other:other + size] = data[other:other + size], data[at:at + size]
    return bytes(changed)


WAYS = ["flipped", "zeroed", "lost", "doubled", "swapped"]


@pytest.mark.skipif(not DATA.is_dir(), reason="no test data")
@pytest.mark.parametrize("seed", [1, 2])
def test_verify_finds_at_least_what_libjpeg_complains_of(seed, tmp_path):
    """360 damaged frames of two cameras. djpeg also complains about frames in which next to nothing is wrong:
    of these no more are condemned than by it."""
    found = collections.Counter()
    for name in "mjpeg/100_0306.AVI", "mjpeg/test.mjpeg":
        frames = camera_frames(name, 6)
        numbers = random.Random(f"{seed} {name}")
        trials = [(frames[index % len(frames)], WAYS[index % 5]) for index in range(180)]
        images = [damaged(frame, way, numbers) for frame, way in trials]
        folder = write_folder(tmp_path / name.replace("/", " "), images)
        reports = tmp_path / "reports.jsonl"
        # Where the first is damaged, the run still begins with the first that is not.
        subprocess.run([SPROCKET, "run", "--source", f"file:{folder}", "--verify", "--reports", reports,
                        "--quiet", "--overwrite"], check=True, timeout=LIMIT)
        fates = [json.loads(line)["fate"] for line in reports.read_text().splitlines()]
        assert len(fates) == 180
        subprocess.run([SPROCKET, "run", "--source", f"file:{folder}", "--stage", "meter", "--reports",
                        reports, "--quiet", "--overwrite"], check=True, timeout=LIMIT)
        decoded = [json.loads(line)["fate"] for line in reports.read_text().splitlines()]
        right = {frame: pixels(djpeg(frame)[0]) for frame in frames}
        for (frame, _), image, fate, met in zip(trials, images, fates, decoded):
            shown, complaint = djpeg(image)
            kind = "wrong" if is_wrong(right[frame], pixels(shown)) else "right"
            found[kind] += 1
            found[kind, "djpeg"] += bool(complaint)
            found[kind, "ours"] += fate == "corrupt"
            found[kind, "decoded"] += met == "corrupt"
    print(dict(found))
    assert found["wrong"] > 200 and found["right"] > 80
    assert found["wrong", "ours"] >= found["wrong", "djpeg"]
    # Without --verify: what decoding shows, of which some 145 where bytes that are left over are believed.
    assert found["wrong", "decoded"] > 150
    assert found["right", "ours"] <= found["right", "djpeg"]
