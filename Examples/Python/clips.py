"""Measures all clips of a folder, on all processors: python clips.py FOLDER"""
import sys
from pathlib import Path

import numpy as np

import sprocket


def measure(frames):
    """Called with the frames of each clip, in a process of its own."""
    scores, levels = [], []
    for frame in frames:
        scores.append(frame.reports["focus"]["score"])
        levels.append(frame.image.mean())
    return len(scores), float(np.median(scores)), float(np.mean(levels))


if __name__ == "__main__":
    kinds = (".mov", ".mp4", ".mkv", ".avi")
    paths = sorted(path for path in Path(sys.argv[1]).iterdir() if path.suffix in kinds)
    image = {"layout": "gray", "size": (160, 90), "fit": "stretch"}
    for path, (count, score, level) in sprocket.batch(paths, measure, stages=["focus"], image=image):
        print(f"{path.name}: {count} frames, sharpness {score:.3f}, mean level {level:.1f}")
