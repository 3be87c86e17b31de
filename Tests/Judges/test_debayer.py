"""The stage `debayer` beside NumPy in float64, OpenCV, and the scene's own colours."""
import itertools
import re
import subprocess

import cv2
import numpy as np
import pytest

from program import LIMIT, one_sentence, read_summary, sprocket
from recordings import dump_images, dump_records

# By V4L2's code: pattern, bits, and how many pixels are packed into a group.
FORMATS = {code: (pattern, bits, packed) for (bits, packed), codes in {
    (8, 0): ["RGGB", "GRBG", "GBRG", "BA81"], (10, 0): ["RG10", "BA10", "GB10", "BG10"],
    (12, 0): ["RG12", "BA12", "GB12", "BG12"], (16, 0): ["RG16", "GR16", "GB16", "BYR2"],
    (10, 4): ["pRAA", "pgAA", "pGAA", "pBAA"], (12, 2): ["pRCC", "pgCC", "pGCC", "pBCC"],
}.items() for pattern, code in zip(["RGGB", "GRBG", "GBRG", "BGGR"], codes)}
OPENCV = {"RGGB": cv2.COLOR_BayerRGGB2BGR, "GRBG": cv2.COLOR_BayerGRBG2BGR,
          "GBRG": cv2.COLOR_BayerGBRG2BGR, "BGGR": cv2.COLOR_BayerBGGR2BGR}
# Red, green, blue to Y, Cb, Cr: ITU-T T.871.
JFIF = np.array([[0.299, 0.587, 0.114], [-0.299 / 1.772, -0.587 / 1.772, 0.5],
                 [0.5, -0.587 / 1.402, -0.114 / 1.402]])
# Malvar, He, Cutler 2004, figure 2: green of red and blue, red of green in a row of red, red of blue.
GREEN = np.array([[0, 0, -1, 0, 0], [0, 0, 2, 0, 0], [-1, 2, 4, 2, -1], [0, 0, 2, 0, 0],
                  [0, 0, -1, 0, 0]]) / 8
ALONG = np.array([[0, 0, 0.5, 0, 0], [0, -1, 0, -1, 0], [-1, 4, 5, 4, -1], [0, -1, 0, -1, 0],
                  [0, 0, 0.5, 0, 0]]) / 8
ACROSS = np.array([[0, 0, -1.5, 0, 0], [0, 2, 0, 2, 0], [-1.5, 0, 6, 0, -1.5], [0, 2, 0, 2, 0],
                   [0, 0, -1.5, 0, 0]]) / 8


def samples(data, code, width, height):
    """The numbers of a mosaic, as the kernel's "Raw Bayer Formats" describe its bytes."""
    _, bits, packed = FORMATS[code]
    if not packed:
        return np.frombuffer(data, "<u2" if bits > 8 else np.uint8).reshape(height, width).astype(np.int64)
    groups = np.frombuffer(data, np.uint8).reshape(height, -1, packed + 1).astype(np.int64)
    low = bits - 8
    rest = groups[:, :, packed:] >> (low * np.arange(packed)) & ((1 << low) - 1)
    return (groups[:, :, :packed] << low | rest).reshape(height, -1)[:, :width]


def filtered(mosaic, kernel):
    """Beyond the edges the mosaic is mirrored about its outermost samples."""
    height, width = mosaic.shape
    padded = np.pad(mosaic, 2, mode="reflect")
    return sum(kernel[y, x] * padded[y:y + height, x:x + width]
               for y, x in itertools.product(range(5), range(5)))


def masks(pattern, shape):
    """Where each colour is, by its letter; and rows that have red."""
    y, x = np.indices(shape)
    letters = np.array(list(pattern))[y % 2 * 2 + x % 2]
    red_rows = np.isin(y % 2, [index // 2 for index in range(4) if pattern[index] == "R"])
    return {letter: letters == letter for letter in "RGB"}, red_rows


def malvar(mosaic, pattern):
    where, red_rows = masks(pattern, mosaic.shape)
    green, across = filtered(mosaic, GREEN), filtered(mosaic, ACROSS)
    along, upright = filtered(mosaic, ALONG), filtered(mosaic, ALONG.T)
    red = np.where(where["R"], mosaic, np.where(where["B"], across, np.where(red_rows, along, upright)))
    blue = np.where(where["B"], mosaic, np.where(where["R"], across, np.where(red_rows, upright, along)))
    return np.stack([red, np.where(where["G"], mosaic, green), blue], axis=-1)


def bilinear(mosaic, pattern):
    """The mean of the samples of a colour in the 3x3 around a pixel, each weighted by 1, 2 or 4."""
    where, _ = masks(pattern, mosaic.shape)
    weights = np.zeros((5, 5))
    weights[1:4, 1:4] = np.outer([1, 2, 1], [1, 2, 1])
    planes = []
    for letter in "RGB":
        mask = where[letter].astype(float)
        mean = filtered(mosaic * mask, weights) / filtered(mask, weights)
        planes.append(np.where(where[letter], mosaic, mean))
    # Green: only the four nearest, for those at the corners are of the pixel's own row of green.
    nearest = np.zeros((5, 5))
    nearest[1:4, 1:4] = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]) / 4
    planes[1] = np.where(where["G"], mosaic, filtered(mosaic, nearest))
    return np.stack(planes, axis=-1)


