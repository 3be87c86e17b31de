"""Files with sound, against ffprobe, ffmpeg, GStreamer and Python's `wave`: every sample, at its time."""
import json
import pathlib
import random
import shutil
import struct
import subprocess
import wave

import numpy as np
import pytest

from containers import boxes, complete_pieces
from program import LIMIT, SPROCKET, preloaded, read_allocations

SOUND = str(pathlib.Path(SPROCKET).with_name("SprocketSound"))
BYTES = {"s16": 2, "s24": 3, "s32": 4, "f32": 4}
CONTAINERS = ["mov", "mkv"]
PICTURE_RATE = 25
SEED = 15


def run(*command, check=True):
    result = subprocess.run(list(map(str, command)), capture_output=True, timeout=LIMIT)
    assert not check or result.returncode == 0, f"{command}: {result.stderr} {result.stdout[-500:]}"
    return result.stdout


def ffprobe(path, stream, *entries, check=True):
    return json.loads(run("ffprobe", "-v", "error" if check else "quiet", "-select_streams", stream,
                          "-of", "json", *entries, path, check=check))


def noise(number, rate, channels, seconds, seed=SEED):
    """Samples as they lie in a file: full-scale noise."""
    draw = np.random.default_rng([seed, rate, channels])
    count = int(round(rate * seconds)) * channels
    if number == "f32":
        return draw.uniform(-1, 1, count).astype("<f4").tobytes()
    return draw.bytes(count * BYTES[number])


def pcm(number):
    return "f32le" if number == "f32" else f"{number}le"


def decoded(path, number, track=0, *options, before=()):
    """What ffmpeg makes of a track, in its own format."""
    return run("ffmpeg", "-v", "error", *before, "-i", path, "-map", f"0:a:{track}", *options,
               "-f", pcm(number), "-c:a", f"pcm_{pcm(number)}", "-")


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    path = tmp_path_factory.mktemp("still") / "still.jpg"
    run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48", "-frames:v", 1, "-q:v",
        3, path)
    return path


@pytest.fixture(scope="module")
def nothing(tmp_path_factory):
    """In place of an image: no pictures."""
    path = tmp_path_factory.mktemp("nothing") / "nothing"
    path.touch()
    return path


def movie(path, image, seconds, *sounds, end="finish", rate=PICTURE_RATE, late=0):
    """Writes a movie; `sounds` are (number, rate, channels, samples)."""
    tracks = []
    for index, (number, sound_rate, channels, samples) in enumerate(sounds):
        raw = path.with_name(f"{path.name}.{index}.raw")
        raw.write_bytes(samples)
        tracks.append(f"{number}:{sound_rate}:{channels}:{raw}")
    run(SOUND, "movie", path, end, image, rate, seconds, late, *tracks)
    return path


def sample_sizes(path):
    """Of each track of a plain MOV: bytes per sample where all are equal, else 0, and how many samples."""
    data, found = path.read_bytes(), []
    def walk(start, end):
        for kind, inner, stop in boxes(data, start, end):
            if kind in (b"moov", b"trak", b"mdia", b"minf", b"stbl"):
                walk(inner, stop)
            elif kind == b"stsz":
                found.append(struct.unpack_from(">II", data, inner + 4))
    walk(0, len(data))
    return found


def wav_data(path):
    """Where a WAV's samples begin, and how many bytes its header says that they are."""
    data = path.read_bytes()
    start = data.index(b"data") + 8
    return start, struct.unpack_from("<I", data, start - 4)[0]


# Each number with each rate and each count of channels at least once.
FORMATS = [
    ("s16", 8000, 1), ("s24", 11025, 2), ("s32", 16000, 3), ("f32", 22050, 4), ("s16", 32000, 5),
    ("s24", 44100, 6), ("s32", 48000, 7), ("f32", 88200, 8), ("s16", 96000, 2), ("s24", 176400, 1),
    ("s32", 192000, 2), ("f32", 192000, 1), ("s16", 44100, 8), ("f32", 47999, 2), ("s24", 48000, 2),
    ("s32", 12345, 1), ("s24", 8010, 1),
]


