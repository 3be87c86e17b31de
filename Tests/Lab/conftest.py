"""What the tests of the lab share: its devices, and a second witness of what a driver handed out.

They run inside the lab's machine (`make lab`), where Python starts slowly: they import little.
"""
import collections
import contextlib
import os
import pathlib
import signal
import subprocess
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(TESTS / "Judges"), str(TESTS)]

from program import LIMIT, ROOT, SPROCKET, read_lines, read_summary, wait_for  # noqa: E402

# Which tests run.
pytest_plugins = ["selection"]

# vivid, a webcam of 320x180 and up; another, whose planes lie apart; an HDMI grabber; v4l2loopback.
CAMERA, PLANES, GRABBER, LOOPBACK, LOOPBACK_2 = (
    f"/dev/video{number}" for number in (0, 1, 2, 10, 11))
# Nodes of the grabber that capture no video.
OUTPUT, METADATA = "/dev/video3", "/dev/video4"
SIZE = (320, 180)  # The smallest that vivid's webcam has.
WITNESS = ROOT / ".build/lab/dequeued.so"

# What vivid's faults are set to between two tests.
CALM = {"osd_text_mode": 2, "percentage_of_dropped_buffers": 0, "wrap_sequence_number": 0,
        "wrap_timestamp": 0, "timestamp_source": 0, "brightness": 128, "contrast": 128, "gain_automatic": 1,
        "horizontal_flip": 0}

# A buffer as VIDIOC_DQBUF returned it; `time` in nanoseconds.
Buffer = collections.namedtuple("Buffer", "sequence flags used index time")
FLAG_ERROR = 0x40  # V4L2_BUF_FLAG_ERROR, linux/videodev2.h.
# A frame that arrived whole may still be lost on the way, on a busy machine: that is not the driver's.
ARRIVED = {"delivered", "overrun", "behind", "unselected"}


@pytest.fixture(scope="session", autouse=True)
def inside_the_lab():
    if "SPROCKET_LAB" not in os.environ:
        pytest.exit("these tests run in the lab: make lab", 2)


@pytest.fixture
def camera():
    """vivid's first device, its faults switched off."""
    control(CAMERA, **CALM)
    yield CAMERA
    control(CAMERA, **CALM)


@pytest.fixture
def grabber():
    """vivid's HDMI input, with a signal."""
    control(GRABBER, osd_text_mode=2, dv_timings_signal_mode=0)
    yield GRABBER
    control(GRABBER, dv_timings_signal_mode=0)


def tool(*arguments):
    """Runs v4l2-ctl and returns what it says."""
    result = subprocess.run(["v4l2-ctl", *map(str, arguments)], capture_output=True, timeout=LIMIT)
    assert result.returncode == 0, (arguments, result.stdout, result.stderr)
    return result.stdout.decode()


def control(device, **values):
    """Writes controls, as another program would while a run is on."""
    tool("-d", device, "-c", ",".join(f"{name}={value}" for name, value in values.items()))


def read_control(device, name):
    return tool("-d", device, "-C", name).split(":", 1)[1].strip()


def captured(device, fourcc, folder, count):
    """Frames as another program takes them."""
    path = folder / f"{fourcc}.raw"
    tool("-d", device, f"--set-fmt-video=width={SIZE[0]},height={SIZE[1]},pixelformat={fourcc}")
    tool("-d", device, "--stream-mmap=4", f"--stream-count={count}", f"--stream-to={path}")
    data = path.read_bytes()
    size = len(data) // count
    return [data[start:start + size] for start in range(0, len(data), size)]


def wait_until(condition, process=None):
    """What `condition` gives, once that is true. Fails where `process` has ended before."""
    return wait_for(condition, process, pause=0.05)


def wait_until_holds(path, data):
    """Waits until a file that grows holds these bytes. What was looked at is not read again: an emulated
    machine that is busy with that has no time for the sound."""
    seen = 0

    def holds():
        nonlocal seen
        if not path.exists():
            return False
        with open(path, "rb") as file:
            file.seek(seen)
            found = file.read()
        seen += max(0, len(found) - len(data))
        return data in found
    wait_until(holds)


def read_streams(witness):
    """The buffers that a driver handed out, for each time that it began to stream."""
    if not witness.exists():
        return [[]]
    return [[Buffer(*row[:4], (row[4] * 1_000_000 + row[5]) * 1000)
             for row in ([int(word) for word in line.split()] for line in part.split("\n")[:-1])]
            for part in witness.read_text().split("stream\n")[1:]] or [[]]


