"""Controls and formats are what another program reads from the device."""
import json
import re

import pytest

from conftest import CAMERA, GRABBER, LOOPBACK, LOOPBACK_2, PLANES, Run, read_control, tool
from program import sprocket


@pytest.mark.costly
def test_a_control_is_written_and_the_frames_say_so(camera, tmp_path):
    with Run(tmp_path, camera, "--format", "GREY", "--size", "320x180", "--frames", 30, "--checksums",
             tmp_path / "sums", "--control", "brightness=200", "--control", "contrast=10") as run:
        run.end()
    assert read_control(camera, "brightness") == "200"
    assert read_control(camera, "contrast") == "10"
    events = [event for line in run.reports for event in line.get("events", [])]
    assert sorted(event["value"] for event in events if event["kind"] == "control_applied") \
        == [10, 200]
    # The picture of the last frames is another one than that of a camera that was left alone.
    changed = (tmp_path / "sums").read_text().splitlines()[-1]
    other = tmp_path / "other"
    other.mkdir()
    with Run(other, camera, "--format", "GREY", "--size", "320x180", "--frames", 5, "--checksums",
             other / "sums", "--control", "brightness=128", "--control", "contrast=128") as run:
        run.end()
    assert (other / "sums").read_text().splitlines()[-1].split()[-1] != changed.split()[-1]


def test_what_is_in_force_is_what_was_written_last(camera, tmp_path):
    """The driver tells of the gain that it had chosen itself when that is switched off."""
    with Run(tmp_path, camera, "--format", "GREY", "--size", "320x180", "--frames", 12, "--null",
             "--control", "gain_automatic=0", "--control", "gain=50") as run:
        run.end()
    assert read_control(camera, "gain") == "50"
    gains = [line["gain"] for line in run.reports[1:] if line["captured_ns"] is not None]
    assert len(gains) > 0 and set(gains) == {0.5}  # 100 is the default.


def test_the_first_camera_is_taken_where_none_is_named(camera, tmp_path):
    with Run(tmp_path, None, "--frames", 5, "--null", source=False) as run:
        run.end()
    assert "vivid" in run.summary["source"]["name"] or CAMERA in run.summary["source"]["name"]
    # A slow machine misses frames, which count.
    assert run.buffers()[-1].sequence >= 4


def listed_formats(device):
    """By v4l2-ctl: fourcc -> size -> rates."""
    found, sizes, rates = {}, {}, []
    for line in tool("-d", device, "--list-formats-ext").splitlines():
        if match := re.search(r"\[\d+\]: '(.*?)'", line):
            sizes = found.setdefault(match[1].replace(" ", ""), {})
        elif match := re.search(r"Size: Discrete (\d+x\d+)", line):
            rates = sizes.setdefault(match[1], [])
        elif match := re.search(r"\(([\d.]+) fps\)", line):
            rates.append(float(match[1]))
    return found


def listed_controls(device):
    """By v4l2-ctl: name -> (minimum, maximum, default), where it has them."""
    found = {}
    for line in tool("-d", device, "-L").splitlines():
        if match := re.match(r"\s+(\w+) 0x\w+ \((int|bool|menu) *\)\s*:(.*)", line):
            found[match[1]] = {name: int(value) for name, value
                               in re.findall(r"(min|max|step|default)=(-?\d+)", match[3])}
    return found


def test_devices_lists_what_the_drivers_list(camera):
    cameras = {device["node"]: device for device in json.loads(sprocket("devices", "--json").stdout)
               if device["kind"] == "camera"}
    assert list(cameras) == [CAMERA, PLANES, GRABBER, LOOPBACK, LOOPBACK_2]
    device = cameras[CAMERA]
    assert (device["name"], device["driver"]) == ("vivid", "vivid")
    theirs = listed_formats(camera)
    assert len(theirs) > 50
    ours = {entry["fourcc"]: {"{width}x{height}".format(**size): size["frames_per_second"]
                              for size in entry["sizes"]} for entry in device["formats"]}
    assert ours.keys() == theirs.keys()
    for fourcc, sizes in theirs.items():
        assert ours[fourcc].keys() == sizes.keys()
        for size, rates in sizes.items():
            assert sorted(round(rate, 3) for rate in ours[fourcc][size]) == sorted(rates)
    controls = {entry["name"]: entry for entry in device["controls"]}
    known = listed_controls(camera)
    assert len(known) > 30 and known.keys() <= controls.keys()
    for name, limits in known.items():
        found = controls[name]
        if "min" in limits:
            assert (found["minimum"], found["maximum"]) == (limits["min"], limits["max"])
        if "default" in limits:
            assert found["default"] == limits["default"]


def test_devices_can_be_read_by_people():
    text = sprocket("devices").stdout.decode()
    for word in (CAMERA, "vivid", "YUYV", "320x180", "brightness"):
        assert word in text
