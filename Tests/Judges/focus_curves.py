"""Compares focus measures on real pictures: the table and the plot of Plugins/FocusScore/README.md.

    python Tests/Judges/focus_curves.py docs/focus.png
"""
import sys

import cv2
import matplotlib
import numpy as np

import focus_measures
import focus_sweeps
from program import DATA

matplotlib.use("Agg")  # Needs no screen.

from matplotlib import pyplot


def modified_laplacian(luma):
    along, down = (focus_measures.second_difference(luma, axis) for axis in (1, 0))
    return np.abs(along).mean() + np.abs(down).mean()


def brenner(luma):
    y = luma.astype(np.int32)
    return focus_measures.energy(y[:, 2:] - y[:, :-2]) + focus_measures.energy(y[2:] - y[:-2])


MEASURES = {
    "normalized": focus_measures.normalized,
    "laplacian, LAP4": focus_measures.laplacian_variance,
    "tenengrad, GRA6": focus_measures.tenengrad,
    "energy of the Laplacian, LAP1": lambda y: focus_measures.energy(focus_measures.laplacian(y)),
    "modified Laplacian, LAP2": modified_laplacian,
    "Brenner's, MIS2": brenner,
    "variance of levels, STA3": lambda y: y.var(),
    "the same by the mean, STA5": lambda y: y.var() / max(y.mean(), 1e-9),
}
DRAWN = ("normalized", "laplacian, LAP4", "tenengrad, GRA6", "modified Laplacian, LAP2",
         "variance of levels, STA3")
# Columns of the table, and what the names of their conditions begin and end with.
KINDS = {"gain": ("gain", ""), "gain and noise": ("noise", ""), "drifting light": ("drift", "light"),
         "drifting levels": ("drift", "levels")}


def moved(conditions, measure, best):
    """By how many mm at most the peak is moved, for each kind of condition."""
    found = [(name, abs(focus_sweeps.peak([measure(luma) for luma in pictures]) - best))
             for name, pictures in conditions]
    return [max(distance for name, distance in found
                if name.startswith(start) and name.endswith(end))
            for start, end in KINDS.values()]


def triplet():
    """The luma of the sharp, the defocused and the motion-blurred picture."""
    return [cv2.imread(str(DATA / f"focus/blur_triplets/176_HONOR-7X_{letter}.jpg"), 0)
            for letter in "SFM"]


def row(name, measure, pictures, conditions, triplets):
    scores = np.array([measure(luma) for luma in pictures])
    best = focus_sweeps.peak(scores)
    wrong, pairs = focus_sweeps.misplaced(scores)
    half = focus_sweeps.STEP * int((scores > scores.max() / 2).sum())
    sharp, defocused, shaken = (measure(luma) for luma in triplets)
    return [name, best, f"{1 - len(wrong) / pairs:.0%}", half, *moved(conditions, measure, best),
            f"{sharp / defocused:.1f}", f"{sharp / shaken:.1f}"]


def draw(path, pictures, conditions):
    """Above each other: the sweep as it is, and with exposure and noise that drift."""
    noisy = next(found for name, found in conditions if name == "drift and noise in light")
    figure, panels = pyplot.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    titles = ("The sweep as it is", "Each picture in half to double the light, at random, and noise "
              f"of {focus_sweeps.NOISE} levels")
    for panel, title, shown in zip(panels, titles, (pictures, noisy)):
        for name in DRAWN:
            measure = MEASURES[name]
            scores = np.array([measure(luma) for luma in shown])
            is_ours = name == "normalized"
            panel.plot(focus_sweeps.positions(), scores / scores.max(), label=name,
                       linewidth=2.5 if is_ours else 1, zorder=3 if is_ours else 2)
        panel.axvspan(-52, -48, color="0.9")
        panel.set_title(title)
        panel.set_ylabel("score / largest score")
    panels[0].legend()
    panels[1].set_xlabel("position of the camera, mm; best by eye in the grey band")
    figure.savefig(path, dpi=80)


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} PLOT.png")
    pictures = focus_sweeps.sweep()
    conditions = list(focus_sweeps.conditions(pictures))
    triplets = triplet()
    headings = ["", "peak", "in order", "width at half", *KINDS, "S/F", "S/M"]
    print("| " + " | ".join(headings) + " |")
    print("|---|" + "---:|" * (len(headings) - 1))
    for name, measure in MEASURES.items():
        cells = row(name, measure, pictures, conditions, triplets)
        print("| " + " | ".join(map(str, cells)) + " |")
    draw(sys.argv[1], pictures, conditions)


if __name__ == "__main__":
    main()
