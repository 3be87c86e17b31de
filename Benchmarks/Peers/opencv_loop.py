"""The usual loop in Python: decode, make gray, histogram, mean, variance of the Laplacian.

    opencv_loop.py CLIP REPORTS.jsonl
"""

import json
import sys

import cv2


def main(clip, reports):
    capture = cv2.VideoCapture(clip)
    if not capture.isOpened():
        sys.exit(f"{clip} cannot be opened; give a video file")
    with open(reports, "w") as out:
        sequence = 0
        while True:
            found, frame = capture.read()
            if not found:
                break
            gray = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
            histogram = cv2.calcHist([gray], [0], None, [256], [0, 256])
            line = {
                "sequence": sequence,
                "mean": float(gray.mean()),
                "histogram": [int(count) for count in histogram.ravel()],
                "score": float(cv2.Laplacian(gray, cv2.CV_64F).var()),
            }
            out.write(json.dumps(line) + "\n")
            sequence += 1
    if sequence == 0:
        sys.exit(f"{clip} has no frames")


if __name__ == "__main__":
    main(*sys.argv[1:])
