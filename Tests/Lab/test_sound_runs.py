"""Whole runs with microphones: what is in the files, and what the summary says of it."""
import re
import signal
import subprocess
import time

import pytest

from conftest import wait_until, wait_until_holds
from program import SPROCKET, read_summary
from test_microphones import (LIMIT, MICROPHONE, NUMBERS, PAIRS, PIECES, cards, made_up, options,
                              playing_again_and_again, unplugged, without_fourth_byte)


def started(*arguments):
    return subprocess.Popen([SPROCKET, "run", *map(str, arguments), "--quiet"], stderr=subprocess.PIPE)


def stop(process):
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, errors


@pytest.mark.costly
@pytest.mark.parametrize("format, rate, channels", PAIRS, ids=str)
def test_a_file_has_bit_for_bit_what_arecord_has(format, rate, channels, tmp_path):
    path, data = made_up(tmp_path, format, channels, rate // PIECES)
    sound = (format, rate, channels)
    kept = without_fourth_byte(data) if format == "S24_LE" else data
    ours, theirs = tmp_path / "ours.partial.wav", tmp_path / "theirs.raw"
    name = f"{MICROPHONE.format(0)},format={NUMBERS[format]},rate={rate},channels={channels}"
    with playing_again_and_again(path, *sound):
        with started("--source", "none", "--microphone", name, "--audio-sync", "exact", "--sound",
                     tmp_path / "ours.wav", "--summary", tmp_path / "s.json") as process:
            try:
                wait_until_holds(ours, kept)
                stop(process)
            finally:
                process.kill()
        with subprocess.Popen(["arecord", *options(*sound), "-D", MICROPHONE.format(0), theirs]) as recorder:
            try:
                wait_until_holds(theirs, data)
            finally:
                recorder.kill()
    assert kept in (tmp_path / "ours.wav").read_bytes()
    heard = read_summary(tmp_path / "s.json")["sound"][0]
    assert (heard["number"], heard["rate"], heard["channels"]) == (NUMBERS[format], rate, channels)
    counts = heard["sinks"]["sound"]
    # A busy machine may be late, and then the driver overwrites: what is missing is counted.
    assert sum(counts.values()) == heard["produced"] and counts["failed"] == 0


def length(path, stream):
    """Seconds of what ffmpeg decodes, by counting."""
    if stream == "v":
        said = subprocess.run(["ffprobe", "-v", "error", "-count_packets", "-select_streams", "v",
                               "-show_entries", "stream=nb_read_packets", "-of", "csv=p=0", path],
                              capture_output=True, check=True, timeout=LIMIT).stdout
        return int(re.sub(rb"\D", b"", said)) / 10
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-f", "s16le", "-ac", "1", "-"],
                         capture_output=True, check=True, timeout=LIMIT).stdout
    return len(raw) / 2 / 48000


@pytest.mark.costly
def test_a_recording_goes_on_while_its_microphone_is_unplugged(tmp_path):
    movie, said = tmp_path / "m.mov", tmp_path / "levels.partial.jsonl"
    with started("--source", "scene", "--size", "64x48", "--rate", 10, "--microphone",
                 f"{MICROPHONE.format(0)},format=s16,rate=48000,channels=2", "--movie", movie, "--levels",
                 tmp_path / "levels.jsonl", "--summary", tmp_path / "s.json") as process:
        try:
            def blocks():
                return said.read_text().count("\n") if said.exists() else 0
            wait_until(lambda: blocks() > 10)
            with unplugged("snd_aloop"):
                wait_until(lambda: "Loopback" not in dict(map(reversed, cards())))
                time.sleep(1.5)
            before = blocks()
            wait_until(lambda: blocks() > before + 10)
            stop(process)
        finally:
            process.kill()
    heard = read_summary(tmp_path / "s.json")["sound"][0]
    assert heard["gaps"] >= 1 and heard["missing"] > 48000
    for counts in heard["sinks"].values():
        assert sum(counts.values()) == heard["produced"] and counts["missing"] == heard["missing"]
    (file,) = [file for file in heard["files"] if file["path"].endswith("m.mov")]
    assert file["samples"] == file["delivered"] + file["silence"] + file["corrected"]
    assert file["silence"] > 48000
    pictures = read_summary(tmp_path / "s.json")["sinks"]["movie"]
    if pictures["missing"] + pictures["overrun"] + pictures["behind"] == 0:
        assert abs(length(movie, "v") - length(movie, "a")) < 0.06
    assert round(length(movie, "a") * 48000) == file["samples"]


@pytest.mark.costly
def test_a_run_that_ends_while_its_microphone_is_unplugged_fails(tmp_path):
    said = tmp_path / "levels.partial.jsonl"
    name = f"{MICROPHONE.format(0)},format=s16,rate=48000,channels=2"
    with started("--source", "none", "--microphone", name, "--sound", tmp_path / "s.wav", "--levels",
                 tmp_path / "levels.jsonl") as process:
        try:
            wait_until(lambda: said.exists() and said.read_text().count("\n") > 10)
            with unplugged("snd_aloop"):
                wait_until(lambda: "Loopback" not in dict(map(reversed, cards())))
                time.sleep(1)
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
    assert process.returncode == 1 and b"is not back" in errors
    # What was heard is there.
    assert (tmp_path / "s.wav").stat().st_size > 1000
