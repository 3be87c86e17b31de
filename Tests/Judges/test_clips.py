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


@pytest.mark.parametrize("names, options, words", [
    (["m1.mov", "small.mov"], [], "export them alike first"),
    (["m1.mov", "h2.mp4"], ["--codec", "mjpeg"], "choose h264"),
    (["m1.mov", "h2.mp4"], ["--scale", "64x48"], "leave out --scale"),
    (["m1.mov", "none.mov"], [], "none.mov"), (["m1.mov"], ["--from", "9s"], "nothing is left"),
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
