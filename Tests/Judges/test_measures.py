"""Reports against NumPy on the very bytes that the stages were handed, and against ffmpeg."""
import subprocess

import numpy as np
import pytest

import focus_measures
from conftest import DATA, LIMIT, clips, gray_frames, probe, read_lines, sprocket

FORMATS = ["MJPEG", "YUYV", "UYVY", "NV12", "NV21", "I420", "YV12", "422P", "GREY", "Y10", "Y16",
           "RGB24", "BGR24", "BGR4", "RGB4"]
FRAMES = 12  # Each frame is judged by itself; later ones of a clip are like the first.


def compare(reports, frames):
    delivered = [line for line in reports if line["fate"] == "delivered"]
    assert len(delivered) == len(frames) > 0
    for line, luma in zip(delivered, frames):
        histogram = np.bincount(luma.ravel(), minlength=256)
        assert line["meter"]["histogram"] == histogram.tolist()
        assert line["meter"]["mean"] == pytest.approx(luma.mean(), rel=1e-6)
        assert line["meter"]["clipped"] == pytest.approx((luma >= 254).mean(), rel=1e-6, abs=1e-12)
        assert line["meter"]["crushed"] == pytest.approx((luma <= 1).mean(), rel=1e-6, abs=1e-12)
        assert line["focus"]["score"] == pytest.approx(focus_measures.normalized(luma), rel=1e-6)


def ffmpeg_means(path, stream):
    """Mean luma per frame as ffmpeg decodes it, expanded where the range is limited."""
    width, height = stream["width"], stream["height"]
    if stream["pix_fmt"] in ("rgb24", "rgba", "gray", "pal8"):
        pytest.skip(f"ffmpeg has no luma plane of {stream['pix_fmt']}")
    data = subprocess.run(
        ["ffmpeg", "-v", "error", "-noautorotate", "-i", str(path), "-fps_mode", "passthrough",
         "-frames:v", str(FRAMES), "-vf", "extractplanes=y", "-f", "rawvideo", "-pix_fmt", "gray",
         "-"], capture_output=True, timeout=LIMIT).stdout
    luma = np.frombuffer(data, np.uint8).reshape(-1, height, width).astype(np.float64)
    is_full = stream.get("color_range") == "pc" or stream["pix_fmt"].startswith("yuvj")
    if not is_full:
        luma = np.clip((luma - 16) * 255 / 219, 0, 255)
    return luma.mean(axis=(1, 2))


@pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not there: set SPROCKET_TEST_DATA")
@pytest.mark.parametrize("path", clips(), ids=lambda path: path.name)
def test_every_clip_is_measured_as_numpy_does(path, tmp_path):
    stream = probe(path)
    source = ["run", "--source", f"file:{path}", "--frames", FRAMES]
    reports = tmp_path / "reports.jsonl"
    sprocket(*source, "--stage", "meter", "--stage", "focus", "--reports", reports, "--quiet")
    lines = read_lines(reports)
    compare(lines, gray_frames(source, stream["width"], stream["height"]))
    means = [line["meter"]["mean"] for line in lines if line["fate"] == "delivered"]
    expected = ffmpeg_means(path, stream)
    assert len(expected) >= len(means)
    assert np.abs(np.array(means) - expected[: len(means)]).max() <= 1


@pytest.mark.parametrize("size", ["64x48", "161x121", "97x35"])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_measured_as_numpy_does(name, size, tmp_path):
    width, height = map(int, size.split("x"))
    source = ["run", "--source", "scene", "--format", name, "--size", size, "--frames", 6]
    reports = tmp_path / "reports.jsonl"
    sprocket(*source, "--stage", "meter", "--stage", "focus", "--reports", reports, "--quiet")
    compare(read_lines(reports), gray_frames(source, width, height))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_shows_the_same_scene(name):
    """Formats differ by rounding and chroma alone: luma is within two levels on average."""
    def luma(form):
        source = ["run", "--source", "scene", "--format", form, "--size", "160x120", "--frames", 3,
                  "--source-set", "noise=0", "--source-set", "quality=100"]
        return gray_frames(source, 160, 120).astype(float)
    assert np.abs(luma(name) - luma("GREY")).mean() < 2
