"""Python's package: arrays into files, sound, views, lenses, several sources."""
import concurrent.futures
import gc
import json
import os
import subprocess
import sys
import time

import cv2
import numpy as np
import pytest

import sprocket as package
from program import LIMIT, ROOT, SPROCKET, clip, running, sprocket

SIZE = (64, 48)


@pytest.fixture(scope="module")
def pictures():
    chance = np.random.default_rng(3)
    return [cv2.resize(chance.integers(0, 256, (6, 8, 3), np.uint8), (160, 120)) for _ in range(12)]


def test_arrays_become_movies_dumps_and_stills(pictures, tmp_path):
    for name, options in (("a.mp4", {"codec": "h264"}), ("a.mov", {}), ("exact.mkv", {"codec": "ffv1"})):
        with package.Writer(tmp_path / name, fps=25, **options) as writer:
            for picture in pictures:
                writer.write(picture)
        assert writer.summary["produced"] == writer.summary["sinks"]["movie"]["delivered"] == len(pictures)
        shown = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "frame=best_effort_timestamp_time",
                                "-of", "csv=p=0", tmp_path / name], check=True, timeout=LIMIT, text=True,
                               capture_output=True).stdout.replace(",", " ").split()
        np.testing.assert_allclose(np.array(shown, float), np.arange(12) / 25, atol=1e-3)
        film = cv2.VideoCapture(str(tmp_path / name))
        for picture in pictures:
            assert np.abs(film.read()[1][..., ::-1].astype(int) - picture).mean() < 6
    with package.Writer(tmp_path / "a.mcap", fps=25, channels="bgr") as writer:
        for picture in pictures:
            writer.write(picture)
    with package.Dump(tmp_path / "a.mcap") as dump:
        np.testing.assert_array_equal(dump[4].image, pictures[4][..., ::-1])
    with package.Writer(tmp_path / "shots/{n}.png", fps=1) as writer:
        for picture in pictures:
            writer.write(picture)
    found = sorted((tmp_path / "shots").iterdir())
    np.testing.assert_array_equal(cv2.imread(str(found[7]))[..., ::-1], pictures[7])
    gray = np.random.default_rng(4).integers(0, 65536, (40, 50), np.uint16)
    with package.Writer(tmp_path / "gray.png", fps=1) as writer:
        writer.write(gray)
        with pytest.raises(ValueError, match="one picture"):
            writer.write(gray)
    np.testing.assert_array_equal(cv2.imread(str(tmp_path / "gray.png"), cv2.IMREAD_UNCHANGED), gray)
    deep = np.random.default_rng(5).integers(0, 65536, (40, 50, 3), np.uint16)
    for channels in ("rgb", "bgr"):
        with package.Writer(tmp_path / f"{channels}.png", fps=1, channels=channels) as writer:
            writer.write(deep)
        np.testing.assert_array_equal(cv2.imread(str(tmp_path / f"{channels}.png"), cv2.IMREAD_UNCHANGED),
                                      deep if channels == "bgr" else deep[..., ::-1])


def test_frames_keep_their_times(pictures, tmp_path):
    with package.Writer(tmp_path / "own.mkv", codec="ffv1") as writer:
        for number, seconds in enumerate((1, 1.5, 1.51, 4)):
            writer.write(pictures[number], seconds=seconds)
    with package.Video(tmp_path / "own.mkv") as video:
        np.testing.assert_allclose((video.times - video.times[0]) / 1e9, [0, 0.5, 0.51, 3], atol=1e-3)
        with package.Writer(tmp_path / "again.mkv", codec="ffv1") as writer:
            for frame in video[1:]:
                writer.write(frame)
    with package.Video(tmp_path / "again.mkv") as again:
        np.testing.assert_allclose((again.times - again.times[0]) / 1e9, [0, 0.01, 2.5], atol=1e-3)


