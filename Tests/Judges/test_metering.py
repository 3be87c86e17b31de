"""The meter in every mode, against NumPy on the luma it was handed; real pictures in every format."""
import subprocess

import numpy as np
import pytest

from conftest import DATA, LIMIT, clip, clips, gray_frames, probe, read_lines, sprocket

MODES = ["average", "center", "spot", "zones", "highlights"]
POINT = (0.3, 0.7)
SAMPLES = 262144
WIDTH, HEIGHT = 160, 120
# How ffmpeg keeps a format, and whether the file can say its range.
PACKED = ["yuyv422", "uyvy422", "nv12", "nv21"]
PLANAR = ["yuv420p", "yuv422p", "yuv444p", "yuv440p", "yuv411p", "gray", "gray10le", "gray12le",
          "gray16le", "yuv420p10le", "yuv422p10le", "yuv444p12le"]
RGB = ["rgb24", "bgr24", "bgr0", "0rgb"]

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not there: set SPROCKET_TEST_DATA")


def ffmpeg(*arguments):
    return subprocess.run(["ffmpeg", "-v", "error", *map(str, arguments)], capture_output=True,
                          check=True, timeout=LIMIT).stdout


def light(is_srgb):
    """Linear luminance by level, from IEC 61966-2-1 and ITU-R BT.709; level 0 counts as 1/2."""
    signal = np.maximum(np.arange(256), 0.5) / 255
    if is_srgb:
        return np.where(signal <= 0.04045, signal / 12.92, ((signal + 0.055) / 1.055) ** 2.4)
    return np.where(signal < 0.081, signal / 4.5, ((signal + 0.099) / 1.099) ** (1 / 0.45))


def rectangle(x, y, width, height, shape):
    def pixel(fraction, count):
        return int(fraction * count + 0.5)
    rows, columns = shape
    return (slice(pixel(y, rows), pixel(y + height, rows)),
            slice(pixel(x, columns), pixel(x + width, columns)))


def zone_weight(row, column):
    return max(0.0, 1 - 0.75 * np.hypot((column - 4) / 4, (row - 4) / 4))


def test_zones_are_judged_by_the_weights_of_the_readme():
    assert [zone_weight(4, 4), zone_weight(4, 0), zone_weight(8, 4)] == [1, 0.25, 0.25]
    assert [zone_weight(0, 0), zone_weight(0, 8), zone_weight(8, 8)] == [0, 0, 0]


