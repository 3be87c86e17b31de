"""Sound in dumps: in the hands of readers that are not ours, and played again to the bit."""
import json
import os
import signal
import subprocess
import time
import wave

import jsonschema
import numpy as np
import pytest
from foxglove_schemas_protobuf.RawAudio_pb2 import RawAudio
from mcap.reader import NonSeekingReader, make_reader
from mcap.stream_reader import StreamReader
from mcap_protobuf.decoder import DecoderFactory

from program import LIMIT, SPROCKET, one_sentence, read_summary, running, sprocket, wait_for_bytes
from test_on_demand import Client, finish, wait_for
from test_sound import assert_balanced, beeps, brightness, flashes, samples

SCENE = ["--source", "scene", "--size", "160x120", "--rate", 30, "--source-set", "flash=4", "--source-set",
         "shake=0", "--source-set", "pan=0"]
FAST = [*SCENE, "--source-set", "pace=fast"]
BAD = "scene:drift=150,jitter=2,outliers=8,gap=0.2,gapfor=300ms,seed=3"
OTHER = "scene:number=s24,channels=1,rate=44100,seed=9"


def messages(path, topic):
    with open(path, "rb") as file:
        for _, channel, message in make_reader(file, validate_crcs=True).iter_messages(
                topics=topic, log_time_order=False):
            yield message, json.loads(message.data) if channel.message_encoding == "json" \
                else RawAudio.FromString(message.data)


def record(folder, *options, source=FAST, seconds=6, microphones=("scene",), name="a"):
    """A dump and a movie of one run; its summary."""
    heard = [option for microphone in microphones for option in ("--microphone", microphone)]
    sprocket("run", *source, "--duration", f"{seconds}s", *heard, "--dump", folder / f"{name}.mcap",
             "--movie", folder / f"{name}.mov", "--summary", folder / f"{name}.json", "--quiet", *options)
    return read_summary(folder / f"{name}.json")


def replay(folder, path, *options, name="b"):
    sprocket("run", "--source", f"replay:{path}", "--movie", folder / f"{name}.mov", "--summary",
             folder / f"{name}.json", "--quiet", *options)
    return read_summary(folder / f"{name}.json")


@pytest.fixture(scope="module")
def bad(tmp_path_factory):
    """Twelve seconds of a card that does all wrong, and of one that does none, in a dump and a movie."""
    folder = tmp_path_factory.mktemp("bad")
    record(folder, source=SCENE, seconds=12, microphones=(BAD, OTHER))
    return folder


def test_the_published_class_reads_the_samples_that_the_file_of_sound_has(tmp_path):
    record(tmp_path, "--sound", tmp_path / "a.wav")
    found = [audio for _, audio in messages(tmp_path / "a.mcap", "audio")]
    assert {(a.format, a.sample_rate, a.number_of_channels) for a in found} == {("pcm-s16", 48000, 2)}
    with wave.open(str(tmp_path / "a.wav")) as file:
        whole = file.readframes(file.getnframes())
    data = b"".join(audio.data for audio in found)
    assert len(data) >= 6 * 48000 * 4 and data == whole[:len(data)]
    assert [a.timestamp.ToNanoseconds() for a in found] == \
        [message.log_time for message, _ in messages(tmp_path / "a.mcap", "audio")]


def test_blocks_obey_their_schema_and_tell_what_is_there(bad):
    path = bad / "a.mcap"
    with open(path, "rb") as file:
        schemas = {s.name: s for s in make_reader(file).get_summary().schemas.values()}
    for topic in ("microphone", "block"):
        check = jsonschema.Draft202012Validator(json.loads(schemas[f"sprocket.{topic}"].data))
        assert all(check.is_valid(data) for _, data in messages(path, topic))
    described = [data for _, data in messages(path, "microphone")]
    assert [(d["number"], d["rate"], d["channels"]) for d in described] == \
        [("s16", 48000, 2), ("s24", 44100, 1)]
    summary = read_summary(bad / "a.json")
    for index, topic in enumerate(["audio", "audio/2"]):
        blocks = [data for _, data in messages(path, "block") if data["microphone"] == index]
        audio = [data for _, data in messages(path, topic)]
        size = 4 if index == 0 else 3
        assert [block["count"] * size for block in blocks] == [len(a.data) for a in audio]
        end = 0
        for block in blocks:
            assert block["sample"] == end + block["missing"] and block["behind"] == 0
            end = block["sample"] + block["count"]
        counts = summary["sound"][index]["sinks"]["dump"]
        assert sum(block["count"] for block in blocks) == counts["delivered"]
        assert sum(block["missing"] for block in blocks) == counts["missing"]
    assert_balanced(summary)


