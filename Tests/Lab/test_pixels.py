"""Frames are the driver's, byte for byte: what is dumped equals what another program captures."""
import json
import os
import pathlib
import re
import subprocess

import pytest

from conftest import CAMERA, LIMIT, PLANES, SIZE, Run, captured, control
from program import SPROCKET, sprocket
from recordings import dump_images

ALL = os.environ.get("SPROCKET_FORMATS") == "all"

FORMATS = [("YUYV", 2), ("NV12", 1.5), ("RGB3", 3), ("GREY", 1), ("RGGB", 1), ("UYVY", 2),
           ("YU12", 1.5), ("BGR3", 3), ("Y16 ", 2)]


def dumped(device, fourcc, folder, *more):
    with Run(folder, device, *(["--format", fourcc.strip()] if fourcc else []), "--size",
             "x".join(map(str, SIZE)), "--frames", 5, "--dump", folder / "dump.mcap", *more) as run:
        run.end()
    images = dump_images(folder / "dump.mcap")
    # On a busy machine one may be lost on the way, and the ledger says so.
    assert len(images) == run.summary["sinks"]["dump"]["delivered"] > 0
    assert {image.time for image in images} <= {buffer.time for buffer in run.buffers()}
    return images


@pytest.mark.parametrize("fourcc, bytes_per_pixel", FORMATS, ids=lambda value: str(value).strip())
def test_every_byte_is_what_another_program_captures(camera, tmp_path, fourcc, bytes_per_pixel):
    expected = captured(camera, fourcc, tmp_path, 2)[1]
    assert len(expected) == SIZE[0] * SIZE[1] * bytes_per_pixel
    for image in dumped(camera, fourcc, tmp_path):
        assert image.schema == "foxglove.RawImage"
        assert (image.message.width, image.message.height) == SIZE
        assert image.message.data == expected


def test_planes_in_memory_of_their_own_are_the_same_picture(camera, tmp_path):
    control(PLANES, osd_text_mode=2)
    expected = captured(PLANES, "NV12", tmp_path, 2)[1]
    assert all(image.message.data == expected for image in dumped(PLANES, "NV12", tmp_path))


@pytest.mark.costly
@pytest.mark.parametrize("fourcc, bytes_per_pixel", [
    ("NM12", 1.5), ("NM21", 1.5), ("YM12", 1.5), ("YM21", 1.5), ("YM16", 2), ("YM24", 3)])
def test_pieces_of_memory_are_the_same_picture(camera, tmp_path, fourcc, bytes_per_pixel):
    control(PLANES, osd_text_mode=2)
    expected = captured(PLANES, fourcc, tmp_path, 2)[1]
    assert len(expected) == SIZE[0] * SIZE[1] * bytes_per_pixel
    images = dumped(PLANES, None, tmp_path, "--source-set", f"fourcc={fourcc}")
    assert all(image.message.data == expected for image in images)


@pytest.mark.costly
@pytest.mark.parametrize("device", [CAMERA, PLANES], ids=["one-plane", "planes"])
def test_every_format_that_is_known_is_the_drivers(camera, tmp_path, device):
    """All in `make long`; else some of those that have no test of their own."""
    control(PLANES, osd_text_mode=2)
    entries = {entry.get("node"): entry for entry in json.loads(sprocket("devices", "--json").stdout)}
    known = [entry["fourcc"] for entry in entries[device]["formats"] if entry["known"]]
    assert len(known) > 20
    others = [fourcc for fourcc in known if fourcc not in dict(FORMATS)]
    for fourcc in known if ALL else others[::8]:
        expected = captured(device, fourcc.ljust(4), tmp_path, 2)[1]
        for image in dumped(device, None, tmp_path, "--source-set", f"fourcc={fourcc}"):
            assert image.message.data == expected, fourcc


@pytest.mark.parametrize("device, fourcc", [(CAMERA, "NV12"), (PLANES, "NM12"), (CAMERA, "YUYV")])
def test_exported_memory_holds_the_frames(camera, tmp_path, device, fourcc):
    """A program of its own maps the descriptors, as another device would."""
    control(PLANES, osd_text_mode=2)
    program = str(pathlib.Path(SPROCKET).parent / "SprocketOwn")
    result = subprocess.run(
        [program, "run", "--source", f"camera:{device}", "--source-set", f"fourcc={fourcc}", "--source-set",
         "export=true", "--size", "320x180", "--frames", "12", "--sink", "exported"], capture_output=True,
        text=True, timeout=LIMIT)
    assert result.returncode == 0, result.stderr
    equal, unlike, none = map(int, re.search(
        r"exported: (\d+) equal, (\d+) unlike, (\d+) not exported", result.stderr).groups())
    assert equal > 5 and unlike == 0


@pytest.mark.costly
def test_what_the_driver_converts_is_not_touched_again(camera, tmp_path):
    """A control of the device changes its picture, and both see the same one."""
    control(CAMERA, brightness=200)
    expected = captured(camera, "YUYV", tmp_path, 2)[1]
    assert all(image.message.data == expected for image in dumped(camera, "YUYV", tmp_path))
