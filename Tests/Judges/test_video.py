"""Films in Python by number: each gives the picture that it has when the film is read from its start."""
import io
import itertools
import os
import pathlib
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

import sprocket as package
from program import LIMIT, ROOT, clip, sprocket
from shares import FAST

cv2 = pytest.importorskip("cv2")

JUMPS = int(os.environ.get("SPROCKET_JUMPS", "30"))
SIZE = "160x120"
INPUT = ["-f", "lavfi", "-i", f"testsrc2=size={SIZE}:rate=30:duration=5", "-vf", "noise=alls=8:allf=t"]
H264 = ["-c:v", "libx264", "-preset", "veryfast", "-g", "40", "-bf", "3"]
OPEN = [*H264, "-x264-params", "open-gop=1"]
REFRESH = ["-c:v", "libx264", "-preset", "veryfast", "-bf", "0", "-x264-params", "intra-refresh=1:keyint=40"]
HEVC = ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=40"]
CLIPS = {
    "b.mp4": H264, "b.ts": H264, "b.h264": H264, "b.flv": H264, "b.avi": H264,
    "open.mp4": OPEN, "open.ts": OPEN, "refresh.mp4": REFRESH, "refresh.ts": REFRESH,
    "fragments.mp4": [*H264, "-movflags", "frag_keyframe+empty_moov"],
    "fields.mp4": [*H264, "-flags", "+ildct+ilme", "-x264-params", "tff=1"],
    "hevc.mp4": HEVC, "hevc.mkv": HEVC, "motion.avi": ["-c:v", "mjpeg"], "motion.mjpeg": ["-c:v", "mjpeg"],
    "four.avi": ["-c:v", "mpeg4", "-bf", "2", "-g", "30"], "two.ts": ["-c:v", "mpeg2video", "-bf", "2"],
    "two.mpg": ["-c:v", "mpeg2video", "-bf", "2"], "ffv1.mkv": ["-c:v", "ffv1"],
    "hidden.webm": ["-c:v", "libvpx", "-auto-alt-ref", "1", "-lag-in-frames", "16", "-b:v", "300k"],
    "nine.webm": ["-c:v", "libvpx-vp9", "-cpu-used", "8", "-b:v", "300k"],
    "hevcopen.mkv": ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params",
                     "log-level=none:keyint=30:open-gop=1:bframes=4"],
    "intra.ts": ["-c:v", "mpeg2video", "-g", "1"],
    "av1.mkv": ["-c:v", "libsvtav1", "-preset", "12", "-g", "40"],
    "packed.avi": ["-c:v", "libxvid", "-bf", "2", "-g", "30"],
}
# Made of another clip.
MADE = {
    "vfr.mp4": ("b.mp4", ["-vf", r"select=not(mod(n\,7))+not(mod(n\,3))", "-fps_mode", "vfr", *H264]),
    "edit.mp4": ("b.mp4", ["-ss", "1.7", "-c", "copy"]),
    "openedit.mp4": ("open.mp4", ["-ss", "1.7", "-c", "copy"]),
    # Its first pictures refer to others that are not there.
    "headless.ts": ("hevcopen.mkv", ["-ss", "1.7", "-c", "copy"]),
}
# Dumps of the scene, one of them with damaged and missing frames.
DUMPS = {
    "jpeg.mcap": ["--source", "scene", "--format", "MJPG", "--size", SIZE, "--frames", "150"],
    "holes.mcap": ["--source", "scene", "--format", "YUYV", "--size", SIZE, "--frames", "200", "--source-set",
                   "drop=0.1", "--source-set", "corrupt=0.1"],
}
CUT = {"cut.avi": ("motion.avi", 0.4), "cut.ts": ("open.ts", 0.7)}


@pytest.fixture(scope="session")
def film(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")

    def make(name):
        path = folder / name
        if path.exists():
            return path
        if name == "twice.ts":
            # Times go back in the middle.
            second = folder / "second.ts"
            subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", make("intra.ts"), "-c", "copy",
                            "-output_ts_offset", "0.015", second], check=True, timeout=LIMIT)
            path.write_bytes(make("intra.ts").read_bytes() + second.read_bytes())
            return path
        if name in DUMPS:
            sprocket("run", *DUMPS[name], "--dump", path)
            return path
        if name in CUT:
            source, part = CUT[name]
            data = make(source).read_bytes()
            path.write_bytes(data[:int(len(data) * part)])
            return path
        given, options = INPUT, CLIPS.get(name)
        if name in MADE:
            # What is copied from the middle of a file comes before the input's name.
            source, options = MADE[name]
            seek, options = (options[:2], options[2:]) if options[0] == "-ss" else ([], options)
            given = [*seek, "-i", make(source)]
        subprocess.run(["ffmpeg", "-v", "error", "-y", *given, *options, path], check=True, timeout=LIMIT)
        return path
    return make


