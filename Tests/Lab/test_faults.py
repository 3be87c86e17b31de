"""Faults in mid-stream, made by the driver: buffers that it refuses, frames that it loses, clocks that
wrap, signals that go away."""
import re

import pytest

from conftest import (PLANES, Run, assert_epochs_are_the_drivers, assert_ledger_is_the_drivers, control, tool,
                      wait_until)
from program import one_sentence

SMALL = ["--format", "GREY", "--size", "320x180", "--rate", "60"]


@pytest.mark.costly
def test_buffers_that_are_refused_in_mid_stream_are_tried_again(camera, tmp_path):
    with Run(tmp_path, camera, *SMALL, "--checksum") as run:
        for _ in range(12):  # More often than there are buffers: none may be lost for good.
            run.wait_for_frames(len(run.buffers()) + 4)
            control(camera, inject_vidioc_qbuf_error=1)
        before = len(run.buffers())
        run.wait_for_frames(before + 20)
        run.stop()
    assert_ledger_is_the_drivers(run)
    assert len({buffer.index for buffer in run.buffers()[before:]}) > 4


def test_a_camera_that_loses_all_frames_ends_the_run_with_one_sentence(camera, tmp_path):
    with Run(tmp_path, camera, *SMALL, "--checksum", "--source-set", "timeout=2s") as run:
        run.wait_for_frames(10)
        control(camera, percentage_of_dropped_buffers=100)
        errors = run.end(status=1)
    assert camera in one_sentence(errors) and "no frame" in errors
    # The stream was stopped and started again, which did not help.
    assert run.summary["source"]["counts"]["restarts"] == 2
    assert_epochs_are_the_drivers(run)


def test_a_camera_that_loses_all_frames_from_the_start_says_so(camera, tmp_path):
    control(camera, percentage_of_dropped_buffers=100)
    with Run(tmp_path, camera, *SMALL, "--checksum", "--source-set", "timeout=2s") as run:
        errors = run.end(status=1)
    assert camera in one_sentence(errors) and "no frame" in errors
    assert run.summary["produced"] == 0


def test_frames_that_were_lost_for_a_while_are_missing(camera, tmp_path):
    with Run(tmp_path, camera, *SMALL, "--checksum") as run:
        run.wait_for_frames(10)
        control(camera, percentage_of_dropped_buffers=100)
        before = len(run.buffers())
        control(camera, percentage_of_dropped_buffers=0)
        run.wait_for_frames(before + 20)
        run.stop()
    fates = [fate for _, fate, _ in assert_ledger_is_the_drivers(run)]
    assert fates.count("missing") > 0


@pytest.mark.costly
def test_times_go_on_where_the_drivers_clock_wraps(camera, tmp_path):
    """vivid's clock then starts 16 s before 2^63 ns and wraps to negative times: all are replaced, and no
    epoch begins."""
    control(camera, wrap_timestamp=1)  # The driver reads it when streaming begins.
    with Run(tmp_path, camera, *SMALL, "--null") as run:
        run.wait_for_frames(10)
        assert run.buffers()[0].time > 2**62
        wait_until(lambda: run.buffers()[-1].time < 0)
        run.wait_for_frames(len(run.buffers()) + 20)
        run.stop()
    times = [line["captured_ns"] for line in run.reports if line["captured_ns"] is not None]
    assert times == sorted(times) and 0 < times[0] and times[-1] < 2**61
    assert {line["epoch"] for line in run.reports} == {0}
    arrived = sum(line["fate"] != "missing" for line in run.reports)
    assert run.summary["source"]["counts"]["replaced_timestamps"] == arrived
    assert any("estimated time" in note for note in run.summary["notes"])


@pytest.mark.costly
def test_planes_that_lie_apart_may_be_unplugged_too(tmp_path):
    control(PLANES, osd_text_mode=2)
    with Run(tmp_path, PLANES, "--size", "320x180", "--format", "NV12", "--checksum", "--dump",
             tmp_path / "dump.mcap", "--on-unplug", "stop") as run:
        run.wait_for_frames(20)
        control(PLANES, disconnect=1)
        errors = run.end(status=1)
    assert PLANES in one_sentence(errors)
    assert_ledger_is_the_drivers(run)
    assert (tmp_path / "dump.mcap").exists()
    with Run(tmp_path, PLANES, "--size", "320x180", "--frames", 3) as run:
        run.end()


@pytest.mark.parametrize("mode", [1, 2], ids=["no-signal", "no-lock"])
def test_pictures_without_a_signal_are_corrupt(grabber, tmp_path, mode):
    with Run(tmp_path, grabber, "--format", "GREY", "--size", "320x180", "--checksum") as run:
        run.wait_for_frames(10)
        control(grabber, dv_timings_signal_mode=mode)
        run.wait_for_frames(len(run.buffers()) + 20)
        control(grabber, dv_timings_signal_mode=0)
        run.wait_for_frames(len(run.buffers()) + 20)
        run.stop()
    fates = [line["fate"] for line in run.reports if line["fate"] != "missing"]
    corrupt = fates.count("corrupt")
    assert 10 <= corrupt < len(fates)
    assert fates[0] == "delivered" and "delivered" in fates[-10:]
    assert run.summary["source"]["counts"]["frames_without_signal"] == corrupt
    assert any("no signal" in note for note in run.summary["notes"])


def test_a_grabber_without_a_signal_says_so_at_the_start(grabber, tmp_path):
    control(grabber, dv_timings_signal_mode=1)
    with Run(tmp_path, grabber, "--format", "GREY", "--size", "320x180", "--frames", 5,
             "--checksum") as run:
        run.end()
    # A busy machine may miss a frame.
    assert {line["fate"] for line in run.reports} - {"missing"} == {"corrupt"}


@pytest.mark.costly
def test_another_resolution_at_the_input_is_taken(grabber, tmp_path):
    """The timings are set while no buffer is there; no frame is lost without being told of."""
    def timings(what):
        text = tool("-d", grabber, f"--{what}-dv-timings")
        return re.findall(r"(?:width|height|Pixelclock): *([0-9]+)", text)
    with Run(tmp_path, grabber, "--format", "GREY", "--size", "320x180", "--movie",
             tmp_path / "m.mov") as run:
        run.wait_for_frames(10)
        before = timings("get")
        for number in (0, 5):
            control(grabber, dv_timings=number)
            control(grabber, dv_timings_signal_mode=4)  # The selected ones are received.
            if timings("query") != before:
                break
        wait_until(lambda: len(run.streams()) > 1)
        run.wait_for_frames(10)
        run.stop()
    assert timings("get") == timings("query") != before
    counts = run.summary["source"]["counts"]
    # Each one stops the stream and starts it again.
    assert counts["source_changes"] == len(run.streams()) - 1 >= 1 and counts["unplugs"] == 0
    assert any("resolution at the input" in note for note in run.summary["notes"])
    assert_epochs_are_the_drivers(run)
    assert not list(tmp_path.glob("*partial*"))
