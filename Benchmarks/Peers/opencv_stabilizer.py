"""The usual recipe of stabilization in Python: track corners, fit a similarity, smooth, warp.

    opencv_stabilizer.py CLIP
"""

import sys

import cv2
import numpy as np

CROP = 0.05
KEPT = 0.9  # Of the correction, from frame to frame: a low-pass.


def motion(before, after):
    corners = cv2.goodFeaturesToTrack(before, 200, 0.01, 30)
    if corners is None:
        return np.zeros(3)
    found, status, _ = cv2.calcOpticalFlowPyrLK(before, after, corners, None)
    tracked = status.ravel() == 1
    matrix, _ = cv2.estimateAffinePartial2D(corners[tracked], found[tracked])
    if matrix is None:
        return np.zeros(3)
    return np.array([matrix[0, 2], matrix[1, 2], np.arctan2(matrix[1, 0], matrix[0, 0])])


def main(clip):
    capture = cv2.VideoCapture(clip)
    before, correction, frames = None, np.zeros(3), 0
    while True:
        found, frame = capture.read()
        if not found:
            break
        gray = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
        if before is not None:
            correction = KEPT * (correction - motion(before, gray))
        height, width = gray.shape
        matrix = cv2.getRotationMatrix2D(
            (width / 2, height / 2), -np.degrees(correction[2]), 1 / (1 - 2 * CROP))
        matrix[:, 2] += correction[:2]
        cv2.warpAffine(frame, matrix, (width, height))
        before, frames = gray, frames + 1
    if frames == 0:
        sys.exit(f"{clip} has no frames; give a video file")


if __name__ == "__main__":
    main(*sys.argv[1:])