def played(path, **options):
    """What a run from the start gives, by number, and how many frames there are."""
    if path.suffix == ".mcap":
        # Numbers of a dump count frames that never came, and numbers of a `Video` do not.
        with package.Dump(path) as dump:
            came = [frame.number for frame in dump if frame.source is not None]
        with package.run(path, **options) as run:
            return {came.index(frame.number): frame for frame in run}, len(came)
    with package.run(path, **options) as run:
        frames = {frame.number: frame for frame in run}
        return frames, run.summary["produced"]


@pytest.mark.parametrize("name", [*CLIPS, *MADE, *DUMPS, *CUT, "twice.ts", "box.mp4"])
def test_a_number_gives_the_picture_of_its_place(film, name):
    path = clip("generic/box.mp4") if name == "box.mp4" else film(name)
    expected, count = played(path, image="gray")
    # Where a film is cut off, decoders with several threads differ in which of the last pictures are damaged.
    sure = count - 40 if name in CUT else count
    chance = random.Random(name)
    with package.Video(path, image="gray", timeout=LIMIT) as video:
        # The first picture alone may be decoded without what follows.
        if 0 in expected:
            frame = video[0]
            assert frame.captured_ns == expected[0].captured_ns
            np.testing.assert_array_equal(frame.image, expected[0].image)
        for _ in range(JUMPS):
            number = chance.randrange(sure)
            if number not in expected:
                with pytest.raises(package.DamagedFrame, match=f"frame {number} of"):
                    video[number]
                continue
            frame = video[number]
            assert frame.number == number and frame.captured_ns == expected[number].captured_ns
            np.testing.assert_array_equal(frame.image, expected[number].image)
        assert len(video) == count
        assert [video.times[number] for number in expected] == [f.captured_ns for f in expected.values()]
        whole = {frame.number: frame.missed for frame in video}
        assert [number for number in whole if number < sure] == [n for n in expected if n < sure]
        assert sum(whole.values()) == max(whole) + 1 - len(whole)


def test_a_dump_shows_pictures_of_its_numbers(film):
    """One program reads all of them."""
    path = film("holes.mcap")
    with package.run(path, image="rgb") as run:
        expected = {frame.number: frame for frame in run}
    with package.Dump(path) as dump:
        for frame in random.Random(1).sample(list(dump), min(JUMPS, len(dump))):
            if frame.number not in expected:
                with pytest.raises(package.Error, match="has no picture"):
                    frame.image
                continue
            found, same = frame.decoded(), expected[frame.number]
            assert (found.number, found.sequence, found.captured_ns) == (
                same.number, same.sequence, same.captured_ns)
            np.testing.assert_array_equal(frame.image, same.image)
    with pytest.raises(package.Error, match="was closed"):
        dump.number(list(expected)[0]).decoded()
    # Threads may ask in two ways at once.
    with package.Dump(path) as dump, ThreadPoolExecutor(4) as pool:
        wanted = list(expected)[::9] * 2
        shown = pool.map(lambda part: dump.number(part[1]).decoded(image=("rgb", "bgr")[part[0] % 2]).image,
                         enumerate(wanted))
        for place, (number, image) in enumerate(zip(wanted, shown)):
            np.testing.assert_array_equal(image[..., ::-1 if place % 2 else 1], expected[number].image)
        children = [shown.pid for shown in dump._contents._shown.values()]
    assert len(children) == 2
    # Frames keep their dump open, and end its programs when they are dropped.
    frame = package.Dump(path).number(list(expected)[4])
    np.testing.assert_array_equal(frame.image, expected[frame.number].image)
    child = list(frame._contents._shown.values())[0]
    del frame
    assert child._is_closed
    with package.Video(path, stages="focus", image="gray") as video:
        assert video[-1].reports["focus"]["score"] > 0
        with pytest.raises(IndexError, match="none of number"):
            video[len(video)]


