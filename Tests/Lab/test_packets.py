"""A camera's own H.264 and HEVC: recorded as they are, decoded for stages, and accounted for where a packet
is damaged."""
import contextlib
import hashlib
import json
import os
import subprocess
import sys

import pytest

from conftest import LIMIT, LOOPBACK, TESTS, Run, wait_until
from program import SPROCKET, read_summary, sprocket
from recordings import decode, dump_images, ffprobe
from test_reconfigure import ask

SIZE, RATE, FRAMES, GROUP = "320x180", 10, 60, 10
# Packets of each round that are damaged.
LOST = (14, 25)


def encoded(codec, folder, size=SIZE, later=0):
    """A clip with a key frame every ten frames, and a delimiter before each packet. `later` is how many
    pictures that refer to later ones may follow each other."""
    path = folder / f"clip-{size}-{later}.{codec}"
    settings = {"h264": ["-c:v", "libx264", "-x264-params", f"aud=1:bframes={later}:keyint={GROUP}"],
                "hevc": ["-c:v", "libx265", "-x265-params",
                         f"aud=1:bframes=0:keyint={GROUP}:repeat-headers=1:log-level=none"]}[codec]
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size={size}:rate={RATE}",
                    "-frames:v", str(FRAMES), *settings, "-pix_fmt", "yuv420p", path],
                   check=True, timeout=LIMIT)
    return path


def pictures(path):
    """Digests of a film's pictures, as ffmpeg decodes them."""
    text = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:v:0", "-fps_mode", "passthrough",
                           "-f", "framemd5", "-"], capture_output=True, check=True, timeout=LIMIT).stdout
    return [line.split(",")[-1].strip() for line in text.decode().splitlines() if not line.startswith("#")]


def is_fed():
    said = subprocess.run(["v4l2-ctl", "-d", LOOPBACK, "-V"], capture_output=True, timeout=LIMIT).stdout
    return b"Width/Height" in said


@contextlib.contextmanager
def playing(codec, files, folder, *lost, **variables):
    """While files are played over and over."""
    environment = {**os.environ, "KEYS": str(folder / "keys"), "GROUP": str(GROUP), **variables}
    player = subprocess.Popen([sys.executable, TESTS / "Lab/packets.py", ",".join(map(str, files)), LOOPBACK,
                               codec.upper(), *SIZE.split("x"), str(RATE), *map(str, lost)],
                              stdin=subprocess.DEVNULL, env=environment)
    try:
        wait_until(is_fed, player)
        yield
    finally:
        player.kill()
        player.wait()


@pytest.fixture
def played(request, tmp_path):
    """The clip's digests, while it is played over and over."""
    codec, lost = request.param
    path = encoded(codec, tmp_path)
    with playing(codec, [path], tmp_path, *lost):
        yield codec, pictures(path)


def assert_runs(found, clip, starts):
    """Pictures are the clip's, one behind the other, but for gaps behind which a key frame comes."""
    places = [clip.index(digest) for digest in found]
    assert places[0] % GROUP == 0
    gaps = [place for before, place in zip(places, places[1:]) if place != (before + 1) % len(clip)]
    assert all(place % GROUP == 0 for place in gaps)
    assert len(gaps) <= starts, places


@pytest.mark.parametrize("played", [("h264", ()), ("hevc", ())], indirect=True, ids=["h264", "hevc"])
def test_packets_become_the_movie_and_pictures_are_decoded(played, tmp_path):
    codec, clip = played
    movie, dump = tmp_path / "movie.mov", tmp_path / "dump.mcap"
    with Run(tmp_path, LOOPBACK, "--format", codec.upper(), "--frames", 45, "--movie", movie, "--dump", dump,
             "--stage", "meter") as run:
        run.end()
    stream = ffprobe(movie, "stream=codec_name,codec_tag_string:packet=flags")
    assert stream["streams"][0]["codec_name"] == codec
    assert stream["packets"][0]["flags"][0] == "K"
    assert decode(movie) == ""
    sinks, found = run.summary["sinks"], pictures(movie)
    assert sinks["movie"]["delivered"] == len(found)
    assert_runs(found, clip, 1)
    # The dump has the pictures of the same frames, to the bit.
    raw = [hashlib.md5(image.message.data).hexdigest() for image in dump_images(dump)]
    assert [digest for digest in raw if digest in found] == found
    # What was captured before the first key frame is not used.
    first = next(place for place, line in enumerate(run.reports) if line["fate"] == "delivered")
    assert {line["fate"] for line in run.reports[:first]} <= {"startup"}
    assert len(found) >= 20


