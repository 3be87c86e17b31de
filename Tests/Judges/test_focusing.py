"""The stage `focus` against NumPy on the luma it was handed, and on real sweeps."""
import pytest

import focus_measures
from conftest import gray_frames, read_lines, sprocket


def reports(source, stage, folder):
    path = folder / "reports.jsonl"
    sprocket(*source, "--stage", stage, "--reports", path, "--quiet")
    return [line["focus"] for line in read_lines(path)]


@pytest.mark.parametrize("measure", focus_measures.MEASURES)
@pytest.mark.parametrize("size", ["320x240", "97x35", "18x16"])
def test_every_number_is_numpys(measure, size, tmp_path):
    source = ["run", "--source", "scene", "--size", size, "--frames", 3]
    width, height = map(int, size.split("x"))
    found = reports(source, f"focus:measure={measure}", tmp_path)
    for line, luma in zip(found, gray_frames(source, width, height), strict=True):
        assert line["score"] == pytest.approx(focus_measures.MEASURES[measure](luma), rel=1e-6)
        assert line["contrast"] == pytest.approx(focus_measures.contrast(luma), rel=1e-6)
        assert line["noise"] == pytest.approx(focus_measures.noise(luma), rel=1e-6)
        if measure == "normalized":
            assert line["grid"] == pytest.approx(focus_measures.grid(luma), rel=1e-6)


@pytest.mark.parametrize("point,rows,columns", [
    ("0.5/0.5", slice(90, 150), slice(120, 200)), ("0/1", slice(180, 240), slice(0, 80))])
def test_the_window_is_what_is_scored(point, rows, columns, tmp_path):
    source = ["run", "--source", "scene", "--size", "320x240", "--frames", 3]
    found = reports(source, f"focus:point={point},window=0.25", tmp_path)
    frames = gray_frames(source, 320, 240)[:, rows, columns]
    for line, luma in zip(found, frames, strict=True):
        assert line["score"] == pytest.approx(focus_measures.normalized(luma), rel=1e-6)
        assert line["grid"] == pytest.approx(focus_measures.grid(luma), rel=1e-6)
