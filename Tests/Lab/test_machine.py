"""The lab has what its tests stand on: the devices, and pictures that do not move."""
import os
import stat

from conftest import CAMERA, LOOPBACK, PLANES, SIZE, captured


def test_the_devices_are_there_for_the_group_video():
    for device in (CAMERA, PLANES, LOOPBACK):
        assert stat.S_ISCHR(os.stat(device).st_mode)
        assert stat.S_IMODE(os.stat(device).st_mode) == 0o660
    with open("/proc/asound/cards") as file:
        assert "Loopback" in file.read()


def test_the_pattern_is_static(camera, tmp_path):
    frames = captured(camera, "YUYV", tmp_path, 3)
    assert len(set(frames)) == 1
    assert len(frames[0]) == SIZE[0] * SIZE[1] * 2
    assert len(set(frames[0])) > 10