@pytest.mark.parametrize("played", [("h264", LOST)], indirect=True, ids=["h264"])
def test_behind_a_damaged_packet_nothing_is_shown_that_the_camera_did_not_see(played, tmp_path):
    _, clip = played
    movie, dump = tmp_path / "movie.mkv", tmp_path / "dump.mcap"
    with Run(tmp_path, LOOPBACK, "--format", "H264", "--frames", 80, "--movie", movie, "--dump", dump) as run:
        run.end()
    found = pictures(movie)
    assert_runs(found, clip, 6)
    assert decode(movie) == ""
    # Behind packet 14 come 15 to 19, and behind 25 come 26 to 29.
    shown = {clip.index(digest) for digest in found}
    assert not shown & ({*range(14, 20)} | {*range(25, 30)})
    delivered = {line["sequence"] for line in run.reports if line["fate"] == "delivered"}
    assert {hashlib.md5(image.message.data).hexdigest() for image in dump_images(dump)
            if image.sequence in delivered} <= {*clip}
    assert run.summary["sinks"]["movie"]["corrupt"] >= 10


@pytest.mark.parametrize("played", [("h264", (12, 31))], indirect=True, ids=["h264"])
def test_a_camera_that_can_is_asked_for_a_key_frame(played, tmp_path):
    """Tests/Lab/key_frames.c: since v4l2loopback has no such control."""
    _, clip = played
    library, keys, movie = tmp_path / "keys.so", tmp_path / "keys", tmp_path / "movie.mov"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, TESTS / "Lab/key_frames.c"], check=True,
                   timeout=LIMIT)
    result = subprocess.run(
        [SPROCKET, "run", "--source", f"camera:{LOOPBACK}", "--format", "H264", "--frames", "80", "--movie",
         movie, "--verify", "--summary", tmp_path / "summary", "--quiet"],
        stdin=subprocess.DEVNULL, timeout=LIMIT,
        env={**os.environ, "LD_PRELOAD": str(library), "KEYS": str(keys)})
    assert result.returncode == 0
    found, movie = pictures(movie), read_summary(tmp_path / "summary")["sinks"]["movie"]
    assert_runs(found, clip, 8)
    # Each of some six damaged packets would have taken seven others with it.
    asked = keys.stat().st_size
    assert 4 <= asked <= 10
    assert movie["corrupt"] <= 5 * asked


@pytest.mark.costly
@pytest.mark.parametrize("played", [("h264", ())], indirect=True, ids=["h264"])
def test_recordings_begin_with_key_frames(played, tmp_path):
    """On demand with a pre-roll, and in several files, between which nothing is lost."""
    _, clip = played
    script = tmp_path / "script"
    script.write_text("\n".join(json.dumps(line) for line in [
        {"request": "record", "at_frame": 45}, {"request": "stop", "at_frame": 75}]))
    with Run(tmp_path, LOOPBACK, "--format", "H264", "--frames", 90, "--movie", tmp_path / "asked.mp4",
             "--on-demand", "--pre-roll", "1200ms", "--script", script) as run:
        run.end()
    record, = run.summary["recordings"]
    assert record["frames"]["delivered"] >= 30
    assert record["asked"] - record["begin"] >= 12
    assert_runs(pictures(tmp_path / "asked.mp4"), clip, 1)
    with Run(tmp_path, LOOPBACK, "--format", "H264", "--frames", 70, "--movie",
             tmp_path / "part-{n}.mov", "--split", "1500ms") as run:
        run.end()
    files = sorted(tmp_path.glob("part-*.mov"))
    found = [pictures(path) for path in files]
    assert len(files) >= 3
    for part in found:
        assert_runs(part, clip, 1)
    assert_runs(sum(found, []), clip, 1)