def test_a_dump_without_an_image_shows_the_others(film, tmp_path):
    """Pictures behind the one that was taken out were one off."""
    from mcap.reader import make_reader
    from mcap.writer import Writer
    with open(film("jpeg.mcap"), "rb") as given, open(tmp_path / "less.mcap", "wb") as made:
        writer, known, images = Writer(made), {}, 0
        writer.start()
        for schema, channel, message in make_reader(given).iter_messages(log_time_order=False):
            if channel.topic == "image":
                images += 1
                if images == 6:
                    continue
            if channel.id not in known:
                kind = writer.register_schema(schema.name, schema.encoding, schema.data)
                known[channel.id] = writer.register_channel(channel.topic, channel.message_encoding, kind)
            writer.add_message(known[channel.id], message.log_time, message.data, message.publish_time,
                               message.sequence)
        writer.finish()
    with package.Dump(film("jpeg.mcap")) as whole, package.Dump(tmp_path / "less.mcap") as less:
        for number in (4, 6, 100, 149):
            np.testing.assert_array_equal(less[number].image, whole[number].image)
        with pytest.raises(package.Error, match="frame 5 of .* has no picture: its bytes"):
            less[5].image


def test_what_holds_a_program_is_not_pickled(film):
    with package.run(film("b.mp4")) as run, pytest.raises(TypeError, match="a Run is not pickled"):
        pickle.dumps(run)
    with package.Dump(film("jpeg.mcap")) as dump, pytest.raises(TypeError, match="a Dump is not pickled"):
        pickle.dumps(dump)
    with pytest.raises(package.NotAllowed, match="given as its path"):
        package.Video(film("jpeg.mcap").read_bytes())
    with package.Video(film("b.mp4")) as video:
        for wrong in (float("nan"), float("inf"), -1):
            with pytest.raises(package.NoSuchItem, match="has no frame at"):
                video.at(wrong)


def test_times_are_those_of_ffprobe(film):
    for name in ("b.mp4", "vfr.mp4", "open.ts", "hevc.mkv"):
        shown = subprocess.run(
            ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries",
             "frame=best_effort_timestamp_time", "-of", "csv=p=0", film(name)], check=True, timeout=LIMIT,
            capture_output=True, text=True).stdout.replace(",", " ").split()
        with package.Video(film(name)) as video:
            np.testing.assert_allclose(video.times / 1e9, np.array(shown, float), atol=1e-6)


def test_loops_give_what_opencv_gives(film):
    path = film("b.mp4")
    capture = cv2.VideoCapture(str(path))
    expected = np.stack([image for ok, image in iter(capture.read, (False, None)) if ok])
    capture.release()

    def gray(images):
        return np.stack([cv2.cvtColor(image, cv2.COLOR_BGR2GRAY) for image in images]).astype(int)

    def near(found, numbers):
        # Two libraries place colours in their own ways.
        numbers = [numbers] if isinstance(numbers, int) else list(numbers)
        found = found[None] if found.ndim == 3 else found
        assert np.abs(gray(found) - gray(expected[numbers])).mean() < 3, numbers
    with package.Video(str(path), image="bgr") as video:
        assert len(video) == len(expected) == 150
        near(np.stack([frame.image for frame in video]), range(150))
        near(np.stack([video[number].image for number in range(150)]), range(150))
        near(np.stack([frame.image for frame in video[10:100:7]]), range(10, 100, 7))
        near(np.stack([frame.image for frame in video[::-1]]), range(149, -1, -1))
        near(np.stack([frame.image for frame in reversed(video)]), range(149, -1, -1))
        near(np.stack([video[number].image for number in reversed(range(150))]), range(149, -1, -1))
        near(np.stack([frame.image for frame in video[[5, 3, 140, 3]]]), [5, 3, 140, 3])
        near(video[-1].image, 149)
        # A loop in a loop, and frames that are kept.
        pairs = [(frame, video[149 - frame.number]) for frame in itertools.islice(video, 0, 40)]
        near(np.stack([frame.image for frame, _ in pairs]), range(40))
        near(np.stack([other.image for _, other in pairs]), range(149, 109, -1))
        batch = video.batch([70, 3, 3, 149, -150])
        assert batch.numbers.tolist() == [70, 3, 3, 149, 0] and batch.tensor.shape == (5, 120, 160, 3)
        near(batch.tensor, [70, 3, 3, 149, 0])
        batch.frames[1].image[:] = 0
        near(video[3].image, 3)


