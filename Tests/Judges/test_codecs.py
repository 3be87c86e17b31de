"""Movies that are encoded: what ffprobe, ffmpeg and GStreamer find in them, and what they show.

Without `samples=same` chroma is 4:2:0; the scene's is, so that nothing but the encoder changes pictures.
"""
import itertools
import json
import re
import shutil
import subprocess
import time

import numpy as np
import pytest

from program import (DATA, LIMIT, SPROCKET, one_sentence, read_lines, read_summary, running, sprocket,
                     wait_for_bytes)
from test_sound import assert_balanced, beeps, brightness, offsets, samples

FRAMES, RATE, SIZE = 75, 30, (320, 180)
SCENE = ["--source", "scene", "--size", "320x180", "--rate", RATE, "--frames", FRAMES, "--quiet"]
VIDEO = {"mp4": ["h264", "hevc", "av1", "mjpeg"], "mov": ["h264", "hevc", "mjpeg"],
         "mkv": ["h264", "hevc", "av1", "mjpeg"]}
SOUND = {"mp4": ["aac", "opus", "flac"], "mov": ["pcm", "aac"], "mkv": ["pcm", "aac", "opus", "flac"]}
PAIRS = [(ending, video, sound) for ending in VIDEO
         for video, sound in itertools.product(VIDEO[ending], SOUND[ending])]


def probe(path, *options):
    text = subprocess.run(["ffprobe", "-v", "error", "-of", "json", *options, path], capture_output=True,
                          check=True, timeout=LIMIT).stdout
    return json.loads(text)


def streams(path):
    found = probe(path, "-count_frames", "-show_streams", "-show_format")
    return {stream["codec_type"]: stream for stream in found["streams"]}


def times(path):
    """When pictures are shown, in seconds, in that order."""
    packets = probe(path, "-select_streams", "v", "-show_entries", "packet=pts_time")["packets"]
    return np.sort([float(packet["pts_time"]) for packet in packets])


def assert_decodes(path):
    """ffmpeg decodes it to the end and says nothing, but that stereo PCM of MKV has no layout."""
    result = subprocess.run(["ffmpeg", "-v", "warning", "-i", path, "-f", "null", "-"], capture_output=True,
                            text=True, timeout=LIMIT)
    said = [line for line in result.stderr.splitlines() if "Guessed Channel Layout" not in line]
    assert result.returncode == 0 and not said


def captured(reports):
    """When the frames were captured that came, in seconds from the first."""
    found = np.array([line["captured_ns"] for line in read_lines(reports) if line["fate"] == "delivered"])
    return (found - found[0]) / 1e9


def ssim(path, *reference):
    """Of the movie to another input of ffmpeg, all planes, the mean over all pictures."""
    said = subprocess.run(
        ["ffmpeg", "-v", "info", "-i", path, *map(str, reference), "-lavfi",
         "[0:v]settb=1/30,setpts=N[a];[1:v]settb=1/30,setpts=N[b];[a][b]ssim", "-fps_mode", "passthrough",
         "-f", "null", "-"], capture_output=True, text=True, check=True, timeout=LIMIT).stderr
    return float(re.findall(r"SSIM .*All:([0-9.]+)", said)[0])


@pytest.mark.parametrize("ending, video, sound", PAIRS)
def test_a_movie_is_what_others_read(tmp_path, ending, video, sound):
    movie, reports = tmp_path / f"a.{ending}", tmp_path / "reports.jsonl"
    sprocket("run", *SCENE, "--microphone", "scene", "--movie", movie, "--codec", video, "--audio-codec",
             sound, "--reports", reports, "--stage", "latedrop", "--source-set", "drop=0.1")
    due = captured(reports)
    length = due[-1] + 1 / RATE
    found = streams(movie)
    pictures, heard = found["video"], found["audio"]
    assert pictures["codec_name"] == video and int(pictures["nb_read_frames"]) == len(due)
    assert (pictures["width"], pictures["height"]) == SIZE and pictures["color_range"] == "pc"
    assert heard["codec_name"] == ("pcm_s16le" if sound == "pcm" else sound)
    assert (heard["sample_rate"], heard["channels"]) == ("48000", 2)
    assert_decodes(movie)
    tick = 0.001 if ending == "mkv" else 1 / 90000
    shown = times(movie)
    assert FRAMES * 0.6 < len(due) < FRAMES
    assert len(shown) == len(due) and np.abs(shown - due).max() <= tick
    if ending != "mkv":
        assert float(pictures["duration"]) == pytest.approx(length, abs=0.001)
        assert float(heard["duration"]) == pytest.approx(length, abs=0.001)
    # Encoders fill the last packet.
    assert -1 <= len(samples(movie)) - length * 48000 < 1024


