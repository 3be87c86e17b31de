"""Frames of a film by number, in RGB: films.py sprocket|pyav|decord|opencv CLIP JUMPS

Prints a JSON object in milliseconds: the first frame, that of a second `open`, one of JUMPS random numbers
(time and CPU time, that of the program beside it included), and a loop over all frames: forward, by single
numbers, and by single numbers backwards. PyAV's jumps take each frame to be 1/rate long.
"""
import json
import os
import random
import sys
import time


def cpu(process=None):
    seconds = time.process_time()
    if process:
        with open(f"/proc/{process}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def timed(body):
    start = time.monotonic()
    result = body()
    return (time.monotonic() - start) * 1e3, result


def numbers(count, jumps):
    return random.Random(5).sample(range(count), jumps)


def jumped(chosen, jump, process=None):
    start = cpu(process)
    wall, _ = timed(lambda: [jump(number) for number in chosen])
    return {"jump": wall / len(chosen), "jump_cpu": (cpu(process) - start) * 1e3 / len(chosen)}


def sprocket(path, jumps):
    import sprocket

    def opened():
        video = sprocket.Video(path)
        video[0].image
        return video
    first, video = timed(opened)
    chosen = numbers(len(video), jumps)
    found = jumped(chosen, lambda number: video[number].image, video.pid)
    count = len(video)
    return {"first": first, "second": timed(opened)[0], **found,
            "loop": timed(lambda: sum(1 for _ in video))[0],
            "numbers": timed(lambda: [video[number].number for number in range(count)])[0],
            "backwards": timed(lambda: [video[number].number for number in reversed(range(count))])[0]}


def pyav(path, jumps):
    import av

    def opened():
        container = av.open(path)
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        next(container.decode(stream)).to_ndarray(format="rgb24")
        return container, stream
    first, (container, stream) = timed(opened)
    ticks = 1 / stream.average_rate / stream.time_base

    def jump(number):
        target = (stream.start_time or 0) + round(number * ticks)
        container.seek(target, stream=stream)
        for frame in container.decode(stream):
            if frame.pts >= target:
                return frame.to_ndarray(format="rgb24")

    def loop():
        again = av.open(path)
        again.streams.video[0].thread_type = "AUTO"
        for frame in again.decode(video=0):
            frame.to_ndarray(format="rgb24")
    found = jumped(numbers(stream.frames, jumps), jump)
    return {"first": first, "second": timed(opened)[0], **found, "loop": timed(loop)[0]}


def decord(path, jumps):
    import decord

    def opened():
        video = decord.VideoReader(path)
        video[0].asnumpy()
        return video
    first, video = timed(opened)
    found = jumped(numbers(len(video), jumps), lambda number: video[number].asnumpy())
    second, again = timed(opened)
    loop = timed(lambda: [again[number].asnumpy().size for number in range(len(again))])[0]
    return {"first": first, "second": second, **found, "loop": loop}


def opencv(path, jumps):
    import cv2

    def opened():
        capture = cv2.VideoCapture(path)
        capture.read()
        return capture
    first, capture = timed(opened)

    def jump(number):
        capture.set(cv2.CAP_PROP_POS_FRAMES, number)
        return cv2.cvtColor(capture.read()[1], cv2.COLOR_BGR2RGB)

    def loop():
        again = cv2.VideoCapture(path)
        while (read := again.read())[0]:
            cv2.cvtColor(read[1], cv2.COLOR_BGR2RGB)
    found = jumped(numbers(int(capture.get(cv2.CAP_PROP_FRAME_COUNT)), jumps), jump)
    return {"first": first, "second": timed(opened)[0], **found, "loop": timed(loop)[0]}


if __name__ == "__main__":
    ways = {"sprocket": sprocket, "pyav": pyav, "decord": decord, "opencv": opencv}
    print(json.dumps(ways[sys.argv[1]](sys.argv[2], int(sys.argv[3]))))