METHODS = {"malvar": malvar, "bilinear": bilinear}


def yuv(colors, white):
    """Planes first; not rounded."""
    planes = np.moveaxis(np.clip(colors, 0, white) @ JFIF.T, -1, 0)
    planes[1:] += (white + 1) // 2
    return np.clip(planes, 0, white)


def pictures(*arguments):
    """What `--pipe y4m` says, as frames x 3 x height x width."""
    stream = sprocket(*arguments, "--pipe", "y4m", "--quiet").stdout
    header, rest = stream.split(b"\n", 1)
    width, height, space = re.search(rb" W(\d+) H(\d+) .* C(\w+)", header).groups()
    kind = np.dtype("<u2" if b"p1" in space else np.uint8)
    size = 3 * int(width) * int(height) * kind.itemsize
    assert space.startswith(b"444") and b"XCOLORRANGE=FULL" in header
    frames = [rest[start + 6:start + 6 + size] for start in range(0, len(rest), size + 6)]
    return np.stack([np.frombuffer(frame, kind).reshape(3, int(height), int(width)) for frame in frames])


def scene(code, size="97x61", frames=2):
    return ["run", "--source", "scene", "--format", code, "--size", size, "--frames", frames]


@pytest.fixture
def dumped(tmp_path):
    def dump(code, size="97x61"):
        path = tmp_path / "a.mcap"
        sprocket(*scene(code, size), "--dump", path, "--quiet")
        width, height = map(int, size.split("x"))
        mosaics = [samples(image.message.data, code, width, height) for image in dump_images(path)]
        return path, np.stack(mosaics).astype(np.float64)
    return dump


def judge(ours, exact, white):
    """Differences in levels of 255."""
    difference = np.abs(ours - exact) * 255 / white
    assert difference.mean() < 0.5 and difference.max() <= 2, (difference.mean(), difference.max())
    # What rounding alone leaves.
    assert np.abs(ours - exact).max() < 0.51


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("code", FORMATS)
def test_every_mosaic_is_numpys_picture(code, method, dumped):
    pattern, bits, _ = FORMATS[code]
    path, mosaics = dumped(code)
    for depth, out in {"8": 8, "source": bits}.items():
        white = (1 << out) - 1
        ours = pictures("run", "--source", f"replay:{path}", "--stage",
                        f"debayer:method={method},depth={depth}")
        for picture, mosaic in zip(ours, mosaics, strict=True):
            scaled = mosaic * white / ((1 << bits) - 1)
            judge(picture, yuv(METHODS[method](scaled, pattern), white), white)


@pytest.mark.parametrize("size", ["16x16", "17x16", "16x17", "19x23", "64x48"])
@pytest.mark.parametrize("code", ["GRBG", "pgAA", "pBCC"])
def test_odd_sizes_are_numpys_pictures(code, size, dumped):
    pattern, bits, _ = FORMATS[code]
    path, mosaics = dumped(code, size)
    ours = pictures("run", "--source", f"replay:{path}", "--stage", "debayer")
    for picture, mosaic in zip(ours, mosaics, strict=True):
        judge(picture, yuv(malvar(mosaic * 255 / ((1 << bits) - 1), pattern), 255), 255)


def test_gains_and_black_come_before_the_colours_are_found(dumped):
    path, mosaics = dumped("GB10")
    ours = pictures("run", "--source", f"replay:{path}", "--stage", "debayer:red=1.8,blue=1.4,black=0.0625")
    where, _ = masks("GBRG", mosaics[0].shape)
    gains = 1.8 * where["R"] + 1.0 * where["G"] + 1.4 * where["B"]
    for picture, mosaic in zip(ours, mosaics, strict=True):
        scaled = np.clip((mosaic / 1023 - 0.0625) / (1 - 0.0625) * gains * 255, 0, 255)
        judge(picture, yuv(malvar(scaled, "GBRG"), 255), 255)


@pytest.mark.parametrize("code", ["RGGB", "GRBG", "GBRG", "BA81"])
def test_bilinear_is_opencvs_within_the_edges(code, dumped):
    path, mosaics = dumped(code, "128x96")
    ours = pictures("run", "--source", f"replay:{path}", "--stage", "debayer:method=bilinear")
    for picture, mosaic in zip(ours, mosaics, strict=True):
        theirs = cv2.cvtColor(mosaic.astype(np.uint8), OPENCV[FORMATS[code][0]])[:, :, ::-1]
        difference = np.abs(picture - yuv(theirs.astype(np.float64), 255))[:, 1:-1, 1:-1]
        assert difference.mean() < 0.5 and difference.max() <= 2


