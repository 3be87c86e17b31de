"""What OpenCV takes to make a picture of a mosaic of 8 bits, on one thread.

    opencv_debayer.py bilinear|ea|vng bgr|yuv MOSAICS WIDTH HEIGHT ROUNDS

`yuv` goes on to three planes of Y, Cb, Cr. Prints one line of JSON: the median and the least time per frame.
"""

import json
import sys
import time

import cv2
import numpy as np

WAYS = {"bilinear": cv2.COLOR_BayerRGGB2BGR, "ea": cv2.COLOR_BayerRGGB2BGR_EA,
        "vng": cv2.COLOR_BayerRGGB2BGR_VNG}


def main(way, result, path, width, height, rounds):
    cv2.setNumThreads(1)
    frames = np.fromfile(path, np.uint8).reshape(-1, int(height), int(width))
    bgr = np.empty((*frames.shape[1:], 3), np.uint8)
    yuv = np.empty_like(bgr)
    planes = [np.empty(frames.shape[1:], np.uint8) for _ in range(3)]
    times = []
    for number in range(int(rounds) + 1):
        for frame in frames:
            start = time.perf_counter_ns()
            cv2.cvtColor(frame, WAYS[way], dst=bgr)
            if result == "yuv":
                cv2.cvtColor(bgr, cv2.COLOR_BGR2YCrCb, dst=yuv)
                cv2.split(yuv, planes)
            if number > 0:
                times.append(time.perf_counter_ns() - start)
    times.sort()
    print(json.dumps({"frames": len(frames), "p50_us": times[len(times) // 2] / 1e3,
                      "least_us": times[0] / 1e3}))


if __name__ == "__main__":
    main(*sys.argv[1:])
