"""Pictures that are cut, resized, turned and straightened, and points that are carried back: as OpenCV,
Pillow, FFmpeg and NumPy in double precision see them."""
import json
import subprocess

import cv2
import numpy as np
import pytest

from conftest import ROOT, sprocket
from program import one_sentence, read_lines

LENSES = {
    "pinhole": [-0.28, 0.09, 0.0012, -0.0007, -0.01],
    "pincushion": [0.12, -0.03, 0.001, 0.002],
    "rational": [0.3, -0.05, 0.0003, -0.0004, 0.01, 0.6, -0.02, 0.005],
    "prism": [-0.2, 0.05, 0.001, 0, 0, 0, 0, 0, 0.004, -0.001, 0.003, 0.0005],
    "tilted": [-0.2, 0.05, 0.001, 0, 0, 0, 0, 0, 0.001, 0, 0.002, 0, 0.04, -0.03],
    "fisheye": [0.06, -0.015, 0.004, -0.001],
}


def camera(width, height):
    return np.array([[0.8 * width, 0, 0.49 * width], [0, 0.81 * width, 0.52 * height], [0, 0, 1]])


def calibration(folder, name, width, height, kind="yml"):
    """A file that OpenCV writes."""
    path = folder / f"{name}.{kind}"
    file = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    file.write("calibration_time", "Tue Nov 24 20:00:00 2026")
    file.write("image_width", width)
    file.write("image_height", height)
    if name == "fisheye":
        file.write("fisheye_model", 1)
    file.write("camera_matrix", camera(width, height))
    file.write("distortion_coefficients", np.array(LENSES[name]).reshape(-1, 1))
    file.release()
    return path


def source(folder, planes, chroma, name="in.y4m", frames=1):
    """A raw movie of planes; full range, so that no level is cut."""
    height, width = planes[0].shape
    path = folder / name
    with open(path, "wb") as file:
        tag = {"420": "420jpeg", "422": "422", "444": "444", "mono": "mono", "420p10": "420p10",
               "444p12": "444p12", "411": "411"}[chroma]
        file.write(f"YUV4MPEG2 W{width} H{height} F30:1 Ip A1:1 C{tag} XCOLORRANGE=FULL\n".encode())
        for _ in range(frames):
            file.write(b"FRAME\n" + b"".join(plane.tobytes() for plane in planes))
    return path


def factors(chroma):
    """Pixels for each chroma sample, across and down."""
    return {"420": (2, 2), "422": (2, 1), "411": (4, 1)}.get(chroma[:3], (1, 1))


def sites(chroma):
    """Where the first sample of chroma lies: in the middle of its pixels where the stream says so (420jpeg),
    else left of it, as FFmpeg takes it."""
    across, down = factors(chroma)
    return ((across - 1) / 2 if chroma == "420" else 0, (down - 1) / 2)