@pytest.mark.parametrize("ending, sound", [(ending, sound) for ending in SOUND for sound in SOUND[ending]])
def test_sound_is_in_step(tmp_path, ending, sound):
    movie = tmp_path / f"a.{ending}"
    sprocket("run", "--source", "scene", "--size", "160x120", "--rate", RATE, "--source-set", "flash=4",
             "--source-set", "pan=0", "--source-set", "shake=0", "--frames", 180, "--quiet", "--microphone",
             "scene", "--movie", movie, "--codec", "h264", "--audio-codec", sound, "--summary",
             tmp_path / "summary.json")
    found = offsets(movie)
    # AAC fades in at the file's beginning.
    assert len(found) == 6 and np.abs(found[1:]).max() < 0.0005 and abs(found[0]) < 0.012
    # Each beep is where it is to the sample; encoders blur its beginning.
    apart = np.diff(beeps(samples(movie))[1:])
    assert np.abs(apart - 1).max() < 0.001
    assert_balanced(read_summary(tmp_path / "summary.json"))


def test_flac_in_a_movie_is_the_sound_bit_for_bit(tmp_path):
    sprocket("run", *SCENE, "--microphone", "scene", "--movie", tmp_path / "a.mkv", "--codec", "h264",
             "--audio-codec", "flac", "--sound", tmp_path / "a.wav")
    found = samples(tmp_path / "a.mkv")
    assert np.array_equal(found, samples(tmp_path / "a.wav")[:len(found)]) and len(found) == 120_000


@pytest.mark.parametrize("sound, most", [("aac", 8), ("opus", 2), ("flac", 8)])
def test_channels_stay_where_they_are(tmp_path, sound, most):
    for channels in range(1, most + 1):
        path = tmp_path / f"{channels}.mkv"
        sprocket("run", *SCENE, "--microphone", f"scene:channels={channels}", "--movie", path,
                 "--audio-codec", sound, "--sound", tmp_path / "a.wav", "--overwrite")
        assert streams(path)["audio"]["channels"] == channels
        ours, theirs = samples(path, channels=channels), samples(tmp_path / "a.wav", channels=channels)
        # Noise differs from channel to channel, and is between the beeps.
        part = slice(24_000, 46_000)
        alike = np.corrcoef(ours[part].T, theirs[part].T)[:channels, channels:]
        assert (alike.argmax(axis=1) == np.arange(channels)).all(), alike


def test_a_rate_that_the_codec_has_not_is_resampled(tmp_path):
    sprocket("run", *SCENE, "--microphone", "scene:rate=44100", "--movie", tmp_path / "a.mkv",
             "--audio-codec", "opus")
    sprocket("run", *SCENE, "--microphone", "scene:rate=192000", "--movie", tmp_path / "a.mp4")
    assert streams(tmp_path / "a.mkv")["audio"]["sample_rate"] == "48000"
    assert streams(tmp_path / "a.mp4")["audio"]["sample_rate"] == "96000"


@pytest.mark.parametrize("preset", ["veryfast", "medium"])
def test_pictures_are_as_good_as_ffmpegs(tmp_path, preset):
    clip = DATA / "generic/carphone_pristine.mp4"
    if not clip.exists():
        pytest.skip("no test data")
    ours, theirs = tmp_path / "ours.mkv", tmp_path / "theirs.mkv"
    sprocket("run", "--source", f"file:{clip}", "--frames", 150, "--movie", ours, "--codec",
             f"h264:preset={preset},keyframes=10s", "--microphone", "none", "--quiet")
    subprocess.run(["ffmpeg", "-v", "error", "-i", clip, "-frames:v", "150", "-an", "-c:v", "libx264",
                    "-preset", preset, "-fps_mode", "passthrough", theirs], check=True, timeout=LIMIT)
    quality = [ssim(path, "-i", clip) for path in (ours, theirs)]
    assert abs(quality[0] - quality[1]) < 0.001, quality
    assert abs(ours.stat().st_size / theirs.stat().st_size - 1) < 0.02


