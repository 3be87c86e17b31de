"""Movies, against ffprobe, ffmpeg and GStreamer: every frame, its bytes, its time, its colour."""
import datetime
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import time

import cv2
import numpy as np
import pytest

from conftest import LIMIT, SPROCKET, clip, read_lines, sprocket
from program import frame_count, wait_for, wait_for_bytes

CONTAINERS = ["mov", "mp4", "mkv"]
TICKS = {"mov": 90000, "mp4": 90000, "mkv": 1000}
SCENE = ["run", "--source", "scene"]


def run(*command):
    result = subprocess.run(list(map(str, command)), capture_output=True, timeout=LIMIT)
    assert result.returncode == 0, f"{command}: {result.stderr.decode()}"
    return result.stdout


def ffprobe(path, *entries):
    return json.loads(run("ffprobe", "-v", "error", "-select_streams", "v", "-of", "json", *entries,
                          path))


def packets(path):
    return ffprobe(path, "-show_packets")["packets"]


def stream(path):
    return ffprobe(path, "-show_streams")["streams"][0]


def images(path, folder):
    """The packets of a file as ffmpeg copies them out, byte for byte."""
    folder.mkdir()
    run("ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-vsync", "passthrough", "-c", "copy",
        "-f", "image2", folder / "%06d.jpg")
    return [file.read_bytes() for file in sorted(folder.iterdir())]


def decoded(path, pixels):
    """What ffmpeg decodes a file to, without conversion: frames x bytes."""
    info = stream(path)
    assert info["pix_fmt"] == pixels
    data = run("ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-vsync", "passthrough",
               "-f", "rawvideo", "-")
    return np.frombuffer(data, np.uint8).reshape(len(packets(path)), -1)