def test_a_writer_says_what_is_wrong(pictures, tmp_path):
    for options, kind, words in (({}, TypeError, "fps="), ({"fps": 0}, ValueError, "fps=0"),
                                 ({"fps": 5, "channels": "rgba"}, ValueError, "channels")):
        with pytest.raises(kind, match=words):
            with package.Writer(tmp_path / "a.mov", **options) as writer:
                writer.write(pictures[0])
    with pytest.raises(ValueError, match="ending"):
        package.Writer(tmp_path / "a.xyz", fps=5)
    with package.Writer(tmp_path / "b.mov", fps=5) as writer:
        writer.write(pictures[0])
        for wrong in (pictures[0].astype(float), pictures[0][..., :2], np.zeros((0, 4), np.uint8), 7):
            with pytest.raises(ValueError, match="a frame is an array"):
                writer.write(wrong)
        with pytest.raises(ValueError, match="times have to rise"):
            writer.write(pictures[0], seconds=0)
    with pytest.raises(package.Error, match="takes no more"):
        writer.write(pictures[0])
    with pytest.raises(package.RunError, match="nowhere"):
        with package.Writer("/nowhere/a.mov", fps=5) as writer:
            for _ in range(1000):
                writer.write(pictures[0])
    with pytest.raises(package.RunError, match="exists"):
        with package.Writer(tmp_path / "b.mov", fps=5) as writer:
            for _ in range(1000):
                writer.write(pictures[0])
    with pytest.raises(package.Error, match="no frame"):
        package.Writer(tmp_path / "c.mov", fps=5).close()
    assert not (tmp_path / "c.mov").exists()


def test_a_pipe_gives_another_program_its_frames(tmp_path):
    """What `--pipe-header` writes is a source; a pipe without its end is an error."""
    made = sprocket("run", "--source", "scene", "--size", "64x48", "--frames", 9, "--source-set", "drop=0.3",
                    "--pipe", "rgb", "--pipe-header").stdout
    (tmp_path / "frames").write_bytes(made)
    with open(tmp_path / "frames", "rb") as frames:
        sprocket("run", "--source", "pipe:-", "--movie", tmp_path / "a.mkv", "--codec", "ffv1", "--summary",
                 tmp_path / "s.json", stdin=frames)
    summary = json.loads((tmp_path / "s.json").read_text())
    missing = 9 - len(made) // (384 + 64 * 48 * 3)
    assert summary["sinks"]["movie"]["delivered"] == 9 - missing and missing > 0
    for cut, words in ((len(made) - 384, "end without a last header"), (1000, "end without"),
                       (0, "end without")):
        (tmp_path / "cut").write_bytes(made[:cut])
        with open(tmp_path / "cut", "rb") as frames:
            result = sprocket("run", "--source", "pipe:-", "--movie", tmp_path / "b.mkv", "--overwrite",
                              stdin=frames, check=False)
        assert result.returncode == 1 and words in result.errors
    (tmp_path / "cut").write_bytes(b"no frame" * 100)
    with open(tmp_path / "cut", "rb") as frames:
        result = sprocket("run", "--source", "pipe:-", stdin=frames, check=False)
    assert result.returncode == 1 and "no frame with a header" in result.errors
    for wrong in ("pipe:", "pipe:99", "pipe:x"):
        assert sprocket("run", "--source", wrong, check=False).returncode == 2


def test_sound_is_that_of_ffmpeg(tmp_path):
    for name, codec in (("a.mp4", "aac"), ("a.wav", "pcm_s16le"), ("b.wav", "pcm_s24le"),
                        ("c.wav", "pcm_f32le"), ("a.flac", "flac")):
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=440:r=44100:d=1", "-f", "lavfi",
                        "-i", "sine=880:r=44100:d=1", "-filter_complex", "amerge", "-c:a", codec,
                        tmp_path / name], check=True, timeout=LIMIT)
        expected = np.frombuffer(subprocess.run(
            ["ffmpeg", "-v", "error", "-i", tmp_path / name, "-f", "f32le", "-"], check=True, timeout=LIMIT,
            capture_output=True).stdout, np.float32).reshape(-1, 2)
        samples, rate = package.sound(tmp_path / name)
        assert rate == 44100 and samples.dtype == np.float32
        length = min(len(samples), len(expected))
        assert length > 43000 and abs(len(samples) - len(expected)) < 1100, name
        tolerance = 2e-4 if name == "a.mp4" else 1e-6
        np.testing.assert_allclose(samples[:length], expected[:length], atol=tolerance)
    part, _ = package.sound(tmp_path / "c.wav", from_=0.25, to=0.5)
    np.testing.assert_array_equal(part, package.sound(tmp_path / "c.wav").samples[11025:22050])
    with pytest.raises(package.RunError, match="sound"):
        package.sound(clip("generic/vtest.avi"))


