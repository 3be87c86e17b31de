"""The programs of Examples/Articles with two cameras of different largest sizes: vivid's webcam, which has up
to 3840x2160, looks back, and v4l2loopback, which has the size that is fed to it, looks at the user."""
import contextlib
import json
import subprocess

import pytest

from conftest import CAMERA, LOOPBACK, wait_until
from articles import Taken, assert_callbacks_come_in_order
from program import sprocket

SMALL = (640, 360)


@contextlib.contextmanager
def fed(device):
    """The loopback, with pictures that do not end."""
    feeder = subprocess.Popen(
        ["ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i",
         f"testsrc2=size={SMALL[0]}x{SMALL[1]}:rate=10", "-pix_fmt", "yuv420p", "-f", "v4l2", device])
    try:
        wait_until(lambda: "YU12" in subprocess.run(
            ["v4l2-ctl", "-d", device, "--list-formats"], capture_output=True, text=True).stdout)
        yield
    finally:
        feeder.kill()
        feeder.wait()


def camera_of(device):
    """The identity and the name of a camera, as `sprocket devices` lists them."""
    found = json.loads(sprocket("devices", device, "--json").stdout)[0]
    return found["identity"], found["name"]


@pytest.fixture
def take(camera, tmp_path):
    """Runs a program with both cameras."""
    with fed(LOOPBACK):
        cameras = [word for device in (CAMERA, LOOPBACK) for word in ("--camera", camera_of(device)[0])]
        yield lambda name: Taken(name, tmp_path / "files", *cameras)


@pytest.mark.costly
def test_manual_camera_tells_what_vivid_lacks(take):
    found = take("manual-camera")
    assert found.said("preset 1920x1080") == "yes"
    for step in ("focus locked", "exposure continuous", "white balance continuous", "torch"):
        assert "has no control for" in found.said(step), step
    assert found.size("manual.jpg") == (3840, 2160) and found.tags("manual.jpg")["Orientation"] == 6
    movie = found.movie("manual.mov")
    assert movie.rotation == -90 and movie.audio
    assert found.said("refused") in found.all_said("runtime error")


@pytest.mark.costly
def test_quick_camera_finds_the_front_cameras_lack_of_1080p(take):
    front = camera_of(LOOPBACK)[1]
    found = take("quick-camera")
    assert found.said("preset 1920x1080") == "set"
    assert found.said("switch") == (
        f"no, {front} does not offer 1920x1080; the nearest that it offers is {SMALL[0]}x{SMALL[1]}")
    assert found.said("alternative") == f"{SMALL[0]}x{SMALL[1]}"
    assert [line.split(" with ")[1] for line in found.all_said("switched")] == [
        f"preset {SMALL[0]}x{SMALL[1]}", "preset 640x480"]
    for name, size in (("quick-back.jpg", (640, 480)), ("quick-front.jpg", SMALL),
                       ("quick-focused.jpg", (640, 480))):
        assert found.size(name) == size and found.tags(name)["Orientation"] == 6, name


@pytest.mark.costly
def test_photo_capture_has_callbacks_and_a_live_photo(take):
    found = take("photo-capture")
    assert_callbacks_come_in_order(found)
    for name in ("single.jpeg", "single.png", "live.jpeg"):
        assert found.size(name) == (640, 480), name
    # Its exposure cannot be set, so that there is no bracket.
    assert found.all_said("bracket")[-1].startswith("no, ")
    assert found.movie("live.mov").audio
    # vivid gives mosaics, too.
    assert found.size("raw.dng") == found.size("raw.jpeg") == (640, 480)


@pytest.mark.costly
def test_session_camera_goes_over_to_the_other_and_back(take):
    found = take("session-camera")
    assert found.all_said("switched") == [camera_of(LOOPBACK)[1], camera_of(CAMERA)[1]]
    assert "has no control for a torch" in found.said("torch")
    assert found.tags("session.jpg")["Orientation"] == 3 and found.size("session.jpg") == (640, 480)
    movie = found.movie("session.mov")
    assert movie.size == (640, 480) and movie.audio and movie.seconds > 0.5
    assert max(found.size("session-thumbnail.jpg")) == 160


@pytest.mark.costly
def test_three_ways_record_both_cameras(take):
    found = take("three-ways")
    assert found.movie("call-back.mov").size == (640, 480)
    assert found.movie("call-front.mov").size == SMALL
    assert found.movie("output.mov").rotation == -90
    for shape, width, height in (("1x1", 480, 480), ("4x3", 480, 640), ("full", 360, 640)):
        movie = found.movie(f"writer-{shape}.mp4")
        assert movie.size == (height, width) and movie.rotation == -90, shape
        assert movie.video["codec_name"] == "h264" and "Baseline" in movie.video["profile"]
        assert (movie.audio["sample_rate"], movie.audio["channels"]) == ("22050", 1)
