"""Microphones: what was played into a loopback comes out, bit for bit, and what does not is accounted for.

`SprocketMicrophone` (Tests/Microphone) reads; aplay plays; arecord, amixer and /proc are the witnesses.
"""
import array
import collections
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import threading
import time

import pytest

from conftest import LIMIT, wait_until, wait_until_holds
from program import SPROCKET, sprocket

READER = pathlib.Path(SPROCKET).parent / "SprocketMicrophone"
PLAYER, MICROPHONE = "hw:CARD=Loopback,DEV=0,SUBDEV={}", "hw:CARD=Loopback,DEV=1,SUBDEV={}"
BYTES = {"S16_LE": 2, "S24_LE": 4, "S24_3LE": 3, "S32_LE": 4, "FLOAT_LE": 4}
NUMBERS = {"S16_LE": "s16", "S24_LE": "s24", "S24_3LE": "s24", "S32_LE": "s32", "FLOAT_LE": "f32"}
ENDLESS = 1 << 40

Block = collections.namedtuple("Block", "first count missing restarted ahead time read allocations")


class Reader:
    """The program while it reads a microphone."""

    def __init__(self, name, folder, *settings, samples=ENDLESS, variables={}):
        self.out = folder / "heard.raw"
        self.said = folder / "said"
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(
                [READER, name, self.out, str(samples), *settings], stdout=said, stderr=subprocess.PIPE,
                env={**os.environ, **variables})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    @property
    def heard(self):
        return self.out.read_bytes() if self.out.exists() else b""

    @property
    def lines(self):
        return self.said.read_text().split("\n")[:-1]

    @property
    def blocks(self):
        return [Block(*map(int, line.split())) for line in self.lines[1:] if line[0].isdigit()]

    @property
    def notes(self):
        return [line[5:] for line in self.lines if line.startswith("note ")]

    def wait_for_blocks(self, count):
        """Waits until there are so many more."""
        wanted = len(self.blocks) + count
        wait_until(lambda: len(self.blocks) >= wanted or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.stderr.read()

    def end(self, status=0):
        """Waits until the program ends; returns what it says of errors."""
        _, errors = self.process.communicate(timeout=LIMIT)
        assert self.process.returncode == status, errors.decode()
        return errors.decode().strip()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        assert self.end() == ""
        return self.heard


def refused(name, *settings):
    result = subprocess.run([READER, name, os.devnull, "10", *settings], capture_output=True, timeout=LIMIT)
    assert result.returncode == 1, result.stdout
    lines = result.stderr.decode().strip().split("\n")
    assert len(lines) == 1, lines
    return lines[0]


def options(format, rate, channels):
    return ["-q", "-t", "raw", "-f", format, "-r", str(rate), "-c", str(channels)]


def made_up(folder, format, channels, samples):
    """Numbers at random, none of them 0, in a file."""
    generator = random.Random(f"{format} {channels} {samples}")
    size = BYTES[format]
    data = bytes(byte | 1 for byte in generator.randbytes(samples * channels * size))
    path = folder / "played.raw"
    path.write_bytes(data)
    return path, data


RATES = [8000, 22050, 44100, 48000, 96000, 192000]
CHANNELS = [1, 2, 3, 4, 6, 8]
# Each two of format, rate and channels meet.
PAIRS = [(list(BYTES)[(row + column) % len(BYTES)], rate, channels)
         for row, rate in enumerate(RATES) for column, channels in enumerate(CHANNELS)]


# How often a piece of sound is played in a second. A slow machine reads a shorter one without an overrun.
PIECES = 64


@contextlib.contextmanager
def playing_again_and_again(path, *sound):
    """A player that is on before anybody listens, so that the driver offers its format alone."""
    player = " ".join(["aplay", *options(*sound), "-D", PLAYER.format(0)])
    command = f"while cat {f'{path} ' * PIECES}; do :; done | {player}"
    with subprocess.Popen(["sh", "-c", command], stderr=subprocess.DEVNULL, start_new_session=True) as loop:
        try:
            wait_until(lambda: "RUNNING" in status("pcm0p", 0))
            yield
        finally:
            os.killpg(loop.pid, signal.SIGKILL)


# All of them: test_sound_runs.py.
@pytest.mark.costly
@pytest.mark.parametrize("format, rate, channels", PAIRS[::7], ids=str)
def test_what_was_played_is_read_bit_for_bit(format, rate, channels, tmp_path):
    path, data = made_up(tmp_path, format, channels, rate // PIECES)
    sound = (format, rate, channels)
    kept = without_fourth_byte(data) if format == "S24_LE" else data
    witness = tmp_path / "witness.raw"
    with playing_again_and_again(path, *sound):
        with Reader(MICROPHONE.format(0), tmp_path, f"format={NUMBERS[format]}", f"rate={rate}",
                    f"channels={channels}") as reader:
            wait_until_holds(reader.out, kept)
            reader.stop()
        with subprocess.Popen(["arecord", *options(*sound), "-D", MICROPHONE.format(0), witness]) as recorder:
            try:
                wait_until_holds(witness, data)
            finally:
                recorder.kill()
    assert reader.lines[0].startswith(f"{NUMBERS[format]} {rate} {channels} ")
    assert f"{format}, {rate} Hz" in reader.lines[0] and "device's times" in reader.lines[0]


def without_fourth_byte(data):
    """24 bits in four bytes, as they are recorded."""
    kept = bytearray(len(data) // 4 * 3)
    for byte in range(3):
        kept[byte::3] = data[byte::4]
    return bytes(kept)


def status(pcm, subdevice, card="Loopback"):
    return pathlib.Path(f"/proc/asound/{card}/{pcm}/sub{subdevice}/status").read_text()


def test_channels_are_picked(tmp_path):
    sound = ("S16_LE", 48000, 8)
    path, data = made_up(tmp_path, "S16_LE", 8, 48000 // PIECES)
    picked = b"".join(data[start + 6:start + 8] + data[start:start + 2] for start in range(0, len(data), 16))
    with playing_again_and_again(path, *sound):
        with Reader(MICROPHONE.format(0), tmp_path, "pick=3/0", "channels=8") as reader:
            wait_until_holds(reader.out, picked)
            reader.stop()
    assert reader.lines[0].startswith("s16 48000 2 ") and "channels 3, 0 of 8" in reader.lines[0]


@contextlib.contextmanager
def counting(folder, seconds, subdevice=0):
    """A player of 48 kHz whose samples are numbers that count, from 1."""
    path = folder / "counting.raw"
    path.write_bytes(array.array("I", range(1, 48000 * seconds)).tobytes())
    command = ["aplay", *options("S32_LE", 48000, 1), "-D", PLAYER.format(subdevice), path]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as player:
        try:
            wait_until(lambda: "RUNNING" in status("pcm0p", subdevice))
            yield player
        finally:
            player.kill()


def counted(heard):
    return array.array("I", heard).tolist()


def test_what_is_lost_while_nobody_reads_is_counted_exactly(tmp_path):
    # Long enough for a busy machine, in which the driver cannot count while it stands still.
    with counting(tmp_path, 20), Reader(
            MICROPHONE.format(0), tmp_path, "format=s32", "channels=1", "buffer=500ms", "pause=5/1500",
            samples=72000) as reader:
        reader.end()
    numbers, start = counted(reader.heard), 0
    gaps, jumps = [], []
    for block in reader.blocks:
        if start >= len(numbers):
            break
        if start:
            jumps.append(numbers[start] - numbers[start - 1] - 1)
            gaps.append(block.missing)
        part = numbers[start:start + block.count]
        assert part == list(range(part[0], part[0] + len(part))), block
        start += block.count
    assert jumps == gaps
    assert sum(gaps) > 48000 * 0.8
    assert f"lost {sum(gaps)} samples in {sum(1 for gap in gaps if gap)} overrun" in reader.notes[0]
    assert not any(block.restarted for block in reader.blocks)


def test_each_wake_up_tells_where_the_device_was_and_nothing_is_allocated(tmp_path):
    with counting(tmp_path, 20), Reader(
            MICROPHONE.format(0), tmp_path, "format=s32", "channels=1", "period=5ms",
            samples=48000) as reader:
        reader.end()
    blocks = reader.blocks
    assert "period 240 samples (5 ms), buffer 48000 samples (1000 ms)" in reader.lines[0]
    positions = [block.first + block.ahead for block in blocks]
    times = [block.time for block in blocks]
    assert positions == sorted(positions) and times == sorted(times)
    for block in blocks:
        assert block.count <= block.ahead and block.time <= block.read
    # At the nominal rate. Single ones may be off, where the machine was busy between both.
    starts = [moment - position / 48000 * 1e9 for position, moment in zip(positions, times)]
    assert statistics.median(abs(start - statistics.median(starts)) for start in starts) < 5e6
    assert sum(block.allocations for block in blocks[1:]) == 0


def test_latency_is_taken_off_the_times(tmp_path):
    with Reader(MICROPHONE.format(0), tmp_path, "latency=500", samples=4800) as reader:
        reader.end()
    for block in reader.blocks:
        assert 500e6 <= block.read - block.time < 5e9


def test_default_and_plug_devices_convert(tmp_path):
    for name in ("default", "plughw:CARD=Loopback,DEV=1"):
        with Reader(name, tmp_path, "rate=22050", "channels=1", "format=f32", samples=4410) as reader:
            assert reader.end() == ""
        assert reader.lines[0].startswith("f32 22050 1 ")
        assert len(reader.heard) == 4410 * 4


def test_a_card_is_found_by_a_part_of_its_name(tmp_path):
    with Reader("dumm", tmp_path, samples=4800) as reader:
        reader.end()
    assert reader.lines[0].startswith("s16 48000 2 ")
    assert reader.heard == bytes(4800 * 4)


# Losing the device.

def bind(action, driver):
    pathlib.Path(f"/sys/bus/platform/drivers/{driver}/{action}").write_text(f"{driver}.0")


def cards():
    return re.findall(r"^ *(\d+) \[(\w+)", pathlib.Path("/proc/asound/cards").read_text(), re.M)


@contextlib.contextmanager
def unplugged(*drivers):
    """The drivers lose their devices; they have them again at the end."""
    lost = []
    for driver in drivers:
        thread = threading.Thread(target=bind, args=("unbind", driver))
        thread.start()
        lost.append((driver, thread))
    try:
        yield
    finally:
        for driver, thread in lost:
            thread.join(30)  # The driver waits until nobody has the device open.
            assert not thread.is_alive(), f"somebody holds {driver}"
            bind("bind", driver)


def assert_numbers_follow_the_clock(blocks, tolerance=0.05):
    """Missing samples are those that the device would have made meanwhile."""
    first, last = blocks[0], blocks[-1]
    samples = last.first + last.ahead - first.first - first.ahead
    assert abs(samples / 48000 - (last.time - first.time) / 1e9) < tolerance


@pytest.mark.parametrize("swap", [False, True], ids=["same-number", "another-number"])
def test_an_unplugged_microphone_is_waited_for(swap, tmp_path):
    drivers = ("snd_dummy", "snd_aloop") if swap else ("snd_aloop",)
    before = dict((name, number) for number, name in cards())
    with Reader(f"hw:{before['Loopback']},1", tmp_path, "format=s16", "channels=1") as reader:
        reader.wait_for_blocks(10)
        # With both gone the one that comes back first gets the lower number.
        with unplugged(*drivers):
            wait_until(lambda: "Loopback" not in dict(map(reversed, cards())))
            time.sleep(1)
        if swap:
            after = dict((name, number) for number, name in cards())
            assert after["Loopback"] != before["Loopback"]
        wait_until(lambda: any(block.restarted for block in reader.blocks))
        reader.wait_for_blocks(10)
        reader.stop()
    restarted = [block for block in reader.blocks if block.restarted]
    assert len(restarted) == 1 and restarted[0].missing > 48000
    assert_numbers_follow_the_clock(reader.blocks)
    assert "was unplugged" in reader.notes[0] and str(restarted[0].missing) in reader.notes[0]
    if swap:  # As it was.
        with unplugged("snd_aloop", "snd_dummy"):
            wait_until(lambda: not cards())


@pytest.mark.parametrize("patience", ["0s", "1s"])
def test_an_unplugged_microphone_is_not_waited_for_longer_than_asked(patience, tmp_path):
    with Reader(MICROPHONE.format(0), tmp_path, f"replug={patience}") as reader:
        reader.wait_for_blocks(5)
        with unplugged("snd_aloop"):
            sentence = reader.end(status=1)
    assert "Loopback" in sentence and "unplugged" in sentence and "\n" not in sentence


def test_an_interrupt_ends_the_wait_for_an_unplugged_microphone(tmp_path):
    with Reader(MICROPHONE.format(0), tmp_path) as reader:
        reader.wait_for_blocks(5)
        with unplugged("snd_aloop"):
            time.sleep(1)
            reader.stop()
    assert "was unplugged" in reader.notes[0]


@pytest.fixture(scope="session")
def faults(tmp_path_factory):
    """Tests/Lab/pcm_faults.c: since this machine, whose disk is its host's, cannot sleep."""
    library = tmp_path_factory.mktemp("faults") / "pcm_faults.so"
    source = pathlib.Path(__file__).with_name("pcm_faults.c")
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl"],
                   check=True, timeout=LIMIT)
    return library


@pytest.mark.costly
@pytest.mark.parametrize("fault, says", [("ESTRPIPE", "was asleep"), ("EPIPE", "was stopped by its driver"),
                                         ("STOP", "was stopped by its driver")])
def test_a_device_that_stops_is_started_again(fault, says, faults, tmp_path):
    variables = {"LD_PRELOAD": str(faults), "PCM_FAULT": fault}
    with Reader(MICROPHONE.format(0), tmp_path, samples=48000, variables=variables) as reader:
        reader.end()
    blocks = reader.blocks
    restarted = [index for index, block in enumerate(blocks) if block.restarted]
    # The library stops it at the 10th wait, keeps it asleep for a moment, and again at the 20th.
    assert len(restarted) == 2 and all(blocks[index].missing > 0 for index in restarted)
    assert says + " 2 times" in reader.notes[0]
    assert str(sum(block.missing for block in blocks)) in reader.notes[0]
    assert_numbers_follow_the_clock(blocks)


# Refusals.

@contextlib.contextmanager
def held(subdevice=0):
    command = ["arecord", *options("S16_LE", 48000, 1), "-D", MICROPHONE.format(subdevice), "/dev/null"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as holder:
        try:
            wait_until(lambda: "RUNNING" in status("pcm1c", subdevice))
            yield holder.pid
        finally:
            holder.kill()


def test_a_microphone_that_somebody_else_uses():
    with held() as pid:
        sentence = refused(MICROPHONE.format(0))
        assert f"arecord (process {pid})" in sentence and "Loopback" in sentence


@pytest.mark.parametrize("name", ["nowhere", "hw:17", "hw:CARD=Nobody", "hw:a,b,c,d"])
def test_a_microphone_that_is_not_there(name):
    sentence = refused(name)
    assert name in sentence and "hw:CARD=Loopback,DEV=1" in sentence and "Dummy" in sentence


@pytest.mark.parametrize("name", ["", "Loopback", "hw:0,1", "default"])
def test_a_microphone_without_permission(name):
    command = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps",
               "+dac_read_search", "--ambient-caps", "+dac_read_search", READER, name, os.devnull, "10"]
    result = subprocess.run(command, capture_output=True, timeout=LIMIT)
    assert result.returncode == 1
    sentence = result.stderr.decode().strip()
    assert "group audio" in sentence and "\n" not in sentence


@pytest.mark.parametrize("setting, says", [
    ("format=s32", "s16"), ("rate=96000", "44100, 48000 Hz"), ("channels=4", "1 to 2 channels"),
    ("pick=0/2", "1 to 2 channels"), ("control.iris=1", "mic_volume"),
    ("control.mic_volume=101", "-50 to 100"),
])
def test_what_the_microphone_does_not_offer(setting, says):
    assert says in refused("hw:CARD=Dummy", setting)


# Listing.

def microphones():
    found = json.loads(sprocket("devices", "--json").stdout)
    return {device["address"]: device for device in found if device["kind"] == "microphone"}


def hardware(name):
    """What arecord says of a device: formats, and the ranges of channels and rates."""
    text = subprocess.run(["arecord", "-D", name, "--dump-hw-params", "-f", "S16_LE", "-r", "48000", "-d",
                           "1", os.devnull], capture_output=True, timeout=LIMIT).stderr.decode()
    values = {key: words.strip("[] ").split() for key, words in re.findall(r"^(\w+): +(.*)$", text, re.M)}
    ends = {key: [int(values[key][0]), int(values[key][-1])] for key in ("CHANNELS", "RATE")}
    return values["FORMAT"], ends["CHANNELS"], ends["RATE"]


def test_devices_lists_what_arecord_lists():
    found = microphones()
    assert list(found) == ["hw:CARD=Loopback,DEV=0", "hw:CARD=Loopback,DEV=1", "hw:CARD=Dummy,DEV=0"]
    for address, device in found.items():
        formats, channels, rates = hardware(address)
        assert {entry["format"] for entry in device["formats"]} == set(formats) & set(BYTES)
        assert [device["channels"][0], device["channels"][-1]] == channels
        assert device["rate_range"] == rates
        assert all(rates[0] <= rate <= rates[1] for rate in device["rates"]) and 48000 in device["rates"]
        assert device["subdevices"] == 8 and device["holders"] == [] and "problem" not in device
    assert "plughw:CARD=Loopback,DEV=1" in found["hw:CARD=Loopback,DEV=1"]["aliases"]


@pytest.mark.costly
def test_devices_leaves_a_microphone_alone_that_is_in_use():
    with contextlib.ExitStack() as stack:
        pids = [stack.enter_context(held(number)) for number in range(8)]
        device = microphones()["hw:CARD=Loopback,DEV=1"]
        assert device["holders"] == [f"arecord (process {pid})" for pid in pids]
        assert "in use" in device["problem"] and device["formats"] == []
        assert f"arecord (process {pids[3]})" in sprocket("devices").stdout.decode()


def mixer(name):
    text = subprocess.run(["amixer", "-c", "Dummy", "cget", f"name={name}"], capture_output=True, check=True,
                          timeout=LIMIT).stdout.decode()
    return re.search(r"^  : values=(.*)$", text, re.M)[1].split(",")


@pytest.mark.costly
def test_the_mixer_is_read_and_written(tmp_path):
    controls = {entry["name"]: entry for entry in microphones()["hw:CARD=Dummy,DEV=0"]["controls"]}
    for name in ("mic_volume", "mic_switch", "line_volume", "cd_switch"):
        assert name in controls
    # snd-dummy's scale, as amixer shows it: -45 dB, and 0.3 dB a step.
    volume = controls["mic_volume"]
    assert (volume["minimum"], volume["maximum"], volume["decibel_range"]) == (-50, 100, [-45, 0])
    for value, switch in (("17", "on"), ("-50", "off"), ("0", "off")):
        with Reader("hw:CARD=Dummy", tmp_path, f"control.mic_volume={value}", f"control.mic_switch={switch}",
                    samples=480) as reader:
            reader.end()
        assert mixer("Mic Volume") == [value, value]
        assert mixer("Mic Capture Switch") == [switch, switch]
        now = {entry["name"]: entry for entry in microphones()["hw:CARD=Dummy,DEV=0"]["controls"]}
        assert now["mic_volume"]["value"] == int(value)
        assert now["mic_switch"]["value"] == (switch == "on")
    assert now["mic_volume"]["decibels"] == -30


@pytest.mark.costly
def test_controls_of_microphone_and_source_are_set_together_or_not_at_all(tmp_path):
    socket = tmp_path / "control"
    process = subprocess.Popen([SPROCKET, "run", "--source", "scene", "--source-set", "pace=real", "--size",
                                "64x48", "--microphone", "hw:CARD=Dummy", "--null", "--control",
                                "mic_volume=7", "--control-socket", socket, "--quiet"])
    try:
        wait_until(socket.exists)

        def asked(*words):
            return json.loads(sprocket("ask", socket, *words, check=False).stdout)

        assert asked("control", "gain=2", "mic_volume=20")["ok"]
        assert mixer("Mic Volume") == ["20", "20"]
        # A channel each: both come back.
        subprocess.run(["amixer", "-q", "-c", "Dummy", "cset", "name=Mic Volume", "20,60"], check=True,
                       timeout=LIMIT)
        for words in (("gain=3", "mic_volume=101"), ("gain=-1", "mic_volume=30"),
                      ("mic_volume=40", "line_volume=101")):
            assert not asked("control", *words)["ok"]
            assert mixer("Mic Volume") == ["20", "60"]
            assert asked("status")["status"]["controls"]["gain"] == 2
    finally:
        process.terminate()
        assert process.wait(LIMIT) == 0


@pytest.mark.costly
def test_devices_can_be_read_by_people():
    text = sprocket("devices").stdout.decode()
    for word in ("hw:CARD=Loopback,DEV=1", "s24 (S24_3LE)", "48000", "1 to 32 channels", "mic_volume",
                 "(-45 to 0 dB)"):
        assert word in text
