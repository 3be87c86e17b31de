"""A reader of the newest frame, with models of several speeds: results per second, and the age of frames.

    PYTHONPATH=Python SPROCKET=... python latest.py

The loop sleeps for some seconds after each frame, as a model would compute. Prints a table: results per
second; the ratio to the most that this pause allows; and the age of a frame when the loop gets it, counted
from when it was shared, in frame periods.
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


print("| Frames/s | Pause, s | Results/s | Ratio to the most | Age p50, periods | Age p99, periods |")
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
