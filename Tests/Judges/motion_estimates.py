"""The usual OpenCV recipe for the motion between frames, and which of two estimates a pair bears out."""
import cv2
import numpy as np

from conftest import probe

CLIPS = ["stabilization/test.avi", "stabilization/max-heromode.mp4", "generic/box.mp4",
         "generic/flipping_a_pancake.mkv", "generic/tree.avi", "generic/carphone_pristine.mp4",
         "generic/vtest.avi", "exposure/nasa_13013.mp4", "timing/FLIR_Thermal.mp4", "mjpeg/100_0306.AVI"]


def recipe(earlier, now):
    """Good features, pyramidal Lucas-Kanade, a similarity by RANSAC: 2x3, or `None`."""
    points = cv2.goodFeaturesToTrack(earlier, 300, 0.01, 12)
    if points is None or len(points) < 12:
        return None
    found, status, _ = cv2.calcOpticalFlowPyrLK(earlier, now, points, None, winSize=(21, 21), maxLevel=4)
    good = status.ravel() == 1
    if good.sum() < 8:
        return None
    return cv2.estimateAffinePartial2D(points[good], found[good], ransacReprojThreshold=1.5)[0]


def ours(line, shape, divisor):
    """A report as a 2x3 matrix for frames of `shape`, a `divisor`th of the full picture."""
    height, width = shape
    angle = np.radians(line["roll"])
    turn = line["scale"] * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    middle = np.array([(width - 1) / 2, (height - 1) / 2])
    shift = np.array([line["shift_x"], line["shift_y"]]) / divisor
    return np.hstack([turn, (middle - turn @ middle + shift)[:, None]])


def misfit(earlier, now, matrix):
    """Median over blocks of 16x16 of the mean difference, once the earlier frame is laid on this one."""
    height, width = now.shape
    laid = cv2.warpAffine(earlier, matrix, (width, height), borderValue=-999)
    seen = laid > -1
    if seen.sum() < 256:
        return np.inf
    off = np.where(seen, np.abs(laid - now + np.median(now[seen]) - np.median(laid[seen])), np.nan)
    blocks = off[:height // 16 * 16, :width // 16 * 16].reshape(height // 16, 16, width // 16, 16)
    means = blocks.mean(axis=(1, 3))
    return float(np.median(means[np.isfinite(means)])) if np.isfinite(means).any() else np.inf


def compare(path, lines, frames):
    """How far apart ours and OpenCV's are, at 640 pixels, and which fits where that is over 0.3."""
    stream = probe(path)
    width, height = stream["width"], stream["height"]
    divisor = 2 if max(width, height) >= 1280 else 1
    size = (width // divisor, height // divisor)
    scale = 640 / max(size)
    distances, different, better, earlier = [], 0, 0, None
    for line, full in zip(lines, frames(width, height), strict=True):
        now = cv2.resize(full, size, interpolation=cv2.INTER_AREA)
        theirs = None if earlier is None else recipe(earlier, now)
        if theirs is not None and line["comparison"] == "tracked" and line["frames_back"] == 1:
            mine = ours(line, now.shape, divisor)
            middle = np.array([size[0] / 2, size[1] / 2, 1])
            distances.append(scale * float(np.hypot(*((mine - theirs) @ middle))))
            if distances[-1] > 0.3:
                different += 1
                pair = earlier.astype(np.float32), now.astype(np.float32)
                better += misfit(*pair, mine) <= misfit(*pair, theirs)
        earlier = now
    return {"frames": len(distances), "median_px": float(np.median(distances)), "different": different,
            "ours_better": int(better)}
