"""Frames of films in Python beside OpenCV, PyAV and decord, whole processes: wall and CPU time.

    reading.py PYTHON SPROCKET ROUNDS FILM...

PYTHON has the peers (Benchmarks/requirements.txt). Each round runs all ways after each other, in another
order. Prints tables of medians, and of Sprocket's part of each peer's, paired by round.
"""
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import time

PEERS = pathlib.Path(__file__).resolve().parent / "Peers"
WAYS = {"sprocket": "Sprocket", "opencv": "OpenCV", "pyav": "PyAV", "decord": "decord"}
KINDS = {"rgb": "RGB", "gray": "gray", "640": "640x640 float32"}


def cost(command):
    """Wall and CPU time in seconds, of the children included; `None` for what does not run."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    result = subprocess.run(command, capture_output=True, text=True)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode:
        return None
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(python, sprocket, rounds, *films):
    os.environ |= {"SPROCKET": sprocket, "PYTHONPATH": str(PEERS.parents[1] / "Python")}
    print("| Film | Frames as | | " + " | ".join(WAYS.values()) + " |")
    print("| --- | --- | --- |" + " ---: |" * len(WAYS))
    for film in films:
        for kind, text in KINDS.items():
            found = {way: [] for way in WAYS}
            for _ in range(int(rounds)):
                for way in random.sample(list(WAYS), len(WAYS)):
                    found[way].append(cost([python, PEERS / "tensors.py", way, film, kind]))
            for index, what in enumerate(("wall", "CPU")):
                cells = []
                for way in WAYS:
                    if None in found[way]:
                        cells.append("-")
                        continue
                    own = statistics.median(sample[index] for sample in found[way])
                    part = statistics.median(ours[index] / theirs[index] for ours, theirs in
                                             zip(found["sprocket"], found[way]))
                    cells.append(f"{own:.2f} s" + ("" if way == "sprocket" else f" ({part:.2f})"))
                print(f"| {pathlib.Path(film).name} | {text} | {what} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
