"""What OpenCV's warpAffine takes per 4:2:0 picture, all three planes, on one thread.

    opencv_warp.py linear|cubic|lanczos PICTURES WIDTH HEIGHT ROUNDS

PICTURES is a file of planar pictures. Prints one line of JSON: the median and the least time per picture.
"""

import json
import sys
import time

import cv2
import numpy as np

KERNELS = {"linear": cv2.INTER_LINEAR, "cubic": cv2.INTER_CUBIC, "lanczos": cv2.INTER_LANCZOS4}
DEGREES, ZOOM, SHIFT = 0.3, 1 / 0.9, (3.3, -2.2)


def main(kernel, path, width, height, rounds):
    cv2.setNumThreads(1)
    width, height = int(width), int(height)
    sizes = [(height, width)] + 2 * [(height // 2, width // 2)]
    counts = [rows * columns for rows, columns in sizes]
    pictures = np.fromfile(path, np.uint8).reshape(-1, sum(counts))
    matrices = []
    for rows, columns in sizes:
        matrix = cv2.getRotationMatrix2D((columns / 2, rows / 2), DEGREES, ZOOM)
        matrix[:, 2] += np.array(SHIFT) * columns / width
        matrices.append(matrix)
    targets = [np.empty(size, np.uint8) for size in sizes]
    times = []
    for number in range(int(rounds) + 1):
        for picture in pictures:
            planes = np.split(picture, np.cumsum(counts)[:-1])
            start = time.perf_counter_ns()
            for plane, size, matrix, target in zip(planes, sizes, matrices, targets):
                cv2.warpAffine(plane.reshape(size), matrix, size[::-1], dst=target, flags=KERNELS[kernel])
            if number > 0:
                times.append(time.perf_counter_ns() - start)
    times.sort()
    print(json.dumps({"frames": len(pictures), "p50_us": times[len(times) // 2] / 1e3,
                      "least_us": times[0] / 1e3}))


if __name__ == "__main__":
    main(*sys.argv[1:])
