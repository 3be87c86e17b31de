"""Frames of a file in Python, by one way of reading them.

    tensors.py WAY FILE SIDE|rgb|gray

A number makes NCHW float32 tensors of letterboxed RGB, 0 to 1, with this side; `rgb` and `gray` make pictures
of bytes in the film's size. WAY is `sprocket` (the package, and its program by SPROCKET), `sprocket-exact`
(JPEGs decoded in full), `opencv`, `pyav` or `decord`. Prints one line of JSON: frames, and seconds from the
start of the way, its imports included, to its last frame.
"""
import json
import sys
import time

import numpy as np

way, path, kind = sys.argv[1:4]
side = int(kind) if kind.isdigit() else 0


def box(width, height):
    grow = min(side / width, side / height)
    wide, high = round(width * grow), round(height * grow)
    return wide, high, (side - wide) // 2, (side - high) // 2


def planes(picture, place):
    """A letterboxed tensor of a small RGB picture."""
    wide, high, left, top = place
    tensor = np.full((1, 3, side, side), 114 / 255, np.float32)
    inside = tensor[0, :, top:top + high, left:left + wide]
    np.multiply(picture.transpose(2, 0, 1), np.float32(1 / 255), out=inside)
    return tensor


def sprocket(exact):
    import sprocket as package

    wanted = {"tensor": {"size": (side, side), "exact": exact}} if side else {"image": kind}
    with package.run(f"file:{path}", **wanted) as frames:
        for frame in frames:
            yield frame.tensor if side else frame.image


def opencv():
    import cv2

    film = cv2.VideoCapture(path)
    while True:
        is_read, picture = film.read()
        if not is_read:
            return
        if not side:
            yield cv2.cvtColor(picture, cv2.COLOR_BGR2RGB if kind == "rgb" else cv2.COLOR_BGR2GRAY)
            continue
        wide, high, left, top = place = box(picture.shape[1], picture.shape[0])
        small = cv2.resize(picture, (wide, high), interpolation=cv2.INTER_LINEAR)
        boxed = cv2.copyMakeBorder(small, top, side - high - top, left, side - wide - left,
                                   cv2.BORDER_CONSTANT, value=(114, 114, 114))
        rgb = cv2.cvtColor(boxed, cv2.COLOR_BGR2RGB)
        yield np.ascontiguousarray(rgb.transpose(2, 0, 1)[None]).astype(np.float32) / np.float32(255)


def pyav():
    import av

    with av.open(path) as film:
        stream = film.streams.video[0]
        stream.thread_type = "AUTO"
        place = box(stream.width, stream.height)
        for frame in film.decode(stream):
            if not side:
                yield frame.to_ndarray(format="rgb24" if kind == "rgb" else "gray")
                continue
            small = frame.reformat(width=place[0], height=place[1], format="rgb24", interpolation="BILINEAR")
            yield planes(small.to_ndarray(), place)


def decord():
    import cv2
    import decord as package

    if not side:
        for frame in package.VideoReader(path):
            picture = frame.asnumpy()
            yield picture if kind == "rgb" else cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
        return
    first = package.VideoReader(path)[0].shape
    place = box(first[1], first[0])
    for frame in package.VideoReader(path, width=place[0], height=place[1]):
        yield planes(frame.asnumpy(), place)


ways = {"sprocket": lambda: sprocket(False), "sprocket-exact": lambda: sprocket(True), "opencv": opencv,
        "pyav": pyav, "decord": decord}
start = time.perf_counter()
count, total = 0, 0.0
for found in ways[way]():
    if side:
        assert found.shape == (1, 3, side, side) and found.dtype == np.float32
    else:
        assert found.ndim == (3 if kind == "rgb" else 2) and found.dtype == np.uint8
    # A detector reads it; one number suffices to see that it is there.
    total += float(found[(..., *(length // 2 for length in found.shape[-2:]))].flat[0])
    count += 1
print(json.dumps({"frames": count, "seconds": time.perf_counter() - start, "mean": total / count}))