def test_live_pictures_refer_to_no_later_one(tmp_path):
    movie = tmp_path / "a.mp4"
    sprocket("run", "--source", "scene", "--size", "320x180", "--duration", "3s", "--movie", movie, "--codec",
             "h264", "--quiet", "--source-set", "pace=real")
    packets = probe(movie, "-select_streams", "v", "-show_entries", "packet=pts,dts,flags")["packets"]
    assert all(packet["pts"] == packet["dts"] for packet in packets)
    keys = np.flatnonzero([packet["flags"].startswith("K") for packet in packets])
    assert keys[0] == 0 and np.diff(keys).max() <= 30


def test_bits_per_second_are_met(tmp_path):
    movie = tmp_path / "a.mp4"
    sprocket("run", "--source", "scene", "--size", "640x360", "--frames", 300, "--movie", movie, "--codec",
             "h264:bitrate=1M", "--quiet", "--microphone", "none")
    assert 0.7e6 < movie.stat().st_size * 8 / 10 < 1.3e6


def test_gray_pictures_are_gray(tmp_path):
    movie = tmp_path / "a.mp4"
    sprocket("run", *SCENE, "--format", "GREY", "--movie", movie, "--codec", "h264:crf=5", "--checksums",
             tmp_path / "sums", check=False)
    raw = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", movie, "-pix_fmt", "yuvj420p", "-f", "rawvideo", "-"],
        capture_output=True, check=True, timeout=LIMIT).stdout
    planes = np.frombuffer(raw, "u1").reshape(FRAMES, -1)
    assert np.abs(planes[:, 320 * 180:].astype(int) - 128).max() <= 1


@pytest.mark.parametrize("size", ["321x181", "320x181", "321x180"])
def test_odd_sizes_lose_a_column_or_row(tmp_path, size):
    movie = tmp_path / "a.mp4"
    said = sprocket("run", "--source", "scene", "--size", size, "--frames", 20, "--movie", movie, "--codec",
                    "h264").errors
    pictures = streams(movie)["video"]
    assert (pictures["width"], pictures["height"]) == SIZE and "even sizes" in said
    assert_decodes(movie)


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv"])
def test_recordings_that_are_asked_for_are_whole(tmp_path, ending):
    (tmp_path / "script").write_text(f"""
        {{"request":"record","path":"a.{ending}","at_frame":100}}
        {{"request":"next","at_frame":130}}
        {{"request":"stop","at_frame":160}}""")
    sprocket("run", "--source", "scene", "--size", "320x180", "--rate", RATE, "--frames", 300, "--source-set",
             "pace=fast", "--microphone", "scene", "--movie", tmp_path / f"m.{ending}", "--codec", "h264",
             "--on-demand", "--script", tmp_path / "script", "--quiet", cwd=tmp_path)
    for name, frames in ((f"a.{ending}", 30), (f"a-2.{ending}", 30)):
        assert int(streams(tmp_path / name)["video"]["nb_read_frames"]) == frames
        assert_decodes(tmp_path / name)


def test_a_pre_roll_is_encoded(tmp_path):
    (tmp_path / "script").write_text("""
        {"request":"record","path":"a.mp4","at_frame":100}
        {"request":"stop","at_frame":160}""")
    sprocket("run", "--source", "scene", "--size", "320x180", "--rate", RATE, "--frames", 300, "--source-set",
             "pace=fast", "--movie", tmp_path / "m.mp4", "--codec", "h264:crf=12", "--on-demand",
             "--pre-roll", "1s", "--script", tmp_path / "script", "--quiet", cwd=tmp_path)
    assert int(streams(tmp_path / "a.mp4")["video"]["nb_read_frames"]) == 90
    sprocket("run", "--source", "scene", "--size", "320x180", "--rate", RATE, "--frames", 160, "--source-set",
             "pace=fast", "--movie", tmp_path / "all.mov", "--quality", 97, "--microphone", "none", "--quiet")
    assert ssim(tmp_path / "a.mp4", "-ss", 70 / 30 - 0.001, "-i", tmp_path / "all.mov") > 0.97


