"""export, inspect and recover: what ffprobe, ffmpeg and NumPy find in their files."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import PIL.Image
import pytest
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer

from program import DATA, LIMIT, SPROCKET, one_sentence, running, sprocket, wait_for, wait_for_bytes
from test_codecs import assert_decodes, probe, streams, times
from test_sound import beeps, offsets, samples

RATE = 30


@pytest.fixture(scope="session")
def movie(tmp_path_factory):
    """Eight seconds of JPEG and PCM, with a flash and a beep at each whole second."""
    path = tmp_path_factory.mktemp("files") / "in.mov"
    sprocket("run", "--source", "scene", "--size", "320x240", "--rate", RATE, "--source-set", "flash=4",
             "--source-set", "pan=30",
             "--frames", 8 * RATE, "--microphone", "scene", "--movie", path, "--quiet")
    return path


def planes(path, *options):
    """Luma of each picture."""
    width, height = (streams(path)["video"][key] for key in ("width", "height"))
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:v", *options, "-fps_mode",
                          "passthrough", "-pix_fmt", "gray", "-f", "rawvideo", "-"], capture_output=True,
                         check=True, timeout=LIMIT).stdout
    return np.frombuffer(raw, "u1").reshape(-1, height, width)


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv"])
def test_a_part_is_exact(tmp_path, movie, ending):
    out = tmp_path / f"out.{ending}"
    sprocket("export", movie, out, "--from", "2s", "--to", "5s", "--quiet")
    found = streams(out)
    assert int(found["video"]["nb_read_frames"]) == 90 and found["video"]["codec_name"] == "h264"
    assert found["audio"]["codec_name"] == "aac"
    assert_decodes(out)
    assert np.abs(times(out) - np.arange(90) / RATE).max() < 0.001
    # Those pictures and no others.
    theirs = planes(movie)[60:150].astype(int)
    ours = planes(out).astype(int)
    for n in range(1, 89):
        apart = [np.abs(ours[n] - theirs[n + k]).mean() for k in (-1, 0, 1)]
        assert apart[1] < 4 and apart[1] == min(apart), (n, apart)
    found = offsets(out)
    assert len(found) == 3 and np.abs(found[1:]).max() < 0.001


def test_a_copy_begins_with_a_key_frame_and_is_in_step(tmp_path, movie):
    source, out = tmp_path / "a.mp4", tmp_path / "b.mov"
    sprocket("export", movie, source, "--quiet")
    sprocket("export", source, out, "--copy", "--from", "2500ms", "--to", "6s", "--quiet")
    found = streams(out)
    # The key frame at 2 s.
    assert int(found["video"]["nb_read_frames"]) in range(120, 125)
    assert_decodes(out)
    apart = offsets(out)
    assert len(apart) in (4, 5) and np.abs(apart[1:]).max() < 0.001
    # As they are: the packets are the same bytes.
    hashes = [[packet["data_hash"] for packet in probe(
        path, "-select_streams", "v", "-show_packets", "-show_data_hash", "md5")["packets"]]
        for path in (source, out)]
    assert hashes[1] == hashes[0][60:60 + len(hashes[1])]


def test_crop_scale_and_turn_are_ffmpegs(tmp_path, movie):
    out = tmp_path / "out.mp4"
    sprocket("export", movie, out, "--crop", "40/20/240/200", "--scale", "120x100", "--codec", "h264:crf=4",
             "--quiet", "--audio", "none")
    theirs = planes(movie)[:, 20:220, 40:280].reshape(-1, 100, 2, 120, 2).mean(axis=(2, 4))
    assert np.abs(planes(out) - theirs).mean() < 1
    with pytest.raises(KeyError):
        streams(out)["audio"]
    sprocket("export", movie, out, "--rotate", "90", "--aspect", "1:1", "--overwrite", "--quiet")
    pictures = streams(out)["video"]
    assert (pictures["width"], pictures["height"]) == (240, 240)


@pytest.mark.parametrize("codec", ["h264:preset=veryfast", "hevc:preset=ultrafast"])
def test_a_size_is_met(tmp_path, codec):
    source, out = tmp_path / "in.mov", tmp_path / "out.mp4"
    sprocket("run", "--source", "scene", "--size", "320x240", "--frames", 360, "--microphone", "scene",
             "--movie", source, "--quiet")
    sprocket("export", source, out, "--target-size", "600K", "--codec", codec, "--quiet")
    assert abs(out.stat().st_size / (600 << 10) - 1) < 0.05
    assert_decodes(out)
    result = sprocket("export", source, out, "--target-size", "1K", "--overwrite", "--codec", codec,
                      "--quiet", check=False)
    assert result.returncode == 1 and "the least that it can have" in one_sentence(result.errors)
    assert str(out.stat().st_size) in result.errors


def test_a_batch_is_a_folder_of_movies(tmp_path, movie):
    second = tmp_path / "second.mkv"
    shutil.copy(movie, tmp_path / "first.mov")
    sprocket("export", movie, second, "--to", "1s", "--quiet")
    (tmp_path / "torn.mov").write_bytes(b"no movie")
    (tmp_path / "out").mkdir()
    said = sprocket("export", tmp_path / "first.mov", tmp_path / "torn.mov", second, tmp_path / "out",
                    "--to", "1s", check=False)
    assert said.returncode == 1 and "1 of 3 files were not exported" in said.errors
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["first.mp4", "second.mp4"]
    for path in (tmp_path / "out").iterdir():
        assert int(streams(path)["video"]["nb_read_frames"]) == 30


def test_a_batch_tells_what_each_file_lacks(tmp_path, movie):
    shutil.copy(movie, tmp_path / "whole.mov")
    cut = avi(tmp_path / "cut.avi")
    (tmp_path / "out").mkdir()
    said = sprocket("export", tmp_path / "whole.mov", cut, tmp_path / "out", "--to", "1s").errors.splitlines()
    lines = said[next(i for i, line in enumerate(said) if line.endswith("cut.mp4")) + 1:]
    assert any(line.startswith("  ") and "bytes are missing" in line for line in lines)
    assert any(line.startswith("  movie: of ") and "1 corrupt" in line for line in lines)
    assert not any("whole" in line and "missing" in line for line in said)
    quiet = sprocket("export", cut, movie, tmp_path / "out", "--to", "1s", "--overwrite", "--quiet")
    assert quiet.errors == ""


def avi(path):
    """An AVI of JPEGs that is cut within its last one."""
    whole = path.with_name("whole.avi")
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=1", "-c:v",
                    "mjpeg", whole], check=True, timeout=LIMIT)
    data = whole.read_bytes()
    path.write_bytes(data[:data.rindex(b"00dc", 0, data.rindex(b"idx1")) + 400])
    return path


def test_a_wrong_batch_is_one_sentence(tmp_path, movie):
    """Though its files are exported at the same time."""
    for name in ["a.mov", "b.mov", "c.mov"]:
        shutil.copy(movie, tmp_path / name)
    (tmp_path / "out").mkdir()
    said = sprocket("export", "a.mov", "b.mov", "c.mov", "out", "--crop", "0/0/9999/2", check=False,
                    cwd=tmp_path)
    assert said.returncode == 2 and "crop" in one_sentence(said.errors)
    assert not list((tmp_path / "out").iterdir())


def test_a_file_that_options_do_not_fit_stops_no_other(tmp_path, movie):
    small = tmp_path / "a.mov"
    sprocket("export", movie, small, "--scale", "32x24", "--to", "1s", "--quiet")
    names = [small, *(shutil.copy(movie, tmp_path / name) for name in ["b.mov", "c.mov", "d.mov", "e.mov"])]
    (tmp_path / "out").mkdir()
    said = sprocket("export", *names, tmp_path / "out", "--crop", "0/0/40/40", "--to", "1s", check=False)
    assert said.returncode == 1 and "1 of 5 files were not exported" in said.errors
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["b.mp4", "c.mp4", "d.mp4", "e.mp4"]


def test_a_batch_stops(tmp_path, movie):
    """Files that were begun end whole; none is left under a partial name, and no process."""
    names = [tmp_path / f"{n}.mov" for n in range(8)]
    for name in names:
        shutil.copy(movie, name)
    (tmp_path / "out").mkdir()
    command = [SPROCKET, "export", *names, tmp_path / "out", "--codec", "h264:preset=veryslow"]
    with running(command) as program:
        wait_for(lambda: list((tmp_path / "out").iterdir()), program)
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=LIMIT)
    assert program.returncode == 1 and b"stopped" in errors
    made = list((tmp_path / "out").iterdir())
    assert len(made) < 8 and not [path for path in made if "partial" in path.name]
    for path in made:
        assert_decodes(path)
    assert subprocess.run(["pgrep", "-f", str(tmp_path / "out")], capture_output=True).returncode == 1


def expected_pictures(stamps, rate, tick):
    """Which frame each picture of a movie of constant rate shows, how many are doubled and left out.

    The nearest picture; in the middle, to a tick of the file, the earlier one."""
    shown, doubled, left_out, last = [], 0, 0, 0
    for frame, stamp in enumerate(stamps):
        picture = max(0, int(np.ceil(stamp * rate - 0.5 - min(0.25, tick * rate))))
        if picture < len(shown):
            left_out += 1
        else:
            doubled += picture - len(shown)
            shown += [last] * (picture - len(shown)) + [frame]
        # A later picture without a frame repeats this one.
        last = frame
    return shown, doubled, left_out


@pytest.fixture(scope="module")
def uneven(tmp_path_factory, movie):
    """Four seconds of a movie with gaps and bursts: the file, the times of its pictures, and their luma."""
    source = tmp_path_factory.mktemp("uneven") / "in.mkv"
    keep = "not(between(n,40,52))*not(eq(mod(n,7),3))"
    subprocess.run(["ffmpeg", "-v", "error", "-i", movie, "-an", "-vf", f"select='{keep}'", "-t", "4",
                    "-fps_mode", "vfr", "-c:v", "ffv1", "-pix_fmt", "yuv420p", source], check=True,
                   timeout=LIMIT)
    return source, times(source), planes(source).astype(int)


@pytest.mark.parametrize("ending, codec", [("mp4", "h264:crf=0,preset=ultrafast"), ("mov", "mjpeg"),
                                           ("mkv", "ffv1"), ("mp4", "hevc:preset=ultrafast,crf=4")])
@pytest.mark.parametrize("rate", ["30", "10", "30000/1001", "75"])
def test_a_rate_is_made_constant(tmp_path, uneven, ending, codec, rate):
    """A movie with gaps and bursts, against the rule in NumPy."""
    source, stamps, theirs = uneven
    out = tmp_path / f"out.{ending}"
    said = sprocket("export", source, out, "--rate", rate, "--codec", codec, "--overwrite")
    numerator, _, denominator = rate.partition("/")
    rate = int(numerator) / int(denominator or 1)
    tick = 1e-3 if ending == "mkv" else 1 / 90_000
    shown, doubled, left_out = expected_pictures(stamps - stamps[0], rate, tick)
    assert doubled > 0 and (rate > 20 or left_out > 0)
    assert f"{doubled} frames are doubled and {left_out} left out" in said.errors
    assert np.abs(times(out) - np.arange(len(shown)) / rate).max() < 1.1 * tick
    ours = planes(out).astype(int)
    assert len(ours) == len(shown)
    bound = 0 if codec.startswith(("h264", "ffv1")) else 4
    for picture, frame in enumerate(shown):
        assert np.abs(ours[picture] - theirs[frame]).mean() <= bound, (picture, frame)
    assert_decodes(out)


def test_sound_stays_in_step_at_a_constant_rate(tmp_path, movie):
    source, out = tmp_path / "in.mkv", tmp_path / "out.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-i", movie, "-vf", "select='not(eq(mod(n,5),2))'",
                    "-fps_mode", "vfr", "-c:v", "ffv1", "-c:a", "copy", source], check=True, timeout=LIMIT)
    sprocket("export", source, out, "--rate", RATE, "--quiet")
    assert int(streams(out)["video"]["nb_read_frames"]) == 8 * RATE
    assert np.abs(offsets(out)[1:]).max() < 0.02


def test_a_gap_too_long_for_a_constant_rate_is_one_sentence(tmp_path, movie):
    source, out = tmp_path / "in.mkv", tmp_path / "out.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-i", movie, "-an", "-frames:v", "60", "-vf",
                    "setpts='PTS+gt(N,40)*9000/TB'", "-fps_mode", "vfr", "-c:v", "ffv1", source], check=True,
                   timeout=LIMIT)
    result = sprocket("export", source, out, "--rate", "30", "--quiet", check=False)
    assert result.returncode == 1 and "leave the rate out" in one_sentence(result.errors)
    sprocket("export", source, out, "--quiet")
    assert len(times(out)) == 60


def test_a_dump_is_exported(tmp_path):
    dump, out = tmp_path / "a.mcap", tmp_path / "a.mp4"
    sprocket("run", "--source", "scene", "--size", "160x120", "--frames", 90, "--microphone", "scene",
             "--dump", dump, "--quiet")
    sprocket("export", dump, out, "--quiet")
    assert int(streams(out)["video"]["nb_read_frames"]) == 90 and "audio" in streams(out)
    said = sprocket("inspect", dump).stdout.decode()
    assert "90 frames" in said and "audio s16 48000 Hz, 2 channels" in said


def test_a_dump_spans_the_time_that_its_movie_spans(tmp_path):
    """Also where the camera was away: the frame numbers do not show that time."""
    dump, movie = tmp_path / "a.mcap", tmp_path / "a.mov"
    sprocket("run", "--source", "scene", "--size", "160x120", "--frames", 90, "--source-set", "unplug=0.05",
             "--source-set", "unplugfor=1s", "--dump", dump, "--movie", movie, "--quiet")
    entries = json.loads(sprocket("inspect", "--json", dump, movie).stdout)
    ours, theirs = (entry["tracks"][0] for entry in entries)
    assert theirs["gaps"] > 0 and theirs["missing_s"] > 0.9
    assert ours["gaps"] == theirs["gaps"] and ours["count"] == theirs["count"]
    assert ours["missing_s"] == pytest.approx(theirs["missing_s"], abs=0.01)
    assert ours["duration_s"] == pytest.approx(theirs["duration_s"], abs=0.05)


def test_real_clips_are_exported(tmp_path):
    clips = [path for path in sorted(DATA.glob("generic/*.*")) if path.suffix != ".md"]
    if not clips:
        pytest.skip("no test data")
    for clip in clips:
        out = tmp_path / f"{clip.stem}.mp4"
        sprocket("export", clip, out, "--to", "3s", "--codec", "h264:preset=ultrafast", "--quiet")
        frames = probe(clip, "-select_streams", "v", "-show_entries", "frame=best_effort_timestamp_time")
        shown = np.array([float(f["best_effort_timestamp_time"]) for f in frames["frames"]])
        due = [t for t in shown - shown[0] if t < 2.9995]
        assert int(streams(out)["video"]["nb_read_frames"]) == len(due), clip
        assert_decodes(out)


def test_inspect_counts_as_ffprobe(tmp_path, movie):
    entry, = json.loads(sprocket("inspect", "--json", movie).stdout)
    video, audio = entry["tracks"]
    assert (video["codec"], video["count"], video["width"], video["height"]) == ("mjpeg", 240, 320, 240)
    assert video["duration_s"] == pytest.approx(8, abs=0.001) and video["gaps"] == 0
    assert (audio["codec"], audio["rate"], audio["channels"]) == ("pcm_s16le", 48000, 2)
    told = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=pix_fmt", "-of",
         "csv=p=0", movie], capture_output=True, text=True, check=True, timeout=LIMIT).stdout
    assert video["pixel_format"] == told.strip()
    assert entry["damage"] == []
    out = tmp_path / "gaps.mov"
    sprocket("run", "--source", "scene", "--size", "160x120", "--frames", 200, "--source-set", "drop=0.05",
             "--movie", out, "--quiet", "--microphone", "none")
    track, = json.loads(sprocket("inspect", "--json", out).stdout)[0]["tracks"]
    shown = times(out)
    late = np.diff(shown) - 1 / 30
    assert track["count"] == len(shown) and track["gaps"] == (late > 0.01).sum() > 0
    assert track["missing_s"] == pytest.approx(late[late > 0.01].sum(), abs=0.002)


def test_inspect_lists_an_mcap_of_any_writer(tmp_path):
    """Written by the mcap package: JSON, no pictures. Whole, and cut off in the last chunk."""
    path = tmp_path / "foreign.mcap"
    with path.open("wb") as file:
        writer = Writer(file, chunk_size=1000)
        writer.start()
        schema = writer.register_schema("Pose", "jsonschema", b"{}")
        channels = [writer.register_channel("/pose", "json", schema),
                    writer.register_channel("/raw", "json", 0)]
        for n in range(300):
            stamp = 1_000_000_000 + n * 10_000_000
            writer.add_message(channels[n % 3 == 2], stamp, json.dumps({"n": n}).encode(), stamp)
        writer.add_attachment(1, 1, "notes.txt", "text/plain", b"hello")
        writer.add_metadata("site", {"city": "Bern"})
        writer.finish()
    entry, = json.loads(sprocket("inspect", "--json", path).stdout)
    pose, raw = entry["topics"]
    assert [pose[key] for key in ("name", "schema", "encoding", "messages")] == ["/pose", "Pose", "json", 200]
    assert (raw["name"], raw["schema"], raw["messages"]) == ("/raw", "", 100)
    assert (pose["start_ns"], raw["end_ns"]) == (1_000_000_000, 3_990_000_000)
    assert entry["attachments"] == ["notes.txt"] and entry["metadata"] == ["site"]
    assert entry["tracks"] == entry["damage"] == []
    assert "topic /pose Pose (json): 200 messages" in sprocket("inspect", path).stdout.decode()
    torn = tmp_path / "torn.mcap"
    torn.write_bytes(path.read_bytes()[:6000])
    entry, = json.loads(sprocket("inspect", "--json", torn).stdout)
    assert 0 < entry["topics"][0]["messages"] < 200 and "cut off" in entry["damage"][0]
    torn.write_bytes(b"no mcap at all")
    result = sprocket("inspect", torn, check=False)
    assert result.returncode in (1, 2) and "torn.mcap" in one_sentence(result.errors)


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv", "mcap"])
def test_what_a_crash_left_is_recovered(tmp_path, ending):
    draw = random.Random(ending)
    for turn in range(int(3 * float(os.environ.get("SPROCKET_STRESS", "1")))):
        broken, out = tmp_path / f"a{turn}.partial.{ending}", tmp_path / f"b{turn}.{ending}"
        where = ["--dump", tmp_path / f"a{turn}.mcap"] if ending == "mcap" else [
            "--movie", tmp_path / f"a{turn}.{ending}", "--codec", "h264", "--audio-codec", "aac"]
        with running([SPROCKET, "run", "--source", "scene", "--size", "320x180", "--source-set", "flash=4",
                      "--microphone", "scene", "--quiet", *where]) as process:
            wait_for_bytes(broken, process, 50_000)
            time.sleep(1 + 1.5 * draw.random())  # Anywhere in a fragment.
            process.send_signal(signal.SIGKILL)
            process.wait()
        sprocket("recover", broken, out, "--quiet")
        if ending == "mcap":
            entry, = json.loads(sprocket("inspect", "--json", out).stdout)
            assert entry["tracks"][0]["count"] >= 20
            continue
        assert_decodes(out)
        ours, theirs = streams(out), streams(broken)
        assert int(ours["video"]["nb_read_frames"]) == int(theirs["video"]["nb_read_frames"]) >= 20
        assert len(samples(out)) == len(samples(broken)) > 30_000
        # A plain file: players find its end at once.
        assert float(probe(out, "-show_format")["format"]["duration"]) > 0.6
        heard = beeps(samples(out))
        assert np.abs(heard - heard.round())[1:].max(initial=0) < 0.001


# SPROCKET_MUTATIONS=500 for as many of each kind; the first seed is SPROCKET_SEED.
MUTATIONS = int(os.environ.get("SPROCKET_MUTATIONS", 12))


@pytest.mark.parametrize("kind", ["mov", "mcap", "foreign.mcap", "jpg", "wav"])
def test_bad_files_are_one_sentence(tmp_path, movie, kind):
    whole = tmp_path / f"whole.{kind}"
    if kind == "mov":
        shutil.copy(movie, whole)
    elif kind == "foreign.mcap":
        foreign(whole, CompressionType.LZ4)
    elif kind == "jpg":
        sprocket("run", "--source", "scene", "--source-set", "pace=fast", "--frames", 1, "--size", "320x180",
                 "--stills", whole, "--quiet")
    else:
        option = "--dump" if kind == "mcap" else "--sound"
        sprocket("run", "--source", "scene", "--source-set", "pace=fast", "--frames", 30, "--size", "160x120",
                 "--microphone", "scene", option, whole, "--quiet")
    data, ending = whole.read_bytes(), kind.split(".")[-1]
    target = {"jpg": "mp4", "mcap": "mcap"}.get(ending, ending)
    for turn in range(MUTATIONS):
        draw = random.Random(1000 * int(os.environ.get("SPROCKET_SEED", 16)) + turn)
        torn = bytearray(data[:draw.choice([len(data), draw.randrange(1, len(data))])])
        for _ in range(draw.choice([0, 1, 10, 1000])):
            torn[draw.randrange(len(torn))] = draw.randrange(256)
        path = tmp_path / f"torn.{ending}"
        path.write_bytes(torn)
        fast = ["--codec", "h264:preset=ultrafast"]
        for arguments in (["inspect", path], ["recover", path, tmp_path / f"r.{target}", "--overwrite"],
                          ["export", path, tmp_path / "e.mp4", "--overwrite", "--quiet", *fast]):
            result = sprocket(*arguments, check=False)
            assert result.returncode in (0, 1, 2), (turn, arguments, result.errors)
            assert result.returncode == 0 or "sprocket: " in result.errors


REFUSED = [
    (["in.mov"], "give a file to read and one to write"), (["in.mov", "in.mov"], "in.mov"),
    (["in.mov", "a.avi"], ".mov, .mp4, .mkv"), (["nosuch.mov", "a.mp4"], "There is no file nosuch.mov"),
    (["in.mov", "a.mp4", "--from", "5s", "--to", "2s"], "--to 2s is not after --from 5s"),
    (["in.mov", "in.mov", "a.mp4"], "not a folder"), (["in.mov", "a.mp4", "--copy"], "cannot hold pcm_s16le"),
    (["in.mov", "a.mp4", "--copy", "--scale", "10x"], "which --copy leaves"),
    (["in.mov", "a.mp4", "--copy", "--rate", "30"], "which --copy leaves"),
    (["in.mov", "a.mp4", "--rate", "0"], "frames per second"),
    (["in.mov", "a.mp4", "--target-size", "1M", "--codec", "av1"], "h264 or hevc"),
    (["in.mov", "a.mp4", "--target-size", "1M", "--codec", "h264:crf=3"], "leave out"),
    (["in.mov", "a.mp4", "--target-size", "1M", "--from", "1m"], "ends at 8.000 s"),
    (["in.mov", "a.mp4", "--rotate", "45"], "--rotate 45 is not"),
    (["in.mov", "a.mp4", "--codec", "xyz"], "no encoder"),
    (["in.mov", "a.mp4", "--crop", "0/0/9999/2"], "crop"), (["in.mov", "a.mp4", "--audio", "mp3"], "mp3"),
]


@pytest.mark.parametrize("arguments, words", REFUSED)
def test_a_wrong_export_is_one_sentence(tmp_path, movie, arguments, words):
    shutil.copy(movie, tmp_path / "in.mov")
    result = sprocket("export", *arguments, check=False, cwd=tmp_path)
    assert result.returncode in (1, 2) and words in one_sentence(result.errors)
    assert [path.name for path in tmp_path.iterdir()] == ["in.mov"]
    assert (tmp_path / "in.mov").read_bytes() == movie.read_bytes()


def foreign(path, compression, count=300):
    """An MCAP file of the mcap package: two channels, JSON and without a schema; attachments, metadata."""
    with path.open("wb") as file:
        writer = Writer(file, chunk_size=2000, compression=compression)
        writer.start(profile="x", library="other")
        schema = writer.register_schema("thing", "jsonschema", b'{"type":"object"}')
        one = writer.register_channel("/one", "json", schema, {"a": "b"})
        two = writer.register_channel("/two", "raw", 0)
        writer.add_attachment(1, 2, "note.txt", "text/plain", b"hello")
        writer.add_metadata("about", {"k": "v"})
        for number in range(count):
            data = json.dumps({"n": number, "pad": "x" * (number % 90)}).encode()
            writer.add_message(one if number % 3 else two, 1000 * number, data, 1000 * number + 5, number)
        writer.finish()


def contents(path):
    with path.open("rb") as file:
        reader = make_reader(file)
        messages = [(schema and schema.name, channel.topic, channel.message_encoding, dict(channel.metadata),
                     message.log_time, message.publish_time, message.sequence, message.data)
                    for schema, channel, message in reader.iter_messages(log_time_order=False)]
        attachments = [(item.name, item.media_type, item.data) for item in reader.iter_attachments()]
        metadata = [(item.name, item.metadata) for item in reader.iter_metadata()]
        return messages, attachments, metadata, reader.get_header().profile


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD])
def test_recover_keeps_all_of_an_mcap_of_any_writer(tmp_path, compression):
    whole, out = tmp_path / "whole.mcap", tmp_path / "out.mcap"
    foreign(whole, compression)
    sprocket("recover", whole, out)
    assert contents(out) == contents(whole)
    # Cut off: what lies in whole chunks is there, in order.
    data = whole.read_bytes()
    for part in (0.2, 0.3, 0.4):
        torn = tmp_path / "torn.mcap"
        torn.write_bytes(data[:int(len(data) * part)])
        told = sprocket("recover", torn, out, "--overwrite").errors
        found = contents(out)
        assert "cut off" in told and 0 < len(found[0]) < 300
        assert found[0] == contents(whole)[0][:len(found[0])] and found[1:] == contents(whole)[1:]
    # A damaged chunk alone is lost, whether its length is right or not.
    with whole.open("rb") as file:
        chunks = make_reader(file).get_summary().chunk_indexes
    assert len(chunks) > 5
    expected = contents(whole)[0]
    for place in (chunks[2].chunk_start_offset + 1, chunks[2].chunk_start_offset + 60):
        wrong = bytes(byte ^ 0x55 for byte in data[place:place + 20])
        torn.write_bytes(data[:place] + wrong + data[place + 20:])
        told = sprocket("recover", torn, out, "--overwrite").errors
        found = contents(out)[0]
        assert "damaged" in told and 200 < len(found) < 300 and all(one in expected for one in found)


@pytest.mark.parametrize("data, says", [(b"", "empty"), (b"\x89MCAP0\r\n", "nothing to recover")])
def test_recover_refuses_what_holds_nothing(tmp_path, data, says):
    (tmp_path / "a.mcap").write_bytes(data)
    failed = sprocket("recover", tmp_path / "a.mcap", tmp_path / "b.mcap", check=False)
    assert failed.returncode != 0 and one_sentence(failed.errors)
    assert not (tmp_path / "b.mcap").exists()


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory):
    """H.264 with reordered pictures, a key frame each 2 s, and AAC, as ffmpeg writes them."""
    path = tmp_path_factory.mktemp("ordinary") / "in.mp4"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=6", "-f",
         "lavfi", "-i", "sine=d=6", "-c:v", "libx264", "-bf", "3", "-g", "50", "-c:a", "aac", path],
        check=True, timeout=LIMIT)
    return path


def converted(path, out, *options):
    subprocess.run(["ffmpeg", "-v", "error", *options, "-i", path, "-c", "copy", out], check=True,
                   timeout=LIMIT)
    return out


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv"])
def test_a_copy_has_the_key_frame_that_an_edit_list_hides(tmp_path, ordinary, ending):
    edited = converted(ordinary, tmp_path / "edited.mp4", "-ss", "1")
    out = tmp_path / f"out.{ending}"
    sprocket("export", edited, out, "--copy", "--quiet")
    first = probe(out, "-select_streams", "v", "-show_entries", "packet=flags,pts_time")["packets"][0]
    assert first["flags"].startswith("K") and float(first["pts_time"]) == 0
    assert int(streams(out)["video"]["nb_read_frames"]) == 150
    assert_decodes(out)


@pytest.mark.parametrize("ending", ["mp4", "ts", "mkv"])
def test_a_copied_part_begins_at_the_last_key_frame(tmp_path, ordinary, ending):
    source = converted(ordinary, tmp_path / f"in.{ending}")
    out = tmp_path / "out.mp4"
    sprocket("export", source, out, "--copy", "--from", "2500ms", "--to", "4s", "--quiet")
    # From 2 s on; some that are shown after 4 s are needed for those before, and come with all between.
    shown = np.sort(times(out))
    assert 50 <= len(shown) <= 54 and np.ptp(np.diff(shown)) < 0.002
    assert json.loads(sprocket("inspect", "--json", out).stdout)[0]["tracks"][0]["gaps"] == 0
    failed = sprocket("export", source, tmp_path / "none.mp4", "--copy", "--from", "100s", check=False)
    assert failed.returncode == 2 and "nothing at 100s" in one_sentence(failed.errors)


def test_nothing_is_written_over_itself(tmp_path, ordinary):
    own = tmp_path / "own.mp4"
    shutil.copy(ordinary, own)
    for command in (["export", own, own, "--copy"], ["recover", own, own]):
        failed = sprocket(*command, "--overwrite", check=False)
        assert failed.returncode == 2 and "the same file" in one_sentence(failed.errors)
    assert own.read_bytes() == ordinary.read_bytes()


@pytest.mark.parametrize("kind", ["mov", "mp4", "mkv", "wav", "flac", "mcap", "foreign.mcap"])
def test_a_broken_file_gets_the_name_that_it_was_to_have(tmp_path, ordinary, kind):
    """As the documents say it: `recover take.partial.mov take.mov`. It is not touched."""
    is_foreign, kind = kind.startswith("foreign"), kind.split(".")[-1]
    broken, out = tmp_path / f"take.partial.{kind}", tmp_path / f"take.{kind}"
    if is_foreign:
        foreign(broken, CompressionType.LZ4)
    elif kind == "mcap":
        sprocket("run", "--source", "scene", "--source-set", "pace=fast", "--frames", 30, "--size", "160x120",
                 "--dump", broken, "--quiet")
    else:
        codecs = [] if kind in ("wav", "flac") else ["-c", "copy"]
        subprocess.run(["ffmpeg", "-v", "error", "-i", ordinary, *codecs, broken], check=True, timeout=LIMIT)
    data = broken.read_bytes()
    result = sprocket("recover", broken, out)
    assert "recovered" not in result.errors
    failed = sprocket("recover", broken, out, check=False)
    assert failed.returncode == 2 and "exists" in one_sentence(failed.errors)
    out.write_bytes(b"old")
    sprocket("recover", broken, out, "--overwrite", "--quiet")
    assert out.stat().st_size > 1000 and broken.read_bytes() == data
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([broken.name, out.name])
    out.unlink()
    # No other command destroys it either.
    for command in [["export", broken, out, "--overwrite"], ["export", broken, out, "--copy", "--overwrite"],
                    ["run", "--source", "none", "--microphone", f"file:{broken},from=1s", "--sound", out,
                     "--overwrite", "--duration", "1s"]]:
        failed = sprocket(*command, check=False)
        assert failed.returncode == 2 and one_sentence(failed.errors)
        assert broken.read_bytes() == data and not out.exists()
    where = {"wav": "--sound", "flac": "--sound", "mcap": "--dump"}.get(kind, "--movie")
    failed = sprocket("run", "--source", "scene", "--frames", 2, "--microphone", "scene", where, out,
                      check=False)
    assert failed.returncode == 2 and f"(sprocket recover {broken} NAME)" in one_sentence(failed.errors)


@pytest.mark.parametrize("one, other, says", [
    ("a.mcap", "b.mp4", "export a.mcap b.mp4"), ("a.mov", "b.mcap", "another ending"),
    ("a.mcap", "b.wav", "export a.mcap b.wav")])
def test_recover_changes_no_kind(tmp_path, one, other, says):
    (tmp_path / one).write_text("something")
    failed = sprocket("recover", one, other, check=False, cwd=tmp_path)
    assert failed.returncode == 2 and says in one_sentence(failed.errors)
    assert not (tmp_path / other).exists()


@pytest.mark.parametrize("kind", ["mov", "mp4", "mkv", "avi", "wav", "fragments"])
def test_a_file_that_is_cut_off_is_told(tmp_path, ordinary, kind):
    ending = {"fragments": "mp4"}.get(kind, kind)
    whole, cut, out = (tmp_path / f"{name}.{ending}" for name in ("whole", "cut", "out"))
    first = ["-c", "copy", "-movflags", "faststart"]
    options = {"mov": first, "mp4": first,
               "mkv": ["-c", "copy"], "avi": ["-c:v", "mjpeg"],
               "fragments": ["-c", "copy", "-movflags", "frag_keyframe+empty_moov"]}.get(kind, [])
    subprocess.run(["ffmpeg", "-v", "error", "-i", ordinary, *options, whole], check=True, timeout=LIMIT)
    entry, = json.loads(sprocket("inspect", "--json", whole).stdout)
    assert entry["damage"] == []
    data = whole.read_bytes()
    cut.write_bytes(data[:len(data) * 2 // 3])
    lacks = len(data) - len(data) * 2 // 3
    entry, = json.loads(sprocket("inspect", "--json", cut).stdout)
    damage, = entry["damage"]
    missing = int(re.fullmatch(r"(\d+) bytes are missing at its end", damage)[1])
    # Fragments tell of themselves alone.
    assert 0 < missing < lacks if kind == "fragments" else abs(missing - lacks) <= 1
    if kind not in ("avi", "wav"):  # Which recover does not write, or writes as sound.
        result = sprocket("recover", cut, out)
        assert f"{cut}: {damage}" in result.errors
        assert_decodes(out)
        # Less than ffmpeg finds, which hands on the packet that is cut in two.
        assert int(streams(out)["video"]["nb_read_frames"]) > 50
    if kind != "wav":
        result = sprocket("export", cut, tmp_path / "new.mp4")
        assert f"cut.{ending} is cut off: {damage}" in result.errors
        assert_decodes(tmp_path / "new.mp4")


def test_flac_of_decoded_sound_is_the_nearest_24_bits(tmp_path, ordinary):
    for out, options in ((tmp_path / "a.flac", []), (tmp_path / "a.mp4", ["--audio", "flac"])):
        sprocket("export", ordinary, out, *options, "--quiet")
        decoded = [np.frombuffer(subprocess.run(
            ["ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-f", "f64le", "-"], capture_output=True,
            check=True, timeout=LIMIT).stdout, "<f8") for path in (out, ordinary)]
        count = min(map(len, decoded))
        assert count > 5 * 44_100
        assert np.abs(decoded[0][:count] - decoded[1][:count]).max() <= 2.0 ** -24
        assert streams(out)["audio"]["bits_per_raw_sample"] == "24"


def test_upright_pixels_have_the_size_that_is_asked_for(tmp_path, ordinary):
    oblong, out = tmp_path / "oblong.mp4", tmp_path / "out.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-i", ordinary, "-c:v", "libx264", "-vf", "setsar=12/11", "-t",
                    "1", oblong], check=True, timeout=LIMIT)
    sprocket("export", oblong, out, "--upright", "--aspect", "1:1", "--scale", "80x", "--quiet")
    found = streams(out)["video"]
    assert (found["width"], found["height"]) == (80, 80)
    assert found.get("sample_aspect_ratio", "1:1") in ("1:1", "N/A")


def test_a_folder_of_movies_is_a_batch(tmp_path, ordinary):
    for folder in ("in", "out"):
        (tmp_path / folder).mkdir()
    for name in ("a.mp4", "b.mov", "c.partial.mp4", "notes.txt", ".d.mp4"):
        shutil.copy(ordinary, tmp_path / "in" / name)
    sprocket("export", tmp_path / "in", tmp_path / "out", "--to", "1s", "--codec", "h264:preset=ultrafast",
             "--quiet")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.mp4", "b.mp4"]
    listed = json.loads(sprocket("inspect", "--json", tmp_path / "in").stdout)
    assert [entry["file"] for entry in listed] == [
        str(tmp_path / "in" / name) for name in ("a.mp4", "b.mov", "c.partial.mp4")]


@pytest.mark.parametrize("size, most", [("200kB", 200_000), ("200K", 204_800), ("0.2MB", 200_000)])
def test_sizes_have_units(tmp_path, ordinary, size, most):
    result = sprocket("export", ordinary, tmp_path / "a.mp4", "--target-size", size, "--to", "3s", "--codec",
                      "h264:preset=ultrafast")
    assert 0.9 * most < (tmp_path / "a.mp4").stat().st_size < 1.05 * most
    assert "pass 1 of 2" in result.errors and "left out" not in result.errors


def test_a_size_is_a_limit_in_a_batch_too(tmp_path, ordinary):
    for name in ("a.mp4", "b.mp4"):
        shutil.copy(ordinary, tmp_path / name)
    (tmp_path / "out").mkdir()
    sprocket("export", tmp_path / "a.mp4", tmp_path / "b.mp4", tmp_path / "out", "--target-size", "90K",
             "--codec", "h264:preset=ultrafast", "--scale", "160x", "--quiet")
    for made in (tmp_path / "out").iterdir():
        assert 0.9 < made.stat().st_size / (90 << 10) <= 1


@pytest.mark.parametrize("options, size", [([], (96, 64)), (["--scale", "48x"], (48, 32)),
                                           (["--scale", "40x40", "--aspect", "1:1"], (40, 40))])
def test_unlike_photographs_are_one_film(tmp_path, options, size):
    """Sizes, chroma, kinds of files and the way up differ. The first decides; others are fitted into it."""
    folder = tmp_path / "shots"
    folder.mkdir()
    for name, made, colour in [("1.jpg", "96x64", "yuvj444p"), ("2.jpg", "64x96", "yuvj420p"),
                               ("3.png", "80x20", "rgb24"), ("4.jpg", "64x96", "yuvj422p"),
                               ("5.png", "30x30", "gray")]:
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"color=white:s={made}", "-frames:v",
                        "1", "-pix_fmt", colour, folder / name], check=True)
    subprocess.run(["exiftool", "-q", "-overwrite_original", "-n", "-Orientation=6", folder / "2.jpg"],
                   check=True)
    for path in list(folder.iterdir()):
        shutil.copy(path, folder / f"1{path.name}")
    (tmp_path / "film-2.mp4").write_text("kept")
    sprocket("export", folder, tmp_path / "film.mp4", "--rate", 5, "--quiet", "--overwrite", *options)
    found = streams(tmp_path / "film.mp4")["video"]
    assert (found["width"], found["height"]) == size and int(found["nb_read_frames"]) == 10
    assert (tmp_path / "film-2.mp4").read_text() == "kept"
    assert_decodes(tmp_path / "film.mp4")
    means = planes(tmp_path / "film.mp4").mean(axis=(1, 2))
    # 2.jpg, turned, fills the picture; 3.png is a strip, 4.jpg a third, with grey beside them.
    if not options:
        expected = [255, 255, *(114 + 141 * part for part in (24 / 64, 43 / 96, 64 / 96))]
        assert np.abs(means - expected * 2).max() < 4


def test_movies_among_photographs_are_named(tmp_path, ordinary):
    folder = tmp_path / "camera"
    folder.mkdir()
    PIL.Image.new("RGB", (64, 48), "grey").save(folder / "1.jpg")
    (folder / "readme.txt").write_text("x")
    for given in [folder, f"{folder}/*"]:
        result = sprocket("export", given, tmp_path / "film.mp4", "--overwrite")
        assert f"left out of {given}, by the names no pictures: 1 file" in result.errors
    shutil.copy(ordinary, folder / "clip.mp4")
    for given in [folder, f"{folder}/*"]:
        result = sprocket("export", given, tmp_path / "other.mp4", check=False)
        assert result.returncode == 2 and "has pictures and movies" in one_sentence(result.errors)
        run = sprocket("run", "--source", f"file:{given}", "--null")
        assert "produced 1 frames" in run.errors and "no pictures: 2 files" in run.errors
    sprocket("export", f"{folder}/*.jpg", tmp_path / "other.mp4")
    assert int(streams(tmp_path / "other.mp4")["video"]["nb_read_frames"]) == 1


def test_a_pattern_of_movies_is_a_batch(tmp_path, ordinary):
    """It is what the shell makes of it; not a film of their first pictures."""
    for name in ["a1.mp4", "a2.mp4", "partial.mp4"]:
        shutil.copy(ordinary, tmp_path / name)
    (tmp_path / "a2.txt").write_text("x")
    (tmp_path / "a3.wmv").write_text("x")
    (tmp_path / "out").mkdir()
    for given, names in [("a*.mp4", {"a1.mp4", "a2.mp4"}), ("*.mp4", {"a1.mp4", "a2.mp4", "partial.mp4"}),
                         ("a[12].*", {"a1.mp4", "a2.mp4"})]:
        sprocket("export", given, "out", cwd=tmp_path)
        assert {path.name for path in (tmp_path / "out").iterdir()} == names
        for path in (tmp_path / "out").iterdir():
            assert len(times(path)) == len(times(ordinary))
            path.unlink()
    for given in ["a*.mp4", "a*.wmv", "a%d.mp4", "a2.*"]:
        result = sprocket("run", "--source", f"file:{given}", "--null", cwd=tmp_path, check=False)
        assert result.returncode and "matches movies or sound, and no pictures" in one_sentence(result.errors)
    PIL.Image.new("RGB", (64, 48), "grey").save(tmp_path / "1.png")
    (tmp_path / "b.wav").write_text("x")
    for given, sentence in [("*.png", "one film, which needs a name"), ("*.wav", "matches nothing that is")]:
        result = sprocket("export", given, "out/", cwd=tmp_path, check=False)
        assert result.returncode and sentence in one_sentence(result.errors)


def test_a_rate_is_that_of_a_stream_without_times(tmp_path):
    film = tmp_path / "in.mjpeg"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=10:d=1", "-c:v",
                    "mjpeg", film], check=True)
    result = sprocket("export", film, tmp_path / "out.mp4", "--rate", 10)
    assert times(tmp_path / "out.mp4") == pytest.approx([index / 10 for index in range(10)], abs=0.001)
    assert "left out" not in result.errors and "assumed" not in result.errors


def test_tags_of_sound_are_kept_and_a_cut_is_told(tmp_path):
    tags = {"title": "Aria", "artist": "Bird", "date": "2024"}
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=d=2:r=48000",
                    *[word for name, value in tags.items() for word in ("-metadata", f"{name}={value}")],
                    tmp_path / "in.flac"], check=True)
    for name in ["out.flac", "out.wav", "plain.wav"]:
        sprocket("export", tmp_path / ("out.wav" if name == "plain.wav" else "in.flac"), tmp_path / name)
        found = probe(tmp_path / name, "-show_format")["format"]["tags"]
        found = {key.lower(): value for key, value in found.items()}
        assert {key: found.get(key) for key in tags} == tags
    whole = (tmp_path / "out.wav").read_bytes()
    (tmp_path / "cut.wav").write_bytes(whole[:len(whole) // 2])
    result = sprocket("export", tmp_path / "cut.wav", tmp_path / "cut.flac")
    assert re.search(r"cut.wav is cut off: \d+ bytes are missing", result.errors)


def test_one_of_several_films_is_exported(tmp_path):
    both = tmp_path / "both.mkv"
    films = [word for size, seconds in (("64x48", 1), ("32x48", 3))
             for word in ("-f", "lavfi", "-i", f"color=white:s={size}:r=10:d={seconds}")]
    subprocess.run(["ffmpeg", "-v", "error", *films, "-map", "0", "-map", "1", both], check=True)
    for number, width in [(0, 64), (1, 32)]:
        sprocket("export", both, tmp_path / f"{number}.mp4", "--stream", number)
        assert streams(tmp_path / f"{number}.mp4")["video"]["width"] == width
    # The first film has no such part.
    sprocket("export", both, tmp_path / "part.mp4", "--stream", 1, "--from", "1.5s", "--target-size", "50K")
    assert int(streams(tmp_path / "part.mp4")["video"]["nb_read_frames"]) == 15
    for more in [["--stream", 7], ["--stream", "left"], ["--stream", 1, "--copy"]]:
        result = sprocket("export", both, tmp_path / "none.mp4", *more, check=False)
        assert result.returncode and "stream" in one_sentence(result.errors)
        assert not (tmp_path / "none.mp4").exists()


def test_a_movie_that_is_shown_turned_says_so(tmp_path, ordinary):
    turned = tmp_path / "turned.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-i", ordinary, "-c", "copy", "-metadata:s:v", "rotate=90",
                    turned], check=True)
    entry = json.loads(sprocket("inspect", "--json", turned).stdout)[0]["tracks"][0]
    assert entry["orientation"] in (6, 8)
    assert b"shown turned by" in sprocket("inspect", turned).stdout
    for more, isTold in [([], True), (["--upright"], False)]:
        result = sprocket("export", turned, tmp_path / "part.mp4", "--aspect", "1:1", "--to", "500ms",
                          "--overwrite", *more)
        assert ("add --upright" in result.errors) == isTold


def test_an_export_that_is_stopped_replaces_nothing(tmp_path, movie):
    old = tmp_path / "old.mp4"
    sprocket("export", movie, old, "--to", "1s", "--quiet")
    kept = old.read_bytes()
    process = subprocess.Popen(
        [SPROCKET, "export", movie, old, "--overwrite", "--codec", "h264:preset=slower", "--scale", "960x"],
        stderr=subprocess.PIPE)
    partial = tmp_path / "old.partial.mp4"
    wait_for_bytes(partial, process, 2000)  # More than the header: the run has begun.
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=LIMIT)[1].decode()
    assert process.returncode == 1 and "old.mp4 is as it was" in errors
    assert old.read_bytes() == kept and partial.exists()


def test_a_full_disk_is_told_while_copying(tmp_path, ordinary):
    failed = subprocess.run(
        ["bash", "-c", f"ulimit -f 20; {SPROCKET} export {ordinary} {tmp_path}/a.mp4 --copy"],
        capture_output=True, text=True, timeout=LIMIT)
    assert failed.returncode == 1 and "ulimit -f" in one_sentence(failed.stderr)


@pytest.mark.parametrize("name", ["folder", "a.bmp", "a"])
def test_a_thumbnail_is_a_picture_and_nothing_else_is_removed(tmp_path, ordinary, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/still-00000001.jpg").write_text("kept")
    failed = sprocket("inspect", ordinary, "--thumbnail", tmp_path / name, "--overwrite", check=False)
    assert failed.returncode == 2 and "not the name of a picture" in one_sentence(failed.errors)
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["still-00000001.jpg"]


@pytest.mark.parametrize("options, says", [
    (["a.mov", "--codec", "mjpeg:crf=3"], "mjpeg has no crf"),
    (["a.mov", "--codec", "mjpeg:bitrate=1M"], "mjpeg has no bitrate"),
    (["a.mov", "--codec", "h264:quality=20"], "h264 has crf, lower is better: crf=20 (--codec)"),
    (["a.mov", "--codec", "x264"], "did you mean h264"),
    (["a.mov", "--fps", "30"], "write --rate 30"), (["a.mov", "--size", "2x2"], "write --scale 640x480"),
    (["a.mov", "--duration", "2s"], "write --to 10s"), (["a.mov", "--crf", "2"], "h264:crf=20"),
    (["a.mov", "--target-size", "500000"], "10MB (of 1000)"), (["a.mov", "--target-size", "5X"], "512M"),
])
def test_what_would_be_ignored_is_refused(tmp_path, ordinary, options, says):
    failed = sprocket("export", ordinary, *options, check=False, cwd=tmp_path)
    assert failed.returncode == 2 and says in one_sentence(failed.errors)
    assert not list(tmp_path.iterdir())


def refused(*arguments, says, cwd, status=2):
    failed = sprocket(*arguments, check=False, cwd=cwd)
    assert failed.returncode == status and says in one_sentence(failed.errors), failed.errors


@pytest.mark.parametrize("options", [[], ["--copy"]])
def test_a_batch_writes_over_no_input_of_another(tmp_path, ordinary, options):
    for name in ("a/x.mov", "c/x.partial.mp4", "b/1.mov", "c/1.mp4"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ordinary, tmp_path / name)
    (tmp_path / "l").mkdir()
    (tmp_path / "l/z1.mp4").symlink_to("../c/1.mp4")
    if options:  # Which keep the ending.
        (tmp_path / "b/1.mov").rename(tmp_path / "b/1.mp4")
        (tmp_path / "a/x.mov").rename(tmp_path / "a/x.mp4")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.m*") if path.is_file()}
    for inputs in (["a", "c/x.partial.mp4"], ["b", "l"]):
        refused("export", *inputs, "c", "--overwrite", *options, says="choose another folder", cwd=tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.m*") if path.is_file()} == before


def test_what_is_still_recorded_is_not_given_its_name(tmp_path):
    broken = tmp_path / "a.partial.mov"
    with running([SPROCKET, "run", "--source", "scene", "--size", "160x120", "--movie", tmp_path / "a.mov",
                  "--quiet"]) as process:
        wait_for_bytes(broken, process, 20_000)
        for options in ([], ["--overwrite"]):
            refused("recover", broken, tmp_path / "a.mov", *options, says="still being written", cwd=tmp_path)
        sprocket("recover", broken, tmp_path / "b.mov", "--quiet")  # A look at it is allowed.
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 0
    assert (tmp_path / "a.mov").exists() and not broken.exists()


def test_recover_replaces_what_is_named_alone(tmp_path, ordinary):
    broken, out = tmp_path / "take.partial.mov", tmp_path / "take.mov"
    converted(ordinary, broken)
    others = [tmp_path / name for name in ("take.recovered.mov", "take.recovered-2.partial.mov")]
    for path in (out, *others):
        path.write_bytes(b"old")
    out.chmod(0o600)
    sprocket("recover", broken, out, "--overwrite", "--quiet")
    assert [path.read_bytes() for path in others] == [b"old"] * 2
    assert out.stat().st_mode & 0o777 == 0o600 and out.stat().st_size > 1000
    link = tmp_path / "elsewhere/link.mov"
    link.parent.mkdir()
    link.symlink_to(out)
    sprocket("recover", broken, link, "--overwrite", "--quiet")
    assert link.is_symlink() and [path.name for path in link.parent.iterdir()] == ["link.mov"]
    assert len(list(tmp_path.iterdir())) == 5


def test_two_passes_keep_what_a_crash_left(tmp_path, ordinary):
    (tmp_path / "o.partial.mp4").write_bytes(b"precious")
    refused("export", ordinary, "o.mp4", "--target-size", "100K", says="move it away", cwd=tmp_path)
    assert (tmp_path / "o.partial.mp4").read_bytes() == b"precious"


@pytest.mark.parametrize("kind", ["wav", "size"])
def test_what_is_stopped_is_not_called_whole(tmp_path, movie, kind):
    if kind == "wav":
        broken, out = tmp_path / "big.partial.wav", tmp_path / "big.wav"
        with broken.open("wb") as file:
            subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "anullsrc=r=192000:cl=7.1", "-t",
                            "300", "-f", "wav", "-"], stdout=file, check=True, timeout=LIMIT)
        command = ["recover", broken, out, "--overwrite"]
        out.write_bytes(b"old")
    else:
        out = tmp_path / "out.mp4"
        command = ["export", movie, out, "--target-size", "1M", "--codec", "h264:preset=placebo", "--scale",
                   "1280x"]
    with running([SPROCKET, *command]) as process:
        if kind == "wav":
            wait_for(lambda: list(tmp_path.glob("big.recovered*")), process, pause=0.01)
        else:
            assert b"pass 1" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=LIMIT)
    assert process.returncode == 1 and b"stopped" in said
    assert out.read_bytes() == b"old" if kind == "wav" else not list(tmp_path.iterdir())


def wav(path, riff, data, samples=88_200):
    """A WAV of two channels and a ramp, whose header says those lengths."""
    ramp = np.arange(2 * samples, dtype="<u2").tobytes()
    head = b"RIFF" + riff.to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
    head += b"\1\0\2\0" + (44_100).to_bytes(4, "little") + (176_400).to_bytes(4, "little") + b"\4\0\20\0"
    path.write_bytes(head + b"data" + data.to_bytes(4, "little") + ramp)
    return path


@pytest.mark.parametrize("riff, data", [(0x7FFFF024, 0x7FFFF000), (0x80000024, 0x80000000), (0xFFFFFFFF,) * 2,
                                        (352_844, 352_800), (352_836, 352_800)])
def test_a_whole_wav_is_whole_whatever_its_header_says(tmp_path, riff, data):
    path, out = wav(tmp_path / "a.wav", riff, data), tmp_path / "a.mkv"
    entry, = json.loads(sprocket("inspect", "--json", path).stdout)
    assert entry["damage"] == []
    sprocket("recover", path, out, "--quiet")
    assert len(samples(out)) == 88_200


def test_whole_samples_of_a_torn_wav_are_kept(tmp_path):
    path, out = wav(tmp_path / "a.wav", 352_836, 352_800), tmp_path / "a.mkv"
    path.write_bytes(path.read_bytes()[:-102])
    sprocket("recover", path, out, "--quiet")
    assert len(samples(out)) == 88_200 - 26


@pytest.mark.parametrize("tail", [b"hello this is text", b"TAGMy Title" + bytes(117), b"PK\3\4xxxxxxxxxxxx"])
def test_what_stands_behind_a_movie_does_not_make_it_cut_off(tmp_path, ordinary, tail):
    path = tmp_path / "a.mp4"
    path.write_bytes(ordinary.read_bytes() + tail)
    entry, = json.loads(sprocket("inspect", "--json", path).stdout)
    assert entry["damage"] == []


def test_a_folder_with_sound_beside_the_movies_is_exported(tmp_path, ordinary):
    for name in ("in", "out", "copies"):
        (tmp_path / name).mkdir()
    shutil.copy(ordinary, tmp_path / "in/a.mp4")
    wav(tmp_path / "in/a.wav", 352_836, 352_800)
    sprocket("run", "--source", "scene", "--source-set", "pace=fast", "--frames", 5, "--size", "64x48",
             "--dump", tmp_path / "in/d.mcap", "--quiet")
    sprocket("export", tmp_path / "in", tmp_path / "out", "--codec", "h264:preset=ultrafast", "--quiet")
    sprocket("export", tmp_path / "in", tmp_path / "copies", "--copy", "--quiet")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.mp4", "d.mp4"]
    assert [path.name for path in (tmp_path / "copies").iterdir()] == ["a.mp4"]


@pytest.mark.parametrize("kind", ["wav", "mcap", "mp4"])
def test_names_may_begin_with_a_hyphen(tmp_path, ordinary, kind):
    if kind == "wav":
        wav(tmp_path / "-x.partial.wav", 352_836, 352_800)
    elif kind == "mcap":
        sprocket("run", "--source", "scene", "--source-set", "pace=fast", "--frames", 5, "--size", "64x48",
                 "--dump", tmp_path / "-x.partial.mcap", "--quiet")
    else:
        shutil.copy(ordinary, tmp_path / "-x.partial.mp4")
    sprocket("recover", "--quiet", "--", f"-x.partial.{kind}", f"-x.{kind}", cwd=tmp_path)
    if kind == "mp4":
        sprocket("export", "--quiet", "--", "-x.mp4", "-y.mp4", cwd=tmp_path)
    assert (tmp_path / f"-x.{kind}").stat().st_size > 1000
