"""Points of a frame in the sensor's picture, as the last paragraph of `docs/share.md` has it."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def to_sensor(points: npt.ArrayLike, region: Sequence[float], straight: Floats,
              lens: Optional[Mapping[str, Any]], sensor: Floats) -> Floats:
    """`region` holds scale x, scale y, shift x, shift y; the matrices are 3x3."""
    given = np.asarray(points, np.float64)
    if given.shape[-1:] != (2,):
        raise ValueError(f"points have a last axis of 2, x and y; this array has the shape {given.shape}")
    flat = given.reshape(-1, 2) * (region[0], region[1]) + (region[2], region[3])
    flat = _projected(straight, flat)
    if lens is not None:
        flat = distort(lens, flat)
    return _projected(sensor, flat).reshape(given.shape)


def from_sensor(points: npt.ArrayLike, region: Sequence[float], straight: Floats,
                lens: Optional[Mapping[str, Any]], sensor: Floats) -> Floats:
    """The inverse of `to_sensor`; NaN where no point of the picture leads."""
    given = np.asarray(points, np.float64)
    if given.shape[-1:] != (2,):
        raise ValueError(f"points have a last axis of 2, x and y; this array has the shape {given.shape}")
    flat = _projected(_inverse(sensor), given.reshape(-1, 2))
    if lens is not None:
        flat = undistort(lens, flat)
    flat = _projected(_inverse(straight), flat)
    return ((flat - (region[2], region[3])) / (region[0], region[1])).reshape(given.shape)


# Steps of Newton's method at most, of which a lens of OpenCV's samples needs 4 to 8, and the error in pixels
# that is one: points with more are beyond what the model bends.
_STEPS, _ERROR = 30, 1e-6


def undistort(lens: Mapping[str, Any], points: Floats) -> Floats:
    """Points (n x 2) of the picture that the lens made in the straight one: the inverse of `distort`, by
    Newton's method, from the place where there is no distortion. NaN where that finds none."""
    focal_x, focal_y, center_x, center_y = lens["camera"]
    new_x, new_y, new_center_x, new_center_y = lens["undistorted"]
    found = (points - (center_x, center_y)) / (focal_x, focal_y) * (new_x, new_y)
    found = found + (new_center_x, new_center_y)
    step = 1e-3
    with np.errstate(all="ignore"):
        for _ in range(_STEPS):
            error = distort(lens, found) - points
            if not np.any(np.abs(error) > _ERROR):
                break
            across = (distort(lens, found + (step, 0)) - distort(lens, found - (step, 0))) / (2 * step)
            down = (distort(lens, found + (0, step)) - distort(lens, found - (0, step))) / (2 * step)
            area = across[:, 0] * down[:, 1] - across[:, 1] * down[:, 0]
            found = found - np.stack([error[:, 0] * down[:, 1] - error[:, 1] * down[:, 0],
                                      error[:, 1] * across[:, 0] - error[:, 0] * across[:, 1]],
                                     axis=1) / area[:, None]
        found[~np.all(np.abs(distort(lens, found) - points) <= 1000 * _ERROR, axis=1)] = np.nan
    result: Floats = found
    return result


def _inverse(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.inv(matrix), np.float64)


def _projected(matrix: Floats, points: Floats) -> Floats:
    turned = points @ matrix[:, :2].T + matrix[:, 2]
    result: Floats = turned[:, :2] / turned[:, 2:]
    return result


def distort(lens: Mapping[str, Any], points: Floats) -> Floats:
    """Points (n x 2) of the straight picture in the one that the lens made, in pixels of both."""
    focal_x, focal_y, center_x, center_y = lens["undistorted"]
    x = (points[:, 0] - center_x) / focal_x
    y = (points[:, 1] - center_y) / focal_y
    bent = _pinhole if lens["model"] == "pinhole" else _fisheye
    x, y = bent(x, y, lens["distortion"])
    focal_x, focal_y, center_x, center_y = lens["camera"]
    return np.stack([focal_x * x + center_x, focal_y * y + center_y], axis=1)


def _pinhole(x: Floats, y: Floats, distortion: Sequence[float]) -> tuple[Floats, Floats]:
    """The model of OpenCV's `calib3d`, its rational, thin prism and tilted parts included."""
    k1, k2, p1, p2, k3, k4, k5, k6, s1, s2, s3, s4, tau_x, tau_y = distortion
    r2 = x * x + y * y
    r4, r6 = r2 * r2, r2 * r2 * r2
    radial = (1 + k1 * r2 + k2 * r4 + k3 * r6) / (1 + k4 * r2 + k5 * r4 + k6 * r6)
    bent_x = x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x) + s1 * r2 + s2 * r4
    bent_y = y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y + s3 * r2 + s4 * r4
    if tau_x == 0 and tau_y == 0:
        return bent_x, bent_y
    turned = _tilt(tau_x, tau_y) @ np.stack([bent_x, bent_y, np.ones_like(bent_x)])
    return turned[0] / turned[2], turned[1] / turned[2]


def _tilt(tau_x: float, tau_y: float) -> Floats:
    """OpenCV's `computeTiltProjectionMatrix`."""
    cos_x, sin_x, cos_y, sin_y = np.cos(tau_x), np.sin(tau_x), np.cos(tau_y), np.sin(tau_y)
    about_x = np.array([[1, 0, 0], [0, cos_x, sin_x], [0, -sin_x, cos_x]])
    about_y = np.array([[cos_y, 0, -sin_y], [0, 1, 0], [sin_y, 0, cos_y]])
    turned = about_y @ about_x
    along = np.array([[turned[2, 2], 0, -turned[0, 2]], [0, turned[2, 2], -turned[1, 2]], [0, 0, 1]])
    result: Floats = along @ turned
    return result


def _fisheye(x: Floats, y: Floats, distortion: Sequence[float]) -> tuple[Floats, Floats]:
    """The model of OpenCV's `fisheye`; of the distortion k1, k2, p1, p2's places hold k1 to k4 by name."""
    k1, k2, _, _, k3, k4 = distortion[:6]
    radius = np.hypot(x, y)
    theta = np.arctan(radius)
    square = theta * theta
    bent = theta * (1 + square * (k1 + square * (k2 + square * (k3 + square * k4))))
    radial = np.divide(bent, radius, out=np.ones_like(radius), where=radius > 0)
    return x * radial, y * radial