def psnr(one, other):
    return 10 * np.log10(255**2 / np.mean((one - other) ** 2))


@pytest.mark.parametrize("code", ["RGGB", "pRAA"])
def test_malvar_is_nearer_to_what_the_scene_shows_than_bilinear(code, tmp_path):
    """The mosaic has the very colours of the scene's RGB."""
    settings = ["--source-set", "noise=0"]
    path = tmp_path / "a.mcap"
    sprocket(*scene("RGB24", "320x240"), *settings, "--dump", path, "--quiet")
    truth = [yuv(np.frombuffer(image.message.data, np.uint8).reshape(240, 320, 3).astype(np.float64), 255)
             for image in dump_images(path)]
    found = {}
    for method in METHODS:
        ours = pictures(*scene(code, "320x240"), *settings, "--stage", f"debayer:method={method}")
        found[method] = min(psnr(picture, exact) for picture, exact in zip(ours, truth, strict=True))
    print(code, found)
    assert found["malvar"] > found["bilinear"] + 5 and found["bilinear"] > 30


@pytest.mark.parametrize("code", FORMATS)
def test_a_replay_has_the_digests_of_the_run(code, tmp_path):
    path = tmp_path / "a.mcap"
    for stage in ([], ["--stage", "debayer"]):
        summaries = [tmp_path / "run.json", tmp_path / "replay.json"]
        for source, summary in zip([[*scene(code), "--dump", path], ["run", "--source", f"replay:{path}"]],
                                   summaries):
            sprocket(*source, *stage, "--checksum", "--summary", summary, "--overwrite", "--quiet")
        run, replay = [read_summary(summary)["sinks"]["checksum"]["digest"] for summary in summaries]
        assert run == replay and len(run) == 32
    session = dump_records(path)["session"][0][1]
    assert session["format"] == code and session["image"] is None
    pattern, bits, packed = FORMATS[code]
    name = f"bayer_{pattern.lower()}{bits}" if bits in (8, 16) else code
    row = {(8, 0): 97, (10, 4): 125, (12, 2): 147}.get((bits, packed), 194)
    for image in dump_images(path):
        assert (image.message.encoding, image.message.step) == (name, row)


@pytest.mark.parametrize("name, code", [("bayer_rggb8", "RGGB"), ("bayer_bggr16le", "BYR2")])
def test_a_file_of_mosaics_comes_as_it_is(name, code, tmp_path):
    path, raw = tmp_path / "a.nut", tmp_path / "raw"
    _, bits, _ = FORMATS[code]
    raw.write_bytes(np.random.default_rng(1).bytes(3 * 64 * 48 * (2 if bits > 8 else 1)))
    subprocess.run(["ffmpeg", "-v", "error", "-f", "rawvideo", "-pixel_format", name, "-video_size", "64x48",
                    "-i", raw, "-c:v", "copy", str(path)], check=True, timeout=LIMIT)
    dump = tmp_path / "a.mcap"
    sprocket("run", "--source", f"file:{path}", "--dump", dump, "--quiet")
    images = dump_images(dump)
    assert b"".join(image.message.data for image in images) == raw.read_bytes()
    assert len(pictures("run", "--source", f"file:{path}", "--stage", "debayer")) == 3


def test_movies_and_stills_are_made_of_the_picture(tmp_path):
    sprocket(*scene("pRAA", "160x120", 4), "--stage", "debayer", "--movie", tmp_path / "m.mov", "--stills",
             tmp_path / "stills", "--quiet")
    ours = pictures(*scene("pRAA", "160x120", 4), "--stage", "debayer")
    video = cv2.VideoCapture(str(tmp_path / "m.mov"))
    stills = sorted((tmp_path / "stills").iterdir())
    assert len(stills) == 4
    for picture, still in zip(ours, stills, strict=True):
        for decoded in (video.read()[1], cv2.imread(str(still))):
            exact = yuv(decoded[:, :, ::-1].astype(np.float64), 255)
            assert np.abs(exact[0] - picture[0]).mean() < 3


@pytest.mark.parametrize("arguments", [
    ["--stage", "meter"], ["--stage", "negate", "--stage", "debayer"], ["--movie", "m.mov"],
    ["--stills", "s"], ["--pipe", "gray"]], ids=" ".join)
def test_what_reads_pixels_says_what_is_missing(arguments, tmp_path):
    result = sprocket(*scene("RG10"), *arguments, check=False, cwd=tmp_path)
    said = one_sentence(result.errors)
    assert result.returncode == 2 and "the stage debayer" in said and "--stage" in said
    assert list(tmp_path.iterdir()) == []
