"""Tensors and colour pictures, against float64 from the standards, and against OpenCV and ffmpeg."""
import struct
import subprocess

import cv2
import numpy as np
import pytest

from program import LIMIT, clip, one_sentence, read_summary, sprocket
from tensors import tensor, y4m

TYPES = {"u8": "u1", "f16": "<f2", "f32": "<f4", "bf16": "<u2"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tensors")


def movie(folder, name, *arguments):
    """A film of the scene, or what ffmpeg makes of one."""
    path = folder / name
    if not path.exists():
        sprocket("run", "--source", "scene", "--frames", "3", "--movie", path, "--quiet", *arguments)
    return path


def converted(folder, name, source, *arguments):
    path = folder / name
    if not path.exists():
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", str(source), *arguments, str(path)],
                       check=True, timeout=LIMIT)
    return path


def sources(folder):
    """Clips by name, with the place of chroma where a YUV4MPEG2 header does not say it, and the matrix."""
    jpeg = movie(folder, "jpeg.mov", "--size", "320x240")
    odd = movie(folder, "odd.mkv", "--size", "322x242")
    lossless = ["-c:v", "ffv1"]
    return {
        "jpeg 4:2:0": (jpeg, "center", "bt601"),
        "jpeg 4:2:2": (movie(folder, "422.mov", "--size", "320x240", "--source-set", "subsampling=422"),
                       "center", "bt601"),
        "jpeg 4:4:4": (movie(folder, "444.mov", "--size", "320x240", "--format", "RGB3"),
                       "center", "bt601"),
        "h264": (clip("generic/box.mp4"), "left", "bt601"),
        "odd": (converted(folder, "odd420.mkv", odd, "-vf", "crop=321:241:0:0,format=yuv420p", *lossless),
                "left", "bt601"),
        "709": (converted(folder, "709.mkv", odd, "-vf",
                          "scale=out_color_matrix=bt709:out_range=tv,format=yuv420p", "-colorspace", "bt709",
                          "-color_range", "tv", *lossless), "left", "bt709"),
        "2020 deep": (converted(folder, "2020.mkv", odd, "-vf",
                                "scale=out_color_matrix=bt2020:out_range=tv,format=yuv420p10le",
                                "-colorspace", "bt2020nc", "-color_range", "tv",
                                "-chroma_sample_location", "topleft", *lossless), "topLeft", "bt2020"),
        "full 4:2:2 of 12 bits": (converted(folder, "12.mkv", odd, "-vf", "format=yuv422p12le",
                                            "-color_range", "pc", "-chroma_sample_location", "left",
                                            *lossless),
                                  "left", "bt601"),
        "grey": (converted(folder, "grey.mkv", odd, "-vf", "format=gray", *lossless), "center", "bt601"),
        "jpeg 4:2:0, odd": (movie(folder, "odd.mov", "--size", "321x241"), "center", "bt601"),
        "jpeg 4:2:2, odd": (movie(folder, "odd422.mov", "--size", "321x241", "--source-set",
                                  "subsampling=422"), "center", "bt601"),
    }


NAMES = ["jpeg 4:2:0", "jpeg 4:2:2", "jpeg 4:4:4", "h264", "odd", "709", "2020 deep",
         "full 4:2:2 of 12 bits", "grey", "jpeg 4:2:0, odd", "jpeg 4:2:2, odd"]

SHAPES = {
    "as it is": {},
    "letterbox": {"size": (160, 160)},
    "larger": {"size": (500, 400), "fit": "stretch"},
    "fill, area": {"size": (64, 96), "fit": "fill", "filter": "area"},
    "lanczos": {"size": (113, 77), "fit": "stretch", "filter": "lanczos"},
    "region": {"region": (0.1, 0.2, 0.5, 0.4), "size": (99, 41), "fit": "letterbox"},
    "bgr, normalised": {"size": (90, 90), "channels": "bgr", "scale": 1 / 255, "mean": (0.4, 0.5, 0.6),
                        "std": (0.2, 0.3, 0.25)},
    "gray": {"size": (128, 128), "channels": "gray"},
}


