"""Tensors in NumPy's float64, written from ITU-T H.273 and the definitions of the filters."""
import re

import numpy as np

MATRICES = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722), "bt2020": (0.2627, 0.0593)}
FACTORS = {"420": (2, 2), "422": (2, 1), "444": (1, 1), "440": (1, 2), "411": (4, 1), "mono": None}


class Picture:
    """Planes of one frame, with what is known of them."""

    def __init__(self, planes, factors, bits, full, site):
        self.planes, self.factors, self.bits, self.full, self.site = planes, factors, bits, full, site


def y4m(data):
    """The pictures of a YUV4MPEG2 stream. The site of chroma is said only for 4:2:0 of 8 bits."""
    end = data.index(b"\n")
    words = {word[0]: word[1:] for word in data[:end].decode().split()[1:] if word[0] != "X"}
    full = b"XCOLORRANGE=FULL" in data[:end]
    width, height = int(words["W"]), int(words["H"])
    found = re.fullmatch(r"(mono|\d\d\d)(?:p?(\d\d))?(jpeg|mpeg2)?", words["C"])
    factors, bits = FACTORS[found[1]], int(found[2] or 8)
    sizes = [(height, width)]
    if factors:
        sizes += [(-(-height // factors[1]), -(-width // factors[0]))] * 2
    kind = np.dtype("u1" if bits == 8 else "<u2")
    pictures, at = [], end + 1
    while at < len(data):
        assert data[at:at + 6] == b"FRAME\n"
        at += 6
        planes = []
        for rows, columns in sizes:
            count = rows * columns * kind.itemsize
            planes.append(np.frombuffer(data[at:at + count], kind).reshape(rows, columns))
            at += count
        pictures.append(Picture(planes, factors, bits, full, found[3]))
    return pictures


def weights(name, source, count, first, step):
    """A row of weights over the source's samples for each sample that is made."""
    position = first + step * np.arange(count)
    stretch = max(step, 1)
    if name == "area" and step <= 1:
        name = "bilinear"
    table = np.zeros((count, source))
    reach = {"bilinear": 1, "area": int(stretch) + 2, "lanczos": int(3 * stretch) + 2}[name]
    for index, at in enumerate(position):
        samples = np.arange(int(np.floor(at)) - reach, int(np.floor(at)) + reach + 2)
        distance = samples - at
        if name == "bilinear":
            weight = np.maximum(1 - np.abs(distance), 0)
        elif name == "area":
            left, right = at - stretch / 2, at + stretch / 2
            weight = np.minimum(samples + 0.5, right) - np.maximum(samples - 0.5, left)
            weight = np.maximum(weight, 0)
        else:
            scaled = distance / stretch
            weight = np.where(np.abs(scaled) < 3, np.sinc(scaled) * np.sinc(scaled / 3), 0)
        np.add.at(table[index], np.clip(samples, 0, source - 1), weight / weight.sum())
    return table


def tensor(picture, *, region=(0, 0, 1, 1), size=None, fit="letterbox", filter="bilinear", pad=114,
           channels="rgb", matrix="bt601", scale=1 / 255, mean=(0, 0, 0), std=(1, 1, 1), site="center",
           aspect=1.0):
    """Channels x height x width in float64. `site` is where chroma lies where the picture does not say."""
    luma = picture.planes[0]
    height, width = luma.shape
    left, top = round(region[0] * width), round(region[1] * height)
    right = max(round((region[0] + region[2]) * width), left + 1)
    bottom = max(round((region[1] + region[3]) * height), top + 1)
    across, down = right - left, bottom - top
    out_width, out_height = size or (across, down)
    step_x, step_y, columns, rows = 1.0, 1.0, (0, out_width), (0, out_height)
    grow_x, grow_y = out_width / (across * aspect), out_height / down
    if fit == "stretch":
        step_x, step_y = across / out_width, down / out_height
    elif fit == "fill":
        grow = max(grow_x, grow_y)
        step_x, step_y = 1 / (grow * aspect), 1 / grow
    else:
        grow = min(grow_x, grow_y)
        wide = min(max(int(across * aspect * grow + 0.5), 1), out_width)
        high = min(max(int(down * grow + 0.5), 1), out_height)
        columns = ((out_width - wide) // 2, (out_width - wide) // 2 + wide)
        rows = ((out_height - high) // 2, (out_height - high) // 2 + high)
        step_x, step_y = across / wide, down / high
    count_x, count_y = columns[1] - columns[0], rows[1] - rows[0]
    first_x = left + across / 2 - count_x / 2 * step_x + step_x / 2 - 0.5
    first_y = top + down / 2 - count_y / 2 * step_y + step_y / 2 - 0.5

    def resampled(plane, factor_x, factor_y, site_x, site_y):
        lines = weights(filter, plane.shape[0], count_y, (first_y - site_y) / factor_y, step_y / factor_y)
        along = weights(filter, plane.shape[1], count_x, (first_x - site_x) / factor_x, step_x / factor_x)
        return lines @ plane.astype(float) @ along.T

    unit = 2.0 ** (picture.bits - 8)
    luma = resampled(luma, 1, 1, 0, 0)
    luma = luma * 255 / (256 * unit - 1) if picture.full else (luma - 16 * unit) * 255 / (219 * unit)
    planes = [luma]
    if channels != "gray" and picture.factors:
        factor_x, factor_y = picture.factors
        named = {"jpeg": "center", "mpeg2": "left"}.get(picture.site, site)
        site_x = (factor_x - 1) / 2 if named == "center" else 0
        site_y = 0 if named == "topLeft" else (factor_y - 1) / 2
        for plane in picture.planes[1:]:
            chroma = resampled(plane, factor_x, factor_y, site_x, site_y) - 128 * unit
            planes.append(chroma * 255 / (256 * unit - 1 if picture.full else 224 * unit))
    if channels == "gray":
        levels = [luma]
    elif not picture.factors:
        levels = [luma] * 3
    else:
        (red, blue), (y, u, v) = MATRICES[matrix], planes
        green = 1 - red - blue
        levels = [y + 2 * (1 - red) * v,
                  y - 2 * blue * (1 - blue) / green * u - 2 * red * (1 - red) / green * v,
                  y + 2 * (1 - blue) * u]
        if channels == "bgr":
            levels.reverse()
    result = np.full((len(levels), out_height, out_width), float(pad))
    result[:, rows[0]:rows[1], columns[0]:columns[1]] = np.clip(levels, 0, 255)
    shape = (len(levels), 1, 1)
    return (result * scale - np.reshape(mean[:len(levels)], shape)) / np.reshape(std[:len(levels)], shape)