@pytest.mark.parametrize("played", [("h264", ())], indirect=True, ids=["h264"])
def test_pictures_that_are_asked_for_later_cost_no_frame(played, tmp_path):
    """Nothing is decoded until a dump comes, in the middle of a group, and then all that it refers to."""
    _, clip = played
    dump = tmp_path / "dump.mcap"
    with Run(tmp_path, LOOPBACK, "--format", "H264", "--movie", tmp_path / "movie.mov", "--control-socket",
             tmp_path / "control") as run:
        for count, change in [(26, f"attach=dump:{dump}"), (50, "detach=dump"),
                              (60, f"attach=checksum:{tmp_path / 'sums'}")]:
            run.wait_for_frames(count)
            ask(tmp_path, "reconfigure", change)
        run.wait_for_frames(75)
        run.stop()
    found = pictures(tmp_path / "movie.mov")
    assert_runs(found, clip, 1)
    corrupt = [line for line in run.reports if line["fate"] == "corrupt"]
    assert run.summary["source"]["counts"].get("undecodable", 0) == 0
    assert len(found) + len(corrupt) >= 60
    raw = [hashlib.md5(image.message.data).hexdigest() for image in dump_images(dump)]
    assert len(raw) >= 15
    assert [digest for digest in raw if digest in found] == raw


@pytest.mark.costly
@pytest.mark.parametrize("played", [("h264", ())], indirect=True, ids=["h264"])
def test_a_codec_or_a_stage_makes_other_pictures(played, tmp_path):
    """With a codec every frame is encoded, and pictures that a stage changes are."""
    for options in (["--codec", "mjpeg"], ["--stage", "crop:pixels=0/0/160/90"]):
        sprocket("run", "--source", f"camera:{LOOPBACK}", "--format", "H264", "--frames", 25, "--movie",
                 tmp_path / "movie.mov", "--overwrite", *options)
        assert ffprobe(tmp_path / "movie.mov", "stream=codec_name")["streams"][0]["codec_name"] == "mjpeg"
    listed = json.loads(sprocket("devices", LOOPBACK, "--json").stdout)
    assert "H264" in json.dumps(listed)


def test_parameter_sets_in_packets_of_their_own(tmp_path):
    path, movie = encoded("h264", tmp_path), tmp_path / "movie.mov"
    with playing("h264", [path], tmp_path, APART="1"):
        with Run(tmp_path, LOOPBACK, "--format", "H264", "--frames", 50, "--movie", movie, "--stage",
                 "meter") as run:
            run.end()
    found = pictures(movie)
    assert_runs(found, pictures(path), 1)
    assert len(found) >= 30 and decode(movie) == ""
    # The packets without a picture are no frames that anybody could use.
    assert 3 <= run.summary["sinks"]["movie"]["corrupt"] <= 7


@pytest.mark.costly
def test_pictures_of_another_size_begin_an_epoch_although_their_first_is_damaged(tmp_path):
    clips = [encoded("h264", tmp_path), encoded("h264", tmp_path, "256x144")]
    with playing("h264", clips, tmp_path, FRAMES):
        with Run(tmp_path, LOOPBACK, "--format", "H264", "--frames", 170, "--movie",
                 tmp_path / "part-{n}.mp4") as run:
            run.end()
    known = [pictures(path) for path in clips]
    files = sorted(tmp_path.glob("part-*.mp4"))
    assert len(files) >= 2 and run.summary["epochs"] >= 2
    for path in files:
        frames = ffprobe(path, "frame=width,height")["frames"]
        assert len({(frame["width"], frame["height"]) for frame in frames}) == 1
        clip, = [clip for clip in known if pictures(path)[0] in clip]
        assert_runs(pictures(path), clip, 1)


def test_pictures_that_refer_to_later_ones_are_refused(tmp_path):
    with playing("h264", [encoded("h264", tmp_path, later=2)], tmp_path):
        result = sprocket("run", "--source", f"camera:{LOOPBACK}", "--format", "H264", "--frames", 30,
                          "--null", check=False)
    assert result.returncode in (1, 2)
    assert "video_b_frames" in result.errors
