"""Sound in recordings: in step with the pictures, without holes, and accounted for to the sample.

The scene flashes at each whole second, and its microphone beeps then. Files are decoded by ffmpeg, whose
timestamps are not used: picture n is at n / 30 s, sample n at n / rate.
"""
import json
import subprocess
import time

import numpy as np
import pytest

from program import (LIMIT, SPROCKET, one_sentence, read_lines, read_summary, running, sprocket, wait_for,
                     wait_for_bytes)

RATE = 30
SCENE = ["--source", "scene", "--size", "160x120", "--rate", RATE, "--source-set", "pace=fast",
         "--source-set", "flash=4", "--source-set", "shake=0", "--source-set", "pan=0"]


def brightness(path):
    """Mean luma of each picture."""
    raw = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-f", "rawvideo",
         "-pix_fmt", "gray", "-vf", "scale=16:16", "-"],
        capture_output=True, timeout=LIMIT, check=True).stdout
    return np.frombuffer(raw, "u1").reshape(-1, 256).mean(axis=1)


def samples(path, track=0, channels=2):
    """Floating point numbers of a track: samples x channels."""
    raw = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", path, "-map", f"0:a:{track}", "-f", "f32le", "-"],
        capture_output=True, timeout=LIMIT, check=True).stdout
    return np.frombuffer(raw, "<f4").reshape(-1, channels)


def flashes(path):
    """Times of the pictures in which a flash begins, seconds."""
    light = brightness(path)
    isLit = light > (light.min() + light.max()) / 2
    return np.flatnonzero(isLit & ~np.concatenate([[False], isLit[:-1]])) / RATE


def beeps(sound, rate=48000):
    """Times at which a beep begins: the noise between has less than a tenth of full scale."""
    loud = np.flatnonzero(np.abs(sound[:, 0]) > 0.15)
    first = loud[np.diff(loud, prepend=-rate) > rate // 10]
    # The sine passes 0.15 after 48 us.
    return first / rate


def record(folder, name, *options, seconds=6, microphone="scene", check=True):
    path = folder / name
    sprocket("run", *SCENE, "--duration", f"{seconds}s", "--microphone", microphone, "--movie", path,
             "--summary", folder / "summary.json", "--quiet", "--overwrite", *options, check=check)
    return path, read_summary(folder / "summary.json")


def assert_balanced(summary):
    for sound in summary["sound"]:
        for file in sound["files"]:
            of_device = file["delivered"] + file["silence"]
            whole = of_device + file["corrected"]
            assert file["samples"] == whole or file["samples"] < of_device // 2, file
        for sink, counts in sound["sinks"].items():
            assert sum(counts.values()) == sound["produced"], (sink, counts)


def offsets(path, rate=48000):
    """Of each beep to its flash, seconds."""
    lit, heard = flashes(path), beeps(samples(path), rate)
    pairs = [(heard[np.abs(heard - time).argmin()] - time) for time in lit if len(heard)]
    return np.array([offset for offset in pairs if abs(offset) < 0.3])


@pytest.mark.parametrize("ending", ["mov", "mkv"])
def test_sound_is_in_step_and_as_long_as_the_pictures(tmp_path, ending):
    path, summary = record(tmp_path, f"a.{ending}")
    found = offsets(path)
    assert len(found) == 6 and np.abs(found).max() < 0.0005
    assert len(samples(path)) == 6 * 48000 and len(brightness(path)) == 180
    assert_balanced(summary)
    assert summary["sound"][0]["sinks"]["movie"]["delivered"] == 6 * 48000


@pytest.mark.parametrize("ending", ["mov", "mkv"])
@pytest.mark.parametrize("drift", [200, -200])
def test_a_sound_card_that_is_fast_or_slow_stays_in_step(tmp_path, ending, drift):
    path, summary = record(tmp_path, f"a.{ending}", seconds=60,
                           microphone=f"scene:drift={drift},jitter=2,outliers=8")
    found = offsets(path)
    assert len(found) == 60 and np.abs(found[1:]).max() < 0.008
    assert abs(summary["sound"][0]["drift_ppm"] - drift) < 10
    assert_balanced(summary)


@pytest.mark.parametrize("microphone", ["scene", "scene:drift=200,jitter=2"])
@pytest.mark.parametrize("codec", ["mjpeg", "h264"])
def test_a_movie_goes_on_behind_a_pause_without_a_gap(tmp_path, codec, microphone):
    """Pictures are even, the sound is as long, and each beep is with its flash, around each pause."""
    requests = [("record", 10), ("pause", 75), ("resume", 161), ("pause", 200), ("resume", 256),
                ("stop", 330)]
    script = tmp_path / "script.jsonl"
    script.write_text("".join(json.dumps({"request": name, "at_frame": frame}) + "\n"
                              for name, frame in requests))
    movie = tmp_path / "take.mov"
    sprocket("run", *SCENE, "--microphone", microphone, "--movie", movie, "--on-demand", "--codec", codec,
             "--script", script, "--frames", 350, "--summary", tmp_path / "summary.json")
    summary = read_summary(tmp_path / "summary.json")
    record, = summary["recordings"]
    frames = 65 + 39 + 74
    assert record["frames"] == {"delivered": frames, "unselected": 86 + 56}
    assert abs(record["duration_s"] - (frames - 1) / 30) < 1e-6
    path = record["path"]
    text = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries",
                           "packet=pts_time", "-of", "csv=p=0", path],
                          capture_output=True, check=True, timeout=LIMIT).stdout
    times = np.array([float(line.strip(b",")) for line in text.split()])
    assert np.abs(np.sort(times) - np.arange(frames) / 30).max() < 1e-4
    assert len(samples(path)) == round(frames * 48000 / 30)
    found = offsets(path)
    # Flashes of whole seconds at the frames 30 and 60; 180; 270, 300.
    assert len(found) == 5 and np.abs(found).max() < (0.002 if microphone == "scene" else 0.012)
    assert_balanced(summary)


