"""Cameras that are unplugged and plugged in again while a run goes on."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess

import pytest

from conftest import (CAMERA, LIMIT, LOOPBACK, PLANES, Run, assert_epochs_are_the_drivers, control, held,
                      read_control, wait_until)
from program import SPROCKET, one_sentence, sprocket

SMALL = ["--size", "320x180", "--format", "GREY"]
# How often the camera is unplugged in one recording; 50 in `make long`.
TIMES = int(os.environ.get("SPROCKET_REPLUGS", 3))


def bind(action):
    pathlib.Path(f"/sys/bus/platform/drivers/vivid/{action}").write_text("vivid.0")


def files_of(process):
    """What the process has open, and its threads."""
    folder = pathlib.Path(f"/proc/{process}")
    names = []
    for link in (folder / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            names.append(os.readlink(link))
    return sorted(name for name in names if "/dev/video" in name), len(list((folder / "task").iterdir()))


def frames_in(path):
    found = subprocess.run(
        ["ffprobe", "-v", "error", "-count_packets", "-select_streams", "v", "-show_entries",
         "stream=nb_read_packets", "-of", "csv=p=0", path], capture_output=True, text=True, timeout=LIMIT)
    assert found.returncode == 0 and not found.stderr, (path, found.stderr)
    return int(found.stdout)


def test_a_recording_goes_on_when_the_camera_is_back(camera, tmp_path):
    """vivid plugs itself in when nobody has it open any more."""
    with Run(tmp_path, camera, *SMALL, "--movie", tmp_path / "movie.mov", "--dump", tmp_path / "dump.mcap",
             "--checksum") as run:
        run.wait_for_frames(8)
        before = files_of(run.process.pid)
        for time in range(TIMES):
            began = len(run.streams())
            control(camera, disconnect=1)
            wait_until(lambda: len(run.streams()) > began)
            run.wait_for_frames(8)
        assert files_of(run.process.pid) == before
        run.stop()
    counts = run.summary["source"]["counts"]
    assert counts["unplugs"] == TIMES and counts["unplugged_ms"] > 0
    assert any("unplugged" in note for note in run.summary["notes"])
    assert_epochs_are_the_drivers(run)
    events = [event for line in run.reports for event in line.get("events", [])]
    lost = [event["wait_us"] for event in events if event["kind"] == "replugged"]
    assert len(lost) == TIMES and abs(sum(lost) / 1000 - counts["unplugged_ms"]) < 1
    # One film, for the format is the same; the frames have the times at which they were captured.
    assert [path.name for path in tmp_path.glob("movie*")] == ["movie.mov"]
    assert frames_in(tmp_path / "movie.mov") == run.summary["sinks"]["movie"]["delivered"]


@pytest.mark.costly
def test_frames_that_a_stage_looks_back_at_are_given_back(camera, tmp_path):
    """The stabilizer keeps the last frames to the epoch's end: they lie in the memory of the old opening."""
    with Run(tmp_path, camera, *SMALL, "--stage", "stabilize", "--movie", tmp_path / "movie.mov") as run:
        run.wait_for_frames(12)
        control(camera, disconnect=1)
        wait_until(lambda: len(run.streams()) > 1)
        run.wait_for_frames(12)
        run.stop()
    counts = run.summary["source"]["counts"]
    assert counts["unplugs"] == 1 and counts["borrowed"] > 0
    assert frames_in(tmp_path / "movie.mov") == run.summary["sinks"]["movie"]["delivered"] > 12


def test_what_was_set_is_set_again(camera, tmp_path):
    """A camera forgets it without power. vivid does not, so it is made to."""
    with Run(tmp_path, camera, *SMALL, "--on-unplug", "60s", "--control", "contrast=77") as run:
        run.wait_for_frames(5)
        control(camera, contrast=11)
        control(camera, disconnect=1)
        wait_until(lambda: len(run.streams()) > 1)
        run.wait_for_frames(5)
        assert read_control(camera, "contrast") == "77"
        run.stop()


def test_a_driver_that_goes_and_comes_is_waited_for(camera, tmp_path):
    """The node goes, too, and comes again; the planes of the second camera lie in memory of their own."""
    with open(tmp_path / "watch", "w") as log:
        watch = subprocess.Popen([SPROCKET, "devices", "--watch", "--json"], stdout=log)

    def lines():
        # The last line may be half there.
        return [json.loads(line) for line in (tmp_path / "watch").read_text().split("\n")[:-1]]

    def told():
        return [line["event"] for line in lines()
                if line["device"].get("identity", "").startswith("platform:vivid.0:vivid-001-vid-cap")]
    wait_until(lambda: told() == ["present"])
    with Run(tmp_path, PLANES, "--size", "320x180", "--format", "NV12", "--movie", tmp_path / "m.mov") as run:
        run.wait_for_frames(5)
        bind("unbind")
        try:
            wait_until(lambda: not os.path.exists(PLANES))
        finally:
            bind("bind")
        wait_until(lambda: len(run.streams()) > 1)
        run.wait_for_frames(5)
        run.stop()
    assert_epochs_are_the_drivers(run)
    wait_until(lambda: told() == ["present", "removed", "added"])
    watch.terminate()
    assert watch.wait(LIMIT) == 0
    nodes = {line["device"].get("node") for line in lines() if line["event"] == "present"}
    assert {CAMERA, PLANES, LOOPBACK} <= nodes


def listed(device):
    return json.loads(sprocket("devices", device, "--json").stdout)[0]


