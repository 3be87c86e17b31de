"""What a focus measure takes with OpenCV per frame of luma, on one thread, as StageTime measures a stage.

    opencv_focus.py normalized|laplacian|laplacian-usual|tenengrad LUMA WIDTH HEIGHT ROUNDS

Prints one line of JSON: the median and the least time per frame.
"""

import json
import sys
import time

import cv2
import numpy as np

SECOND_DIFFERENCE = np.array([1, -2, 1], np.float32)


def squares(values):
    return cv2.norm(values, cv2.NORM_L2SQR)


def normalized(luma):
    laplacians = cv2.Laplacian(luma, cv2.CV_16S)
    noises = cv2.sepFilter2D(luma, cv2.CV_16S, SECOND_DIFFERENCE, SECOND_DIFFERENCE)
    detail = squares(laplacians) / 20 - squares(noises) / 36
    brightness = cv2.mean(luma[::2])[0]
    return detail / (luma.size * (brightness * brightness / 64 + 64))


def laplacian(luma):
    return cv2.meanStdDev(cv2.Laplacian(luma, cv2.CV_16S))[1][0, 0] ** 2


def laplacian_usual(luma):
    return cv2.Laplacian(luma, cv2.CV_64F).var()


def tenengrad(luma):
    return squares(cv2.Sobel(luma, cv2.CV_16S, 1, 0)) + squares(cv2.Sobel(luma, cv2.CV_16S, 0, 1))


def main(way, path, width, height, rounds):
    cv2.setNumThreads(1)
    measure = {"normalized": normalized, "laplacian": laplacian, "laplacian-usual": laplacian_usual,
               "tenengrad": tenengrad}[way]
    frames = np.fromfile(path, np.uint8).reshape(-1, int(height), int(width))
    times = []
    for number in range(int(rounds) + 1):
        for frame in frames:
            start = time.perf_counter_ns()
            measure(frame)
            if number > 0:
                times.append(time.perf_counter_ns() - start)
    times.sort()
    print(json.dumps({"frames": len(frames), "p50_us": times[len(times) // 2] / 1e3,
                      "least_us": times[0] / 1e3}))


if __name__ == "__main__":
    main(*sys.argv[1:])