def test_a_card_that_is_right_is_copied_bit_for_bit(tmp_path):
    path, _ = record(tmp_path, "a.mov", "--sound", tmp_path / "a.wav", seconds=12)
    assert np.array_equal(samples(path), samples(tmp_path / "a.wav")[:12 * 48000])


@pytest.mark.parametrize("ending, codec", [("mov", "mjpeg"), ("mp4", "h264")])
def test_pictures_that_stop_last_as_long_as_the_sound_behind_them(tmp_path, ending, codec):
    """The scene of this seed stalls at 0.8 s, and its microphone goes on until the run ends."""
    movie = tmp_path / f"clip.{ending}"
    sprocket("run", "--source", "scene", "--size", "160x120", "--rate", 30, "--source-set", "pace=real",
             "--source-set", "stall=0.01", "--source-set", "stallfor=60s", "--source-set", "seed=3",
             "--microphone", "scene", "--movie", movie, "--codec", codec, "--duration", "4s", check=False)
    streams = json.loads(subprocess.run(
        ["ffprobe", "-v", "error", "-show_streams", "-of", "json", movie], capture_output=True, text=True,
        timeout=LIMIT, check=True).stdout)["streams"]
    pictures, sound = (float(stream["duration"]) for stream in streams)
    assert int(streams[0]["nb_frames"]) == 24 and sound > 2 and abs(pictures - sound) < 0.001


def test_a_late_microphone_is_silence_first(tmp_path):
    path, summary = record(tmp_path, "a.mov", microphone="scene:begins=1.5")
    sound = samples(path)
    assert not sound[:int(1.4999 * 48000)].any() and sound[int(1.51 * 48000):].any()
    assert len(sound) == 6 * 48000
    found = beeps(sound)
    assert np.abs(found - np.arange(2, 6)).max() < 0.0005
    assert_balanced(summary)


def test_a_gap_is_silence_and_what_follows_is_in_step(tmp_path):
    path, summary = record(tmp_path, "a.mov", seconds=10, microphone="scene:gap=0.3,gapfor=700ms,seed=4")
    sound = summary["sound"][0]
    assert sound["gaps"] >= 2 and sound["missing"] == sound["gaps"] * 33600
    assert len(samples(path)) == 10 * 48000
    found = offsets(path)
    assert len(found) >= 4 and np.abs(found).max() < 0.0005
    assert_balanced(summary)


