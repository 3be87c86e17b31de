"""A program with a source and a sink of its own has the whole command line, under its own name."""
import json
import os
import pathlib
import re
import resource
import select
import signal
import struct
import subprocess
import time

import pytest

from program import LIMIT, ROOT, SPROCKET, wait_for

OWN = str(pathlib.Path(SPROCKET).with_name("SprocketOwn"))


def own(*arguments):
    result = subprocess.run([OWN, *map(str, arguments)], capture_output=True, timeout=LIMIT, text=True)
    assert result.returncode in (0, 1, 2), result
    return result


def test_its_source_and_sink_run_beside_the_built_in(tmp_path):
    summary = tmp_path / "summary.json"
    result = own("run", "--source", "ramp:100", "--source-set", "step=2", "--sink", "bright:above=99",
                 "--sink", f"reports:{tmp_path / 'r.jsonl'}", "--movie", tmp_path / "m.mov",
                 "--summary", summary, "--quiet")
    assert result.returncode == 0 and result.stderr == ""
    found = json.loads(summary.read_text())
    assert found["produced"] == 100 and found["source"]["name"] == "ramp"
    assert {name: sink["delivered"] for name, sink in found["sinks"].items()} == {
        "movie": 100, "bright": 100, "reports": 100}
    assert "50 bright frames" in found["notes"]  # Levels 100 to 198.
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 100


def test_names_may_hold_commas_and_equal_signs(tmp_path):
    movie = tmp_path / "a,b=c.mov"
    assert own("run", "--source", "ramp:5", "--sink", f"movie:{movie},quality=50").returncode == 0
    assert movie.exists()


def test_its_inspector_knows_them():
    text = own("stages").stdout
    assert "ramp:COUNT" in text and "bright" in text and "movie:PATH" in text and "scene" in text
    assert "1 to 255" in own("stages", "ramp").stdout
    assert "of the first pixel" in own("stages", "bright").stdout


