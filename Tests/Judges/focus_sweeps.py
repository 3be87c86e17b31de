"""A real focus sweep, and what exposure and noise make of it."""
import cv2
import numpy as np

from program import DATA

STEP = 2  # mm from one position of the sweep to the next.
NOISE = 5  # Levels.


def positions():
    """The lens positions of the sweep in mm, from -110 to 20."""
    return sorted(int(path.stem[1:]) for path in (DATA / "focus/firepick_rep1").glob("Z*.jpg"))


def sweep():
    """Luma at each position."""
    return [cv2.imread(str(DATA / f"focus/firepick_rep1/Z{position:+04d}.jpg"), cv2.IMREAD_GRAYSCALE)
            for position in positions()]


def in_levels(luma, gain):
    return luma * float(gain)


def in_light(luma, gain):
    """The levels of `gain` times the light, by BT.709's transfer function."""
    signal = luma / 255
    light = np.where(signal < 0.081, signal / 4.5, ((signal + 0.099) / 1.099) ** (1 / 0.45)) * gain
    return 255 * np.where(light < 0.018, light * 4.5, 1.099 * light ** 0.45 - 0.099)


def exposed(luma, gain, scale, random=None):
    """Another exposure, with noise if there is a generator of random numbers; clipped and rounded."""
    levels = np.clip(scale(luma, gain), 0, 255)
    if random is not None:
        levels = levels + random.normal(0, NOISE, luma.shape)
    return np.clip(np.rint(levels), 0, 255).astype(np.uint8)


def conditions(pictures):
    """Names and pictures: the same gain for all, or another for each, with and without noise."""
    for scale in (in_levels, in_light):
        kind = scale.__name__.replace("_", " ")
        for gain in (0.5, 0.71, 1.41, 2):
            yield f"gain {kind}", [exposed(luma, gain, scale) for luma in pictures]
        for seed, gain in enumerate((0.5, 0.71, 1, 1.41, 2)):
            random = np.random.default_rng(seed)
            yield f"noise {kind}", [exposed(luma, gain, scale, random) for luma in pictures]
        for seed in range(4):
            random = np.random.default_rng(100 + seed)
            yield f"drift {kind}", [
                exposed(luma, 2 ** random.uniform(-1, 1), scale) for luma in pictures]
            yield f"drift and noise {kind}", [
                exposed(luma, 2 ** random.uniform(-1, 1), scale, random) for luma in pictures]


def peak(scores):
    """The position with the highest score."""
    return positions()[int(np.argmax(scores))]


def misplaced(scores, within=30):
    """Neighbouring positions within so many mm of the peak that are in the wrong order, and how many
    neighbours there are."""
    places, best = positions(), peak(scores)
    near = [index for index in range(len(places) - 1)
            if abs(places[index] - best) <= within and abs(places[index + 1] - best) <= within]
    wrong = [places[index] for index in near
             if (scores[index + 1] > scores[index]) != (places[index + 1] <= best)]
    return wrong, len(near)
