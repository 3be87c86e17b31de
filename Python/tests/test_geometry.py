"""Points that go to the sensor, against OpenCV."""
import cv2
import numpy as np
import pytest

import sprocket
from sprocket._geometry import distort
from writer import Writer, frame_header

CAMERA = [812.5, 790.25, 641.5, 355.75]
STRAIGHT = [700, 705, 600, 400]
MODELS = [
    ("pinhole", [-0.31, 0.12, 0.001, -0.0007, -0.02] + [0] * 9),
    ("pinhole", [-0.31, 0.12, 0.001, -0.0007, -0.02, 0.01, 0.03, -0.004] + [0] * 6),
    ("pinhole", [-0.2, 0.05, 0.001, -0.0007, -0.02, 0.01, 0.03, -0.004, 0.002, -0.001, 0.003, 0.0005,
                 0.04, -0.03]),
    ("pinhole", [0] * 14),
    ("fisheye", [0.05, -0.01, 0, 0, 0.003, -0.0004] + [0] * 8),
]


def points(count, seed=1):
    return np.random.default_rng(seed).uniform(-50, 1330, (count, 2))


def matrix(camera):
    return np.array([[camera[0], 0, camera[2]], [0, camera[1], camera[3]], [0, 0, 1.0]])


def by_opencv(model, distortion, straight_points):
    normal = (straight_points - STRAIGHT[2:]) / STRAIGHT[:2]
    if model == "fisheye":
        k = np.array([distortion[0], distortion[1], distortion[4], distortion[5]])
        return cv2.fisheye.distortPoints(normal[None], matrix(CAMERA), k)[0]
    space = np.hstack([normal, np.ones((len(normal), 1))])
    return cv2.projectPoints(space, np.zeros(3), np.zeros(3), matrix(CAMERA),
                             np.array(distortion, float))[0][:, 0]


@pytest.mark.parametrize("model, distortion", MODELS)
def test_lenses_bend_as_those_of_opencv(model, distortion):
    lens = {"model": model, "camera": CAMERA, "undistorted": STRAIGHT, "distortion": distortion}
    given = points(1000)
    assert np.abs(distort(lens, given) - by_opencv(model, distortion, given)).max() < 1e-6


def test_the_middle_of_a_fisheye_stays():
    lens = {"model": "fisheye", "camera": CAMERA, "undistorted": STRAIGHT, "distortion": MODELS[-1][1]}
    assert distort(lens, np.array([[600.0, 400.0]])).tolist() == [[641.5, 355.75]]


def frame(regions, straight=np.eye(3), sensor=np.eye(3), lens=None):
    writer = Writer().send_layout(shape=(len(regions), 3, 4, 6), regions=regions, lens=lens, reports=())
    writer.fill()
    at = writer.layout["slots_at"] + writer.layout["frames_at"]
    writer.memory[at:at + 384] = frame_header(0, straight=straight, sensor=sensor)
    writer.notice()
    return next(writer.stream)


def test_points_pass_the_region_both_matrices_and_the_lens_in_order():
    turn = cv2.getRotationMatrix2D((640, 360), 3, 1.05)
    straight = np.vstack([turn, [1e-5, -2e-5, 1]])
    sensor = np.array([[0, -1, 719], [1, 0, 4.5], [0, 0, 1.0]])
    model, distortion = MODELS[1]
    lens = {"model": model, "camera": CAMERA, "undistorted": STRAIGHT, "distortion": distortion}
    regions = [[2, 2, 0.5, -279.5], [1.5, 3, 10, 20]]
    given = points(1000) / 3
    found = frame(regions, straight, sensor, lens)
    for index, (scale_x, scale_y, shift_x, shift_y) in enumerate(regions):
        picture = given * [scale_x, scale_y] + [shift_x, shift_y]
        flat = cv2.perspectiveTransform(picture[None], straight)[0]
        expected = cv2.perspectiveTransform(by_opencv(model, distortion, flat)[None], sensor)[0]
        assert np.abs(found.to_sensor(given, region=index) - expected).max() < 1e-6


def test_points_keep_their_shape():
    plain = frame([[2, 2, 0.5, -279.5]])
    assert plain.to_sensor([0, 0]).tolist() == [0.5, -279.5]
    assert plain.to_sensor(np.zeros((5, 4, 2), np.float32)).shape == (5, 4, 2)
    assert plain.to_sensor(np.zeros((0, 2))).shape == (0, 2)
    with pytest.raises(ValueError, match="last axis of 2"):
        plain.to_sensor([1, 2, 3])
    with pytest.raises(IndexError):
        plain.to_sensor([0, 0], region=1)
    assert isinstance(plain, sprocket.Frame)
