"""Sound stays with the picture: recorded from a rig of loopbacks, found by NumPy, and witnessed.

`rig.c` plays a flash and a beep each second into two cameras and two substreams of a sound card at the same
time. We record one pair; the witness, which has no line of ours, logs the other.

`SPROCKET_RIG=60` records for a minute each (`make lab LAB='-k rig' SPROCKET_RIG=60`); with 300 and more the
card's clock is 200 ppm wrong, either way, for five minutes, too.
"""
import contextlib
import os
import pathlib
import subprocess

import numpy as np
import pytest

from conftest import LIMIT, LOOPBACK, LOOPBACK_2, wait_until
from program import SPROCKET, read_summary

SECONDS = int(os.environ.get("SPROCKET_RIG", "15"))
CAMERAS = [LOOPBACK, LOOPBACK_2]
MICROPHONES = [f"hw:CARD=Loopback,DEV=1,SUBDEV={number}" for number in (0, 1)]
PICTURES, RATE = 25, 48000
# ALSA's `multi` makes one device with four channels of two substreams.
MULTI = """
</usr/share/alsa/alsa.conf>
pcm.rig {
  type multi
  slaves.a { pcm "hw:CARD=Loopback,DEV=0,SUBDEV=0" channels 2 }
  slaves.b { pcm "hw:CARD=Loopback,DEV=0,SUBDEV=1" channels 2 }
  bindings.0 { slave a channel 0 }
  bindings.1 { slave a channel 1 }
  bindings.2 { slave b channel 0 }
  bindings.3 { slave b channel 1 }
}
"""


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    program = tmp_path_factory.mktemp("rig") / "rig"
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-o", program, pathlib.Path(__file__).with_name("rig.c"),
                    "-lasound", "-lm", "-lpthread"], check=True, timeout=LIMIT)
    return program


@contextlib.contextmanager
def shifted(ppm):
    """The clock of the card's first two substreams is so much faster, at both ends."""
    def shift(value):
        for device in (0, 1):
            for number in (0, 1):
                subprocess.run(["amixer", "-q", "-c", "Loopback", "cset", "iface=PCM,name='PCM Rate Shift "
                                f"100000',device={device},subdevice={number}", str(value)],
                               check=True, timeout=LIMIT)
    # A larger number is a slower clock.
    shift(100_000 - ppm // 10)
    try:
        yield
    finally:
        shift(100_000)


@contextlib.contextmanager
def playing(rig, folder, seconds, ppm):
    """The player; its device is there when the cameras have a format."""
    (folder / "asound.conf").write_text(MULTI)
    variables = {**os.environ, "ALSA_CONFIG_PATH": str(folder / "asound.conf")}
    with subprocess.Popen([rig, "feed", str(seconds), str(ppm), "rig", *CAMERAS], env=variables,
                          stderr=subprocess.PIPE) as player:
        try:
            wait_until(lambda: pathlib.Path("/proc/asound/Loopback/pcm0p/sub1/status").read_text().startswith(
                "state: RUNNING") or player.poll() is not None)
            assert player.poll() is None, player.stderr.read()
            yield player
        finally:
            player.kill()


def begins(isOn):
    return np.flatnonzero(isOn & ~np.concatenate([[False], isOn[:-1]]))


def beeps(sound):
    """Numbers of the samples with which beeps begin."""
    loud = np.flatnonzero(np.abs(sound) > 0.1)
    return loud[np.concatenate([[True], np.diff(loud) > RATE // 4])]


def distances(flashes, beeps):
    """Of each flash to the beep that comes next, seconds."""
    following = np.searchsorted(beeps, flashes - 0.05)
    return np.array([beeps[index] - time for index, time in zip(following, flashes) if index < len(beeps)])


def recorded(movie, lost):
    """Distances in a recording, by plain decoding: picture n is at n / 25 s, sample n at n / 48000 s. Where
    pictures were lost on the way, which a busy machine does, pictures are at their times in the file."""
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", movie, "-map", "0:v", "-fps_mode", "passthrough",
                          "-f", "rawvideo", "-pix_fmt", "gray", "-"], capture_output=True, check=True,
                         timeout=LIMIT).stdout
    light = np.frombuffer(raw, "u1").reshape(-1, 64 * 48).mean(axis=1)
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", movie, "-map", "0:a", "-f", "f32le", "-"],
                         capture_output=True, check=True, timeout=LIMIT).stdout
    sound = np.frombuffer(raw, "<f4").reshape(-1, 2)[:, 0]
    times = np.arange(len(light)) / PICTURES
    if lost:
        said = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries",
                               "packet=pts_time", "-of", "csv=p=0", movie], capture_output=True, check=True,
                              timeout=LIMIT).stdout.decode()
        times = np.array([float(line.strip(",")) for line in said.split()])
    return distances(times[begins(light > 100)], beeps(sound) / RATE)


