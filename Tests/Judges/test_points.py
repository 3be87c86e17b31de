"""Points of a tensor in the sensor's picture: what lies there has to be what the tensor shows.

The sensor's picture, sampled by OpenCV at the points that `Frame.to_sensor` tells, against the tensor itself.
"""
import cv2
import numpy as np
import pytest

import sprocket

CALIBRATION = """%YAML:1.0
---
image_width: 640
image_height: 480
camera_matrix: !!opencv-matrix
   rows: 3
   cols: 3
   dt: d
   data: [ 520., 0., 322., 0., 515., 238., 0., 0., 1. ]
distortion_coefficients: !!opencv-matrix
   rows: 5
   cols: 1
   dt: d
   data: [ -0.28, 0.09, 0.001, -0.0005, 0. ]
"""
UNDISTORT = "undistort:calibration=CALIBRATION"
CASES = [
    ([], "700x500"), (["crop:region=0.1/0.2/0.6/0.7"], "auto"), (["rotate:turn=90"], "auto"),
    (["resize:size=600x"], "auto"), (["resize:size=600x600,mode=fill"], "640x600"),
    (["stabilize:crop=0.1"], "auto"), ([UNDISTORT], "auto"), ([UNDISTORT, "rotate:turn=270"], "500x600"),
    (["stabilize:crop=0.1", "crop:region=0.1/0.1/0.8/0.8", "rotate:turn=90,mirror=horizontal",
      "resize:size=400x"], "420x600")]


def picture(number, stages, size):
    """A frame of a shaking scene, in grey."""
    image = {"layout": "gray", "size": size, "exact": True}
    options = {"size": "640x480", "frames": number + 1, "source_set": ["shake=6"]}
    for frame in sprocket.run("scene", stages=stages, image=image, **options):
        if frame.number == number:
            return frame.copy()


@pytest.mark.parametrize("stages, size", CASES, ids=str)
def test_the_sensor_has_there_what_the_tensor_shows(tmp_path, stages, size):
    (tmp_path / "lens.yml").write_text(CALIBRATION)
    stages = [stage.replace("CALIBRATION", str(tmp_path / "lens.yml")) for stage in stages]
    sensor = picture(20, [], "auto").image.astype(np.float32)
    frame = picture(20, stages, size)
    shown = frame.image.astype(np.float32)
    down, across = np.mgrid[:shown.shape[0], :shown.shape[1]]
    points = np.stack([across, down], axis=-1)
    places = frame.to_sensor(points).astype(np.float32)
    # Not what pads the picture, nor what lies outside of the sensor's.
    scale, shift = np.split(np.array(frame.layout.regions[0]), 2)
    within = points * scale + shift
    is_shown = np.all((within > 3) & (within < np.array(frame.layout.picture) - 4), axis=-1)

    def difference(move):
        found = cv2.remap(sensor, places[..., 0] + move, places[..., 1], cv2.INTER_LINEAR,
                          borderMode=cv2.BORDER_CONSTANT, borderValue=-1e4)
        is_seen = is_shown & (cv2.erode((found >= 0).astype(np.uint8), np.ones((9, 9))) > 0)
        assert is_seen.mean() > 0.5
        return np.abs(found - shown)[is_seen].mean()

    # Half a pixel aside they differ far more.
    assert difference(0) < 2.5 and difference(0) < 0.6 * difference(0.5) < difference(1)