@pytest.mark.parametrize("options", [
    ["--stage", "stabilize:mode=cinematic"],
    ["--source-set", "startup=10"],
    ["--source-set", "drop=0.1", "--source-set", "seed=3"],
])
def test_what_pictures_wait_for_or_lose_does_not_shift_the_sound(tmp_path, options):
    path, summary = record(tmp_path, "a.mov", *options)
    shown = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=pts_time",
         "-of", "csv=p=0", path], capture_output=True, text=True, timeout=LIMIT, check=True).stdout.split()
    times = np.array([float(text.strip(",")) for text in shown])
    light = brightness(path)
    isLit = light > (light.min() + light.max()) / 2
    lit = times[np.flatnonzero(isLit & ~np.concatenate([[False], isLit[:-1]]))]
    heard = beeps(samples(path))
    lit = [time for time in lit if time > 0.1]
    # A flash may be seen one picture late, where the first of it was lost.
    pairs = np.array([time - heard[np.abs(heard - time).argmin()] for time in lit])
    assert len(pairs) >= 4 and (pairs > -0.001).all() and (pairs < 1.5 / RATE).all()
    assert np.median(pairs) < 0.5 / RATE
    assert_balanced(summary)


def test_rate_and_channels_are_what_is_asked_for(tmp_path):
    path, summary = record(tmp_path, "a.mov", "--audio-rate", "22050", "--audio-channels", "1")
    sound = samples(path, channels=1)
    assert len(sound) == 6 * 22050
    found = beeps(sound, 22050)
    assert np.abs(found - np.arange(6)).max() < 0.0005
    assert_balanced(summary)


def test_each_microphone_has_a_track(tmp_path):
    path, summary = record(tmp_path, "a.mov", "--microphone", "scene:channels=1,begins=0.5")
    assert np.abs(beeps(samples(path)) - np.arange(6)).max() < 0.0005
    second = samples(path, 1, channels=1)
    assert len(second) == 6 * 48000 and np.abs(beeps(second) - np.arange(1, 6)).max() < 0.0005
    assert_balanced(summary)


