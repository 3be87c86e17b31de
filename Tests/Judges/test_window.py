"""Examples/Window: what its window shows, and where a click leads. SDL draws into memory."""
import os
import subprocess

import cv2
import pytest

from program import LIMIT, example


def test_it_shows_the_camera_and_exposes_where_it_is_clicked(tmp_path):
    result = subprocess.run(
        [example("window"), "--seconds", "3", "--click", "160,180", "--save", "shown.bmp"], cwd=tmp_path,
        env={**os.environ, "SDL_VIDEODRIVER": "dummy"}, capture_output=True, text=True, timeout=LIMIT,
        check=True)
    said = result.stdout.splitlines()
    assert said[0].startswith("showing ")
    # 640x480 in a view of 640x360 has 80 pixels at each side.
    assert [float(word) for word in said[1].split()[-2:]] == [pytest.approx((160 - 80) / 480), 0.5]
    shown = cv2.imread(str(tmp_path / "shown.bmp"))
    assert shown.shape == (360, 640, 3)
    assert shown[:, :80].max() == 0 and shown[:, 560:].max() == 0
    assert shown[:, 80:560].std() > 20