class Run:
    """A run of the program with a camera for its source, and what it left."""

    def __init__(self, folder, device, *arguments, source=True):
        self.folder = folder
        self.witness = folder / "dequeued"
        command = [SPROCKET, "run", *(["--source", f"camera:{device}"] if source else []),
                   *map(str, arguments), "--reports", str(folder / "reports.jsonl"), "--summary",
                   str(folder / "summary.json"), "--overwrite", "--quiet"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={**os.environ, "LD_PRELOAD": str(WITNESS), "DEQUEUED": str(self.witness)})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def buffers(self):
        """What the driver handed out since it began to stream; of Motion JPEG the program looks at a frame
        before, and begins anew."""
        return self.streams()[-1]

    def streams(self):
        """The same for each time that it began to stream."""
        return read_streams(self.witness)

    def wait_for_frames(self, count):
        wait_until(lambda: len(self.buffers()) >= count or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.stderr.read()

    def end(self, status=0):
        """Waits until the program ends; returns its errors."""
        _, errors = self.process.communicate(timeout=LIMIT)
        assert self.process.returncode == status, errors.decode()
        return errors.decode()

    def stop(self):
        """As Ctrl-C does it."""
        self.process.send_signal(signal.SIGINT)
        return self.end()

    @property
    def reports(self):
        return read_lines(self.folder / "reports.jsonl")

    @property
    def delivered(self):
        """Reports of delivered frames. The last frame of a run may be another one, such as a lost one."""
        return [line for line in self.reports if line["fate"] == "delivered"]

    @property
    def summary(self):
        return read_summary(self.folder / "summary.json")


def expected_frames(buffers, torn=()):
    """What the driver's own numbers and flags say became of each frame, as far as the source knows:
    (number, fate, time), with None for a frame that arrived whole, and no time for one that did not.

    v4l2loopback gives what waits for a reader the number 0. Numbers go on counting after 32 bits.
    vivid gives its first two frames one number when it starts slowly: that is a frame more. `torn` are
    numbers of frames whose bytes were overwritten."""
    frames = []
    for buffer in buffers:
        if frames:
            number = frames[-1][0] + ((buffer.sequence - last.sequence) % 2**32 or 1)
            possible = 1 + 60e-9 * (buffer.time - last.time)
            if len(frames) == 1 and last.sequence == 0 and number > possible:
                number = 1
            frames += [(lost, "missing", None) for lost in range(frames[-1][0] + 1, number)]
        else:
            number = buffer.sequence
        is_damaged = buffer.flags & FLAG_ERROR or number in torn
        frames.append((number, "corrupt" if is_damaged else None, buffer.time))
        last = buffer
    return frames


def assert_ledger_is_the_drivers(run, torn=()):
    """Frame for frame, what the program reports is what the driver handed out; returns that."""
    summary, reports = run.summary, run.reports
    assert summary["produced"] == len(reports)
    expected = expected_frames(run.buffers(), torn)[:len(reports)]
    assert [(line["sequence"], None if line["fate"] in ARRIVED else line["fate"])
            for line in reports] == [(number, fate) for number, fate, _ in expected]
    for line, (_, _, time_given) in zip(reports, expected):
        if line["fate"] not in ("overrun", "behind"):  # Of these nothing else is known.
            assert line["captured_ns"] == time_given, line
    for fate in ("missing", "corrupt"):
        count = sum(1 for _, what, _ in expected if what == fate)
        assert all(sink[fate] == count for name, sink in summary["sinks"].items()
                   if name != "dump" or fate == "missing"), fate
    return expected


def assert_epochs_are_the_drivers(run):
    """The same where streaming began several times: each time is an epoch, but for those without a frame. So
    is the time until frames of an unplugged camera are given back."""
    reports, streams = run.reports, [stream for stream in run.streams() if stream]
    epochs = sorted({line["epoch"] for line in reports})
    assert run.summary["produced"] == len(reports) and len(epochs) == len(streams) <= run.summary["epochs"]
    for place, (epoch, stream) in enumerate(zip(epochs, streams)):
        lines = [line for line in reports if line["epoch"] == epoch]
        expected = expected_frames(stream)[:len(lines)]
        assert [(line["sequence"], None if line["fate"] in ARRIVED else line["fate"]) for line in lines] \
            == [(number, fate) for number, fate, _ in expected], epoch
        # A frame that came just when the device went may have been dequeued and not announced.
        assert len(expected_frames(stream)) - len(lines) <= (0 if place + 1 < len(streams) else 3), epoch


@contextlib.contextmanager
def held(device):
    """Another program streams from the device."""
    command = ["v4l2-ctl", "-d", device, "--stream-mmap=4", "--stream-count=0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as holder:
        try:
            assert holder.stderr.read(1) == b"<", "v4l2-ctl does not stream"
            yield holder.pid
        finally:
            holder.kill()