def piped(*arguments):
    """What `--pipe y4m` gives of the same run: the header, frames x bytes."""
    data = sprocket("run", *arguments, "--pipe", "y4m", "--quiet").stdout
    header, rest = data.split(b"\n", 1)
    # A mark of six bytes before each frame; one that stands within pixels is not at its place.
    count = next(count for count in range(rest.count(b"FRAME\n"), 0, -1) if len(rest) % count == 0
                 and all(rest[at: at + 6] == b"FRAME\n"
                         for at in range(0, len(rest), len(rest) // count)))
    return header, np.frombuffer(rest, np.uint8).reshape(count, -1)[:, 6:]


def atoms(path):
    """The atoms of a MOV or MP4, outermost alone: kinds and sizes."""
    found, at, size = [], 0, path.stat().st_size
    with open(path, "rb") as file:
        while at < size:
            file.seek(at)
            length, kind = struct.unpack(">I4s", file.read(8))
            if length == 1:
                length = struct.unpack(">Q", file.read(8))[0]
            assert length >= 8
            found.append((kind.decode(), length))
            at += length
    assert at == size
    return found


@pytest.fixture(scope="module")
def mjpeg(tmp_path_factory):
    """Five seconds of Motion-JPEG with a size that is no multiple of anything."""
    path = tmp_path_factory.mktemp("clip") / "clip.avi"
    run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=178x134:rate=24", "-frames:v",
        120, "-vf", "scale=177:133", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", path)
    return path


def recorded(tmp_path, source, container, *options):
    """A movie, and its run's reports and summary."""
    movie = tmp_path / f"movie.{container}"
    sprocket("run", "--source", source, "--movie", movie, "--reports", tmp_path / "r.jsonl",
             "--summary", tmp_path / "s.json", "--quiet", "--overwrite", *options)
    return movie, read_lines(tmp_path / "r.jsonl"), json.loads((tmp_path / "s.json").read_text())


def judge_times(movie, reports, container, start=0):
    """Each frame is at its capture time, to half a tick, the first at 0."""
    times = [line["captured_ns"] for line in reports if line["fate"] == "delivered"][start:]
    found = packets(movie)
    assert len(found) == len(times)
    ticks = TICKS[container]
    base = stream(movie)["time_base"]
    assert base == f"1/{ticks}"
    for packet, captured in zip(found, times):
        exact = (captured - times[0]) * ticks / 1e9
        assert abs(packet["pts"] - exact) <= 0.5
        assert "K" in packet["flags"]
    return found


def test_a_portrait_clip_stands_upright_in_the_movie(mjpeg, tmp_path):
    turned = tmp_path / "turned.mov"
    run("ffmpeg", "-v", "error", "-i", mjpeg, "-c", "copy", "-metadata:s:v", "rotate=270", turned)
    movie, _, _ = recorded(tmp_path, f"file:{turned}", "mov")

    def upright(path):
        return run("ffmpeg", "-v", "error", "-i", path, "-frames:v", 1, "-pix_fmt", "gray", "-f",
                   "rawvideo", "-")
    assert upright(movie) == upright(turned) != upright(mjpeg)


def test_damage_that_nobody_decodes_is_found_with_verify(mjpeg, tmp_path):
    data = bytearray(mjpeg.read_bytes())
    starts = [at for at in range(len(data) - 2) if data[at: at + 3] == b"\xff\xd8\xff"]
    scan = data.index(b"\xff\xda", starts[7])
    # An end marker amidst the compressed data: the structure is in order, half of the picture is not there.
    middle = (scan + starts[8]) // 2
    while data[middle - 1] == 0xFF:
        middle += 1
    data[middle: middle + 2] = b"\xff\xd9"
    damaged = tmp_path / "damaged.avi"
    damaged.write_bytes(data)
    _, _, trusting = recorded(tmp_path, f"file:{damaged}", "mov")
    assert trusting["sinks"]["movie"]["delivered"] == 120
    movie, reports, checked = recorded(tmp_path, f"file:{damaged}", "mov", "--verify")
    assert checked["sinks"]["movie"]["delivered"] == 119 == len(packets(movie))
    assert [line["sequence"] for line in reports if line["fate"] == "corrupt"] == [7]


@pytest.mark.parametrize("container", CONTAINERS)
def test_untouched_frames_are_the_cameras_own(container, mjpeg, tmp_path):
    movie, reports, summary = recorded(tmp_path, f"file:{mjpeg}", container)
    assert summary["sinks"]["movie"]["delivered"] == summary["produced"] == 120
    own = images(mjpeg, tmp_path / "own")
    assert images(movie, tmp_path / "ours") == own
    found = judge_times(movie, reports, container)
    data = movie.read_bytes()
    for packet, image in zip(found, own):
        at = data.find(image, int(packet["pos"]))
        # libavformat gives the place of the block, which in MKV has a few bytes before the image.
        assert 0 <= at - int(packet["pos"]) <= (16 if container == "mkv" else 0)
    info = stream(movie)
    assert (info["codec_name"], info["width"], info["height"]) == ("mjpeg", 177, 133)
    assert (info["color_range"], info["pix_fmt"]) == ("pc", "yuvj420p")
    assert sorted(os.listdir(tmp_path)) == sorted(
        [movie.name, "r.jsonl", "s.json", "own", "ours"])


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_finished_movie_is_plain(container, mjpeg, tmp_path):
    movie, _, _ = recorded(tmp_path, f"file:{mjpeg}", container)
    if container == "mkv":
        trace = run("ffprobe", "-v", "error", "-show_format", movie).decode()
        assert "duration=5.0" in trace
    else:
        kinds = [kind for kind, _ in atoms(movie)]
        assert kinds == ["ftyp", "mdat", "moov"]
        info = stream(movie)
        assert int(info["nb_frames"]) == 120
        assert int(info["duration_ts"]) == 120 * 90000 // 24
        assert info["avg_frame_rate"] == "24/1"


@pytest.mark.parametrize("container", CONTAINERS)
def test_players_can_seek(container, mjpeg, tmp_path):
    movie, _, _ = recorded(tmp_path, f"file:{mjpeg}", container)
    hashes = [line.split(b",")[-1].strip() for line in
              run("ffmpeg", "-v", "error", "-i", movie, "-f", "framemd5", "-").splitlines()
              if not line.startswith(b"#")]
    for frame in (0, 1, 23, 60, 119):
        # A quarter of a frame before it is due.
        text = run("ffmpeg", "-v", "error", "-ss", max(0, (frame - 0.25) / 24), "-i", movie,
                   "-frames:v", 1, "-f", "framemd5", "-")
        assert text.splitlines()[-1].split(b",")[-1].strip() == hashes[frame]


@pytest.mark.skipif(not shutil.which("gst-launch-1.0"), reason="GStreamer is not installed")
@pytest.mark.parametrize("container", CONTAINERS)
def test_gstreamer_reads_the_same(container, mjpeg, tmp_path):
    movie, _, _ = recorded(tmp_path, f"file:{mjpeg}", container)
    demuxer = "matroskademux" if container == "mkv" else "qtdemux"
    (tmp_path / "gst").mkdir()
    run("gst-launch-1.0", "-q", "filesrc", f"location={movie}", "!", demuxer, "!", "multifilesink",
        f"location={tmp_path}/gst/%06d.jpg")
    found = [file.read_bytes() for file in sorted((tmp_path / "gst").iterdir())]
    assert found == images(mjpeg, tmp_path / "own")
    run("gst-launch-1.0", "-q", "filesrc", f"location={movie}", "!", demuxer, "!", "jpegdec", "!",
        "fakesink")


@pytest.mark.parametrize("name", ["mjpeg/100_0306.AVI", "mjpeg/test.mjpeg"])
def test_real_cameras_images_stay_theirs(name, tmp_path):
    source = clip(name)
    movie, _, summary = recorded(tmp_path, f"file:{source}", "mov")
    own, ours = images(source, tmp_path / "own"), images(movie, tmp_path / "ours")
    assert len(ours) == summary["sinks"]["movie"]["delivered"] > 0
    tables = 420  # One segment of four tables.
    for image in ours:
        assert b"\xff\xc4" in image
    if any(b"\xff\xc4" not in image for image in own):
        assert all(len(image) in (len(one), len(one) + tables) for image, one in zip(ours, own))
        for image, one in zip(ours, own):
            at = image.index(b"\xff\xc4")
            assert image[:at] + image[at + tables:] == one
    else:
        assert ours == own




def luma_size(header):
    """Luma samples per frame of a YUV4MPEG2 stream."""
    parts = {part[:1]: part[1:] for part in header.split()[1:]}
    return int(parts[b"W"]) * int(parts[b"H"])


def expanded(frames, luma):
    """Samples of limited range as full range (ITU-R BT.601, JFIF): frames x bytes, luma first."""
    frames = frames.astype(float)
    whole = np.concatenate([(frames[:, :luma] - 16) * 255 / 219,
                            (frames[:, luma:] - 128) * 255 / 224 + 128], axis=1)
    return np.clip(np.rint(whole), 0, 255).astype(int)


def judge_pixels(movie, *source):
    """At quality 100 every quantizer is 1: what is left is the rounding of coefficients, half a level
    each, through an integer transform."""
    sprocket("run", *source, "--movie", movie, "--quality", 100, "--quiet")
    header, expected = piped(*source)
    info = stream(movie)
    # Of gray, ffmpeg's decoder says nothing.
    assert info["pix_fmt"] == "gray" or info["color_range"] == "pc"
    found = decoded(movie, info["pix_fmt"])
    if b"LIMITED" in header:
        expected = expanded(expected, luma_size(header))
    assert found.shape == expected.shape
    assert np.abs(found.astype(int) - expected).max() <= 4


@pytest.mark.parametrize("size", ["160x120", "161x121", "16x16"])
@pytest.mark.parametrize("name", ["I420", "NV12", "YUYV", "RGB24", "GREY", "422P", "444P"])
def test_encoded_pixels_are_the_pictures(name, size, tmp_path):
    judge_pixels(tmp_path / "m.mov", "--source", "scene", "--size", size, "--format", name, "--frames",
                 "5")


@pytest.mark.parametrize("size", ["53:37", "64:32"])
@pytest.mark.parametrize("pixels", ["yuv411p", "yuvj420p", "yuvj422p", "yuvj444p", "gray"])
def test_a_files_pixels_are_the_pictures(pixels, size, tmp_path):
    source = tmp_path / "source.mkv"
    run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=10", "-frames:v", 3,
        "-vf", f"scale={size}", "-pix_fmt", pixels, "-c:v", "ffv1", source)
    judge_pixels(tmp_path / "m.mov", "--source", f"file:{source}")


def test_deep_gray_is_reduced_and_said(tmp_path):
    scene = ["--source", "scene", "--size", "64x48", "--format", "Y16", "--frames", "3"]
    movie = tmp_path / "m.mov"
    result = sprocket("run", *scene, "--movie", movie, "--quality", 100)
    assert "reduced to 8 bits" in result.errors
    _, deep = piped(*scene)
    expected = np.minimum((deep.view("<u2").astype(int) * 255 + 32767) // 65535, 255)
    assert np.abs(decoded(movie, "gray").astype(int) - expected).max() <= 4


def rgb(path, *filters):
    """What ffmpeg shows of a file: RGB, each chroma sample as it is for all its pixels."""
    chain = ",".join([*filters, "format=rgb24"])
    data = run("ffmpeg", "-v", "error", "-i", path, "-sws_flags", "neighbor+accurate_rnd+full_chroma_int",
               "-vf", chain, "-vsync", "passthrough", "-f", "rawvideo", "-")
    return np.frombuffer(data, np.uint8).astype(int)


# At the usual 90 the edges of so small a picture cost 2.3 levels on average, at 95 1.3, at 100 0.2.
GOOD = ["--quality", "95"]
# The grey of bars, black and white, and a ramp: what a wrong range shows first.
PATCHES = "smptehdbars=size=96x64:rate=10"


def encoded_clip(path, range_, matrix="smpte170m", codec=("-c:v", "ffv1")):
    run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", PATCHES, "-frames:v", 5, "-vf",
        f"scale=out_range={range_}:out_color_matrix={matrix},format=yuv420p", *codec, "-color_range",
        range_, "-colorspace", matrix, path)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("range_", ["tv", "pc"])
def test_encoded_movies_are_full_range_and_look_as_captured(range_, container, tmp_path):
    source = tmp_path / "source.mkv"
    encoded_clip(source, range_)
    movie, _, summary = recorded(tmp_path, f"file:{source}", container, *GOOD)
    info = stream(movie)
    assert (info["color_range"], info["pix_fmt"]) == ("pc", "yuvj420p")
    shown, found = rgb(source), rgb(movie)
    # 1.3 of the JPEG at that quality; read with the other matrix colours are off by 4.5.
    assert np.abs(found - shown).mean() < 2
    # Black stays black and white white; read as the other range they are off by 16 and 20.
    assert shown.min() <= 1 and shown.max() >= 254
    assert np.abs(found - shown)[shown <= 1].mean() < 2
    assert np.abs(found - shown)[shown >= 254].mean() < 2
    assert not any("range" in note for note in summary["notes"])
    # A decoder that knows nothing but JPEG sees the same black and white.
    [image, *_] = images(movie, tmp_path / "images")
    luma = cv2.imdecode(np.frombuffer(image, np.uint8), cv2.IMREAD_GRAYSCALE)
    assert luma.min() <= 3 and luma.max() >= 252


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_movie_of_compressed_video_looks_like_it(container, tmp_path):
    source = clip("generic/carphone_pristine.mp4")
    movie, _, _ = recorded(tmp_path, f"file:{source}", container, "--frames", "10", *GOOD)
    shown, found = rgb(source)[:10 * 176 * 144 * 3], rgb(movie)
    assert np.abs(found - shown).mean() < 2


def test_the_cameras_own_bytes_keep_their_range(tmp_path):
    source = tmp_path / "source.avi"
    encoded_clip(source, "tv", codec=("-c:v", "mjpeg", "-strict", "unofficial"))
    movie, _, _ = recorded(tmp_path, f"file:{source}", "mov")
    assert images(movie, tmp_path / "ours") == images(source, tmp_path / "own")
    assert stream(movie)["color_range"] == stream(source)["color_range"] == "tv"


def test_colours_of_another_matrix_are_kept_as_they_are(tmp_path):
    source = tmp_path / "source.mkv"
    encoded_clip(source, "tv", "bt709")
    movie, _, summary = recorded(tmp_path, f"file:{source}", "mov", *GOOD)
    shown, found = rgb(source), rgb(movie, "scale=in_color_matrix=bt709:in_range=pc")
    assert np.abs(found - shown).mean() < 2
    assert any("for granted" in note for note in summary["notes"])


@pytest.mark.parametrize("matrix, name", [("bt709", 1), ("smpte170m", 6), ("bt2020nc", 9)])
def test_the_matrix_is_in_the_file(matrix, name, tmp_path):
    source = tmp_path / "source.mkv"
    run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=10", "-frames:v", 2,
        "-pix_fmt", "yuv420p", "-c:v", "ffv1", "-colorspace", matrix, source)
    for container, kind in (("mov", b"nclc"), ("mp4", b"nclx")):
        movie, _, summary = recorded(tmp_path, f"file:{source}", container)
        assert any("for granted" in note for note in summary["notes"]) == (name != 6)
        data = movie.read_bytes()
        at = data.rindex(b"colr" + kind)
        assert struct.unpack(">HHH", data[at + 8: at + 14])[2] == name


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_variable_rate_stays_what_it_was(container, tmp_path):
    source = clip("timing/FLIR_Thermal.mp4")
    movie, reports, summary = recorded(tmp_path, f"file:{source}", container)
    assert summary["sinks"]["movie"]["delivered"] == 84
    found = judge_times(movie, reports, container)
    own = sorted(float(packet["pts_time"]) for packet in packets(source))
    for packet, seconds in zip(found, own):
        assert abs(float(packet["pts_time"]) - (seconds - own[0])) <= 1.01 / TICKS[container]
    if container != "mkv":
        # Each lasts until the next.
        for packet, after in zip(found, found[1:]):
            assert packet["duration"] == after["pts"] - packet["pts"]


@pytest.mark.parametrize("container", CONTAINERS)
def test_faults_leave_gaps_and_nothing_else(container, tmp_path):
    movie, reports, summary = recorded(
        tmp_path, "scene", container, "--size", "96x64", "--frames", "300", "--format", "MJPG",
        "--source-set", "drop=0.05", "--source-set", "corrupt=0.05")
    ledger = summary["sinks"]["movie"]
    assert ledger["missing"] > 0 and ledger["corrupt"] > 0
    assert len(judge_times(movie, reports, container)) == ledger["delivered"]
    run("ffmpeg", "-v", "error", "-xerror", "-i", movie, "-f", "null", "-")


def test_time_that_goes_back_is_moved_and_said(tmp_path):
    movie, reports, summary = recorded(
        tmp_path, "scene", "mov", "--size", "96x64", "--frames", "200", "--source-set", "backwards=0.05")
    ticks = [packet["pts"] for packet in packets(movie)]
    assert len(ticks) == summary["sinks"]["movie"]["delivered"] == 200
    assert all(later > earlier for earlier, later in zip(ticks, ticks[1:]))
    assert any("not later than the one before" in note for note in summary["notes"])


@pytest.mark.parametrize("container", CONTAINERS)
def test_another_format_goes_on_in_another_file(container, tmp_path):
    movie, reports, summary = recorded(
        tmp_path, "scene", container, "--size", "96x64", "--frames", "200", "--source-set",
        "formatchange=0.02", "--source-set", "unplug=0.02")
    files = [movie] + [path for number in range(2, 50)
                       if (path := tmp_path / f"movie-{number}.{container}").exists()]
    assert 1 < len(files) < summary["epochs"], "some epochs change nothing that matters to a movie"
    sizes = [(stream(file)["width"], stream(file)["height"]) for file in files]
    assert all(one != next_ for one, next_ in zip(sizes, sizes[1:]))
    assert sum(len(packets(file)) for file in files) == summary["sinks"]["movie"]["delivered"] == 200
    assert len([note for note in summary["notes"] if "goes on in" in note]) == len(files) - 1
    delivered = [line for line in reports if line["fate"] == "delivered"]
    start = 0
    for file in files:
        found = packets(file)
        judge_times(file, delivered[start: start + len(found)], container)
        start += len(found)


def test_when_it_began_is_in_the_file(tmp_path):
    for container in CONTAINERS:
        movie, reports, _ = recorded(
            tmp_path, "scene", container, "--size", "64x48", "--rate", "50", "--duration", "300ms")
        tags = {name.lower(): value for name, value in
                ffprobe(movie, "-show_format")["format"]["tags"].items()}
        first = next(line for line in reports if line["fate"] == "delivered")
        assert int(tags["captured_ns"]) == first["captured_ns"]
        assert tags["captured_clock"] == first["clock"]


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_live_movie_has_its_date_in_utc(tmp_path, container, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    before = time.time()
    movie, _, _ = recorded(tmp_path, "scene", container, "--size", "64x48", "--rate", "50", "--source-set",
                           "pace=real", "--duration", "300ms")
    tags = {name.lower(): value for name, value in
            ffprobe(movie, "-show_format")["format"]["tags"].items()}
    created = datetime.datetime.fromisoformat(tags["creation_time"].replace("Z", "+00:00")).timestamp()
    assert before - 0.001 <= created <= time.time()
    tag = "DateTimeOriginal" if container == "mkv" else "CreateDate"
    said = subprocess.run(["exiftool", "-s3", "-api", "QuickTimeUTC=0", f"-{tag}", movie],
                          capture_output=True, text=True, check=True, timeout=LIMIT).stdout.strip()
    assert said[:19] == tags["creation_time"][:19].replace("-", ":").replace("T", " ")


def test_movie_stills_and_reports_at_once(mjpeg, tmp_path):
    movie, reports, summary = recorded(
        tmp_path, f"file:{mjpeg}", "mov", "--stage", "negate", "--stills", tmp_path / "stills", "--every",
        "1s", "--checksum", "--dump", tmp_path / "d.mcap")
    assert len(packets(movie)) == 120
    assert len(os.listdir(tmp_path / "stills")) == 5
    assert summary["sinks"]["stills"]["unselected"] == 115
    assert all(sum(value for value in sink.values() if isinstance(value, int)) == 120
               for sink in summary["sinks"].values())


# What can go wrong.

def test_without_a_frame_there_is_no_movie(tmp_path):
    result = sprocket(*SCENE, "--size", "64x48", "--frames", 5, "--source-set", "startup=10", "--movie",
                      "m.mkv", check=False, cwd=tmp_path)
    assert result.returncode == 1
    assert "no frame reached m.mkv" in result.errors and "5 startup" in result.errors
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["m.avi", "m", ".mov", "m.mov.partial"])
def test_an_ending_that_says_nothing_is_one_sentence(name, tmp_path):
    result = sprocket(*SCENE, "--frames", 3, "--movie", name, check=False, cwd=tmp_path)
    assert result.returncode == 2
    assert ".mov, .mp4, .mkv" in result.errors and len(result.errors.splitlines()) == 1
    assert os.listdir(tmp_path) == []


def test_bayer_is_one_sentence(tmp_path):
    result = sprocket(*SCENE, "--frames", 3, "--format", "RGGB", "--movie", "m.mov", check=False,
                      cwd=tmp_path)
    assert result.returncode == 2 and "--format" in result.errors
    assert len(result.errors.splitlines()) == 1 and os.listdir(tmp_path) == []


def test_a_device_is_no_place_for_a_movie(tmp_path):
    os.mkfifo(tmp_path / "m.mov")
    result = sprocket(*SCENE, "--frames", 3, "--movie", tmp_path / "m.mov", check=False)
    assert result.returncode == 2 and "device or pipe" in result.errors


def test_an_existing_movie_is_kept_unless_overwrite_is_given(tmp_path):
    arguments = [*SCENE, "--frames", 3, "--size", "64x48", "--movie", tmp_path / "m.mov", "--quiet"]
    (tmp_path / "m.mov").write_text("precious\n")
    result = sprocket(*arguments, check=False)
    assert result.returncode == 2 and "--overwrite" in result.errors
    assert (tmp_path / "m.mov").read_text() == "precious\n"
    sprocket(*arguments, "--overwrite")
    assert len(packets(tmp_path / "m.mov")) == 3
    assert os.listdir(tmp_path) == ["m.mov"]


@pytest.mark.parametrize("container", CONTAINERS)
def test_what_is_killed_is_read_to_its_last_fragment(container, tmp_path):
    movie, partial = tmp_path / f"m.{container}", tmp_path / f"m.partial.{container}"
    command = [SPROCKET, *SCENE, "--size", "160x120", "--rate", "60", "--quiet", "--movie", str(movie)]
    with subprocess.Popen(command) as process:
        wait_for_bytes(partial, process, 700_000)
        process.send_signal(signal.SIGKILL)
    assert os.listdir(tmp_path) == [partial.name]
    assert frame_count(partial) >= 60
    # A later run does not destroy it unasked.
    again = sprocket(*SCENE, "--frames", 3, "--size", "64x48", "--movie", movie, check=False)
    assert again.returncode == 2 and partial.name in again.errors
    sprocket(*SCENE, "--frames", 3, "--size", "64x48", "--movie", movie, "--overwrite", "--quiet")
    kept = tmp_path / f"m.interrupted.{container}"
    assert sorted(os.listdir(tmp_path)) == [kept.name, movie.name] and len(packets(movie)) == 3
    assert frame_count(kept) >= 60


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_file_that_may_not_grow_keeps_what_is_safe(container, mjpeg, tmp_path):
    limit = 150_000

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    movie, summary = tmp_path / f"m.{container}", tmp_path / "s.json"
    result = sprocket("run", "--source", f"file:{mjpeg}", "--movie", movie, "--checksum", "--summary",
                      summary, "--quiet", check=False, preexec_fn=limited)
    assert result.returncode == 1
    assert len(result.errors.splitlines()) == 1
    partial = tmp_path / f"m.partial.{container}"
    assert "ulimit -f" in result.errors and str(partial) in result.errors
    sinks = json.loads(summary.read_text())["sinks"]
    assert sinks["movie"]["delivered"] + sinks["movie"]["failed"] == 120
    assert sinks["checksum"]["delivered"] == 120
    assert 0 < sinks["movie"]["delivered"] < 120
    assert not movie.exists()
    assert len(packets(partial)) == sinks["movie"]["delivered"]
    run("ffmpeg", "-v", "error", "-xerror", "-i", partial, "-f", "null", "-")


def test_a_removed_folder_is_said(tmp_path):
    folder, summary = tmp_path / "folder", tmp_path / "s.json"
    folder.mkdir()
    command = [SPROCKET, *SCENE, "--size", "64x48", "--rate", "60", "--quiet", "--checksum", "--movie",
               str(folder / "m.mov"), "--summary", str(summary)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        wait_for((folder / "m.partial.mov").exists, process)
        shutil.rmtree(folder)
        time.sleep(2.5)  # Longer than a fragment: the sink looks for its file meanwhile.
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read().decode()
        assert process.wait(LIMIT) == 1
    assert len(errors.splitlines()) == 1 and "removed during the run" in errors
    sinks = json.loads(summary.read_text())["sinks"]
    assert sinks["movie"]["delivered"] == 0 and sinks["movie"]["failed"] > 0
    assert sinks["checksum"]["delivered"] > 0


@pytest.mark.parametrize("ending", CONTAINERS)
def test_a_movie_says_of_itself_what_is_given(tmp_path, ending):
    movie, copied = tmp_path / f"a.{ending}", tmp_path / f"copy.{ending}"
    settings = "title=Erster Film,make=Acme,location=-48.1372+011.5756+519.5/,tags=scene: 4; take: 2"
    sprocket(*SCENE, "--size", "64x48", "--frames", 3, "--sink", f"movie:{movie},{settings}")
    sprocket("export", "--copy", movie, copied)
    prefix = "" if ending == "mkv" else "com.apple.quicktime."
    place = "location" if ending == "mkv" else "location.iso6709"
    for path in [movie, copied]:
        shown = json.loads(run("ffprobe", "-v", "error", "-show_format", "-of", "json", path))
        tags = {name.lower(): value for name, value in shown["format"]["tags"].items()}
        assert tags["title"] == "Erster Film" and tags[f"{prefix}make"] == "Acme"
        assert tags[prefix + place] == "-48.1372+011.5756+519.5/"
        assert (tags["scene"], tags["take"]) == ("4", "2")
    seen, = json.loads(run("exiftool", "-json", "-n", movie))
    assert (seen["Title"], seen["Make"]) == ("Erster Film", "Acme")
    if ending != "mkv":
        assert (seen["GPSLatitude"], seen["GPSLongitude"], seen["GPSAltitude"]) == (-48.1372, 11.5756, 519.5)


@pytest.mark.parametrize(
    "setting", ["location=48.1 11.5", "location=+91+000/", "tags=encoder: x", "tags=a b: c"])
def test_what_a_movie_cannot_say_of_itself_is_refused(tmp_path, setting):
    result = sprocket(*SCENE, "--frames", 3, "--sink", f"movie:{tmp_path / 'a.mov'},{setting}", check=False)
    assert result.returncode == 2 and "is not allowed: give" in result.errors and not list(tmp_path.iterdir())
