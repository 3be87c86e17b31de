"""What the controllers write arrives at a real driver, in its range, and a write that it refuses ends
the loop alone. vivid has a gain that does not change its picture, and no lens."""
import contextlib
import fcntl
import os
import struct

import pytest

from conftest import Run, control, read_control
from program import one_sentence, sprocket

SMALL = ["--format", "GREY", "--size", "320x180"]
# The picture is about right with this brightness: two stops less are asked for, which vivid cannot give.
RIGHT, OTHER = 40, 250
DARKER = ["--stage", "meter", "--stage", "autoexposure:bias=-2"]
# linux/videodev2.h and v4l2-controls.h; 3 is V4L2_PRIORITY_RECORD.
VIDIOC_S_PRIORITY, RECORD = 0x40045644, 3
VIDIOC_S_CTRL, BRIGHTNESS = 0xC008561C, 0x00980900


@contextlib.contextmanager
def first_in_line(device):
    """Another program that alone may change the device's controls; gives a way to set brightness."""
    descriptor = os.open(device, os.O_RDWR)
    try:
        fcntl.ioctl(descriptor, VIDIOC_S_PRIORITY, struct.pack("I", RECORD))
        yield lambda value: fcntl.ioctl(
            descriptor, VIDIOC_S_CTRL, struct.pack("Ii", BRIGHTNESS, value))
    finally:
        os.close(descriptor)


def applied(run):
    """The values that the driver took, by the frames that they came with."""
    return [(line["sequence"], event["value"]) for line in run.reports
            for event in line.get("events", []) if event["kind"] == "control_applied"]


def states(run):
    return [line["autoexposure"]["state"] for line in run.reports if "autoexposure" in line]


@pytest.mark.costly
def test_a_given_gain_is_written_once_and_the_automatic_one_is_off(camera, tmp_path):
    with Run(tmp_path, camera, *SMALL, "--frames", 20, "--null", "--stage", "meter", "--stage",
             "autoexposure:mode=custom,gain=0.5") as run:
        run.end()
    assert read_control(camera, "gain_automatic") == "0"
    assert read_control(camera, "gain") == "50"  # 100 is the default.
    assert sorted(value for _, value in applied(run)) == [0, 50]
    assert states(run)[-1] == "custom"
    assert any("gain_automatic=false" in note for note in run.summary["notes"])


def test_a_loop_writes_in_the_range_and_rests_where_nothing_answers(camera, tmp_path):
    # From the top: vivid's own, wandering gain may be at the lower end, where the loop has no room.
    control(camera, brightness=RIGHT, gain_automatic=0)
    control(camera, gain=255)
    with Run(tmp_path, camera, *SMALL, "--frames", 150, "--null", *DARKER) as run:
        run.end()
    gains = applied(run)[1:]  # The first is the automatic one's, which is switched off.
    assert gains and all(value == int(value) and 0 <= value <= 255
                         for _, value in gains)
    assert len({sequence for sequence, _ in gains}) == len(gains), "at most one write per frame"
    assert read_control(camera, "gain") == str(int(gains[-1][1]))
    # Each frame says what the driver then had.
    assert run.delivered[-1]["gain"] == gains[-1][1] / 100
    assert states(run)[-1] == "unanswered"
    assert len(gains) < 30, gains


@pytest.mark.costly
def test_a_write_that_is_refused_ends_the_loop_and_not_the_run(camera, tmp_path):
    # From the top: three steps down leave room for more, as vivid's own, wandering gain may not.
    control(camera, brightness=RIGHT, gain_automatic=0)
    control(camera, gain=255)
    with Run(tmp_path, camera, *SMALL, "--checksum", *DARKER) as run:
        run.wait_for_frames(60)
        with first_in_line(camera) as set_brightness:
            set_brightness(OTHER)  # The loop has to do something about that.
            run.wait_for_frames(len(run.buffers()) + 60)
        run.wait_for_frames(len(run.buffers()) + 5)
        run.stop()
    refused = [line["sequence"] for line in run.reports for event in line.get("events", [])
               if event["kind"] == "control_refused"]
    assert refused and refused[0] < run.delivered[-1]["sequence"]
    assert states(run)[-1] == "refused"
    assert sum("autoexposure stopped" in note for note in run.summary["notes"]) == 1


def test_a_camera_without_a_lens_is_told_before_it_starts(camera):
    result = sprocket("run", "--source", f"camera:{camera}", "--frames", 3, "--auto-focus", "auto",
                      check=False)
    assert result.returncode == 2
    assert "focus_absolute" in one_sentence(result.errors)