@pytest.mark.parametrize("ending", ["wav", "flac", "mkv"])
def test_sound_alone(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    sprocket("run", "--source", "none", "--microphone", "scene", "--duration", "3s", "--sound", path,
             "--quiet", "--summary", tmp_path / "summary.json")
    sound = samples(path)
    assert 2.5 * 48000 < len(sound) < 3.5 * 48000
    assert np.abs(np.diff(beeps(sound)) - 1).max() < 0.0005
    assert_balanced(read_summary(tmp_path / "summary.json"))


@pytest.mark.parametrize("card", ["scene", "scene:drift=200,jitter=1"])
def test_sound_by_itself_ends_with_pictures_that_do_not_wait(tmp_path, card):
    sprocket("run", *SCENE, "--frames", "300", "--microphone", card, "--sound", tmp_path / "a.wav",
             "--levels", tmp_path / "levels.jsonl", "--dump", tmp_path / "a.mcap", "--quiet",
             "--summary", tmp_path / "summary.json")
    # A block of 10 ms begins before the end.
    assert 10 <= len(samples(tmp_path / "a.wav")) / 48000 < 10.015
    levels = read_lines(tmp_path / "levels.jsonl")
    assert 10 <= (levels[-1]["sample"] + levels[-1]["count"]) / 48000 < 10.015
    summary = read_summary(tmp_path / "summary.json")
    assert_balanced(summary)
    sound, = summary["sound"]
    # It may be 3 s ahead.
    assert sound["produced"] < 13.1 * 48000
    for name, account in sound["sinks"].items():
        assert account["delivered"] + account["unselected"] == sound["produced"], name


def test_sound_ends_with_the_pictures_before_its_clock_is_known(tmp_path):
    sprocket("run", *SCENE, "--frames", "9", "--microphone", "scene:jitter=1", "--sound", tmp_path / "a.wav",
             "--levels", tmp_path / "levels.jsonl", "--quiet", "--summary", tmp_path / "summary.json")
    assert 0.3 <= len(samples(tmp_path / "a.wav")) / 48000 < 0.315
    assert len(read_lines(tmp_path / "levels.jsonl")) in (30, 31)
    assert_balanced(read_summary(tmp_path / "summary.json"))


def test_without_sound_no_file_is_replaced(tmp_path):
    (tmp_path / "keep.wav").write_bytes(b"before")
    result = sprocket("run", "--source", "none", "--microphone", "scene:begins=100", "--duration", "500ms",
                      "--sound", tmp_path / "keep.wav", "--overwrite")
    assert "no sound came" in result.errors and (tmp_path / "keep.wav").read_bytes() == b"before"


@pytest.mark.parametrize("card, rate", [("scene:drift=200,jitter=0.2", 48000),
                                        ("scene:drift=-200,jitter=0.2", 44100)])
def test_files_that_follow_each_other_are_corrected_as_one(tmp_path, card, rate):
    sprocket("run", *SCENE, "--duration", "120s", "--microphone", card, "--movie", tmp_path / "a.mov",
             "--split", "3s", "--audio-rate", rate, "--quiet")
    for number in (1, 5, 20, 40):
        path = tmp_path / ("a.mov" if number == 1 else f"a-{number}.mov")
        assert np.abs(offsets(path, rate)).max() <= 0.008, number


@pytest.mark.parametrize("rate", ["0.25", "1", "30"])
def test_a_dump_does_not_hold_up_a_movie(tmp_path, rate):
    begin = time.monotonic()
    sprocket("run", "--source", "scene", "--source-set", "pace=fast", "--size", "64x48", "--rate", rate,
             "--duration", "120s", "--microphone", "scene", "--movie", tmp_path / "a.mov", "--dump",
             tmp_path / "a.mcap", "--quiet", "--summary", tmp_path / "summary.json")
    # A second was lost at each picture, of which there are 30 at the least.
    assert time.monotonic() - begin < 0.8 * 120 * float(rate)
    sinks = read_summary(tmp_path / "summary.json")["sound"][0]["sinks"]
    assert sinks["movie"]["delivered"] == sinks["dump"]["delivered"] == 120 * 48000


@pytest.mark.alone
def test_a_microphone_that_delivers_nothing_costs_no_picture(tmp_path):
    sprocket("run", "--source", "scene", "--size", "64x48", "--duration", "7s", "--microphone",
             "scene:begins=60", "--movie", tmp_path / "a.mov", "--split", "2s", "--quiet", "--summary",
             tmp_path / "summary.json")
    # Each file waited for a second, which was more than the backlog holds.
    assert read_summary(tmp_path / "summary.json")["sinks"]["movie"]["behind"] == 0


def test_paces_that_differ_are_refused(tmp_path):
    sprocket("run", *SCENE, "--frames", "30", "--microphone", "scene", "--movie", tmp_path / "a.mov",
             "--quiet")
    for options in (["--source", "scene", "--microphone", f"file:{tmp_path}/a.mov"],
                    ["--source", f"file:{tmp_path}/a.mov", "--microphone", "scene"]):
        failed = sprocket("run", *options, "--movie", tmp_path / "b.mov", check=False)
        assert failed.returncode != 0 and "pace=real" in one_sentence(failed.errors)


def test_parts_of_sound_alone_are_exact(tmp_path):
    sprocket("run", *SCENE, "--frames", "150", "--microphone", "scene", "--movie", tmp_path / "a.mov",
             "--dump", tmp_path / "a.mcap", "--quiet")
    whole = samples(tmp_path / "a.mov")
    sprocket("export", tmp_path / "a.mov", tmp_path / "b.wav", "--from", "1s", "--to", "3s", "--quiet")
    assert np.array_equal(samples(tmp_path / "b.wav"), whole[48000:3 * 48000])
    sprocket("export", tmp_path / "b.wav", tmp_path / "c.flac", "--from", "1s", "--quiet")
    assert np.array_equal(samples(tmp_path / "c.flac"), whole[2 * 48000:3 * 48000])
    sprocket("recover", tmp_path / "b.wav", tmp_path / "d.wav", "--quiet")
    assert np.array_equal(samples(tmp_path / "d.wav"), samples(tmp_path / "b.wav"))
    for source in (f"file:{tmp_path}/a.mov", f"replay:{tmp_path}/a.mcap"):
        sprocket("run", "--source", "none", "--microphone", source, "--duration", "2s", "--sound",
                 tmp_path / "e.wav", "--overwrite", "--quiet")
        assert np.array_equal(samples(tmp_path / "e.wav"), whole[:2 * 48000])


def test_a_film_that_was_dumped_is_replayed_live(tmp_path):
    sprocket("run", *SCENE, "--frames", "60", "--microphone", "scene", "--dump", tmp_path / "a.mcap",
             "--quiet")
    begin = time.monotonic()
    sprocket("run", "--source", f"replay:{tmp_path}/a.mcap", "--source-set", "live=true", "--movie",
             tmp_path / "a.mov", "--quiet")
    assert time.monotonic() - begin > 1.5
    assert np.abs(offsets(tmp_path / "a.mov")).max() <= 0.008


def test_a_run_says_how_its_sound_goes(tmp_path):
    command = [SPROCKET, "run", "--source", "scene", "--size", "64x48", "--movie", tmp_path / "a.mov",
               "--quiet", "--microphone", "scene:gap=1,gapfor=50ms", "--control-socket", tmp_path / "s"]
    with running(command) as process:
        def status():
            return json.loads(sprocket("ask", tmp_path / "s", "status").stdout)["status"]["sound"][0]

        wait_for((tmp_path / "s").exists, process)
        wait_for(lambda: status()["produced"] > 48000 and status()["gaps"], process)
        sound = status()
        top = sprocket("top", "--once", tmp_path / "s").stdout.decode()
        process.terminate()
        process.wait(LIMIT)
    assert sound["name"] == "scene" and sound["produced"] > 48000
    assert sound["missing"] == 2400 * sound["gaps"] > 0
    assert all(-60 < rms < peak <= -5.9 for peak, rms in zip(sound["peak_dbfs"], sound["rms_dbfs"]))
    assert "sound scene" in top and "missing in" in top


def test_sound_with_a_gap_in_each_second_ends(tmp_path):
    # No segment of the clock is placed before it is over. Sound may be read 3 s ahead of the movie.
    _, summary = record(tmp_path, "a.mov", "--sound", tmp_path / "a.wav", seconds=3,
                        microphone="scene:jitter=1,gap=1,gapfor=100ms")
    assert summary["sound"][0]["gaps"] >= 2 and summary["sound"][0]["produced"] < 8 * 48000
    assert_balanced(summary)


def test_recordings_that_are_asked_for_begin_and_end_to_the_sample(tmp_path):
    (tmp_path / "script").write_text("""
        {"request":"record","path":"a.mov","at_frame":100}
        {"request":"next","at_frame":130}
        {"request":"stop","at_frame":190}
        {"request":"record","path":"b.mkv","at_frame":200}
        {"request":"stop","at_frame":260}
    """)
    whole = samples(record(tmp_path, "whole.mov", seconds=9)[0])
    sprocket("run", *SCENE, "--frames", "300", "--microphone", "scene", "--movie", "m.mov", "--on-demand",
             "--script", "script", "--quiet", "--summary", "summary.json", "--overwrite", cwd=tmp_path)
    for name, begin, end in [("a.mov", 100, 130), ("a-2.mov", 130, 190), ("b.mkv", 200, 260)]:
        assert np.array_equal(samples(tmp_path / name), whole[1600 * begin:1600 * end]), name
        assert len(brightness(tmp_path / name)) == end - begin
    summary = read_summary(tmp_path / "summary.json")
    assert summary["sound"][0]["sinks"]["movie"]["delivered"] == 150 * 1600
    assert_balanced(summary)


@pytest.mark.parametrize("ending", ["mov", "mkv"])
def test_a_recording_that_is_killed_plays_in_step(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    command = [SPROCKET, "run", *[word if word != "pace=fast" else "pace=real" for word in SCENE],
               "--microphone", "scene:begins=1.5", "--movie", path, "--quiet"]
    with running(command) as process:
        partial = tmp_path / f"a.partial.{ending}"
        wait_for_bytes(partial, process)
        time.sleep(5.3)
        process.kill()
    found = offsets(partial)
    assert len(found) >= 2 and np.ptp(found) < 0.001 and np.abs(found).max() < 1 / RATE + 0.001
    pictures = len(brightness(partial)) / RATE
    assert pictures >= 3.5 and abs(len(samples(partial)) / 48000 - pictures) < 1.2


def test_a_files_sound_is_kept(tmp_path):
    source, _ = record(tmp_path, "a.mov")
    copy = tmp_path / "b.mkv"
    sprocket("run", "--source", f"file:{source}", "--movie", copy, "--quiet")
    assert np.array_equal(samples(copy), samples(source))
    sprocket("run", "--source", f"file:{source}", "--microphone", "none", "--movie", copy, "--quiet",
             "--overwrite")
    with pytest.raises(subprocess.CalledProcessError):
        samples(copy)


def test_gain_is_gain(tmp_path):
    path, _ = record(tmp_path, "a.mov", "--sound", tmp_path / "a.wav", "--audio-stage", "gain:db=-20")
    assert abs(np.abs(samples(path)).max() - 0.05) < 0.005
    loud, summary = record(tmp_path, "b.mov", "--audio-stage", "gain:db=12")
    assert np.abs(samples(loud)).max() >= 0.9999 and summary["sound"][0]["clipped"] > 1000


def test_mp4_has_a_files_sound_as_aac(tmp_path):
    source, _ = record(tmp_path, "a.mov")
    for path, options in [(tmp_path / "b.mp4", ["--source", f"file:{source}"]),
                          (tmp_path / "c.mp4", [*SCENE, "--frames", 180, "--microphone", "auto"])]:
        sprocket("run", *options, "--movie", path)
        found = offsets(path)
        # AAC fades in at the file's beginning.
        assert len(found) == 6 and np.abs(found[1:]).max() < 0.0005


def test_pcm_into_mp4_is_refused_while_a_microphone_is_recorded(tmp_path):
    (tmp_path / "script").write_text('{"request":"record","path":"a.mp4","at_frame":3}')
    result = sprocket("run", *SCENE, "--frames", "9", "--microphone", "scene", "--movie", "m.mov",
                      "--audio-codec", "pcm", "--on-demand", "--script", "script", "--quiet", check=False,
                      cwd=tmp_path)
    assert result.returncode == 2 and "PCM into a.mp4: .mp4 files have none" in one_sentence(result.errors)
    assert [path.name for path in tmp_path.iterdir()] == ["script"]


WRONG = [
    (["--microphone", "scnee"], "no microphone"),
    (["--microphone", "hw:29,0"], "no microphone `hw:29,0`"),
    (["--microphone", "scene", "--microphone", "hw:29,0", "--levels", "l.jsonl"], "no microphone"),
    (["--microphone", "scene", "--microphone", "scene"], "given twice"),
    (["--microphone", "scene", "--microphone", "none"], "the microphone none is for no sound at all"),
    (["--microphone", "scene:drft=3"], "did you mean `drift`?"),
    (["--microphone", "scene:rate=7"], "rate=7 is not allowed: give 8000 to 192000"),
    (["--microphone", "scene:rate=192001"], "give 8000 to 192000"),
    (["--microphone", "scene:channels=0"], "give 1 to 8"),
    (["--microphone", "scene:channels=9"], "give 1 to 8"),
    (["--microphone", "scene:number=u8"], "give s16, s24, s32, f32"),
    (["--microphone", "scene:gap=2"], "give 0 to 1"),
    (["--microphone", "scene", "--movie", "a.mp4", "--audio-codec", "pcm"], "PCM into a.mp4"),
    (["--microphone", "scene", "--movie", "a.mov", "--audio-codec", "mp3"], "'pcm', 'aac', 'opus'"),
    (["--microphone", "scene", "--movie", "a.mp4", "--audio-bitrate", "loud"], "bits per second"),
    (["--microphone", "scene", "--audio-stage", "gian"], "did you mean `gain`?"),
    (["--microphone", "scene", "--audio-stage", "gain:db=1000"], "db=1000 is not allowed: give -96 to 96"),
    (["--microphone", "scene", "--audio-stage", "gain:db=loud"], "db=loud is not allowed"),
    (["--microphone", "scene", "--audio-stage", "gain:dB=1"], "has no setting `dB`"),
    (["--microphone", "scene", "--audio-rate", "100"], "--audio-rate"),
    (["--microphone", "scene", "--audio-rate", "22050.5"], "a whole number, 8000 to 192000"),
    (["--microphone", "scene", "--audio-channels", "9"], "a whole number, 1 to 8"),
    (["--microphone", "scene", "--audio-sync", "maybe"], "'auto' and 'exact'"),
    (["--microphone", "scene", "--sound", "a.mp3"], ".wav, .flac"),
    (["--microphone", "scene", "--sound", "a.mp4"], ".wav, .flac"),
    (["--microphone", "scene", "--sound", "-"], ".wav, .flac"),
    (["--microphone", "scene", "--sound", "no/a.wav"], "the directory no does not exist"),
    (["--microphone", "scene", "--sound", "a.wav", "--levels", "no/l"], "the directory no does not exist"),
    (["--microphone", "scene", "--sound", "a.mov", "--movie", "a.mov"], "name the same file"),
    (["--microphone", "scene", "--sound", "a.wav", "--sound", "b.wav"], "--sound is given twice"),
    (["--microphone", "scene", "--sound", "a.wav", "--control", "volume=1"], "no control `volume`"),
    (["--microphone", "scene", "--levels", "-", "--pipe", "y4m"], "write to standard output"),
    (["--sound", "a.wav"], "name a microphone (--sound, --microphone)"),
    (["--levels", "l.jsonl"], "sound is wanted, and there is none"),
    (["--audio-stage", "gain:db=1"], "sound is wanted, and there is none"),
    (["--audio-rate", "44100", "--movie", "a.mov"], "sound is wanted, and there is none"),
    (["--audio-channels", "1", "--movie", "a.mov"], "sound is wanted, and there is none"),
    (["--audio-sync", "exact", "--movie", "a.mov"], "sound is wanted, and there is none"),
    (["--microphone", "scene", "--levels", "l", "--audio-rate", "44100"],
     "record a movie, or sound (--audio-rate)"),
    (["--microphone", "scene", "--dump", "d", "--audio-sync", "exact"],
     "record a movie, or sound (--audio-sync)"),
    (["--microphone", "scene", "--sound", "a.wav", "--audio-codec", "aac"], "record a movie (--audio-codec)"),
    (["--microphone", "none", "--levels", "-"], "there is to be no sound"),
    (["--microphone", "none", "--audio-rate", "44100"], "there is to be no sound"),
]
WRONG_ALONE = [
    ([], "name a microphone"),
    (["--microphone", "none"], "name a microphone"),
    (["--microphone", "scene", "--movie", "a.mov"], "record sound alone (--movie, --source)"),
    (["--microphone", "scene", "--stills", "s"], "record sound alone (--stills, --source)"),
    (["--microphone", "scene", "--stage", "meter"], "give an audio stage (--stage, --source)"),
    (["--microphone", "scene", "--sound", "a.wav", "--frames", "3"], "give a duration (--frames, --source)"),
]


@pytest.mark.parametrize("source, options, says", [
    *[(["--source", "scene", "--frames", "3"], *wrong) for wrong in WRONG],
    *[(["--source", "none", "--duration", "1s"], *wrong) for wrong in WRONG_ALONE],
])
def test_a_wrong_request_is_one_sentence(tmp_path, source, options, says):
    result = sprocket("run", *source, *options, check=False, cwd=tmp_path)
    # A device that is not there is no mistake of the command line.
    assert result.returncode == (1 if "hw:29,0" in options else 2) and says in one_sentence(result.errors)
    assert not list(tmp_path.iterdir()) and not result.stdout


def test_a_file_that_is_there_is_kept(tmp_path):
    for name, option in [("a.wav", "--sound"), ("a.jsonl", "--levels"), ("a.mov", "--movie")]:
        (tmp_path / name).write_text("dear")
        result = sprocket("run", "--source", "scene", "--frames", "3", "--microphone", "scene", option, name,
                          check=False, cwd=tmp_path)
        assert result.returncode == 2 and name in one_sentence(result.errors)
        assert (tmp_path / name).read_text() == "dear"
    assert len(list(tmp_path.iterdir())) == 3
