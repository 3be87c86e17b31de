"""What a tensor of a picture takes with OpenCV, on one thread: resize, border, colour, blobFromImage.

    opencv_tensor.py I420 WIDTH HEIGHT ROUNDS SIDE

Prints one line of JSON: medians from planes of YUV, and from BGR as VideoCapture gives it.
"""
import json
import statistics
import sys
import time

import cv2
import numpy as np

path, width, height, rounds, side = sys.argv[1], *map(int, sys.argv[2:6])
cv2.setNumThreads(1)
pictures = np.fromfile(path, np.uint8).reshape(-1, height * 3 // 2, width)
grow = min(side / width, side / height)
wide, high = round(width * grow), round(height * grow)
left, top = (side - wide) // 2, (side - high) // 2


def blob(picture):
    small = cv2.resize(picture, (wide, high), interpolation=cv2.INTER_LINEAR)
    boxed = cv2.copyMakeBorder(small, top, side - high - top, left, side - wide - left, cv2.BORDER_CONSTANT,
                               value=(114, 114, 114))
    return cv2.dnn.blobFromImage(boxed, 1 / 255, swapRB=True)


from_planes, from_bgr = [], []
for number in range(rounds + 1):
    for picture in pictures:
        start = time.perf_counter()
        bgr = cv2.cvtColor(picture, cv2.COLOR_YUV2BGR_I420)
        middle = time.perf_counter()
        blob(bgr)
        end = time.perf_counter()
        if number:
            from_planes.append(end - start)
            from_bgr.append(end - middle)
print(json.dumps({"p50_us": 1e6 * statistics.median(from_planes),
                  "from_bgr_p50_us": 1e6 * statistics.median(from_bgr)}))