def judge_blocks(path, container, track, rate, count):
    """Blocks follow each other without a gap, the first at 0; times are exact, to half a tick."""
    packets = ffprobe(path, f"a:{track}", "-show_entries", "packet=pts,duration,size,pts_time")["packets"]
    info = ffprobe(path, f"a:{track}", "-show_streams")["streams"][0]
    ticks = rate if container == "mov" else 1000
    assert info["time_base"] == f"1/{ticks}" and packets[0]["pts"] == 0
    sample = info["channels"] * int(info["bits_per_sample"]) // 8
    samples = [int(packet["size"]) // sample for packet in packets]
    assert sum(samples) == count
    starts = np.cumsum([0] + samples[:-1])
    error = np.array([packet["pts"] for packet in packets]) / ticks - starts / rate
    # MKV's blocks begin at the sample nearest to a whole millisecond.
    assert abs(error).max() <= (0 if container == "mov" else 0.5 / rate) + 1e-12
    return packets


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("number, rate, channels", FORMATS)
def test_sound_and_pictures_are_what_was_written(container, number, rate, channels, still, tmp_path):
    seconds = 3.2
    samples = noise(number, rate, channels, seconds)
    path = movie(tmp_path / f"movie.{container}", still, seconds, (number, rate, channels, samples))
    assert decoded(path, number) == samples
    info = ffprobe(path, "a", "-show_streams")["streams"][0]
    assert info["codec_name"] == f"pcm_{pcm(number)}"
    assert (int(info["sample_rate"]), info["channels"]) == (rate, channels)
    judge_blocks(path, container, 0, rate, len(samples) // channels // BYTES[number])
    shown = run("ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-c", "copy", "-f", "mjpeg", "-")
    count = int(seconds * PICTURE_RATE)
    assert shown == still.read_bytes() * count
    if container == "mov":
        sample = channels * BYTES[number]
        assert sample_sizes(path) == [(0, count), (sample, len(samples) // sample)]
    pictures = ffprobe(path, "v", "-show_entries", "packet=pts_time")["packets"]
    assert [float(packet["pts_time"]) for packet in pictures] == pytest.approx(
        [frame / PICTURE_RATE for frame in range(int(seconds * PICTURE_RATE))], abs=1e-6)
    # Both are equally long, and begin at 0.
    whole = ffprobe(path, "v", "-show_format", "-show_streams")
    assert float(whole["format"]["duration"]) == pytest.approx(seconds, abs=0.001)
    assert float(info["start_time"]) == float(whole["streams"][0]["start_time"]) == 0
    if container == "mov":
        assert float(info["duration"]) == pytest.approx(seconds, abs=1 / rate)
        assert float(whole["streams"][0]["duration"]) == pytest.approx(seconds, abs=1e-5)


@pytest.mark.parametrize("container", CONTAINERS)
def test_microphones_are_tracks_with_names(container, still, tmp_path):
    sounds = [(*kind, noise(*kind, 2.5)) for kind in
              [("s16", 48000, 2), ("s24", 44100, 1), ("f32", 22050, 8)]]
    path = movie(tmp_path / f"movie.{container}", still, 2.5, *sounds)
    for track, (number, rate, channels, samples) in enumerate(sounds):
        assert decoded(path, number, track) == samples
        judge_blocks(path, container, track, rate, len(samples) // channels // BYTES[number])
        tags = ffprobe(path, f"a:{track}", "-show_streams")["streams"][0]["tags"]
        assert f"Microphone {track + 1}" in (tags.get("title"), tags.get("handler_name"))


@pytest.mark.parametrize("container", CONTAINERS)
def test_players_can_seek_to_a_sample(container, still, tmp_path):
    rate = 48000
    samples = noise("s16", rate, 2, 20)
    path = movie(tmp_path / f"movie.{container}", still, 20, ("s16", rate, 2, samples))
    for time in (0, 0.5, 1, 7.25, 13.013, 19.5):
        part = decoded(path, "s16", 0, "-t", 0.25, before=("-ss", time))
        start = samples.find(part[:64])
        assert len(part) == rate // 4 * 4 and samples[start:start + len(part)] == part
        # ffmpeg cuts sound to the sample, where the container's times are as fine.
        assert abs(start / 4 / rate - time) <= 0.0006


@pytest.mark.skipif(not shutil.which("gst-launch-1.0"), reason="GStreamer is not installed")
@pytest.mark.parametrize("end", ["finish", "leave"])
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("number, rate, channels", [("s16", 48000, 2), ("s24", 44100, 1), ("s32", 48000, 2),
                                                     ("f32", 96000, 1)])
def test_gstreamer_reads_the_same(container, number, rate, channels, end, still, tmp_path):
    samples = noise(number, rate, channels, 3)
    path = movie(tmp_path / f"movie.{container}", still, 3, (number, rate, channels, samples), end=end)
    demuxer = "matroskademux" if container == "mkv" else "qtdemux"
    raw = tmp_path / "gst.raw"
    run("gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", demuxer, "name=d", "d.audio_0", "!",
        "queue", "!", "filesink", f"location={raw}", "d.video_0", "!", "queue", "!", "fakesink")
    found = raw.read_bytes()
    if end == "finish":
        assert found == samples
    else:
        assert samples.startswith(found) and len(found) >= 1.9 / 3 * len(samples)


def last_whole(path, data):
    """Pictures in the whole fragments of a file that is cut off, and where they end."""
    path.write_bytes(data)
    pieces = complete_pieces(path)
    return pieces[-1].end if pieces else 0


@pytest.mark.parametrize("late", [0, 0.3, 1.7])
@pytest.mark.parametrize("container", CONTAINERS)
def test_what_a_kill_leaves_is_in_step(container, late, still, tmp_path):
    """Cut off at random bytes: picture and sound play to the last fragment, and equally far."""
    kinds = [("s16", 48000, 2), ("s24", 44100, 1)]
    sounds = [(*kind, noise(*kind, 8)) for kind in kinds]
    path = movie(tmp_path / f"movie.{container}", still, 8, *sounds, end="leave", late=late)
    data = path.read_bytes()
    draw = random.Random(SEED)
    cut, seen = tmp_path / f"cut.{container}", 0
    for _ in range(20):
        size = draw.randrange(len(data) // 20, len(data))
        end = last_whole(cut, data[:size])
        if end == 0:
            continue
        # The whole fragments alone, and all that was left: players get along with both.
        for length in (end, size):
            cut.write_bytes(data[:length])
            pictures = ffprobe(cut, "v", "-show_entries", "packet=pts_time", check=False).get("packets", [])
            times = [float(packet["pts_time"]) for packet in pictures]
            assert times == pytest.approx([n / PICTURE_RATE for n in range(len(times))], abs=1e-6)
            for track, (number, rate, channels, samples) in enumerate(sounds):
                sample = BYTES[number] * channels
                found = run("ffmpeg", "-v", "quiet", "-i", cut, "-map", f"0:a:{track}?", "-f", pcm(number),
                            "-c:a", f"pcm_{pcm(number)}", "-", check=False)
                # The last block may be torn in the torn fragment.
                whole = len(found) - (0 if length == end else min(len(found), rate // 50 * sample))
                assert found[:whole] == samples[:whole]
                seconds = len(found) / sample / rate
                if length == end:
                    # MKV begins a cluster with each picture, and keeps two blocks for the next.
                    behind = late + (0.08 if container == "mkv" else 0.04)
                    assert len(times) / PICTURE_RATE - behind - 0.0001 <= max(seconds, 0.0)
                    assert seconds <= len(times) / PICTURE_RATE + 0.04
                    seen += 1
    assert seen > 20


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_long_delay_of_sound_breaks_nothing(container, still, tmp_path):
    samples = noise("s16", 48000, 1, 12)
    path = movie(tmp_path / f"movie.{container}", still, 12, ("s16", 48000, 1, samples), late=5)
    assert decoded(path, "s16") == samples
    assert len(ffprobe(path, "v", "-show_packets")["packets"]) == 12 * PICTURE_RATE


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("number, rate, channels", FORMATS[:8])
def test_movies_of_sound_alone(container, number, rate, channels, nothing, tmp_path):
    samples = noise(number, rate, channels, 2.4)
    path = movie(tmp_path / f"sound.{container}", nothing, 2.4, (number, rate, channels, samples))
    assert decoded(path, number) == samples
    judge_blocks(path, container, 0, rate, len(samples) // channels // BYTES[number])
    assert not ffprobe(path, "v", "-show_streams")["streams"]


def alone(path, number, rate, channels, samples, end="finish"):
    raw = path.with_name(f"{path.name}.raw")
    raw.write_bytes(samples)
    run(SOUND, "alone", path, end, f"{number}:{rate}:{channels}:{raw}")
    return path


@pytest.mark.parametrize("ending", ["wav", "flac", "mov", "mkv"])
@pytest.mark.parametrize("number, rate, channels", FORMATS)
def test_files_of_sound(ending, number, rate, channels, tmp_path):
    if ending == "flac" and number in ("s32", "f32"):
        pytest.skip("FLAC holds 16 and 24 bits")
    samples = noise(number, rate, channels, 1.3)
    path = alone(tmp_path / f"sound.{ending}", number, rate, channels, samples)
    assert decoded(path, number) == samples
    info = ffprobe(path, "a", "-show_streams", "-show_format")
    assert float(info["format"]["duration"]) == pytest.approx(1.3, abs=0.001)
    stream = info["streams"][0]
    assert (int(stream["sample_rate"]), stream["channels"]) == (rate, channels)
    if ending == "flac":
        # The checksum of all samples, which the decoder compares.
        assert run("ffmpeg", "-v", "warning", "-err_detect", "crccheck+explode", "-i", path, "-f", "null",
                   "-") == b""
    if ending == "wav":
        start, size = wav_data(path)
        assert size == len(samples) and path.stat().st_size == start + size + size % 2
    if ending == "wav" and number == "s16" and channels <= 2:
        with wave.open(str(path)) as file:
            assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (rate, channels, 2)
            assert file.readframes(file.getnframes()) == samples


@pytest.mark.parametrize("ending", ["wav", "flac", "mov", "mkv"])
def test_a_killed_recording_of_sound_plays(ending, tmp_path):
    rate = 48000
    samples = noise("s24", rate, 2, 4.5)
    path = alone(tmp_path / f"sound.{ending}", "s24", rate, 2, samples, end="leave")
    left = path.with_name(f"sound.partial.{ending}")
    assert not path.exists()
    data, draw = left.read_bytes(), random.Random(SEED)
    if ending == "wav":
        # ffmpeg would read on without.
        assert 4 * rate * 6 <= wav_data(left)[1] <= len(data)
    for size in [len(data)] + [draw.randrange(len(data) // 2, len(data)) for _ in range(5)]:
        left.write_bytes(data[:size])
        found = run("ffmpeg", "-v", "quiet", "-i", left, "-f", "s24le", "-c:a", "pcm_s24le", "-", check=False)
        whole = max(len(found) - rate // 10 * 6, 0)
        assert found[:whole] == samples[:whole]
        # Up to the last second, of what FLAC compresses by nothing.
        assert len(found) / 6 / rate >= 4.5 * size / len(data) - 1.7


def test_a_wav_beyond_four_gigabytes(tmp_path):
    """A recording is cut to its header, and gets 5 GB that are a hole."""
    path = alone(tmp_path / "sound.wav", "s16", 48000, 2, noise("s16", 48000, 2, 1))
    data = path.read_bytes()
    start = data.index(b"data") + 8
    size = 5 << 30
    # As EBU Tech 3306 has it: `ds64` in the room of `JUNK`, -1 in the two sizes of 32 bits.
    assert data[12:20] == b"JUNK" + struct.pack("<I", 28)
    long = bytearray(data[:start])
    long[:8] = b"RF64" + b"\xff" * 4
    long[12:48] = b"ds64" + struct.pack("<IQQQI", 28, start - 8 + size, size, size // 4, 0)
    long[-4:] = b"\xff" * 4
    path.write_bytes(long)
    with open(path, "r+b") as file:
        file.truncate(start + size)
    assert int(ffprobe(path, "a", "-show_streams")["streams"][0]["duration_ts"]) == size // 4


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    return preloaded("allocations.c", tmp_path_factory.mktemp("counter"))


@pytest.mark.parametrize("ending", ["mov", "mkv", "wav", "flac"])
def test_nothing_of_ours_is_allocated_per_block(ending, counter, still, tmp_path):
    """The difference of a minute and ten seconds, by who allocated."""
    counts = []
    for seconds in (10, 60):
        samples = noise("s16", 48000, 2, seconds)
        path = tmp_path / f"{seconds}.{ending}"
        log = tmp_path / "counts"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LD_PRELOAD", str(counter))
            patch.setenv("ALLOCATIONS", str(log))
            if ending in CONTAINERS:
                movie(path, still, seconds, ("s16", 48000, 2, samples))
            else:
                alone(path, "s16", 48000, 2, samples)
        # Swift's library is part of the program.
        counts.append(read_allocations(log)["SprocketSound"])
    # 50 s have 2,500 blocks and 1,250 pictures; indexes grow.
    assert counts[0] > 0 and counts[1] - counts[0] < 40, counts


# What ffmpeg encodes, and the format in which nothing of it is lost.
CODECS = {
    "aac.m4a": ("aac", 44100, 2, "f32"), "aac.mkv": ("aac", 48000, 1, "f32"),
    "aac.aac": ("aac", 48000, 2, "f32"), "aac.ts": ("aac", 48000, 2, "f32"),
    "lame.mp3": ("libmp3lame", 44100, 2, "f32"), "lame.mkv": ("libmp3lame", 48000, 2, "f32"),
    "opus.ogg": ("libopus", 48000, 2, "f32"), "opus.mkv": ("libopus", 48000, 1, "f32"),
    "opus.mp4": ("libopus", 48000, 2, "f32"), "vorbis.ogg": ("libvorbis", 44100, 2, "f32"),
    "flac.flac": ("flac", 44100, 2, "s24"), "flac16.mkv": ("flac", 96000, 1, "s16"),
    "alac.m4a": ("alac", 48000, 2, "s24"), "ac3.mp4": ("ac3", 48000, 2, "f32"),
    "u8.wav": ("pcm_u8", 8000, 1, "s16"), "s16.avi": ("pcm_s16le", 22050, 2, "s16"),
    "s24.wav": ("pcm_s24le", 48000, 2, "s24"), "s24be.mov": ("pcm_s24be", 48000, 1, "s24"),
    "s32.mkv": ("pcm_s32le", 192000, 2, "s32"), "f32.wav": ("pcm_f32le", 44100, 6, "f32"),
    "f64.wav": ("pcm_f64le", 48000, 2, "f32"), "s16be.aiff": ("pcm_s16be", 44100, 2, "s16"),
    "ulaw.wav": ("pcm_mulaw", 8000, 1, "s16"), "adpcm.wav": ("adpcm_ima_wav", 22050, 2, "s16"),
    "wavpack.wv": ("wavpack", 44100, 2, "f32"), "mp2.mpg": ("mp2", 48000, 2, "s16"),
}


def encoded(folder, name, seconds=4):
    codec, rate, channels, _ = CODECS[name]
    path = folder / name
    # Tones that glide: any shift shows.
    tone = "|".join(f"0.4*sin(2*PI*({200 + 150 * channel}+90*t)*t)" for channel in range(channels))
    run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"aevalsrc={tone}:s={rate}:d={seconds}", "-c:a",
        codec, "-strict", "-2", *(["-sample_fmt", "s16"] if name.startswith("flac16") else []),
        # Its decoder makes other noise after a jump.
        *(["-aac_pns", 0] if codec == "aac" else []), path)
    return path


# Samples of a block, samples missing before it, whether time begins anew with it, its time in nanoseconds.
def played(path, folder, *settings):
    """What `FileAudioSource` gives: its format, samples, blocks and notes."""
    raw = folder / "played.raw"
    lines = run(SOUND, "read", path, raw, *settings).decode().splitlines()
    number, rate, channels = lines[0].split()[:3]
    blocks, notes = [], []
    for line in lines[1:]:
        words = line.split()
        if len(words) == 4 and all(word.lstrip("-").isdigit() for word in words):
            blocks.append(tuple(map(int, words)))
        else:
            notes.append(line)
    return (number, int(rate), int(channels)), raw.read_bytes(), blocks, notes


def start_time(path):
    return float(ffprobe(path, "a", "-show_entries", "frame=best_effort_timestamp_time", "-read_intervals",
                         "%+#3")["frames"][0]["best_effort_timestamp_time"])


@pytest.mark.parametrize("name", CODECS)
def test_decodes_what_ffmpeg_does(name, tmp_path):
    _, rate, channels, number = CODECS[name]
    path = encoded(tmp_path, name)
    found, samples, blocks, notes = played(path, tmp_path)
    assert found == (number, rate, channels) and notes == []
    assert samples == decoded(path, number)
    assert sum(block[0] for block in blocks) == len(samples) // BYTES[number] // channels
    assert all(missing == 0 and not anew for _, missing, anew, _ in blocks)
    assert blocks[0][3] / 1e9 == pytest.approx(start_time(path), abs=2e-6)
    times = blocks[0][3] + np.cumsum([0] + [block[0] for block in blocks[:-1]]) * 1e9 / rate
    assert abs(times - [block[3] for block in blocks]).max() < 2


@pytest.mark.parametrize("name", ["aac.m4a", "aac.mkv", "lame.mp3", "opus.ogg", "flac.flac", "s16.avi",
                                  "s24.wav", "s32.mkv"])
def test_from_a_time_on(name, tmp_path):
    _, rate, channels, number = CODECS[name]
    path = encoded(tmp_path, name, 6)
    _, whole, blocks, _ = played(path, tmp_path)
    first = blocks[0][3]
    for start in (0.25, 2.5, 4.7531):
        _, part, later, _ = played(path, tmp_path, f"from={start}s")
        # The first sample at that time or after it; in an MKV by the time of a packet, to half a tick.
        tick = 0.0005 if name.endswith("mkv") else 0.000001
        assert -1000 <= later[0][3] - (first + start * 1e9) < 1e9 / rate + 1000
        sample = channels * BYTES[number]
        assert abs(len(whole) - len(part) - (later[0][3] - first) * rate / 1e9 * sample) <= (
            tick * rate + 0.5) * sample
        expected = whole[len(whole) - len(part):]
        if number == "f32":
            # Decoders of lossy codecs may round otherwise after a jump.
            one, other = np.frombuffer(part, "<f4"), np.frombuffer(expected, "<f4")
            assert abs(one - other).max() < 2e-4
        else:
            assert part == expected


def test_lost_packets_are_missing_samples(tmp_path):
    """Packets are taken out of an MKV and an MP4: the times of what follows tell how much is missing."""
    for name, packet in (("aac.mkv", 1024), ("aac.m4a", 1024), ("s32.mkv", None)):
        path = encoded(tmp_path, name)
        torn = path.with_stem("torn")
        run("ffmpeg", "-v", "error", "-y", "-i", path, "-c", "copy", "-bsf:a",
            "noise=drop='between(n,40,41)+between(n,60,60)'", torn)
        _, rate, channels, number = CODECS[name]
        _, samples, blocks, _ = played(torn, tmp_path)
        _, whole, intact, _ = played(path, tmp_path)
        missing = [block[1] for block in blocks if block[1]]
        assert sum(missing) * channels * BYTES[number] == len(whole) - len(samples)
        if packet:
            assert missing == [2 * packet, packet]
        # With the missing ones counted, each sample is where it was.
        ends = [part[-1][3] + part[-1][0] * 1e9 / rate for part in (blocks, intact)]
        assert ends[0] == pytest.approx(ends[1], abs=1e9 / rate)


def test_damaged_packets_are_told(tmp_path):
    path = encoded(tmp_path, "flac16.mkv")
    data = bytearray(path.read_bytes())
    draw = random.Random(SEED)
    for _ in range(6):
        at = draw.randrange(len(data) // 3, len(data) * 2 // 3)
        data[at:at + 400] = draw.randbytes(400)
    path.write_bytes(data)
    found, samples, blocks, notes = played(path, tmp_path)
    assert found == ("s16", 96000, 1)
    assert sum(count + missing for count, missing, _, _ in blocks) >= 3.5 * 96000
    assert len(notes) == 1 and notes[0].endswith("packets of sound are damaged")


def test_pictures_and_sound_of_our_own_files_are_in_step(still, tmp_path):
    """The round trip: what was written is read, from 0 on, bit for bit."""
    for container in CONTAINERS:
        samples = noise("s24", 44100, 2, 3)
        path = movie(tmp_path / f"own.{container}", still, 3, ("s24", 44100, 2, samples))
        found, back, blocks, _ = played(path, tmp_path)
        assert found == ("s24", 44100, 2) and back == samples
        assert blocks[0][3] == 0 and all(missing == 0 for _, missing, _, _ in blocks)


def refusal(*arguments):
    result = subprocess.run([SOUND, *map(str, arguments)], capture_output=True, timeout=LIMIT, text=True)
    assert result.returncode == 2, result
    return result.stdout.strip()


def test_refusals_say_what_to_do(still, tmp_path):
    raw = tmp_path / "x.raw"
    silent = tmp_path / "silent.mkv"
    run("ffmpeg", "-v", "error", "-i", still, "-c", "copy", silent)
    assert refusal("read", silent, raw) == f"{silent} has no sound; name a file that has."
    assert "has no sound; name" in refusal("read", still, raw)
    two = encoded(tmp_path, "aac.m4a")
    assert "no sound in stream 4; give one of 0." in refusal("read", two, raw, "stream=4")
    odd = tmp_path / "odd.wav"
    run("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=d=1", "-ar", 4000, odd)
    assert "takes 8000 to 192000 Hz and 1 to 8 channels; convert it" in refusal("read", odd, raw)
    assert "no sound at 9s or later; begin earlier" in refusal("read", two, raw, "from=9s")
    assert "There is no file" in refusal("read", tmp_path / "none.wav", raw)
    text = tmp_path / "a.m3u8"
    text.write_text("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n")
    assert "playlists and lists of files are not followed" in refusal("read", text, raw)
