"""Films of several movies: `export --join`, and Examples/Clips, by ffprobe and ffmpeg.

The scene flashes at each whole second, and its microphone beeps then: each beep is with its flash on both
sides of each joint.
"""
import re
import signal
import subprocess

import numpy as np
import pytest

from program import LIMIT, SPROCKET, clip, example, one_sentence, sprocket
from test_sound import SCENE, beeps, brightness, offsets, samples

RATE = 30


def packets(path, kind="v"):
    """Presentation times in order, seconds, and the packets' own bytes in the file's order."""
    text = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", kind, "-show_entries", "packet=pts_time,size", "-of",
         "csv=p=0", path], capture_output=True, check=True, timeout=LIMIT, text=True).stdout
    digests = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", path, "-map", f"0:{kind}:0", "-c", "copy", "-f", "framemd5", "-"],
        capture_output=True, check=True, timeout=LIMIT, text=True).stdout
    # Packets without bytes stand for pictures that were dropped.
    lines = [line.split(",") for line in digests.splitlines() if not line.startswith("#")]
    found = [line.split(",") for line in text.split()]
    return (np.sort([float(line[0]) for line in found if int(line[1]) > 0]),
            [line[5].strip() for line in lines if int(line[4]) > 0])


def duration(path, kind):
    text = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", kind, "-show_entries", "stream=duration", "-of",
         "csv=p=0", path], capture_output=True, check=True, timeout=LIMIT, text=True).stdout
    return float(text)