def text(shape):
    """The settings as the command line takes them."""
    words = ["exact=true"]
    for key, value in shape.items():
        if key == "size":
            words.append(f"size={value[0]}x{value[1]}")
        elif key == "region":
            words.append("regions=" + "/".join(map(str, value)))
        elif key in ("mean", "std"):
            words.append(f"{key}=" + "/".join(map(str, value)))
        else:
            words.append(f"{key}={value}")
    return ",".join(words)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_tensors_are_what_the_standards_say(folder, name, shape):
    path, site, matrix = sources(folder)[name]
    picture = y4m(sprocket("run", "--source", f"file:{path}", "--frames", "1", "--pipe", "y4m",
                           "--quiet").stdout)[0]
    expected = tensor(picture, site=site, matrix=matrix, **SHAPES[shape])
    data = sprocket("run", "--source", f"file:{path}", "--frames", "1", "--quiet", "--pipe",
                    f"tensor:{text(SHAPES[shape])}").stdout
    found = np.frombuffer(data, "<f4").reshape(expected.shape)
    # Divided by the deviation, 1e-3 of a channel's range is a larger number.
    assert np.abs(found - expected).max() < 1e-3 / min(SHAPES[shape].get("std", (1,)))


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_rounded_tensors(folder, name):
    path, site, matrix = sources(folder)[name]
    run = ["run", "--source", f"file:{path}", "--frames", "2", "--quiet", "--pipe"]
    pictures = y4m(sprocket(*run, "y4m").stdout)
    for layout in ("rgb", "bgr", "gray"):
        expected = [tensor(picture, site=site, matrix=matrix, channels=layout, scale=1)
                    for picture in pictures]
        expected = np.stack(expected).transpose(0, 2, 3, 1)
        found = np.frombuffer(sprocket(*run, layout).stdout, "u1").reshape(expected.shape)
        difference = np.abs(found - expected)
        # libyuv makes colour pictures of JPEGs of an even width, in its fixed point.
        if name in ("jpeg 4:2:0", "jpeg 4:2:2") and layout != "gray":
            assert difference.mean() < 0.5 and difference.max() <= 2
        # Luma as stages see it: rounded to 8 bits, then expanded.
        elif name == "2020 deep" and layout == "gray":
            assert difference.mean() < 0.5 and difference.max() <= 1.5
        # Our own fixed point is one level off in a few pixels of a hundred.
        elif layout != "gray" and difference.max() > 0.502:
            assert difference.max() <= 1.502 and np.mean(difference > 0.502) < 0.06
        else:
            assert difference.max() <= 0.502


@pytest.mark.parametrize("order", ["nchw", "nhwc"])
@pytest.mark.parametrize("kind", TYPES)
def test_each_type_and_order_holds_the_same_numbers(folder, kind, order):
    path = movie(folder, "jpeg.mov", "--size", "320x240")
    run = ["run", "--source", f"file:{path}", "--frames", "1", "--quiet", "--pipe"]
    exact = np.frombuffer(sprocket(*run, "tensor:size=100x100,scale=1").stdout, "<f4").reshape(3, 100, 100)
    data = sprocket(*run, f"tensor:size=100x100,scale=1,type={kind},order={order}").stdout
    found = np.frombuffer(data, TYPES[kind])
    if kind == "bf16":
        found = (found.astype("<u4") << 16).view("<f4")
    found = found.reshape(3, 100, 100) if order == "nchw" else found.reshape(100, 100, 3).transpose(2, 0, 1)
    tolerance = {"u8": 0.5, "f16": 2.0 ** -4, "f32": 0, "bf16": 0.5}[kind]
    assert np.abs(found.astype(float) - exact).max() <= tolerance


def test_regions_are_entries_of_the_first_axis(folder):
    path = movie(folder, "jpeg.mov", "--size", "320x240")
    run = ["run", "--source", f"file:{path}", "--frames", "1", "--quiet", "--pipe"]
    both = sprocket(*run, "tensor:size=64x64,regions=0/0/0.5/1+0.25/0.5/0.5/0.5").stdout
    one = sprocket(*run, "tensor:size=64x64,regions=0/0/0.5/1").stdout
    other = sprocket(*run, "tensor:size=64x64,regions=0.25/0.5/0.5/0.5").stdout
    assert both == one + other