def test_a_film_says_what_it_is(film):
    with package.Video(film("b.mp4"), tensor=(64, 64)) as video:
        assert (video.width, video.height, video.fps, video.duration) == (160, 120, 30, pytest.approx(5))
        assert video.at(0).number == 0 and video.at(1.01).number == 30 and video.at(4.999).number == 149
        assert video[3].tensor.shape == (1, 3, 64, 64) and "b.mp4" in repr(video)
        assert video[2:8][1:3].numbers == range(3, 5) and len(video[[4, -1]]) == 2
        assert video.times.dtype == np.int64 and not video.times.flags.writeable
        for seconds in (-0.1, 5.01, float("inf")):
            with pytest.raises((IndexError, OverflowError)):
                video.at(seconds)
        for number in (150, -151, 10**12):
            with pytest.raises(IndexError, match="150 frames"):
                video[number]
        for wrong in ("3", 1.0, None, True, ["3"], [True, False], np.arange(3) < 2):
            with pytest.raises(TypeError):
                video[wrong]
        assert list(video[5:5:-1]) == [] and [frame.number for frame in video[6:5:-1]] == [6]
        with pytest.raises(ValueError, match="at least one frame"):
            video.batch([])
    with pytest.raises(package.Error, match="was closed"):
        video[0]
    # Without its index.
    with package.Video(film("b.mp4")) as video, pytest.raises(IndexError, match="150 frames"):
        video[150]
    with package.Video(film("b.mp4")) as video, pytest.raises(IndexError, match="150 frames"):
        video[1 << 64]


def test_threads_share_a_film(film):
    numbers = [5, 120, 33, 99, 64, 34, 7, 149, 0, 140] * 4
    with package.Video(film("b.mp4"), image="gray", timeout=LIMIT) as video, ThreadPoolExecutor(4) as pool:
        expected = {number: video[number].image.copy() for number in set(numbers)}
        loops = [pool.submit(lambda: [frame.number for frame in video[10:40]]) for _ in range(2)]
        for number, frame in zip(numbers, pool.map(video.__getitem__, numbers)):
            assert frame.number == number
            np.testing.assert_array_equal(frame.image, expected[number])
        assert all(loop.result() == list(range(10, 40)) for loop in loops)


def test_pictures_are_upright(film, tmp_path):
    turned = tmp_path / "turned.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", film("b.mp4"), "-c", "copy", "-metadata:s:v:0",
                    "rotate=90", turned], check=True, timeout=LIMIT)
    expected = cv2.VideoCapture(str(turned)).read()[1]
    with package.Video(turned, image="bgr") as video, package.Video(turned, upright=False) as stored:
        assert video[0].image.shape == expected.shape == (160, 120, 3)
        assert np.abs(video[0].image.astype(int) - expected).mean() < 8
        assert (video.width, video.height) == (120, 160) and stored[0].image.shape == (120, 160, 3)


def test_red_green_and_blue_come_as_they_went_in(tmp_path):
    """Every bit of RGB of 8 and 16 bits, whatever the codec packs it in, of gray of 16, and of alpha."""
    pictures = np.random.default_rng(1).integers(0, 256, (5, 48, 66, 3), np.uint8)
    for name, *codec in (("a.mkv", "ffv1", "bgr0"), ("b.mkv", "ffv1", "gbrp"), ("a.mov", "png", "rgb24"),
                         ("c.mkv", "libx264rgb", "rgb24", "-qp", "0"), ("a.avi", "utvideo", "gbrp"),
                         ("b.avi", "huffyuv", "bgra"), ("a.nut", "rawvideo", "rgb24"),
                         ("b.mov", "qtrle", "rgb24")):
        subprocess.run(["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "66x48", "-i",
                        "-", "-c:v", codec[0], "-pix_fmt", *codec[1:], tmp_path / name], check=True,
                       timeout=LIMIT, input=pictures.tobytes())
        for layout, expected in (("rgb", pictures), ("bgr", pictures[..., ::-1])):
            with package.run(f"file:{tmp_path / name}", image=layout) as frames:
                np.testing.assert_array_equal(np.stack([frame.image for frame in frames]), expected, name)
            with package.Video(tmp_path / name, image=layout) as video:
                np.testing.assert_array_equal(video[3].image, expected[3], name)
    gray = np.random.default_rng(2).integers(0, 65536, (48, 66), np.uint16)
    cv2.imwrite(str(tmp_path / "gray.png"), gray)
    for kind in (np.uint16, "uint16", "u16"):
        with package.run(f"file:{tmp_path / 'gray.png'}", image={"layout": "gray", "type": kind}) as frames:
            np.testing.assert_array_equal(next(frames).image, gray)


    deep = np.random.default_rng(3).integers(0, 65536, (2, 48, 66, 4), np.uint16)
    for name, *codec in (("d.mkv", "ffv1", "gbrp16le"), ("e.mkv", "ffv1", "gbrap16le"),
                         ("d.mov", "png", "rgba64be"), ("e.mov", "png", "rgb48be")):
        subprocess.run(["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgba64le", "-s", "66x48",
                        "-i", "-", "-c:v", codec[0], "-pix_fmt", codec[1], tmp_path / name], check=True,
                       timeout=LIMIT, input=deep.tobytes())
        hidden = deep.copy()
        if "a" not in codec[1]:
            hidden[..., 3] = 65535
        for layout, expected in (("rgb", deep[..., :3]), ("bgr", deep[..., 2::-1]), ("rgba", hidden)):
            with package.Video(tmp_path / name, image={"layout": layout, "type": "u16"}) as video:
                np.testing.assert_array_equal(video[1].image, expected[1], f"{layout} of {name}")


