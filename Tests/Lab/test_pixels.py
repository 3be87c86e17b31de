"""Frames are the driver's, byte for byte: what is dumped equals what another program captures."""
import pytest

from conftest import CAMERA, PLANES, SIZE, Run, captured, control
from recordings import dump_images

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


@pytest.mark.parametrize("fourcc, bytes_per_pixel", [
    ("NM12", 1.5), ("NM21", 1.5), ("YM12", 1.5), ("YM21", 1.5), ("YM16", 2), ("YM24", 3)])
def test_pieces_of_memory_are_the_same_picture(camera, tmp_path, fourcc, bytes_per_pixel):
    control(PLANES, osd_text_mode=2)
    expected = captured(PLANES, fourcc, tmp_path, 2)[1]
    assert len(expected) == SIZE[0] * SIZE[1] * bytes_per_pixel
    images = dumped(PLANES, None, tmp_path, "--source-set", f"fourcc={fourcc}")
    assert all(image.message.data == expected for image in images)


def test_what_the_driver_converts_is_not_touched_again(camera, tmp_path):
    """A control of the device changes its picture, and both see the same one."""
    control(CAMERA, brightness=200)
    expected = captured(camera, "YUYV", tmp_path, 2)[1]
    assert all(image.message.data == expected for image in dumped(camera, "YUYV", tmp_path))