def witnessed(said, samples):
    """The same by the witness's log: by the buffers' times, and a line through what the card said."""
    lines = [line.split() for line in said.splitlines()]
    pictures = np.array([[int(time), int(mean)] for kind, time, mean in lines if kind == "picture"])
    status = np.array([[int(number), int(time)] for kind, number, time in lines if kind == "sound"], "f8")
    status = status[len(status) // 20:]
    origin = status[0, 1]
    times, numbers = (status[:, 1] - origin) / 1e9, status[:, 0]
    rate, start = np.polyfit(times, numbers, 1)
    keep = np.abs(numbers - np.polyval([rate, start], times)) < 3 * RATE / 1000
    rate, start = np.polyfit(times[keep], numbers[keep], 1)
    sound = np.frombuffer(samples, "<i2").reshape(-1, 2)[:, 0] / 32768
    flashes = (pictures[begins(pictures[:, 1] > 100), 0] - origin) / 1e9
    return distances(flashes, (beeps(sound) - start) / rate), (rate / RATE - 1) * 1e6


def change(found):
    return abs(np.median(found[-5:]) - np.median(found[:5]))


CASES = [(SECONDS, 0)] + ([(300, 200), (300, -200)] if SECONDS >= 300 else [])


@pytest.mark.costly
@pytest.mark.parametrize("seconds, ppm", CASES, ids=str)
def test_rig(rig, seconds, ppm, tmp_path):
    seconds = min(seconds, 60) if ppm == 0 else seconds
    movie, summary = tmp_path / "movie.mov", tmp_path / "summary.json"
    with shifted(ppm), playing(rig, tmp_path, seconds + 40, ppm):
        with open(tmp_path / "said", "wb") as said, subprocess.Popen(
                [rig, "watch", str(seconds), MICROPHONES[1], CAMERAS[1], tmp_path / "samples"], stdout=said,
                stderr=subprocess.PIPE) as witness:
            subprocess.run([SPROCKET, "run", "--source", f"camera:{CAMERAS[0]}", "--microphone",
                            MICROPHONES[0], "--duration", f"{seconds}s", "--movie", movie, "--summary",
                            summary, "--quiet"],
                           check=True, timeout=seconds + LIMIT)
            witness.wait(120)
            assert witness.returncode == 0, witness.stderr.read()
    counts = read_summary(summary)["sinks"]["movie"]
    lost = sum(value for key, value in counts.items() if isinstance(value, int) and key != "delivered")
    ours = recorded(movie, lost)
    theirs, rate = witnessed((tmp_path / "said").read_text(), (tmp_path / "samples").read_bytes())
    print(f"{ppm} ppm, {seconds} s: ours {np.median(ours) * 1e3:.2f} ms, change {change(ours) * 1e3:.2f} ms; "
          f"the rig's {np.median(theirs) * 1e3:.2f} ms, change {change(theirs) * 1e3:.2f} ms, "
          f"{rate:.1f} ppm; {lost} pictures lost")
    for sound in read_summary(summary)["sound"]:
        for account in sound["sinks"].values():
            assert sum(account.values()) == sound["produced"]
    # A flash each second; an emulated machine that pauses loses some with its pictures.
    assert len(ours) > (seconds * 0.8 if lost < 10 else 5) and len(theirs) > seconds * 0.8
    assert change(ours) < (0.020 if ppm == 0 else 0.008)
    assert abs(np.median(ours) - np.median(theirs)) < 0.020
    if ppm:
        assert abs(rate - ppm) < 20