@contextlib.contextmanager
def capture_session(movie):
    """A program with a capture session, which records into `movie` until an interruption has ended."""
    program = pathlib.Path(SPROCKET).with_name("SprocketSessionCost")
    session = subprocess.Popen(
        ["timeout", str(LIMIT), program, "interruptions", listed(PLANES)["identity"], movie],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert session.stdout.readline() == "running\n"
        yield session
        said = session.stdout.read().splitlines()
        assert said[-2:] == ["ended true", "usable true later true balanced true"], said
        assert session.wait(LIMIT) == 0
    finally:
        session.kill()
    assert frames_in(movie) > 0


def test_a_capture_session_tells_of_an_unplugged_camera_and_goes_on(camera, tmp_path):
    with capture_session(tmp_path / "movie.mov") as session:
        bind("unbind")
        try:
            # On a slow machine frames have long stopped when the driver takes the node away.
            assert session.stdout.readline() in ("began deviceDisconnected\n", "began noFrames\n")
            session.stdin.close()
        finally:
            bind("bind")


@pytest.mark.costly
def test_a_capture_session_tells_that_another_program_took_the_camera_and_goes_on(camera, tmp_path):
    """The session's program is stopped meanwhile, so that the other one is first."""
    try:
        with capture_session(tmp_path / "movie.mov") as session:
            identity = listed(PLANES)["identity"]
            children = pathlib.Path(f"/proc/{session.pid}/task/{session.pid}/children")
            wait_until(lambda: children.read_text().strip())
            program = int(children.read_text())
            os.kill(program, signal.SIGSTOP)
            bind("unbind")
            bind("bind")
            # The session has the old node open, so the new one has another number.
            with held(listed(identity)["node"]):
                os.kill(program, signal.SIGCONT)
                # On a slow machine frames were missing before.
                assert "began deviceInUse\n" in iter(session.stdout.readline, "")
    finally:
        bind("unbind")
        bind("bind")


@pytest.mark.parametrize("patience", ["stop", "1s"])
def test_it_is_not_waited_for_longer_than_asked(camera, tmp_path, patience):
    with Run(tmp_path, camera, *SMALL, "--on-unplug", patience) as run:
        run.wait_for_frames(5)
        bind("unbind")
        try:
            sentence = one_sentence(run.end(status=1))
        finally:
            bind("bind")
    assert camera in sentence and "unplugged" in sentence


def test_an_interrupt_ends_the_wait(camera, tmp_path):
    """What was recorded is there, and what was asked for is not: a sentence, and exit code 1."""
    with Run(tmp_path, camera, *SMALL, "--movie", tmp_path / "m.mov") as run:
        run.wait_for_frames(5)
        bind("unbind")
        try:
            wait_until(lambda: not files_of(run.process.pid)[0])
            run.process.send_signal(signal.SIGINT)
            sentence = one_sentence(run.end(status=1))
        finally:
            bind("bind")
    assert camera in sentence and "is not back" in sentence
    assert frames_in(tmp_path / "m.mov") == run.summary["sinks"]["movie"]["delivered"] >= 5
    assert run.summary["source"]["counts"]["unplugged_ms"] > 0
    assert any("it is not back" in note for note in run.summary["notes"])


def feed(device, seconds):
    return subprocess.Popen(
        ["ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=10", "-t",
         str(seconds), "-pix_fmt", "yuv420p", "-f", "v4l2", device])


@pytest.mark.costly
def test_a_loopback_whose_program_ends_is_waited_for(tmp_path):
    first = feed(LOOPBACK, 60)
    wait_until(lambda: "YU12" in subprocess.run(
        ["v4l2-ctl", "-d", LOOPBACK, "--list-formats"], capture_output=True, text=True).stdout)
    with Run(tmp_path, LOOPBACK, "--source-set", "timeout=2s", "--movie", tmp_path / "m.mov") as run:
        run.wait_for_frames(5)
        first.kill()
        first.wait()
        # After the timeout the device is closed, and looked at four times a second.
        wait_until(lambda: not files_of(run.process.pid)[0])
        second = feed(LOOPBACK, 60)
        try:
            wait_until(lambda: len(run.streams()) > 1)
            run.wait_for_frames(5)
            run.stop()
        finally:
            second.kill()
            second.wait()
    assert run.summary["source"]["counts"]["unplugs"] >= 1
    movies = sorted(tmp_path.glob("m*.mov"))
    assert sum(map(frames_in, movies)) == run.summary["sinks"]["movie"]["delivered"]


@pytest.mark.costly
def test_a_camera_that_opens_and_gives_nothing_is_not_waited_for_any_longer(tmp_path):
    """The program that feeds it stops: the device stays as it is, and has no new frame."""
    feeder = feed(LOOPBACK, 300)
    try:
        wait_until(lambda: "YU12" in subprocess.run(
            ["v4l2-ctl", "-d", LOOPBACK, "--list-formats"], capture_output=True, text=True).stdout)
        with Run(tmp_path, LOOPBACK, "--source-set", "timeout=1s", "--on-unplug", "5s", "--movie",
                 tmp_path / "m.mov") as run:
            run.wait_for_frames(5)
            feeder.send_signal(signal.SIGSTOP)
            sentence = one_sentence(run.end(status=1))
    finally:
        feeder.kill()
        feeder.wait()
    assert LOOPBACK in sentence and "no frame" in sentence
    movies = sorted(tmp_path.glob("m*.mov"))
    assert sum(map(frames_in, movies)) == run.summary["sinks"]["movie"]["delivered"] >= 5