@pytest.mark.parametrize("filter, interpolation", [("bilinear", cv2.INTER_LINEAR), ("area", cv2.INTER_AREA)])
@pytest.mark.parametrize("size", [(640, 360), (500, 300), (333, 187)])
def test_resized_pictures_are_those_of_opencv(folder, size, filter, interpolation):
    """Of 4:4:4 with pale colours, since OpenCV resizes RGB, which is clipped and rounded before."""
    path = converted(folder, "pale.mkv", movie(folder, "hd444.mov", "--size", "1280x720", "--format", "RGB3"),
                     "-vf", "eq=contrast=0.5:saturation=0.4,format=yuv444p", "-color_range", "pc", "-c:v",
                     "ffv1")
    run = ["run", "--source", f"file:{path}", "--frames", "1", "--quiet", "--pipe"]
    picture = np.frombuffer(sprocket(*run, "rgb").stdout, "u1").reshape(720, 1280, 3)
    expected = cv2.resize(picture, size, interpolation=interpolation)
    options = f"size={size[0]}x{size[1]},fit=stretch,filter={filter},exact=true"
    found = np.frombuffer(sprocket(*run, f"rgb:{options}").stdout, "u1").reshape(expected.shape)
    difference = np.abs(found.astype(int) - expected)
    assert difference.mean() < 0.5 and difference.max() <= 2


def test_colours_are_those_of_ffmpeg(folder):
    """With ffmpeg's accurate conversion, told where chroma lies; it interpolates chroma by a cubic."""
    path = clip("stabilization/max-heromode.mp4")
    run = ["run", "--source", f"file:{path}", "--frames", "3", "--quiet", "--pipe"]
    found = np.frombuffer(sprocket(*run, "rgb").stdout, "u1").astype(int)
    filters = ("scale=flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp:in_color_matrix=bt709:"
               "in_h_chr_pos=0:in_v_chr_pos=128,format=rgb24")
    data = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-frames:v", "3", "-vf", filters, "-f",
                           "rawvideo", "-"], capture_output=True, check=True, timeout=LIMIT).stdout
    difference = np.abs(found - np.frombuffer(data, "u1"))
    assert difference.mean() < 0.25 and np.percentile(difference, 99) <= 2


@pytest.mark.parametrize("name", ["photos/picosdeeuropa_by_Aitzol_Berasategi.jpg",
                                  "focus/focusstack_pcb/pcb_001.jpg",
                                  "photos/seeding_by_Clements_Engelhardt.jpg"])
@pytest.mark.parametrize("size", [640, 320, 224])
def test_reduced_decoding_is_nearer_to_the_mean_of_each_area(name, size):
    """A bilinear tensor of a fully decoded picture aliases; decoded reduced, it does so less."""
    def numbers(options):
        return np.frombuffer(
            sprocket("run", "--source", f"file:{clip(name)}", "--frames", "1", "--quiet", "--pipe",
                     f"tensor:size={size}x{size},fit=stretch,scale=1,{options}").stdout, "<f4")

    means = numbers("filter=area,exact=true")
    reduced = np.abs(numbers("filter=bilinear") - means)
    full = np.abs(numbers("filter=bilinear,exact=true") - means)
    assert reduced.mean() < full.mean() and reduced.mean() < 2.5
    areas = np.abs(numbers("filter=area") - means)
    assert areas.mean() < 2 and np.percentile(areas, 99.9) < 25


def test_what_stages_read_keeps_the_picture_whole(folder):
    """A stage that reads luma has the picture decoded in full, and the tensor is made of that."""
    path = movie(folder, "hd.mov", "--size", "1920x1080", "--source-set", "subsampling=420")
    run = ["run", "--source", f"file:{path}", "--frames", "3", "--quiet"]
    exact = sprocket(*run, "--pipe", "tensor:size=640x640,exact=true").stdout
    assert sprocket(*run, "--stage", "meter", "--pipe", "tensor:size=640x640").stdout == exact
    assert sprocket(*run, "--pipe", "tensor:size=640x640").stdout != exact