@pytest.mark.parametrize("arguments, words", [
    (["--source", "ramp"], ["ramp:COUNT", "(--source)"]),
    (["--source", "scene:seed=2"], ["give seed=2 as a setting (--source-set)"]),
    (["--source", "ramp:no"], ["ramp: count=no is not allowed"]),
    (["--source", "ramp:9", "--source-set", "step=0"], ["step=0 is not allowed", "1 to 255"]),
    (["--source", "wire:3", "--source-set", "patience=9ms"],
     ["patience=9ms is not allowed", "10ms to 60s with its unit"]),
    (["--source", "wire:3", "--source-set", "patience=1"], ["patience=1 is not allowed"]),
    (["--source", "ramp:9", "--sink", "bright:above=300"], ["above=300", "0 to 255", "(--sink)"]),
    (["--source", "ramp:9", "--pipe", "rgb:fit=z"], ["fit=z is not allowed", "(--pipe)"]),
    (["--source", "ramp:9", "--share", "x,batch=0"], ["batch=0 is not allowed", "(--share)"]),
    (["--source", "ramp:9", "--sink", "bright:abov=3"], ["did you mean `above`?"]),
    (["--source", "ramp:9", "--sink", "brigt"], ["did you mean `bright`?"]),
    (["--source", "ramp:9", "--sink", "movie"], ["movie:PATH"]),
    (["--source", "ramp:9", "--sink", "movie:m.mov,qualty=3"], ["did you mean `quality`?"]),
    (["--source", "ramp:9", "--sink", "null:x"], ["leave out x"]),
    (["--source", "ramp:9", "--sink", "pipe:y5m"], ["did you mean `y4m`?"]),
    (["--source", "ramp:9", "--sink", "dump:-"], ["cannot go to standard output"]),
    (["--source", "ramp:9", "--checksums", ""], ["--checksums is given an empty name"]),
    (["--source", "ramp:9", "--sink", "bright", "--sink", "bright"], ["have one of it"]),
    (["--source", "ramp:9", "--reports", "a", "--sink", "dump:a"], ["name the same file"]),
    (["--source", "ramp:9", "--reports", "-", "--sink", "pipe:gray"], ["write to standard output"]),
])
def test_its_errors_are_the_command_lines(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = own("run", *arguments)
    assert result.returncode == 2 and result.stderr.startswith("SprocketOwn: ")
    assert len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr, result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_stage_that_is_too_slow_is_named_where_frames_were_lost(tmp_path):
    summary = tmp_path / "summary.json"
    scene = ["--source", "scene", "--source-set", "pace=real", "--size", "64x48", "--rate", "200"]
    result = own("run", *scene, "--frames", "60", "--stage", "meter", "--stage", "slow:time=50ms", "--null",
                 "--summary", summary)
    found = json.loads(summary.read_text())
    note = found["notes"][0]
    sentence = re.fullmatch(r"(\d+) frames? found no room \(overrun\): stage `slow` was busy", note)
    assert 0 < int(sentence[1]) <= found["sinks"]["null"]["overrun"]
    assert note in result.stderr


def test_of_two_movies_the_one_that_failed_is_named(tmp_path):
    """Both files would be too large; their sentences begin with the outputs' names."""
    result = subprocess.run([OWN, "run", "--source", "ramp:5000", "--movie", tmp_path / "a.mov", "--sink",
                             f"movie:{tmp_path / 'b.mov'}", "--quiet"], capture_output=True, text=True,
                            timeout=LIMIT, preexec_fn=small_files)
    assert result.returncode == 1
    lines = result.stderr.splitlines()
    for name, path in [("movie", "a.mov"), ("movie2", "b.mov")]:
        line, = [line for line in lines if line.startswith(f"SprocketOwn: {name}: ")]
        assert path in line


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


@pytest.mark.parametrize("name", ["", "a:b", "a b"])
def test_a_name_that_no_option_can_name_is_refused(name):
    """The program gives its stage the name of this variable."""
    environment = {**os.environ, "SPROCKET_OWN_STAGE": name}
    for arguments in [["stages"], ["run", "--source", "ramp:1", "--null"]]:
        result = subprocess.run([OWN, *arguments], capture_output=True, text=True, timeout=LIMIT,
                                env=environment)
        assert result.returncode == 2 and result.stdout == ""
        assert result.stderr == (f"SprocketOwn: a stage is called `{name}`, which no option can name; "
                                 "use letters, digits, - and _\n")


def test_a_default_that_is_not_allowed_is_refused_before_a_run():
    environment = {**os.environ, "SPROCKET_OWN_STAGE": "dim"}
    sentence = "SprocketOwn: the default of the stage dim: share=1.5 is not allowed: give 0 to 1\n"
    for arguments in [["stages"], ["stages", "dim"], ["run", "--source", "ramp:1", "--stage", "dim:share=0.5",
                                                      "--null"]]:
        result = subprocess.run([OWN, *arguments], capture_output=True, text=True, timeout=LIMIT,
                                env=environment)
        assert (result.returncode, result.stderr) == (2, sentence)


def wire_frame(number, width=16, height=8, damaged=False, date=None):
    """A frame as Tests/Own/WireSource.swift reads it."""
    date = time.time_ns() if date is None else date
    head = struct.pack("<6I", number, width, height, damaged, date & 0xffffffff, date >> 32)
    return head + bytes([number % 256]) * (width * height)


class Wire:
    """The program over a live source whose frames a test sends, with its reports as they come."""

    def __init__(self, summary):
        self.reader, self.writer = os.pipe()
        self.summary = summary
        self.process = subprocess.Popen(
            [OWN, "run", "--source", f"wire:{self.reader}", "--source-set", "startup=1", "--source-set",
             "patience=500ms", "--reports", "-", "--null", "--quiet", "--summary", summary],
            pass_fds=[self.reader], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def send(self, *frames):
        os.write(self.writer, b"".join(frames))

    def report(self):
        """The next frame's report."""
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(self.process.stdout.fileno(), 1)
        return json.loads(line)

    def end(self):
        """What the run said, and its account."""
        reports, errors = self.process.communicate(timeout=LIMIT)
        account = json.loads(self.summary.read_text()) if self.summary.exists() else None
        return self.process.returncode, errors.decode(), reports.decode().splitlines(), account


@pytest.fixture
def wire(tmp_path):
    wire = Wire(tmp_path / "summary.json")
    yield wire
    wire.process.kill()
    wire.process.communicate()
    os.close(wire.reader)
    os.close(wire.writer)


def test_a_live_source_is_accounted_for(wire):
    """A startup frame, a good one, one that never came, a damaged one; a silence; another size; an interrupt
    in the middle of a frame. docs/sources.md says what becomes of each."""
    start = time.time_ns() - 1_000_000_000
    dates = {number: start + number * 40_000_000 for number in (10, 11, 13, 14)}
    wire.send(*[wire_frame(number, damaged=number == 13, date=date) for number, date in dates.items()])
    reports = [wire.report() for _ in range(5)]
    assert [(report["sequence"], report["fate"]) for report in reports] == [
        (10, "startup"), (11, "delivered"), (12, "missing"), (13, "corrupt"), (14, "delivered")]
    # Dates became times of the clock that the run has.
    captured = {report["sequence"]: report["captured_ns"] for report in reports}
    assert captured[14] - captured[10] == dates[14] - dates[10]
    assert abs(time.time_ns() - time.monotonic_ns() + captured[10] - dates[10]) < 1_000_000_000

    time.sleep(0.8)
    wire.send(wire_frame(15))
    stalled, = wire.report()["events"]
    assert stalled["kind"] == "stalled" and stalled["wait_us"] >= 500_000

    # What comes while the epoch before drains is overrun, which is told with a later frame: send until one is
    # delivered.
    last, report = 15, {"fate": None}
    while report["fate"] != "delivered":
        last += 1
        wire.send(wire_frame(last, 32, 24))
        while select.select([wire.process.stdout], [], [], 0.1)[0]:
            report = wire.report()
    assert report["epoch"] == 1

    wire.send(wire_frame(last + 1, 32, 24)[:100])
    wire.process.send_signal(signal.SIGINT)
    code, errors, _, account = wire.end()
    assert (code, errors) == (0, "")
    assert account["epochs"] == 2 and account["produced"] == last - 10 + 1
    fates = account["sinks"]["null"]
    assert [fates[fate] for fate in ("startup", "missing", "corrupt")] == [1, 1, 1]
    assert fates["delivered"] + fates["overrun"] == account["produced"] - 3
    assert (account["source"]["width"], account["source"]["height"]) == (32, 24)


def test_a_live_source_is_interrupted_while_it_opens(wire):
    """It waits for the rest of its first frame, and one signal ends that."""
    wire.send(wire_frame(1)[:30])
    wait_for(lambda: not select.select([wire.reader], [], [], 0)[0], wire.process)
    wire.process.send_signal(signal.SIGINT)
    code, errors, reports, account = wire.end()
    assert (code, reports, account) == (1, [], None)
    assert "stopped" in errors and "does not answer" not in errors


def test_a_live_source_that_breaks_within_a_frame_fails(wire):
    wire.send(wire_frame(1), wire_frame(2)[:30])
    os.close(wire.writer)
    wire.writer = os.open(os.devnull, os.O_WRONLY)
    code, errors, _, account = wire.end()
    assert code == 1 and "the wire broke within a frame" in errors
    assert account["produced"] == 1


def test_a_live_source_that_cannot_be_read_fails():
    """A descriptor that is not open."""
    result = own("run", "--source", "wire:77", "--null", "--quiet")
    assert result.returncode == 1 and "the wire cannot be read (error 9)" in result.stderr


def test_the_document_shows_that_source():
    """The code of docs/sources.md is what these tests run."""
    source = (ROOT / "Tests" / "Own" / "WireSource.swift").read_text()
    assert f"```swift\n{source}```\n" in (ROOT / "docs" / "sources.md").read_text()