def test_sound_begins_with_the_pictures(tmp_path):
    """A beep 1 s after the first picture, in films whose sound, or whose pictures, begin later."""
    beep = "aevalsrc=if(lt(t\\,{0})\\,0\\,sin(2*PI*1000*t)):s=48000:d=3"
    pictures = "testsrc=s=64x48:r=30:d=3"
    for name, later, sounds in (("late.mov", (0, 0.5), 0.5), ("early.mkv", (0.5, 0), 1.5)):
        subprocess.run(["ffmpeg", "-v", "error", "-itsoffset", str(later[0]), "-f", "lavfi", "-i", pictures,
                        "-itsoffset", str(later[1]), "-f", "lavfi", "-i", beep.format(sounds), "-c:v",
                        "libx264", "-c:a", "pcm_s16le", tmp_path / name], check=True, timeout=LIMIT)
        for start in (None, 0, 0.25, 0.5, 0.75):
            samples, rate = package.sound(tmp_path / name, from_=start, to=2)
            assert len(samples) == round((2 - (start or 0)) * 48000), (name, start)
            first = (start or 0) + np.argmax(np.abs(samples[:, 0]) > 0.1) / rate
            assert abs(first - 1) < 0.003, (name, start)
    with pytest.raises(FileNotFoundError):
        package.sound(tmp_path / "nowhere.mp4")


def test_colour_lies_where_a_movie_says(tmp_path):
    """Each number of a ramp comes back where it was: chroma of 4:2:0 is not half a pixel off."""
    ramp = np.zeros((64, 256, 3), np.uint8)
    ramp[..., 0], ramp[..., 1], ramp[..., 2] = np.arange(256), 128, 255 - np.arange(256)
    for name, codec in (("a.mp4", "h264:crf=1"), ("a.mkv", "ffv1")):
        with package.Writer(tmp_path / name, fps=30, codec=codec) as writer:
            for _ in range(3):
                writer.write(ramp)
        with package.Video(tmp_path / name) as video:
            off = (video[0].image.astype(int) - ramp)[8:-8, 16:-16].mean((0, 1))
        # Half a pixel would be 0.5 in red, and as much less in blue.
        assert abs(off[0] - off[2]) < 0.4, off


def test_a_writer_outlives_what_happens_around_it(pictures, tmp_path):
    script = f"""
import os, sys, time, numpy as np, sprocket
os.chdir({str(tmp_path)!r})
picture = np.zeros((48, 64, 3), np.uint8)
writer = sprocket.Writer("forked.mov", fps=30)
lens = sprocket.undistort(np.eye(3) * 100, [0, 0, 0, 0], (64, 48))
for _ in range(5):
    writer.write(picture)
if os.fork() == 0:
    sys.exit(0)
os.wait()
writer.write(picture)
writer.close()
assert sprocket.inspect("forked.mov")["tracks"][0]["count"] == 6
assert os.path.exists(lens.split("calibration=")[1].split(",")[0])
broken = sprocket.Writer("broken.mov", fps=30, codec="nope")
try:
    for _ in range(1000):
        broken.write(picture)
        time.sleep(0.01)
    broken.close()
    raise AssertionError
except sprocket.RunError as error:
    assert "nope" in str(error), error
class Interrupt(BaseException): pass
try:
    with sprocket.Writer("part.mov", fps=30) as writer:
        writer.write(picture)
        raise Interrupt
except Interrupt:
    pass
assert sprocket.inspect("part.mov")["tracks"][0]["count"] == 1
left = sprocket.Writer("left.mov", fps=30)
left.write(picture)
left.self = left
"""
    result = subprocess.run([sys.executable, "-W", "error", "-c", script], timeout=LIMIT, text=True,
                            capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT / "Python")})
    assert result.returncode == 0 and not result.stderr, result.stderr
    with pytest.raises(ValueError, match="one size"):
        with package.Writer(tmp_path / "a.mov", fps=5) as writer:
            writer.write(pictures[0])
            writer.write(pictures[0][:50])
    with pytest.raises(ValueError, match="64 bits"):
        with package.Writer(tmp_path / "b.mov") as writer:
            writer.write(pictures[0], captured_ns=1 << 63)
    gray = np.arange(48 * 64, dtype=">u2").reshape(48, 64)
    with package.Writer(tmp_path / "gray.mcap", fps=5) as writer:
        writer.write(gray)
    with package.Dump(tmp_path / "gray.mcap") as dump:
        np.testing.assert_array_equal(np.frombuffer(dump[0].data, "<u2").reshape(gray.shape), gray)