def assert_even(path, count):
    times, _ = packets(path)
    assert len(times) == count
    assert np.abs(times - np.arange(count) / RATE).max() < 1.1e-3


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Three clips of 1.5, 2.5 and 3.5 s, as Motion JPEG with PCM and as H.264 with AAC and B frames."""
    folder = tmp_path_factory.mktemp("clips")
    for number in (1, 2, 3):
        movie = folder / f"m{number}.mov"
        sprocket("run", *SCENE, "--source-set", f"seed={number}", "--duration", f"{number + 0.5}s",
                 "--microphone", "scene", "--movie", movie, "--quiet")
        sprocket("export", movie, folder / f"h{number}.mp4", "--quiet")
    sprocket("export", folder / "m1.mov", folder / "small.mov", "--scale", "64x48", "--quiet")
    return folder


@pytest.mark.parametrize("names, film", [
    (["m1.mov", "m2.mov", "m3.mov"], "film.mov"), (["m3.mov", "m1.mov"], "film.mkv"),
    (["h1.mp4", "h2.mp4", "h3.mp4"], "film.mp4"), (["h2.mp4", "h2.mp4"], "film.mkv")])
def test_pictures_are_copied_and_sound_is_in_step(clips, tmp_path, names, film):
    inputs, made = [clips / name for name in names], tmp_path / film
    told = sprocket("export", *inputs, "--join", made).errors
    assert "the pictures are copied as they are" in told
    count = sum(round((int(name[1]) + 0.5) * RATE) for name in names)
    assert_even(made, count)
    # MP4 and MKV hold H.264 in the same form.
    assert packets(made)[1] == [digest for path in inputs for digest in packets(path)[1]]
    found = offsets(made)
    # A flash at the start of each clip, and at each whole second of it.
    assert len(found) == sum(int(name[1]) + 1 for name in names)
    # AAC blurs the beginning of a beep that is the beginning of its file.
    later = found if film == "film.mov" else np.sort(np.abs(found))[:-len(names)]
    assert np.abs(later).max() < 0.002
    if film != "film.mkv":
        assert abs(duration(made, "v") - count / RATE) < 1e-5
        assert abs(duration(made, "a") - count / RATE) < 1.1 / 48000
    subprocess.run(["ffmpeg", "-v", "error", "-xerror", "-i", made, "-f", "null", "-"], check=True,
                   timeout=LIMIT)


def test_what_cannot_be_copied_is_encoded_and_said(clips, tmp_path):
    made = tmp_path / "film.mov"
    told = sprocket("export", clips / "h1.mp4", clips / "h2.mp4", "--join", made, "--from", "0.5s", "--to",
                    "3.3s").errors
    assert "the pictures are encoded, since" in told and "h1.mp4 begins or ends between pictures" in told
    assert_even(made, 84)
    assert abs(duration(made, "a") - 2.8) < 1.1 / 48000
    found = offsets(made)
    # At 0.5, 1, 2 s; the first beep of the second file is blurred in it.
    assert len(found) == 3 and np.abs(np.sort(np.abs(found))[:-1]).max() < 0.002
    refused = sprocket("export", clips / "h1.mp4", "--join", tmp_path / "no.mov", "--from", "0.5s", "--copy",
                       check=False)
    assert refused.returncode == 2 and "cannot be copied" in one_sentence(refused.errors)
    assert not (tmp_path / "no.mov").exists()


def test_clips_of_several_codecs_are_encoded(clips, tmp_path):
    made = tmp_path / "film.mp4"
    told = sprocket("export", clips / "m1.mov", clips / "h2.mp4", clips / "m1.mov", "--join", made).errors
    assert "encoded, since" in told and "is coded in another way" in told
    assert_even(made, 45 + 75 + 45)
    found = offsets(made)
    assert len(found) == 7 and np.abs(np.sort(np.abs(found))[:-3]).max() < 0.002


def test_motion_jpeg_is_cut_anywhere(clips, tmp_path):
    made = tmp_path / "film.mov"
    told = sprocket("export", clips / "m1.mov", clips / "m2.mov", "--join", made, "--from", "700ms", "--to",
                    "3.1s").errors
    assert "copied as they are" in told
    first, second = packets(clips / "m1.mov")[1], packets(clips / "m2.mov")[1]
    assert packets(made)[1] == (first + second)[21:93]
    assert len(samples(made)) == round(72 * 48000 / RATE)


def test_sound_of_all_shapes_becomes_that_of_the_first(clips, tmp_path):
    other = tmp_path / "other.mov"
    subprocess.run(["ffmpeg", "-v", "error", "-i", clips / "m2.mov", "-c:v", "copy", "-ar", "44100", "-ac",
                    "1", "-c:a", "pcm_f32le", other], check=True, timeout=LIMIT)
    silent = tmp_path / "silent.mov"
    subprocess.run(["ffmpeg", "-v", "error", "-i", clips / "m1.mov", "-an", "-c:v", "copy", silent],
                   check=True, timeout=LIMIT)
    made = tmp_path / "film.mov"
    sprocket("export", clips / "m1.mov", silent, other, "--join", made, "--quiet")
    assert_even(made, 45 + 45 + 75)
    sound = samples(made)
    assert len(sound) == round(165 * 48000 / RATE)
    assert not sound[72000:144000].any()
    heard = beeps(sound)
    assert np.abs(heard - [0, 1, 3, 4, 5]).max() < 0.0015
    sprocket("export", silent, silent, "--join", tmp_path / "mute.mov", "--quiet")
    assert subprocess.run(["ffprobe", "-v", "error", "-select_streams", "a", "-show_entries", "stream=index",
                           "-of", "csv=p=0", tmp_path / "mute.mov"], capture_output=True, check=True,
                          timeout=LIMIT).stdout == b""


@pytest.mark.parametrize("name", ["generic/carphone_pristine.mp4", "generic/vtest.avi", "generic/tree.avi",
                                  "generic/flipping_a_pancake.mkv", "stabilization/max-heromode.mp4"])
def test_real_clips_are_joined(tmp_path, name):
    """Files of other programs, with their own clocks, edit lists and rates."""
    source = clip(name)
    made = tmp_path / "film.mov"
    sprocket("export", source, source, "--join", made, "--quiet")
    times, digests = packets(made)
    own, alone = packets(source)
    assert len(times) == 2 * len(own)
    steps = np.diff(times)
    assert digests == alone * 2
    # Both halves have the file's own times, one behind the other.
    assert np.abs(times[:len(own)] - (own - own[0])).max() < 1.1e-3
    assert np.abs(times[len(own):] - times[len(own)] - (own - own[0])).max() < 1.1e-3
    assert 0 < steps[len(own) - 1] <= np.diff(own).max() + 1e-3


def ffmpeg(*words):
    subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, words)], check=True, timeout=LIMIT)


def decoded(path):
    """Digests of the pictures, and what ffmpeg complains of."""
    result = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:v:0", "-fps_mode", "passthrough",
                             "-f", "framemd5", "-"],
                            capture_output=True, check=True, timeout=LIMIT, text=True)
    lines = [line for line in result.stdout.splitlines() if line[0] != "#"]
    return [line.split(",")[-1].strip() for line in lines], result.stderr


PATTERN = ["-f", "lavfi", "-i", "testsrc2=s=320x240:r=30:d=4"]


@pytest.mark.parametrize("codec, options", [
    ("libx265", ["-x265-params", "keyint=30:min-keyint=30:bframes=4:open-gop=1:scenecut=0:log-level=none",
                 "-tag:v", "hvc1"]),
    ("libx264", ["-x264-params", "keyint=30:bframes=3:open-gop=1:scenecut=0"]),
    ("libx264", ["-x264-params", "intra-refresh=1:keyint=30", "-bf", "0"])])
def test_a_joint_at_a_picture_that_needs_others_loses_none(tmp_path, codec, options):
    whole, part, film = tmp_path / "a.mp4", tmp_path / "b.mp4", tmp_path / "film.mp4"
    ffmpeg(*PATTERN, "-c:v", codec, *options, whole)
    ffmpeg("-ss", "1", "-i", whole, "-c", "copy", part)
    told = sprocket("export", whole, part, "--join", film).errors
    pictures, complaints = decoded(film)
    # The second file lacks what its first pictures were made of.
    assert complaints == "" and len(pictures) >= 120 + 70
    times, _ = packets(film)
    assert np.diff(times).min() > 0.02
    lost = re.search(r"(\d+) of \d+ pictures could not be decoded", told)
    assert np.diff(times).max() < 0.05 + (int(lost[1]) / RATE if lost else 0)


def test_a_stream_that_begins_between_keys_is_in_step(clips, tmp_path):
    whole, cut, film = tmp_path / "a.ts", tmp_path / "cut.ts", tmp_path / "film.mov"
    ffmpeg("-i", clips / "m3.mov", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-g", 30, "-bf", 2, "-c:a",
           "aac", whole)
    stream = whole.read_bytes()
    cut.write_bytes(stream[:188 * 3] + stream[188 * (len(stream) // 188 // 5):])
    sprocket("export", cut, cut, "--join", film, "--quiet")
    found = offsets(film)
    assert len(found) >= 4 and np.sort(np.abs(found))[:-1].max() < 0.002
    times, _ = packets(film)
    assert np.abs(np.diff(times) - 1 / RATE).max() < 0.002
    assert abs(duration(film, "a") - len(times) / RATE) < 0.001


def test_the_film_of_several_that_is_marked_is_taken(tmp_path):
    source, film = tmp_path / "two.mp4", tmp_path / "film.mp4"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=160x120:r=30:d=2", "-f", "lavfi", "-i",
           "testsrc2=s=640x480:r=30:d=3", "-map", "0", "-map", "1", "-c:v", "libx264", "-bf", 0,
           "-disposition:0", 0, "-disposition:1", "default", source)
    for options, words in ([], "copied as they are"), (["--codec", "h264"], "since a codec was asked for"):
        told = sprocket("export", source, "--join", film, "--overwrite", *options).errors
        assert words in told and "another film" in told
        text = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=width,nb_frames", "-of",
                               "csv=p=0", film],
                              check=True, timeout=LIMIT, capture_output=True, text=True).stdout
        assert text.strip() == "640,90"


def test_a_cut_keeps_all_pictures_and_how_long_they_last(tmp_path):
    source, film = tmp_path / "a.mkv", tmp_path / "film.mkv"
    ffmpeg(*PATTERN, "-c:v", "libx264", "-bf", 2, source)
    sprocket("export", source, "--to", "70ms", "--join", film, "--quiet")
    assert len(packets(film)[0]) == 3
    # A picture that lasts 0.7 s, of which the film has 0.4 s.
    ffmpeg(*PATTERN, "-vf", "select='not(between(n,31,50))'", "-fps_mode", "vfr", "-c:v", "mjpeg",
           tmp_path / "b.mkv")
    sprocket("export", tmp_path / "b.mkv", "--to", "1.4s", "--join", tmp_path / "film.mov", "--quiet")
    assert abs(duration(tmp_path / "film.mov", "v") - 1.4) < 0.001


@pytest.mark.parametrize("options, ending", [
    (["-c:v", "mpeg4", "-bf", 2, "-vtag", "XVID"], "avi"), (["-c:v", "libx264", "-bf", 2], "mkv"),
    (["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", 8], "webm")])
@pytest.mark.parametrize("target", ["mp4", "mkv", "mov", "webm"])
def test_files_of_all_kinds_are_joined(tmp_path, options, ending, target):
    source, film = tmp_path / f"a.{ending}", tmp_path / f"film.{target}"
    sound = ["-c:a", "libvorbis"] if ending == "webm" else []
    ffmpeg(*PATTERN, "-f", "lavfi", "-i", "sine=440:r=44100:d=4", *options, *sound, "-t", 2, source)
    result = sprocket("export", source, source, "--join", film, "--quiet", check=False)
    if (ending, target) == ("webm", "mov"):
        assert result.returncode == 2 and "choose another ending" in one_sentence(result.errors)
        return
    assert result.returncode == 0, result.errors
    times, _ = packets(film)
    assert abs(len(times) - 120) <= 2 and np.diff(times).min() > 0.02
    assert abs(len(samples(film, channels=1)) / (48000 if target == "webm" else 44100) - 4) < 0.08


def test_a_film_that_fails_is_no_file(clips, tmp_path):
    parts = [tmp_path / "a.ts", tmp_path / "b.ts"]
    for path, size in zip(parts, ("160x120", "320x240")):
        ffmpeg("-f", "lavfi", "-i", f"testsrc2=s={size}:r=30:d=1", "-c:v", "libx264", "-f", "mpegts", path)
    changing = tmp_path / "c.ts"
    changing.write_bytes(parts[0].read_bytes() + parts[1].read_bytes())
    film = tmp_path / "film.mov"
    result = sprocket("export", changing, changing, "--codec", "h264", "--join", film, check=False)
    assert result.returncode == 1 and not list(tmp_path.glob("film*")), result.errors


def test_what_is_beside_film_and_sound_is_said(clips, tmp_path):
    source, film = tmp_path / "many.mkv", tmp_path / "film.mkv"
    text = tmp_path / "a.srt"
    text.write_text("1\n00:00:00,000 --> 00:00:01,000\nwords\n")
    ffmpeg("-i", clips / "m1.mov", "-i", clips / "m2.mov", "-i", text, "-map", "0", "-map", "1:a", "-map",
           "2", "-c", "copy", "-c:s", "srt", source)
    told = sprocket("export", source, source, "--join", film).errors
    assert told.count("another sound") == 1 and told.count("subtitles") == 1


@pytest.mark.parametrize("names, options, words", [
    (["m1.mov"], ["--audio", "opus"], "choose another codec"),
    (["m1.mov", "small.mov"], [], "export them alike first"),
    (["m1.mov", "h2.mp4"], ["--codec", "mjpeg"], "choose h264"),
    (["m1.mov", "h2.mp4"], ["--scale", "64x48"], "leave out --scale"),
    (["m1.mov", "none.mov"], [], "none.mov"), (["m1.mov"], ["--from", "9s"], "begin earlier"),
    (["m1.mov"], ["--audio", "mp3"], "give aac, opus, flac, pcm or none")])
def test_what_cannot_be_joined_is_one_sentence(clips, tmp_path, names, options, words):
    made = tmp_path / "film.mov"
    result = sprocket("export", *(clips / name for name in names), "--join", made, *options, check=False)
    assert result.returncode == 2 and words in one_sentence(result.errors)
    assert list(tmp_path.iterdir()) == []


def test_a_film_that_exists_is_kept(clips, tmp_path):
    made = tmp_path / "film.mov"
    made.write_text("kept")
    assert sprocket("export", clips / "m1.mov", "--join", made, check=False).returncode == 2
    assert made.read_text() == "kept"
    sprocket("export", clips / "m1.mov", clips / "m1.mov", "--join", made, "--overwrite", "--quiet")
    assert_even(made, 90)


def test_a_join_that_is_stopped_leaves_nothing(clips, tmp_path):
    inputs = [clips / "m3.mov"] * 200
    process = subprocess.Popen([SPROCKET, "export", *inputs, "--join", tmp_path / "film.mp4"],
                               stderr=subprocess.PIPE)
    partial = tmp_path / "film.partial.mp4"
    while process.poll() is None and not partial.exists():
        pass
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT) == 1, process.stderr.read()
    assert list(tmp_path.iterdir()) == []


def test_four_clips_with_flips_a_pause_and_an_undo(tmp_path):
    result = subprocess.run([example("clips"), tmp_path], timeout=LIMIT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"^undone: .*clip-3.mov$", result.stdout, re.M) and "\ncopied\n" in result.stdout
    kept = [tmp_path / f"clip-{number}.mov" for number in (1, 2, 4, 5)]
    total = 0
    for path in kept + [tmp_path / "clip-3.mov"]:
        count = len(brightness(path))
        assert_even(path, count)
        assert abs(len(samples(path)) - count * 48000 / RATE) <= 1
        found = offsets(path)
        assert len(found) >= 1 and np.abs(found).max() < 0.002
        total += count if path in kept else 0
    film = tmp_path / "film.mov"
    assert_even(film, total - 15)
    assert abs(len(samples(film)) - (total - 15) * 48000 / RATE) <= 1
    found = offsets(film)
    assert len(found) >= 6 and np.abs(found).max() < 0.002
    own = [digest for path in kept for digest in packets(path)[1]]
    assert packets(film)[1] == own[:36] + own[51:]
    for name, size in (("middle.jpg", "640x480"), ("thumbnail.jpg", "160x120")):
        text = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=width,height", "-of",
                               "csv=p=0:s=x", tmp_path / name], check=True, timeout=LIMIT,
                              capture_output=True, text=True).stdout
        assert text.strip() == size
