"""A reader of the newest frame, with models of several speeds: results per second, and the age of frames.

    PYTHONPATH=Python SPROCKET=... python latest.py

A model is a pause of so many seconds after each frame. Prints a table: results per second, their part of what
the model allows, and the age of frames since they were shared when they are handed out, in periods.
"""
import time

import numpy as np
import sprocket

RATES = (30, 240)
PAUSES = (0.01, 0.1, 0.3, 0.5, 2.0)


def trial(rate, pause, seconds):
    ages, count = [], 0
    with sprocket.run("scene", source_set=["pace=real", "cached=30"], size="640x480", rate=rate,
                      image="gray") as frames:
        next(frames)
        start = time.monotonic()
        while time.monotonic() - start < seconds:
            frame = next(frames)
            ages.append((time.monotonic_ns() - frame.shared_ns) * rate / 1e9)
            time.sleep(pause)
            count += 1
        took = time.monotonic() - start
    return count / took, np.percentile(ages, 50), np.percentile(ages, 99)


print("| Frames/s | Model, s | Results/s | of what it allows | age p50, periods | p99 |")
print("| ---: | ---: | ---: | ---: | ---: | ---: |")
for rate in RATES:
    for pause in PAUSES:
        found, middle, most = trial(rate, pause, max(6, 10 * pause))
        # A model that is faster than the source gets every frame.
        allowed = min(rate, 1 / pause)
        print(f"| {rate} | {pause} | {found:.2f} | {found / allowed:.3f} | {middle:.2f} | {most:.2f} |",
              flush=True)
    with sprocket.run("scene", source_set=["pace=real", "cached=30"], size="640x480", rate=rate,
                      image="gray") as frames:
        next(frames)
        time.sleep(10)
        frame = next(frames)
        age = (time.monotonic_ns() - frame.shared_ns) * rate / 1e9
        print(f"| {rate} | a pause of 10 s | | | {age:.2f} | |", flush=True)