def test_readers_that_share_get_copies(tmp_path):
    """Places are kept for the reader of a run alone: several could keep all."""
    with running([SPROCKET, "run", "--source", "scene", "--size", "64x48", "--frames", "60", "--share",
                  f"{tmp_path / 'share'}:gray,take=every"]) as process:
        readers = [package.connect(str(tmp_path / "share"), every=True, wait=LIMIT) for _ in range(3)]

        def viewed(reader):
            kept = []
            while True:
                try:
                    kept.append(reader.view())
                except StopIteration:
                    return kept
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            found = list(pool.map(viewed, readers))
        assert process.wait(LIMIT) == 0
    assert all(frame.tensor.flags.writeable for kept in found for frame in kept)
    assert max(len(kept) for kept in found) == 60
    with package.run("scene", image={"layout": "gray", "slots": 2}, size=SIZE, frames=9) as frames:
        kept = [frames.view() for _ in range(9)]
    assert [frame.number for frame in kept] == list(range(9))


def test_a_view_is_never_stale():
    """Frames that are kept as views while a fast source writes on; copies beyond those that may be kept."""
    with package.run("scene", image="gray", size=SIZE, frames=200) as frames, \
            package.run("scene", image="gray", size=SIZE, frames=200) as copies:
        expected = {frame.number: frame.image for frame in copies}
        kept = [frames.view() for _ in range(6)]
        assert [frame.tensor.flags.writeable for frame in kept] == [False] * 3 + [True] * 3
        with pytest.raises(ValueError, match="read-only|WRITEABLE"):
            kept[0].tensor.flags.writeable = True
        part = kept[1].image[3:5]
        rest = [(frame.number, frame.image.copy()) for frame in frames]
        for frame in kept:
            np.testing.assert_array_equal(frame.image, expected[frame.number])
        np.testing.assert_array_equal(part, expected[1][3:5])
        assert all(np.array_equal(image, expected[number]) for number, image in rest)
        assert [number for number, _ in rest] == list(range(6, 200)) and frames.missed == 0
    np.testing.assert_array_equal(kept[2].image, expected[2])
    with package.run("scene", image="gray", size=SIZE, frames=300, batch=4) as batches:
        total = 0
        for _ in range(75):
            batch = batches.view()
            assert not batch.tensor.flags.writeable
            total += len(batch)
            del batch
            gc.collect()
        assert total == 300
    with package.run("scene", image="gray", size=SIZE, source_set=["pace=real"]) as frames:
        assert frames.view().tensor.flags.writeable