def planes_of(width, height, chroma, seed=1, smooth=False):
    """Random samples, or a picture with gradients, as cameras make them."""
    random = np.random.default_rng(seed)
    across, down = factors(chroma)
    bits = int(chroma[4:]) if "p" in chroma else 8
    sizes = [(height, width)]
    if chroma != "mono":
        sizes += [(-(-height // down), -(-width // across))] * 2
    planes = []
    for index, (rows, columns) in enumerate(sizes):
        plane = random.uniform(0, 2 ** bits - 1, (rows, columns))
        if smooth:
            y, x = np.mgrid[:rows, :columns] / max(rows, columns)
            plane = 127 + 60 * np.sin(9 * x + index) * np.cos(7 * y) + 50 * np.sin(40 * x * y)
        planes.append(np.rint(plane).astype(np.uint8 if bits == 8 else np.uint16))
    return planes


def read_y4m(data):
    """The planes of the first frame, and the header's tags."""
    end = data.index(b"\n")
    tags = {tag[:1]: tag[1:] for tag in data[:end].decode().split()[1:]}
    width, height, chroma = int(tags["W"]), int(tags["H"]), tags["C"]
    chroma = {"420jpeg": "420", "420mpeg2": "420"}.get(chroma, chroma)
    across, down = factors(chroma)
    kind = np.uint16 if "p" in chroma else np.uint8
    sizes = [(height, width)]
    if chroma != "mono":
        sizes += [(-(-height // down), -(-width // across))] * 2
    start, planes = data.index(b"FRAME\n", end) + 6, []
    for rows, columns in sizes:
        count = rows * columns * kind().itemsize
        planes.append(np.frombuffer(data[start:start + count], kind).reshape(rows, columns))
        start += count
    return planes, tags


def run(path, *stages, options=()):
    chain = [part for stage in stages for part in ("--stage", stage)]
    return read_y4m(sprocket("run", "--source", f"file:{path}", *chain, "--frames", 1, "--pipe", "y4m",
                             "--quiet", *options).stdout)


def assert_close(ours, theirs, white=255, mean=0.5, most=2, scale=1):
    """Levels of 8 bits."""
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.shape == other.shape
        distance = np.abs(mine.astype(float) - np.clip(other, 0, white)) / scale
        assert distance.mean() < mean and distance.max() <= most, (distance.mean(), distance.max())


SIZES = [(64, 48), (65, 49), (33, 47)]
CHROMAS = ["420", "422", "444", "mono", "411", "420p10", "444p12"]


# Cut and turned: exact.

@pytest.mark.parametrize("chroma", CHROMAS)
@pytest.mark.parametrize("size", SIZES)
def test_crop_is_a_slice(chroma, size, tmp_path):
    planes = planes_of(*size, chroma)
    path = source(tmp_path, planes, chroma)
    across, down = factors(chroma)
    ours, _ = run(path, "crop:pixels=8/6/17/23")
    expected = [planes[0][6:29, 8:25]]
    for plane in planes[1:]:
        x, y = 8 // across, 6 // down
        expected.append(plane[y:y + -(-23 // down), x:x + -(-17 // across)])
    assert_close(ours, expected, white=65535, mean=1e-9, most=0)


@pytest.mark.parametrize("chroma", ["420", "444", "mono", "420p10", "444p12"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("turn, code", [(90, cv2.ROTATE_90_CLOCKWISE), (180, cv2.ROTATE_180),
                                        (270, cv2.ROTATE_90_COUNTERCLOCKWISE)])
def test_turns_as_opencv(chroma, size, turn, code, tmp_path):
    planes = planes_of(*size, chroma)
    ours, _ = run(source(tmp_path, planes, chroma), f"rotate:turn={turn}")
    assert_close(ours, [cv2.rotate(plane, code) for plane in planes], white=65535, mean=1e-9, most=0)
    ours, _ = run(source(tmp_path, planes, chroma), f"rotate:turn={turn},mirror=horizontal")
    assert_close(ours, [cv2.flip(cv2.rotate(plane, code), 1) for plane in planes], white=65535, mean=1e-9,
                 most=0)


# Resized.

def weights(kind, count, of, first, step):
    """For each new sample the weight of each old one, in double precision; what lies beyond has the level of
    the edge."""
    width = max(step, 1)
    result = np.zeros((count, of))
    for index in range(count):
        center = first + index * step
        near = np.arange(int(center - 3 * width) - 3, int(center + 3 * width) + 4)
        distance = near - center
        if kind == "area" and step > 1:
            part = np.minimum(distance + 0.5, width / 2) - np.maximum(distance - 0.5, -width / 2)
            part = np.maximum(part, 0)
        elif kind == "lanczos":
            x = distance / width
            part = np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)
        else:
            part = np.maximum(1 - np.abs(distance), 0)
        np.add.at(result[index], np.clip(near, 0, of - 1), part / part.sum())
    return result


def resized(plane, kind, rows, columns, across, down, factor, site=(0, 0)):
    """`across` and `down` are pixels of the old picture for each of the new one."""
    def table(count, of, scale, factor, site):
        def place(index):
            pixel = index * factor + site
            return ((pixel + 0.5) * scale - 0.5 - site) / factor
        return weights(kind, count, of, place(0), place(1) - place(0))
    return table(rows, plane.shape[0], down, factor[1], site[1]) @ plane.astype(float) @ \
        table(columns, plane.shape[1], across, factor[0], site[0]).T


@pytest.mark.parametrize("chroma", CHROMAS)
@pytest.mark.parametrize("filter", ["area", "bilinear", "lanczos"])
@pytest.mark.parametrize("size, target", [((64, 48), (32, 24)), ((65, 49), (31, 20)), ((65, 49), (97, 111)),
                                          ((33, 47), (32, 48)), ((64, 48), (5, 3)), ((7, 5), (64, 64))])
def test_resize_against_double_precision(chroma, filter, size, target, tmp_path):
    planes = planes_of(*size, chroma)
    ours, _ = run(source(tmp_path, planes, chroma),
                  f"resize:size={target[0]}x{target[1]},mode=stretch,filter={filter}")
    expected = []
    for index, plane in enumerate(planes):
        factor = factors(chroma) if index else (1, 1)
        expected.append(resized(plane, filter, -(-target[1] // factor[1]), -(-target[0] // factor[0]),
                                size[0] / target[0], size[1] / target[1], factor,
                                sites(chroma) if index else (0, 0)))
    bits = int(chroma[4:]) if "p" in chroma else 8
    assert_close(ours, expected, white=2 ** bits - 1, scale=2 ** (bits - 8))
    # Rounding alone, in fact.
    assert_close(ours, expected, white=2 ** bits - 1, most=0.51)


@pytest.mark.parametrize("filter, code", [("bilinear", cv2.INTER_LINEAR_EXACT), ("area", cv2.INTER_AREA)])
@pytest.mark.parametrize("size, target", [((640, 480), (320, 240)), ((640, 480), (213, 160)),
                                          ((641, 479), (333, 200))])
def test_resize_against_opencv(filter, code, size, target, tmp_path):
    planes = planes_of(*size, "444", smooth=True)
    ours, _ = run(source(tmp_path, planes, "444"),
                  f"resize:size={target[0]}x{target[1]},mode=stretch,filter={filter}")
    assert_close(ours, [cv2.resize(plane, target, interpolation=code) for plane in planes])


def test_lanczos_is_pillows_within_the_edges(tmp_path):
    image = pytest.importorskip("PIL.Image")
    planes = planes_of(640, 480, "mono", smooth=True)
    ours, _ = run(source(tmp_path, planes, "mono"), "resize:size=213x160,mode=stretch,filter=lanczos")
    theirs = np.array(image.fromarray(planes[0]).resize((213, 160), image.Resampling.LANCZOS))
    assert_close([ours[0][4:-4, 4:-4]], [theirs[4:-4, 4:-4]])


@pytest.mark.parametrize("size", [(640, 360), (360, 640), (101, 57)])
def test_letterbox_as_detectors_are_fed(size, tmp_path):
    """Ultralytics' `LetterBox`: scaled by the lesser ratio, in the middle of grey 114."""
    planes = planes_of(*size, "444", smooth=True)
    ours, tags = run(source(tmp_path, planes, "444"),
                     "resize:size=320x320,mode=letterbox,filter=bilinear")
    assert (tags["W"], tags["H"]) == ("320", "320")
    ratio = 320 / max(size)
    inner = [round(side * ratio) for side in size]
    left, top = ((320 - side) // 2 for side in inner)
    for index, plane in enumerate(planes):
        expected = np.full((320, 320), 128.0 if index else 114.0)
        expected[top:top + inner[1], left:left + inner[0]] = resized(
            plane, "bilinear", inner[1], inner[0], size[0] / inner[0], size[1] / inner[1], (1, 1))
        assert_close([ours[index]], [expected])


# Straightened.

def maps(name, size, new=None):
    matrix, coefficients = camera(*size), np.array(LENSES[name])
    new = matrix if new is None else new
    if name == "fisheye":
        return cv2.fisheye.initUndistortRectifyMap(matrix, coefficients, np.eye(3), new, size,
                                                   cv2.CV_32FC1)
    return cv2.initUndistortRectifyMap(matrix, coefficients, None, new, size, cv2.CV_32FC1)


def remapped(plane, x, y, border):
    """Bilinear, in double precision."""
    rows, columns = plane.shape
    padded = np.full((rows + 2, columns + 2), float(border))
    padded[1:-1, 1:-1] = plane
    x, y = np.clip(x.astype(float), -1, columns) + 1, np.clip(y.astype(float), -1, rows) + 1
    left, top = np.minimum(x.astype(int), columns), np.minimum(y.astype(int), rows)
    right, below = x - left, y - top
    return (padded[top, left] * (1 - right) + padded[top, left + 1] * right) * (1 - below) + \
        (padded[top + 1, left] * (1 - right) + padded[top + 1, left + 1] * right) * below


@pytest.mark.parametrize("name", LENSES)
@pytest.mark.parametrize("chroma", ["420", "444", "mono", "420p10"])
@pytest.mark.parametrize("size", [(320, 240), (161, 121)])
def test_undistort_against_opencvs_maps(name, chroma, size, tmp_path):
    planes = planes_of(*size, chroma)
    file = calibration(tmp_path, name, *size)
    ours, _ = run(source(tmp_path, planes, chroma), f"undistort:calibration={file}")
    x, y = maps(name, size)
    bits = int(chroma[4:]) if "p" in chroma else 8
    expected = [remapped(planes[0], x, y, 0)]
    if chroma != "mono":
        across, down = factors(chroma)
        # Where the middles of chroma samples come from: the map of a picture of such samples.
        left, top = sites(chroma)
        half = np.array([[1 / across, 0, -left / across], [0, 1 / down, -top / down], [0, 0, 1]])
        rows, columns = planes[1].shape
        matrix, coefficients = half @ camera(*size), np.array(LENSES[name])
        if name == "fisheye":
            x, y = cv2.fisheye.initUndistortRectifyMap(matrix, coefficients, np.eye(3), matrix,
                                                       (columns, rows), cv2.CV_32FC1)
        else:
            x, y = cv2.initUndistortRectifyMap(matrix, coefficients, None, matrix, (columns, rows),
                                               cv2.CV_32FC1)
        expected += [remapped(plane, x, y, 2 ** (bits - 1)) for plane in planes[1:]]
    assert_close(ours, expected, white=2 ** bits - 1, scale=2 ** (bits - 8))


@pytest.mark.parametrize("name", ["pinhole", "pincushion", "rational"])
def test_undistort_against_opencv_on_a_picture(name, tmp_path):
    size = (640, 480)
    planes = planes_of(*size, "mono", smooth=True)
    file = calibration(tmp_path, name, *size)
    ours, _ = run(source(tmp_path, planes, "mono"), f"undistort:calibration={file}")
    theirs = cv2.undistort(planes[0], camera(*size), np.array(LENSES[name]))
    # OpenCV's places are 32nds of a pixel, which at the black border are up to 4 levels.
    x, y = maps(name, size)
    inside = (x >= 0) & (x <= size[0] - 1) & (y >= 0) & (y <= size[1] - 1)
    assert_close([ours[0][inside]], [theirs[inside]])


@pytest.mark.parametrize("name", LENSES)
@pytest.mark.parametrize("kind", ["yml", "xml", "json"])
@pytest.mark.parametrize("alpha", [0, 0.5, 1])
def test_alpha_is_opencvs(name, kind, alpha, tmp_path):
    size = (640, 480)
    path = source(tmp_path, planes_of(*size, "mono"), "mono")
    file, reports = calibration(tmp_path, name, *size, kind), tmp_path / "r.jsonl"
    run(path, f"undistort:calibration={file},alpha={alpha}", options=["--reports", reports])
    line = read_lines(reports)[0]["undistort"]
    ours = np.array(line["new_camera_matrix"]).reshape(3, 3)
    matrix, coefficients = camera(*size), np.array(LENSES[name])
    if name == "fisheye":
        theirs = cv2.fisheye.estimateNewCameraMatrixForUndistortRectify(
            matrix, coefficients, size, np.eye(3), balance=alpha)
    else:
        theirs, _ = cv2.getOptimalNewCameraMatrix(matrix, coefficients, size, alpha)
    assert np.abs(ours - theirs).max() < 0.5, (ours, theirs)


# Points there and back.

MATRIX = "undistorted_from_picture", "sensor_from_distorted"
STABILIZE = "stabilize:mode=standard,crop=0.05"
CHAINS = [
    ["resize:size=600x450", "undistort", STABILIZE, "crop:pixels=20/16/540/400",
     "rotate:turn=90,mirror=vertical"],
    ["undistort:alpha=0.5", "rotate:turn=270", "crop:region=0.1/0.1/0.8/0.85",
     "resize:size=500x500,mode=letterbox", STABILIZE],
    ["crop:region=0/0/1/1", "rotate:turn=0", "undistort", "resize:size=333x,filter=lanczos"],
    ["rotate:turn=180", "resize:size=500x300,mode=fill", "crop:aspect=1:1", STABILIZE],
]

def matrices(report):
    return [np.array(report[name], float).reshape(3, 3) for name in MATRIX]


def apply(matrix, points):
    moved = np.column_stack([points, np.ones(len(points))]) @ matrix.T
    return moved[:, :2] / moved[:, 2:]


def lens_of(report):
    names = ("k1", "k2", "k3", "k4") if report["model"] == "fisheye" else (
        "k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6", "s1", "s2", "s3", "s4", "tau_x", "tau_y")
    cameras = [np.array(report[name], float).reshape(3, 3) for name in ("camera_matrix", "new_camera_matrix")]
    return *cameras, np.array([report[name] for name in names], float)


def to_sensor(points, report, lens):
    """As docs/geometry.md says, by OpenCV's projection of points."""
    undistorted_from_picture, sensor_from_distorted = matrices(report)
    points = apply(undistorted_from_picture, points)
    if lens is not None:
        camera_matrix, new_matrix, coefficients = lens_of(lens)
        rays = apply(np.linalg.inv(new_matrix), points)
        if lens["model"] == "fisheye":
            points = cv2.fisheye.distortPoints(rays[:, None], camera_matrix, coefficients)[:, 0]
        else:
            rays = np.column_stack([rays, np.ones(len(rays))])
            points = cv2.projectPoints(rays, np.zeros(3), np.zeros(3), camera_matrix, coefficients)[0][:, 0]
    return apply(sensor_from_distorted, points)


def to_picture(points, report, lens):
    """The way back, by OpenCV's inverse of the lens."""
    undistorted_from_picture, sensor_from_distorted = matrices(report)
    points = apply(np.linalg.inv(sensor_from_distorted), points)
    if lens is not None:
        camera_matrix, new_matrix, coefficients = lens_of(lens)
        enough = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 500, 1e-12)
        if lens["model"] == "fisheye":
            points = cv2.fisheye.undistortPoints(points[:, None], camera_matrix, coefficients, R=np.eye(3),
                                                 P=new_matrix, criteria=enough)[:, 0]
        else:
            points = cv2.undistortPoints(points[:, None], camera_matrix, coefficients, R=np.eye(3),
                                         P=new_matrix, criteria=enough)[:, 0]
    return apply(np.linalg.inv(undistorted_from_picture), points)


def chain_options(chain, folder, name, size):
    """`undistort` gets its calibration."""
    file = calibration(folder, name, *size)
    stages = [stage.replace("undistort", f"undistort:calibration={file}").replace(":alpha", ",alpha")
              if stage.startswith("undistort") else stage for stage in chain]
    return [part for stage in stages for part in ("--stage", stage)]


def chained(line, chain):
    """The matrices of the chain's end, and the lens, from a line of reports."""
    last = chain[-1].split(":")[0]
    if last != "stabilize":
        return line[last], line.get("undistort")
    # The stabilizer's matrix leads from the picture before it.
    before = line[chain[-2].split(":")[0]]
    steady = np.array(line["stabilize"]["stabilized_from_sensor"]).reshape(3, 3)
    first, second = matrices(before)
    return {MATRIX[0]: first @ np.linalg.inv(steady), MATRIX[1]: second}, line.get("undistort")


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("name", LENSES)
def test_a_thousand_points_there_and_back(name, chain, tmp_path):
    reports = tmp_path / "r.jsonl"
    data = sprocket("run", "--source", "scene", "--size", "800x600", "--format", "YU12", "--source-set",
                    "pace=fast", "--source-set", "shake=8", "--frames", 12,
                    *chain_options(chain, tmp_path, name, (800, 600)), "--reports", reports, "--pipe", "y4m",
                    "--quiet").stdout
    _, tags = read_y4m(data)
    size = np.array([int(tags["W"]), int(tags["H"])])
    points = np.random.default_rng(3).uniform([0, 0], size - 1, (1000, 2))
    moved = []
    for line in read_lines(reports):
        report, lens = chained(line, chain)
        there = to_sensor(points, report, lens)
        assert np.abs(to_picture(there, report, lens) - points).max() < 0.01
        moved.append(there)
    if STABILIZE in chain:
        assert np.abs(moved[-1] - moved[0]).max() > 0.5, "the stabilizer moves nothing"


def blobs(size, places, radius=3.0):
    """A grey picture with a bright spot at each place."""
    y, x = np.mgrid[:size[1], :size[0]]
    picture = np.full((size[1], size[0]), 60.0)
    for place in places:
        picture += 180 * np.exp(-((x - place[0]) ** 2 + (y - place[1]) ** 2) / (2 * radius ** 2))
    return np.rint(np.clip(picture, 0, 255)).astype(np.uint8)


def spot(picture, place, reach=14):
    """The centre of the brightness around a place."""
    left, top = np.rint(place).astype(int) - reach
    part = picture[top:top + 2 * reach + 1, left:left + 2 * reach + 1].astype(float) - 60
    part[part < 12] = 0
    y, x = np.mgrid[:part.shape[0], :part.shape[1]]
    return np.array([left + (part * x).sum() / part.sum(), top + (part * y).sum() / part.sum()])


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("name", LENSES)
def test_what_is_seen_lies_where_the_map_says(name, chain, tmp_path):
    """Spots of the sensor's picture are found where the reports say, within a tenth of a pixel."""
    size = (800, 600)
    x, y = np.meshgrid(np.arange(120.25, 700, 80), np.arange(100.6, 520, 80))
    places = np.column_stack([x.ravel(), y.ravel()])
    luma = blobs(size, places)
    chroma = np.full((300, 400), 128, np.uint8)
    path = source(tmp_path, [luma, chroma, chroma], "420", frames=3)
    reports = tmp_path / "r.jsonl"
    planes, tags = read_y4m(sprocket(
        "run", "--source", f"file:{path}", *chain_options(chain, tmp_path, name, size), "--frames", 3,
        "--reports", reports, "--pipe", "y4m", "--quiet").stdout)
    report, lens = chained(read_lines(reports)[0], chain)
    expected = to_picture(places, report, lens)
    seen = [place for place in expected
            if 20 < place[0] < int(tags["W"]) - 21 and 20 < place[1] < int(tags["H"]) - 21]
    assert len(seen) >= 8
    for place in seen:
        assert np.hypot(*(spot(planes[0], place) - place)) < 0.1, place


def test_colour_lies_beside_its_luma(tmp_path):
    """Spots of chroma are where those of luma are, at half the size and whatever was done to them."""
    size = (800, 600)
    x, y = np.meshgrid(np.arange(121, 700, 80), np.arange(101, 520, 80))
    places = np.column_stack([x.ravel(), y.ravel()]).astype(float)
    chroma = blobs((400, 300), (places - 0.5) / 2)
    path = source(tmp_path, [blobs(size, places), chroma, chroma], "420")
    file = calibration(tmp_path, "pinhole", *size)
    for stages in (["resize:size=437x331,mode=stretch"], [f"undistort:calibration={file}"],
                   ["crop:pixels=37/41/701/499"], ["rotate:turn=90"],
                   [f"undistort:calibration={file}", "resize:size=600x401,mode=letterbox"]):
        reports = tmp_path / "r.jsonl"
        planes, tags = run(path, *stages, options=["--reports", reports, "--overwrite"])
        line = read_lines(reports)[0]
        expected = to_picture(places, line[stages[-1].split(":")[0]], line.get("undistort"))
        found = 0
        for place in expected:
            if 32 < place[0] < int(tags["W"]) - 33 and 32 < place[1] < int(tags["H"]) - 33:
                found += 1
                seen = 2 * spot(planes[1], (place - 0.5) / 2) + 0.5
                assert np.hypot(*(seen - place)) < 0.2, (stages, place)
        assert found >= 8


# Files of films, and what is refused.

def test_an_upright_picture_is_ffmpegs(tmp_path):
    """A film of a telephone, which players turn."""
    plain, turned = tmp_path / "a.mp4", tmp_path / "b.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25",
                    "-frames:v", "2", "-c:v", "mpeg4", "-pix_fmt", "yuv420p", str(plain)], check=True)
    subprocess.run(["ffmpeg", "-v", "error", "-i", str(plain), "-c", "copy", "-metadata:s:v", "rotate=270",
                    str(turned)], check=True)
    theirs = subprocess.run(["ffmpeg", "-v", "error", "-i", str(turned), "-frames:v", "1", "-f", "rawvideo",
                             "-pix_fmt", "yuv420p", "-"], check=True, capture_output=True).stdout
    ours, tags = run(turned, "rotate:upright=true")
    assert (tags["W"], tags["H"]) == ("48", "64")
    assert b"".join(plane.tobytes() for plane in ours) == theirs


@pytest.mark.parametrize("stage, words", [
    ("crop:pixels=0/0/65/48", "lies within them"), ("crop:aspect=16", "aspect=16 is not allowed"),
    ("resize", "needs a size"), ("resize:size=0x0", "size=0x0 is not allowed"),
    ("rotate:turn=45", "turn=45 is not allowed"), ("undistort", "needs a calibration file"),
    ("undistort:calibration=none.yml", "No such file"), ("undistort:calibration=/dev/null", "not a file"),
])
def test_refuses_in_one_sentence(stage, words, tmp_path):
    path = source(tmp_path, planes_of(64, 48, "420"), "420")
    result = sprocket("run", "--source", f"file:{path}", "--stage", stage, "--null", "--quiet", check=False)
    assert result.returncode != 0
    assert words in one_sentence(result.errors)


def test_refuses_the_calibration_of_another_aspect(tmp_path):
    path = source(tmp_path, planes_of(64, 48, "420"), "420")
    file = calibration(tmp_path, "pinhole", 64, 36)
    result = sprocket("run", "--source", f"file:{path}", "--stage", f"undistort:calibration={file}", "--null",
                      "--quiet", check=False)
    assert "another aspect" in one_sentence(result.errors)


def test_reports_alone_carry_points_back(tmp_path):
    """The example of docs/geometry.md, as it stands there."""
    text = (ROOT / "docs/geometry.md").read_text()
    example = text[text.index("```python") + 9:]
    example = example[:example.index("```")]
    path = source(tmp_path, planes_of(640, 480, "420"), "420")
    file, reports = calibration(tmp_path, "pinhole", 640, 480), tmp_path / "out.jsonl"
    run(path, f"undistort:calibration={file}", "resize:size=320x320,mode=letterbox",
        options=["--reports", reports])
    names = {}
    exec(example.replace("out.jsonl", str(reports)), names)  # Defines `sensor_points`.
    line = json.loads(reports.read_text().splitlines()[0])
    points = np.random.default_rng(1).uniform(40, 270, (50, 2))
    expected = to_sensor(points, line["resize"], line["undistort"])
    assert np.abs(names["sensor_points"](points, line, "resize") - expected).max() < 1e-6