def test_readers_of_both_kinds_agree(bad):
    with open(bad / "a.mcap", "rb") as file:
        indexed = [(c.topic, m.sequence, m.data) for _, c, m in
                   make_reader(file, validate_crcs=True).iter_messages(log_time_order=False)]
    with open(bad / "a.mcap", "rb") as file:
        streamed = [(c.topic, m.sequence, m.data) for _, c, m in
                    NonSeekingReader(file, validate_crcs=True).iter_messages(log_time_order=False)]
    assert sorted(indexed) == sorted(streamed)
    with open(bad / "a.mcap", "rb") as file:
        decoded = list(make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages(
            topics=["audio"]))
    assert decoded[0][3].DESCRIPTOR.full_name == "foxglove.RawAudio" and decoded[0][3].data


@pytest.mark.parametrize("live", [False, True])
def test_a_replay_makes_the_same_movie(bad, tmp_path, live):
    summary = replay(tmp_path, bad / "a.mcap", *(["--source-set", "live=true"] if live else []))
    for track, channels in ((0, 2), (1, 1)):
        assert np.array_equal(samples(tmp_path / "b.mov", track, channels),
                              samples(bad / "a.mov", track, channels))
    assert_balanced(summary)
    found = timed_offsets(tmp_path / "b.mov")
    assert len(found) >= 8 and np.median(np.abs(found)) < 0.02


def test_a_dump_of_a_replay_has_the_same_blocks(bad, tmp_path):
    replay(tmp_path, bad / "a.mcap", "--dump", tmp_path / "b.mcap")
    keys = ("microphone", "sample", "count", "missing", "segment", "read_ns", "status_ahead", "status_ns")

    def blocks(path):
        return [[data.get(key) for key in keys] for _, data in messages(path, "block")]
    old, new = blocks(bad / "a.mcap"), blocks(tmp_path / "b.mcap")
    for index in (0, 1):
        mine = [block for block in new if block[0] == index]
        assert mine and mine == [block for block in old if block[0] == index][:len(mine)]


def test_a_replay_from_a_later_time_is_in_step(bad, tmp_path):
    summary = replay(tmp_path, bad / "a.mcap", "--from", "4s")
    found = timed_offsets(tmp_path / "b.mov")
    assert len(found) >= 4 and np.median(np.abs(found)) < 0.02
    assert summary["sound"][0]["produced"] < 10 * 48000


def test_a_dump_keeps_the_sound_of_a_file(bad, tmp_path):
    sprocket("run", "--source", f"file:{bad / 'a.mov'}", "--dump", tmp_path / "c.mcap", "--quiet")
    replay(tmp_path, tmp_path / "c.mcap")
    heard, whole = samples(tmp_path / "b.mov"), samples(bad / "a.mov")
    assert abs(len(heard) - len(whole)) < 1600
    assert np.array_equal(heard[:len(whole)], whole[:len(heard)])
    assert len(list(messages(tmp_path / "c.mcap", "microphone"))) == 1


def test_the_sound_of_a_dump_and_of_a_file_are_microphones_too(bad, tmp_path):
    for name, kind in (("d", f"replay:{bad / 'a.mcap'}"), ("f", f"file:{bad / 'a.mov'}"),
                       ("g", f"replay:{bad / 'a.mcap'},number=2")):
        sprocket("run", "--source", "none", "--microphone", kind, "--sound", tmp_path / f"{name}.wav",
                 "--quiet")
    blocks = b"".join(audio.data for _, audio in messages(bad / "a.mcap", "audio"))
    heard = samples(tmp_path / "d.wav")
    played = np.frombuffer(blocks, "<i2").reshape(-1, 2) / 32768
    assert (heard == 0).all(axis=1).sum() > 0 and len(heard) > len(played)
    # What is not silence of gaps is what is in the dump, in its order.
    assert np.array_equal(heard[:1000], played[:1000].astype("f4"))
    assert np.array_equal(samples(tmp_path / "f.wav"), samples(bad / "a.mov"))
    assert len(samples(tmp_path / "g.wav", channels=1)) > 11 * 44100


def test_refusals_say_what_to_do(bad, tmp_path):
    record(tmp_path, microphones=("none",), name="mute")
    for kind, part in ((f"replay:{tmp_path / 'mute.mcap'}", "has no sound to replay"),
                       (f"replay:{bad / 'a.mcap'},number=3", "give 1 to 2"),
                       (f"replay:{tmp_path / 'none.mcap'}", "does not exist"),
                       (f"file:{tmp_path / 'none.mov'}", "no file"),
                       (f"file:{bad / 'a.mov'},stream=0", "stream")):
        result = sprocket("run", "--source", "none", "--microphone", kind, "--sound", tmp_path / "x.wav",
                          "--quiet", check=False)
        assert result.returncode != 0 and part in one_sentence(result.stderr.decode())
        assert not (tmp_path / "x.wav").exists()