def test_a_killed_recording_plays_to_its_last_fragment(tmp_path):
    for ending in ("mp4", "mov", "mkv"):
        movie = tmp_path / f"a.{ending}"
        with running([SPROCKET, "run", "--source", "scene", "--size", "320x180", "--movie", movie, "--codec",
                      "h264", "--microphone", "scene", "--quiet"]) as process:
            partial = tmp_path / f"a.partial.{ending}"
            wait_for_bytes(partial, process, 60_000)
            time.sleep(1)  # Into the next fragment.
            process.kill()
            process.wait()
        frames = int(streams(partial)["video"]["nb_read_frames"])
        assert frames >= 25 and abs(len(samples(partial)) / 48000 - frames / 30) < 0.15


@pytest.mark.skipif(not shutil.which("gst-launch-1.0"), reason="GStreamer is not installed")
@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv"])
def test_gstreamer_counts_the_same(tmp_path, ending):
    movie = tmp_path / f"a.{ending}"
    sprocket("run", *SCENE, "--microphone", "scene", "--movie", movie, "--codec", "h264", "--audio-codec",
             "aac")
    demuxer = "matroskademux" if ending == "mkv" else "qtdemux"
    said = subprocess.run(
        ["gst-launch-1.0", "-v", "filesrc", f"location={movie}", "!", demuxer, "name=d", "d.video_0", "!",
         "queue", "!", "identity", "silent=false", "!", "fakesink", "d.audio_0", "!", "queue", "!",
         "fakesink"], capture_output=True, text=True, timeout=LIMIT)
    assert said.returncode == 0 and not said.stderr
    assert len(re.findall(r"last-message = chain", said.stdout)) == FRAMES


REFUSED = [
    (["--codec", "h265x"], "no encoder"), (["--codec", "h264:crf=99"], "crf=99.0: give 0 to 51"),
    (["--codec", "h264:preset=fastest"], "give ultrafast"), (["--codec", "h264_vaapi"], "vaapi device"),
    (["--codec", "h264_v4l2m2m"], "no such device"), (["--codec", "h264:wrong=1"], "wrong"),
    (["--codec", "h264:bitrate=fast"], "bits per second"), (["--codec", ""], "codec"),
]


@pytest.mark.parametrize("options, word", REFUSED)
def test_a_codec_that_is_not_there_is_refused(tmp_path, options, word):
    result = sprocket("run", *SCENE, "--movie", tmp_path / "a.mp4", *options, check=False)
    assert result.returncode in (1, 2) and word in one_sentence(result.errors)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending, options", [
    ("mov", ["--codec", "av1"]), ("mov", ["--audio-codec", "opus"]), ("mp4", ["--audio-codec", "pcm"])])
def test_what_a_container_does_not_hold_is_refused(tmp_path, ending, options):
    result = sprocket("run", *SCENE, "--microphone", "scene", "--movie", tmp_path / f"a.{ending}", *options,
                      check=False)
    assert result.returncode == 2 and f".{ending}" in one_sentence(result.errors)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("codec", ["h264", "hevc", "vp9", "vp8", "av1:preset=12"])
def test_key_frames_follow_in_time_where_a_camera_gives_less_than_it_promised(codec, tmp_path):
    """30 frames/s were promised, and 10 came. The file says 30, so `inspect` sees no gaps where none are."""
    slow, movie = tmp_path / "slow.mkv", tmp_path / "a.mkv"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=30", "-vf", "setpts=3*PTS",
         "-fps_mode", "passthrough", "-enc_time_base", "1:1000", "-frames:v", "50", "-c:v", "mjpeg", slow],
        check=True, timeout=LIMIT)
    stream, = probe(slow, "-show_entries", "stream=avg_frame_rate")["streams"]
    assert stream["avg_frame_rate"] == "30/1"
    sprocket("run", "--source", f"file:{slow}", "--movie", movie, "--codec", codec, "--quiet")
    packets = probe(movie, "-select_streams", "v", "-show_entries", "packet=pts_time,flags")["packets"]
    keys = sorted(float(packet["pts_time"]) for packet in packets if packet["flags"].startswith("K"))
    assert keys[0] == 0 and np.diff(keys + [5]).max() < 1.01, keys
    for path in slow, movie:
        track, = json.loads(sprocket("inspect", "--json", path).stdout)[0]["tracks"]
        assert (track["count"], track["gaps"]) == (50, 0)
        assert track["duration_s"] == pytest.approx(5, abs=0.01)