def test_a_lens_is_told_by_its_matrices(tmp_path):
    matrix = np.array([[300.0, 0, 158], [0, 310, 121], [0, 0, 1]])
    scene = {"size": (320, 240), "frames": 1, "image": "gray", "source_set": ["shake=0"]}
    with package.run("scene", **scene) as frames:
        bent = next(frames).image
    for fisheye, numbers in ((False, [-0.3, 0.1, 0.001, -0.002, 0.01]), (True, [-0.05, 0.02, -0.01, 0.003])):
        stage = package.undistort(matrix, numbers, (320, 240), fisheye=fisheye)
        with package.run("scene", stages=[stage], **scene) as frames:
            frame = next(frames)
        wanted = cv2.fisheye.undistortImage(bent, matrix, np.array(numbers), Knew=matrix) if fisheye else \
            cv2.undistort(bent, matrix, np.array(numbers))
        assert np.abs(frame.image[20:-20, 20:-20].astype(int) - wanted[20:-20, 20:-20]).mean() < 1
        points = np.random.default_rng(5).uniform((0, 0), (320, 240), (50, 2))
        there = frame.to_sensor(points)
        np.testing.assert_allclose(frame.from_sensor(there), points, atol=1e-3)
        if not fisheye:
            straight = cv2.undistortPoints(there[:, None], matrix, np.array(numbers), P=matrix)[:, 0]
            np.testing.assert_allclose(points, straight, atol=0.05)
    with pytest.raises(ValueError, match="3 x 3"):
        package.undistort(np.eye(4), [0] * 5, (320, 240))
    with pytest.raises(ValueError, match="numbers of distortion"):
        package.undistort(np.eye(3), [0] * 6, (320, 240))


def test_points_come_back_through_crops_and_turns():
    with package.run("scene", stages=["crop:region=0.1/0.2/0.5/0.5", "rotate:turn=90"], tensor=(100, 80),
                     frames=1, size=(320, 240)) as frames:
        frame = next(frames)
    points = np.random.default_rng(6).uniform(0, 80, (2, 9, 2))
    np.testing.assert_allclose(frame.from_sensor(frame.to_sensor(points)), points, atol=1e-9)


def test_a_live_frame_has_the_time_on_the_wall():
    with package.run("scene", size=SIZE, source_set=["pace=real"], frames=3) as frames:
        frame = next(frames)
        assert 0 <= time.time_ns() - frame.unix_ns < 60e9
    with package.run("scene", size=SIZE, frames=3) as frames:
        assert next(frames).unix_ns is None


def test_pairs_are_those_of_the_run(tmp_path):
    """The pairs of `--pair`, where neither source loses frames and where both do."""
    for drop in ("0", "0.2"):
        scenes = {"left": "scene", "right": "scene"}
        options = {"source_set": [f"drop={drop}", "left.seed=3", "right.seed=4"], "frames": 60, "size": SIZE,
                   "image": "gray"}
        with package.Pairs(scenes, within=0.005, pair="5ms", pairs=tmp_path / f"{drop}.jsonl",
                           **options) as pairs:
            found = [(left.number, right.number) for left, right in pairs]
        lines = [json.loads(line) for line in (tmp_path / f"{drop}.jsonl").read_text().splitlines()]
        numbers = [tuple(line["numbers"]) for line in lines]
        assert found == [pair for pair in numbers if None not in pair]
        for index, label in enumerate(pairs.labels):
            assert len(found) + pairs.alone[label] == pairs.streams[label].seen
            # The loop ends with the first source that does.
            assert pairs.alone[label] <= sum(pair[1 - index] is None for pair in numbers)
        assert pairs.summary["sources"]["left"]["produced"] == 60
        assert (drop == "0") == (sum(pairs.alone.values()) == 0)
    films = [f"file:{clip('generic/' + name)}" for name in ("vtest.avi", "carphone_pristine.mp4")]
    for first, second in (films, films[::-1]):
        with package.Pairs({"a": first, "b": second}, within=0.06, image="gray") as pairs:
            assert sum(1 for _ in pairs) > 20
    with package.Pairs({"a": films[0], "b": "scene"}, within=1, image="gray") as pairs:
        with pytest.raises(package.Error, match="different clocks"):
            next(pairs)
    with pytest.raises(ValueError, match="two sources"):
        package.Pairs({"left": "scene"}, within=1)
    with pytest.raises(package.RunError, match="nothing"):
        package.Pairs({"left": "scene", "right": "nothing"}, within=1)