HEADER = struct.Struct("<8sIIQQQIBBBBqqqq4I12I3fI9d9d4dQ40x")


def headers(data):
    """The headers of a piped stream, and the pixels behind each."""
    at = 0
    while at < len(data):
        fields = HEADER.unpack_from(data, at)
        assert fields[0] == b"SPRKFRM1" and fields[1] == HEADER.size == 384
        yield fields, data[at + 384:at + 384 + fields[3]]
        at += 384 + fields[3]


def test_headers_account_for_each_frame(folder):
    summary = folder / "summary.json"
    data = sprocket("run", "--source", "scene", "--frames", "60", "--size", "160x120", "--quiet",
                    "--source-set", "drop=0.1", "--source-set", "corrupt=0.1", "--pipe", "rgb:size=80x60",
                    "--pipe-header", "--summary", summary, "--overwrite").stdout
    found = list(headers(data))
    run = read_summary(summary)
    expected = 0
    names = ["delivered", "missing", "corrupt", "startup", "overrun", "late", "rejected", "behind", "skipped",
             "unselected", "failed", "flushed"]
    sums = dict.fromkeys(names, 0)
    for fields, pixels in found:
        between = fields[19:31]
        for name, count in zip(names, between):
            sums[name] += count
        expected += sum(between)
        assert fields[4] == expected
        if fields[2] & 1:
            break
        assert len(pixels) == 80 * 60 * 3 and fields[15:19] == (1, 60, 80, 3)
        assert fields[35:44] == (1, 0, 0, 0, 1, 0, 0, 0, 1) and fields[53:57] == (2, 2, 0.5, 0.5)
        expected += 1
        sums["delivered"] += 1
    assert found[-1][0][2] & 1 and expected == run["produced"] == 60
    sink = run["sinks"]["pipe"]
    assert all(sink.get(name, 0) == count for name, count in sums.items())


def test_oblong_pixels_become_square_only_in_a_size_that_is_asked_for(folder):
    path = converted(folder, "oblong.mkv", movie(folder, "jpeg.mov", "--size", "320x240"), "-vf",
                     "setsar=4/3,format=yuv420p", "-c:v", "ffv1")
    run = ["run", "--source", f"file:{path}", "--frames", "1", "--quiet", "--pipe"]
    picture = y4m(sprocket(*run, "y4m").stdout)[0]
    plain = tensor(picture, site="left", scale=1).transpose(1, 2, 0)
    found = np.frombuffer(sprocket(*run, "rgb").stdout, "u1").reshape(240, 320, 3)
    assert np.abs(found - plain).max() <= 2
    fields, _ = next(headers(sprocket(*run, "gray", "--pipe-header").stdout))
    assert fields[53:57] == (1, 1, 0, 0)
    square = tensor(picture, site="left", size=(160, 160), aspect=4 / 3)
    found = np.frombuffer(sprocket(*run, "tensor:size=160x160").stdout, "<f4").reshape(3, 160, 160)
    assert np.abs(found - square).max() < 1e-3


@pytest.mark.parametrize("layout, says", [
    ("y4m:size=64x64", "y4m is the picture as it is"),
    ("tensor:std=0", "give values from"),
    ("tensor:type=f16,scale=1000,std=0.001", "f16 holds 65504 at most"),
    ("tensor:type=f16,scale=1,std=1/1/0.003", "f16 holds 65504 at most"),
    ("tensor:size=0x4", "size=0x4 is not allowed"),
    ("tensor:size=16384x16384,regions=" + "+".join(["0/0/1/1"] * 8), "takes more than 1024 MB"),
    ("tensor:regions=0/0/1/1+0/0/0.5/1", "differ in size"),
    ("tensor:regions=0/0/2/1", "is not allowed"),
    ("tensor:sise=64x64", "did you mean"),
    ("rgbx", "did you mean"),
])
def test_wrong_settings_are_refused_in_one_sentence(layout, says):
    run = sprocket("run", "--source", "scene", "--frames", "1", "--pipe", layout, check=False)
    assert run.returncode == 2 and run.stdout == b""
    assert says in one_sentence(run.errors)
