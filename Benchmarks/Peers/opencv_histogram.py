"""What OpenCV's calcHist takes per frame of luma, on one thread, as StageTime measures a stage.

    opencv_histogram.py LUMA WIDTH HEIGHT ROUNDS

Prints one line of JSON: the median and the least time per frame.
"""

import json
import sys
import time

import cv2
import numpy as np


def main(path, width, height, rounds):
    cv2.setNumThreads(1)
    frames = np.fromfile(path, np.uint8).reshape(-1, int(height), int(width))
    times = []
    for number in range(int(rounds) + 1):
        for frame in frames:
            start = time.perf_counter_ns()
            cv2.calcHist([frame], [0], None, [256], [0, 256])
            if number > 0:
                times.append(time.perf_counter_ns() - start)
    times.sort()
    print(json.dumps({"frames": len(frames), "p50_us": times[len(times) // 2] / 1e3,
                      "least_us": times[0] / 1e3}))


if __name__ == "__main__":
    main(*sys.argv[1:])