def zones(values):
    rows, columns = values.shape
    total = weights = 0.0
    for row in range(9):
        for column in range(9):
            zone = values[row * rows // 9:(row + 1) * rows // 9,
                          column * columns // 9:(column + 1) * columns // 9]
            total += zone_weight(row, column) * zone.mean()
            weights += zone_weight(row, column)
    return total / weights


def metered(luma, mode, is_srgb):
    """What the plug-in's README says that `mode` makes of a picture."""
    if mode == "highlights":
        counts = np.bincount(luma.ravel(), minlength=256)[::-1]
        wanted = 0.02 * luma.size
        taken = np.diff(np.minimum(np.cumsum(counts), wanted), prepend=0)
        return np.log2(taken @ light(is_srgb)[::-1] / wanted)
    values = np.log2(light(is_srgb))[luma]
    if mode == "average":
        return values.mean()
    if mode == "spot":
        start = [min(max(middle - 0.08, 0), 0.84) for middle in POINT]
        return values[rectangle(*start, 0.16, 0.16, luma.shape)].mean()
    if mode == "zones":
        return zones(values)
    middle = rectangle(0.25, 0.25, 0.5, 0.5, luma.shape)
    inside = values[middle]
    outside = (values.sum() - inside.sum()) / (values.size - inside.size)
    return 0.75 * inside.mean() + 0.25 * outside


def key(luma, is_srgb):
    values = np.log2(light(is_srgb))
    low, high = values[np.percentile(luma, [1, 99], method="inverted_cdf").astype(int)]
    if low == high:
        return low, high, 0.18
    mean = np.bincount(luma.ravel(), minlength=256) @ values / luma.size
    place = (2 * mean - low - high) / (high - low)
    return low, high, 0.18 * 4 ** np.clip(place, -1, 1)


def report(source, mode, tmp_path, samples=0):
    """The meter's reports on all frames that were delivered."""
    path = tmp_path / "reports.jsonl"
    stage = f"meter:mode={mode},point={POINT[0]}/{POINT[1]},samples={samples}"
    sprocket(*source, "--stage", stage, "--reports", path, "--overwrite", "--quiet")
    return [line["meter"] for line in read_lines(path) if line["fate"] == "delivered"]


def compare(found, luma, mode, is_srgb):
    assert found["samples"] == luma.size
    assert found["histogram"] == np.bincount(luma.ravel(), minlength=256).tolist()
    assert found["mean"] == pytest.approx(luma.mean(), rel=1e-6)
    assert found["clipped"] == pytest.approx((luma >= 254).mean(), rel=1e-6, abs=1e-12)
    assert found["crushed"] == pytest.approx((luma <= 1).mean(), rel=1e-6, abs=1e-12)
    value = metered(luma, mode, is_srgb)
    assert found["log_luminance"] == pytest.approx(value, abs=0.001)
    target = 0.8 if mode == "highlights" else 0.18
    assert found["offset"] == pytest.approx(value - np.log2(target), abs=0.001)
    low, high, scene_key = key(luma, is_srgb)
    assert found["shadow"] == pytest.approx(low, abs=0.001)
    assert found["highlight"] == pytest.approx(high, abs=0.001)
    assert found["key"] == pytest.approx(scene_key, rel=0.001)


@needs_data
@pytest.mark.parametrize("index,path", enumerate(clips()), ids=lambda value: getattr(value, "name", None))
def test_every_picture_is_metered_as_numpy_does(index, path, tmp_path):
    stream = probe(path)
    source = ["run", "--source", f"file:{path}", "--frames", 5]
    mode = MODES[index % len(MODES)]
    frames = gray_frames(source, stream["width"], stream["height"])
    found = report(source, mode, tmp_path)
    assert len(found) == len(frames) > 0
    for line, luma in zip(found, frames):
        compare(line, luma, mode, is_srgb=stream["codec_name"] == "mjpeg")
    if frames[0].size >= 3 * SAMPLES:
        check_grid(source, frames, stream["codec_name"] == "mjpeg", tmp_path)


def check_grid(source, frames, is_srgb, tmp_path):
    """Some of the rows find what all pixels do, in every mode."""
    for mode in MODES:
        for line, luma in zip(report(source, mode, tmp_path, SAMPLES), frames, strict=True):
            assert SAMPLES <= line["samples"] < luma.size / 2
            expected = metered(luma, mode, is_srgb)
            assert line["log_luminance"] == pytest.approx(expected, abs=0.02), mode


@pytest.fixture(scope="module")
def reel(tmp_path_factory):
    """Pictures of every fourth photograph and clip, in RGB, one behind the other: of all kinds, for they lie
    in the order of folders and names, and each is judged by itself."""
    path = tmp_path_factory.mktemp("reel") / "reel.rgb"
    with open(path, "wb") as out:
        for one in clips()[::4]:
            out.write(ffmpeg("-i", one, "-map", "0:v:0", "-frames:v", 1, "-vf", f"scale={WIDTH}:{HEIGHT}",
                             "-f", "rawvideo", "-pix_fmt", "rgb24", "-"))
    return path


def encode(reel, form, limits, path):
    """The reel in a pixel format and range, without loss."""
    kept = ["-c:v", "ffv1"] if form in PLANAR else ["-c:v", "rawvideo"]
    ffmpeg("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT}", "-r", 25, "-i", reel, "-vf",
           f"scale=out_range={limits},format={form}", "-color_range", limits, *kept, "-pix_fmt", form, path)


def ffmpeg_means(path, form, limits):
    """Mean luma as ffmpeg decodes it, its range applied, in levels of 255."""
    if form in RGB:
        data = ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
        pixels = np.frombuffer(data, np.uint8).reshape(-1, WIDTH * HEIGHT, 3)
        return pixels.mean(axis=1) @ [0.299, 0.587, 0.114]
    depth = next((bits for bits in (10, 12, 16) if str(bits) in form.removeprefix("nv12")), 8)
    same = f"scale=in_range={limits}:out_range={limits},format={planar(form)}"
    data = ffmpeg("-i", path, "-vf", f"{same},extractplanes=y", "-f", "rawvideo", "-")
    words = np.frombuffer(data, np.uint8 if depth == 8 else "<u2")
    luma = words.reshape(-1, WIDTH * HEIGHT) / 2 ** (depth - 8)
    if limits == "tv":
        return np.clip((luma - 16) * 255 / 219, 0, 255).mean(axis=1)
    return (luma * 255 / (256 - 2 ** (8 - depth))).mean(axis=1)


def planar(form):
    """What extractplanes takes: interleaved formats have no plane of luma of their own."""
    return {"yuyv422": "yuv422p", "uyvy422": "yuv422p", "nv12": "yuv420p", "nv21": "yuv420p"}.get(form, form)


@needs_data
@pytest.mark.parametrize("limits", ["tv", "pc"])
@pytest.mark.parametrize("form", PACKED + PLANAR + RGB)
def test_every_format_and_range_is_metered(form, limits, reel, tmp_path):
    if form in RGB and limits == "tv":
        pytest.skip("RGB is full range")
    path = tmp_path / ("reel.nut" if form in RGB else "reel.mkv")
    encode(reel, form, limits, path)
    source = ["run", "--source", f"file:{path}"]
    frames = gray_frames(source, WIDTH, HEIGHT)
    mode = MODES[len(form) % len(MODES)]
    found = report(source, mode, tmp_path)
    assert len(found) == len(frames) == reel.stat().st_size // (WIDTH * HEIGHT * 3)
    for line, luma in zip(found, frames):
        compare(line, luma, mode, is_srgb=False)
    means = np.array([line["mean"] for line in found])
    assert np.abs(means - ffmpeg_means(path, form, limits)).max() <= 1


@needs_data
def test_brackets_are_metered_in_their_order(tmp_path):
    def offset(name, mode):
        return report(["run", "--source", f"file:{clip(name)}"], mode, tmp_path)[0]["offset"]
    for mode in MODES:
        house = [offset(f"exposure/house/{letter}.jpg", mode) for letter in "ABCD"]
        assert house == sorted(house), mode  # By and by more light.
        assert offset("exposure/leuven/leuvenA.jpg", mode) > offset("exposure/leuven/leuvenB.jpg", mode)
    # A is much too dark for everything indoors, and D burns out.
    house = [offset(f"exposure/house/{letter}.jpg", "average") for letter in "ABCD"]
    assert house[0] < -2 and house[-1] > 1
    assert all(later - earlier > 0.5 for earlier, later in zip(house, house[1:]))


@needs_data
def test_a_step_of_light_is_metered_in_its_frame(tmp_path):
    found = report(["run", "--source", f"file:{clip('exposure/nasa_13013.mp4')}"], "average", tmp_path)
    means = np.array([line["mean"] for line in found])
    offsets = np.array([line["offset"] for line in found])
    steps = np.flatnonzero(np.abs(np.diff(means)) > 30)
    assert len(steps) > 0 and np.abs(np.diff(means)).max() > 60
    for step in steps:
        assert np.sign(np.diff(offsets)[step]) == np.sign(np.diff(means)[step])
        assert abs(np.diff(offsets)[step]) > 0.5
    # The dark scene is metered as too dark.
    assert offsets[means.argmin()] < -3