def timed_offsets(path):
    """Of each beep to its flash, seconds, where pictures may be missing: by the pictures' own times."""
    lines = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of",
         "csv=p=0", path], capture_output=True, timeout=LIMIT, check=True, text=True).stdout.split()
    times = np.sort([float(line.strip(",")) for line in lines])
    lit, heard = times[np.round(flashes(path) * 30).astype(int)], beeps(samples(path))
    return np.array([heard[np.abs(heard - time).argmin()] - time for time in lit])


def test_a_dump_that_was_killed_replays_up_to_its_last_chunk(tmp_path):
    process = subprocess.Popen(
        [SPROCKET, "run", *map(str, SCENE), "--microphone", "scene", "--dump", tmp_path / "k.mcap",
         "--quiet"])
    partial = tmp_path / "k.partial.mcap"
    wait_for_bytes(partial, process, 800_000)
    process.send_signal(signal.SIGKILL)
    process.wait(LIMIT)
    replay(tmp_path, partial)
    found = timed_offsets(tmp_path / "b.mov")
    # A picture that is missing may be the first of a flash, which lasts three.
    assert len(found) >= 1 and np.abs(found).max() < 0.07


def test_a_damaged_chunk_of_sound_is_missing_sound_and_nothing_else(tmp_path):
    record(tmp_path)
    path = tmp_path / "a.mcap"
    with open(path, "rb") as file:
        reader = make_reader(file)
        channel = next(c.id for c in reader.get_summary().channels.values() if c.topic == "audio")
        chunks = [c for c in reader.get_summary().chunk_indexes if channel in c.message_index_offsets]
    hurt = chunks[2]
    with open(path, "r+b") as file:
        file.seek(hurt.chunk_start_offset + hurt.chunk_length // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0xFF]))
    summary = replay(tmp_path, path)
    sound = summary["sound"][0]
    assert sound["missing"] > 0 and sound["gaps"] == 1
    mended, whole = samples(tmp_path / "b.mov"), samples(tmp_path / "a.mov")
    assert len(mended) == len(whole)
    other = np.flatnonzero((mended != whole).any(axis=1))
    assert not mended[other[0]:other[-1] + 1].any()
    # The scene's sound has zeros of its own at the ends.
    assert sound["missing"] - 100 < other[-1] - other[0] <= sound["missing"]


def test_sinks_that_come_later_have_sound(tmp_path):
    """A dump, again a dump, and a movie, attached to a run that goes on: with the sound from then on."""
    path = tmp_path / "control"
    with running([SPROCKET, "run", *SCENE, "--microphone", "scene", "--reports", tmp_path / "r.jsonl",
                  "--control-socket", path, "--summary", tmp_path / "s.json", "--quiet"]) as process:
        wait_for(path.exists)
        client = Client(path)
        client.wait(45)
        for name in ("a", "b"):
            assert client.ask("reconfigure", attach=[f"dump:{tmp_path}/{name}.mcap"])["ok"]
            client.wait(90)
            assert client.ask("reconfigure", detach=["dump"])["ok"]
        assert client.ask("reconfigure", attach=[f"movie:{tmp_path}/m.mov"])["ok"]
        client.wait(150)
        finish(client, process)
        client.close()
    assert_balanced(read_summary(tmp_path / "s.json"))
    for name in ("a", "b"):
        replay(tmp_path, tmp_path / f"{name}.mcap", name=name)
    for name in ("a", "b", "m"):
        found = timed_offsets(tmp_path / f"{name}.mov")
        assert len(found) >= 2 and np.abs(found).max() < 0.07 and np.median(np.abs(found)) < 0.001
        frames = len(brightness(tmp_path / f"{name}.mov"))
        assert len(samples(tmp_path / f"{name}.mov")) >= (frames - 2) * 1600


def test_a_dump_of_sound_alone_says_how_it_is_played(tmp_path):
    sprocket("run", "--source", "none", "--microphone", "scene", "--duration", "2s", "--dump",
             tmp_path / "s.mcap", "--quiet")
    result = sprocket("run", "--source", f"replay:{tmp_path / 's.mcap'}", "--null", "--quiet", check=False)
    assert result.returncode == 2 and "the microphone replay:" in one_sentence(result.stderr.decode())
    sprocket("run", "--source", "none", "--microphone", f"replay:{tmp_path / 's.mcap'}", "--sound",
             tmp_path / "s.wav", "--quiet")
    heard = b"".join(audio.data for _, audio in messages(tmp_path / "s.mcap", "audio"))
    with wave.open(str(tmp_path / "s.wav")) as file:
        assert file.readframes(file.getnframes()) == heard
