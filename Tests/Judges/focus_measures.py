"""Focus measures by their definitions, in NumPy: what the stage `focus` is held against.

All take luma, rows x columns, and look at no pixel outside it. Sums are of integers, so they are exact.
"""
import numpy as np

LAG = 12  # Pixels between those whose difference tells the contrast.
SAMPLING = 2  # Rows from one to the next that levels and contrast are taken of.


def second_difference(luma, axis):
    y = luma.astype(np.int32)
    a, b, c = (y[:-2], y[1:-1], y[2:]) if axis == 0 else (y[:, :-2], y[:, 1:-1], y[:, 2:])
    return a - 2 * b + c


def laplacian(luma):
    """Four neighbours minus four times the pixel, of all but the outermost pixels."""
    return second_difference(luma, 0)[:, 1:-1] + second_difference(luma, 1)[1:-1]


def noise_mask(luma):
    return second_difference(second_difference(luma, 0), 1)


def sobel(luma):
    y = luma.astype(np.int32)
    smooth, slope = y[:-2] + 2 * y[1:-1] + y[2:], y[2:] - y[:-2]
    return smooth[:, 2:] - smooth[:, :-2], slope[:, :-2] + 2 * slope[:, 1:-1] + slope[:, 2:]


def squares(values):
    return int(np.einsum("ij,ij->", values, values, dtype=np.int64))


def energy(values):
    """Mean square; 0 of nothing."""
    return squares(values) / max(values.size, 1)


def detail(laplacians, noises):
    """The Laplacian's energy without noise, in levels squared."""
    return max(9 * squares(laplacians) - 5 * squares(noises), 0) / (180 * laplacians.size)


def noise(luma):
    """Standard deviation of the noise, in levels (Immerkær 1996)."""
    return np.sqrt(energy(noise_mask(luma)) / 36)


def levels(luma):
    return luma[::SAMPLING].astype(np.int32)


def along(luma):
    """Differences of pixels of a row."""
    y = levels(luma)
    return y[:, LAG:] - y[:, :-LAG]


def down(luma):
    """Differences of pixels of a column; the pixels between them are in rows that are taken."""
    y = luma.astype(np.int32)
    return (y[LAG:] - y[:-LAG])[-(LAG // 2) % SAMPLING::SAMPLING]


def semivariance(luma):
    return (energy(along(luma)) + energy(down(luma))) / 4


def contrast(luma):
    deviation = np.sqrt(max(semivariance(luma) - noise(luma) ** 2 - 1, 0))
    return deviation / (deviation + levels(luma).mean()) if deviation > 0 else 0.0


def normalized(luma):
    fine = detail(laplacian(luma), noise_mask(luma))
    return fine / (levels(luma).mean() ** 2 / 64 + 64)


def laplacian_variance(luma):
    values = laplacian(luma)
    return energy(values) - values.mean(dtype=np.float64) ** 2


def tenengrad(luma):
    along, down = sobel(luma)
    return energy(along) + energy(down)


def grid(luma):
    """The default score in 4x4 cells: responses belong to the cell of their middle."""
    height, width = luma.shape
    every_row, every_column = np.arange(height), np.arange(width)
    layers = {  # Values, and the rows and columns of the picture that they belong to.
        "laplacian": (laplacian(luma), every_row[1:-1], every_column[1:-1]),
        "noise": (noise_mask(luma), every_row[1:-1], every_column[1:-1]),
        "levels": (levels(luma), every_row[::SAMPLING], every_column)}
    scores = []
    for row in range(4):
        for column in range(4):
            cut = {}
            for name, (values, rows, columns) in layers.items():
                top, bottom = np.searchsorted(rows, [height * row // 4, height * (row + 1) // 4])
                left, right = np.searchsorted(
                    columns, [width * column // 4, width * (column + 1) // 4])
                cut[name] = values[top:bottom, left:right]
            fine = detail(cut["laplacian"], cut["noise"])
            scores.append(fine / (cut["levels"].mean() ** 2 / 64 + 64))
    return scores


MEASURES = {"normalized": normalized, "laplacian": laplacian_variance, "tenengrad": tenengrad}