def test_alpha_comes_on_request(tmp_path):
    clear = np.random.default_rng(4).integers(0, 256, (48, 66, 4), np.uint8)
    files = {name: tmp_path / name
             for name in ("a.png", "a.webp", "a.mov", "p.png", "opaque.png", "gray.png")}
    cv2.imwrite(str(files["a.png"]), clear[..., [2, 1, 0, 3]])
    Image.fromarray(clear).save(files["a.webp"], lossless=True, exact=True)
    subprocess.run(["ffmpeg", "-v", "error", "-i", files["a.png"], "-c:v", "qtrle", "-pix_fmt", "argb",
                    files["a.mov"]], check=True, timeout=LIMIT)
    cv2.imwrite(str(files["opaque.png"]), clear[..., 2::-1])
    cv2.imwrite(str(files["gray.png"]), clear[..., 0])
    palette = Image.fromarray(clear[:, :, 0] // 16, "P")
    palette.putpalette(list(range(0, 96, 2)))
    palette.save(files["p.png"], transparency=3)
    palette = Image.open(files["p.png"])
    for name, expected in (("a.png", clear), ("a.webp", clear), ("a.mov", clear),
                           ("p.png", np.array(palette.convert("RGBA"))),
                           ("opaque.png", np.dstack([clear[..., :3], np.full((48, 66), 255, np.uint8)]))):
        with package.run(f"file:{files[name]}", image="rgba") as frames:
            np.testing.assert_array_equal(next(frames).image, expected, name)
            assert frames.layout.channels == "rgba"
        with package.run(f"file:{files[name]}", image="bgr") as frames:
            np.testing.assert_array_equal(next(frames).image, expected[..., 2::-1], name)
    # One loop takes pictures of all depths, and gray.
    both = clear[..., [0, 3]]
    Image.fromarray(both, "LA").save(files["gray.png"])
    deep = clear.astype(np.uint16) * 257
    cv2.imwrite(str(tmp_path / "deep.png"), deep[..., [2, 1, 0, 3]])
    cv2.imwrite(str(tmp_path / "white.png"), clear[..., 0])
    folder = tmp_path / "folder"
    folder.mkdir()
    grays = [np.dstack([clear[..., :1]] * 3 + [alpha]) for alpha in (clear[..., 3], clear[..., 3] * 0 + 255)]
    for number, (path, _) in enumerate(mixed := [
            (files["a.png"], clear), (tmp_path / "deep.png", clear), (files["gray.png"], grays[0]),
            (tmp_path / "white.png", grays[1])]):
        os.link(path, folder / f"{number}.png")
    for kind, scale in (("u8", 1), ("u16", 257)):
        with package.run(folder, image={"layout": "rgba", "type": kind}) as frames:
            for frame, (path, expected) in itertools.zip_longest(frames, mixed):
                np.testing.assert_array_equal(frame.image, expected.astype(np.uint16) * scale, str(path))
    cv2.imwrite(str(tmp_path / "a.jpg"), clear[..., :3])
    for path, image, stages, words in (
            (tmp_path / "a.jpg", "rgba", [], "MJPG are taken without alpha"),
            (files["a.png"], {"layout": "rgba", "size": 32}, [], "leave out size"),
            (files["a.png"], "rgba", ["negate"], "leave no alpha")):
        with pytest.raises(package.NotAllowed, match=words):
            package.run(path, image=image, stages=stages)
    # A picture is no film, whichever program is asked.
    for image in ("bgr", "rgba", {"layout": "rgb", "type": "u16"}):
        with pytest.raises(package.NotAllowed, match="is no film"):
            package.Video(files["a.png"], image=image)
    # Pipes, dumps and stills have the same bits.
    piped = sprocket("run", "--source", f"file:{files['a.png']}", "--frames", 1, "--pipe", "rgba",
                     "--pipe-header", "--dump", tmp_path / "a.mcap", "--stills",
                     tmp_path / "still.png").stdout
    np.testing.assert_array_equal(np.frombuffer(piped[384:384 + clear.size], np.uint8).reshape(clear.shape),
                                  clear)
    (tmp_path / "piped").write_bytes(piped)
    with open(tmp_path / "piped", "rb") as file:
        again = sprocket("run", "--source", "pipe:-", "--pipe", "rgba", stdin=file).stdout
    assert again == clear.tobytes()
    with open(tmp_path / "piped", "rb") as file:
        told = sprocket("run", "--source", "pipe:-", "--stills", tmp_path / "again", stdin=file).errors
    assert "which only rgba and dumps keep" in told
    with package.Dump(tmp_path / "a.mcap") as dump:
        np.testing.assert_array_equal(dump[0].decoded(image="rgba").image, clear)
    np.testing.assert_array_equal(cv2.imread(str(tmp_path / "still.png"), cv2.IMREAD_UNCHANGED),
                                  clear[..., 2::-1])


def test_times_that_go_back_are_found():
    with package.Video(clip("generic/box.mp4"), tensor=(32, 32)) as video:
        assert video.duration == pytest.approx(15.2, abs=0.02)
        assert video.at((video.times.max() - video.times[0]) / 1e9).number >= 453


def test_the_index_is_asked_for_while_a_loop_is_ahead(film):
    with package.Video(film("ffv1.mkv"), image="gray", timeout=LIMIT) as video:
        assert [video[number].number for number in (70, 71, 72)] == [70, 71, 72]
        # All memory for frames is filled meanwhile.
        time.sleep(0.5)
        assert len(video) == 150 and video[3].number == 3


def test_films_that_are_no_file(film, tmp_path):
    data = film("b.mp4").read_bytes()
    with package.Video(film("b.mp4"), image="gray") as video:
        expected = video[77].image
    with open(film("b.mp4"), "rb") as file:
        for given in (data, io.BytesIO(data), file, pathlib.Path(film("b.mp4"))):
            with package.Video(given, image="gray") as video:
                np.testing.assert_array_equal(video[77].image, expected)
                with pickle.loads(pickle.dumps(video)) as other:
                    np.testing.assert_array_equal(other[77].image, expected)


def test_what_is_no_film_is_refused(film, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        package.Video(tmp_path / "nowhere.mp4")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(package.Error, match="read twice"):
        package.Video(tmp_path / "pipe")
    (tmp_path / "text.mp4").write_text("no film")
    cv2.imwrite(str(tmp_path / "a.png"), np.zeros((48, 64, 3), np.uint8))
    for path, options, words in ((tmp_path / "text.mp4", {}, "text.mp4"),
                                 (tmp_path / "a.png", {}, "no film"),
                                 (film("b.mp4"), {"stages": "focs"}, "focus"),
                                 (film("b.mp4"), {"stream": 7}, "stream")):
        with pytest.raises(package.RunError, match=words):
            package.Video(path, **options)
    for stage, words in (("stabilize", "needs all frames in order"), ("latedrop", "leave it out")):
        with pytest.raises(ValueError, match=words):
            package.Video(film("b.mp4"), stages=stage)


def test_stages_see_each_picture(film):
    with package.Video(film("b.mp4"), stages=["focus", "crop:region=0/0/0.5/1"], image="gray") as video:
        scores = {number: video[number].reports["focus"]["score"] for number in (100, 5, 50)}
        assert video[7].image.shape == (120, 80)
    found, _ = played(film("b.mp4"), stages=["focus"], image="gray")
    assert scores == {number: found[number].reports["focus"]["score"] for number in scores}


def test_a_program_that_dies_is_started_again(film):
    with package.Video(film("b.mp4"), image="gray") as video:
        expected = video[90].image
        os.kill(video.pid, signal.SIGKILL)
        # The one that waits for the next film, too.
        for thread in threading.enumerate():
            if thread.name == "sprocket":
                thread.join(LIMIT)
        assert package._reader._spare is not None
        os.kill(package._reader._spare.run.pid, signal.SIGKILL)
        with package.Video(film("open.ts"), image="gray") as other:
            assert other[3].number == 3
        with pytest.raises(package.RunError, match="SIGKILL"):
            while True:
                video[20]
        np.testing.assert_array_equal(video[90].image, expected)


def test_a_forked_process_reads_for_itself(film):
    with package.Video(film("b.mp4"), image="gray") as video:
        expected = video[90].image
        child = os.fork()
        if child == 0:
            os._exit(0 if (video[90].image == expected).all() and (video[3].number == 3) else 1)
        # The loop of a forked process goes on there.
        loop = iter(video)
        next(loop)
        other = os.fork()
        if other == 0:
            os._exit(0 if next(loop).number == 1 else 1)
        assert os.waitpid(other, 0)[1] == 0 and next(loop).number == 1
        numbers = [video[number].number for number in (3, 90, 50, 51, 52)]
        assert numbers == [3, 90, 50, 51, 52] and os.waitpid(child, 0)[1] == 0
        np.testing.assert_array_equal(video[90].image, expected)


def test_nothing_is_left_over(film):
    """With warnings as errors: a video that nobody closes ends its program, and gives back descriptors."""
    script = f"""
import gc, os, pathlib, threading, time, sprocket
from sprocket import _reader

def descriptors():
    # The program that waits for the next film is kept on purpose.
    while any(thread.name == "sprocket" for thread in threading.enumerate()):
        time.sleep(0.01)
    _reader._end_spare()
    return len(os.listdir("/proc/self/fd"))

path = pathlib.Path({str(film("b.mp4"))!r})
for given in (path, path.read_bytes()):
    before = descriptors()
    for _ in range(3):
        video = sprocket.Video(given)
        video[3], video[100]
        process = video.pid
        loop = iter(video)
        next(loop)
        del video, loop
        gc.collect()
        assert not os.path.exists(f"/proc/{{process}}"), process
    assert descriptors() <= before, os.listdir("/proc/self/fd")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, timeout=LIMIT,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "Python")})


def test_frames_that_cannot_be_decoded_raise_or_are_counted(film, tmp_path):
    data = bytearray(film("motion.avi").read_bytes())
    places = [place for place in range(data.index(b"movi"), len(data) - 4)
              if data[place:place + 4] == b"00dc"]
    for number in (20, 21, 60):
        data[places[number] + 8:places[number] + 200] = bytes(192)
    (tmp_path / "damaged.avi").write_bytes(data)
    with package.Video(tmp_path / "damaged.avi", image="gray") as video:
        for number in (20, 60):
            with pytest.raises(package.DamagedFrame):
                video[number]
        assert [frame.missed for frame in video[18:24]] == [0, 0, 2, 0]
        assert [frame.missed_by for frame in video[18:24]][2] == {"corrupt": 2}
        assert [video[number].number for number in (19, 22, 61)] == [19, 22, 61]
        with pytest.raises(package.DamagedFrame):
            video.batch([19, 20])
        assert video[59].number == 59
        # Backwards.
        assert [(frame.number, frame.missed) for frame in video[18:24][::-1]] == [
            (23, 0), (22, 0), (19, 2), (18, 0)]
        assert [video[number].number for number in (62, 61)] == [62, 61]
        with pytest.raises(package.DamagedFrame, match="frame 60"):
            video[60]
        assert video[59].number == 59


def test_scenes_of_a_run_are_read_back(tmp_path):
    """Each frame of a film of our own, among them a copy of the camera's JPEGs."""
    sprocket("run", *FAST, "--frames", 90, "--movie", tmp_path / "own.mov", "--source-set", "drop=0.05",
             "--quiet")
    expected, count = played(tmp_path / "own.mov", image="gray")
    with package.Video(tmp_path / "own.mov", image="gray") as video:
        assert len(video) == count
        for number in random.Random(1).sample(sorted(expected), 20):
            np.testing.assert_array_equal(video[number].image, expected[number].image)
