"""The stage `focus` against NumPy on the luma it was handed, and on real sweeps."""
import subprocess

import numpy as np
import pytest

import focus_measures
import focus_sweeps
from conftest import DATA, LIMIT, clip, gray_frames, read_lines, sprocket


def reports(source, stage, folder):
    path = folder / "reports.jsonl"
    sprocket(*source, "--stage", stage, "--reports", path, "--overwrite", "--quiet")
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


def scored(pictures, folder):
    """What the stage says of pictures of one size, handed over as a bare film."""
    height, width = pictures[0].shape
    film = folder / "film.nut"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{width}x{height}",
         "-i", "-", "-c:v", "rawvideo", str(film)], input=b"".join(luma.tobytes() for luma in pictures),
        check=True, timeout=LIMIT)
    lines = reports(["run", "--source", f"file:{film}"], "focus", folder)
    assert len(lines) == len(pictures)
    return [line["score"] for line in lines]


@pytest.fixture(scope="module")
def sweep():
    clip("focus/firepick_rep1")
    return focus_sweeps.sweep()


def test_the_real_sweep_peaks_where_the_eye_does_and_falls_on_both_sides(sweep, tmp_path):
    scores = scored(sweep, tmp_path)
    assert scores == pytest.approx([focus_measures.normalized(luma) for luma in sweep], rel=1e-6)
    assert -52 <= focus_sweeps.peak(scores) <= -48
    wrong, pairs = focus_sweeps.misplaced(scores)
    assert pairs >= 28 and len(wrong) <= 0.05 * pairs


def test_exposure_and_noise_move_the_peak_by_a_step_at_most(sweep, tmp_path):
    best = focus_sweeps.peak([focus_measures.normalized(luma) for luma in sweep])
    for name, pictures in focus_sweeps.conditions(sweep):
        # At double the level, a picture on its own among others loses its detail in white.
        if not name.startswith("drift") or name.endswith("in light"):
            found = focus_sweeps.peak(scored(pictures, tmp_path))
            assert abs(found - best) <= focus_sweeps.STEP, name


# Motion JPEG, as most webcams send it, of a noisy sensor or in the dark. Compression takes away what
# tells noise from detail.
@pytest.mark.parametrize("scene", [
    {"light": 0}, {"light": -4}, {"light": -5}, {"light": -6}, {"light": -4, "gain": 16},
    {"light": -6, "gain": 64}, {"noise": 5}], ids=str)
@pytest.mark.parametrize("measure", focus_measures.MEASURES)
def test_noise_that_was_compressed_does_not_outweigh_the_sharp(scene, measure, tmp_path):
    settings = sum((["--source-set", f"{key}={value}"] for key, value in scene.items()), [])
    def score(lens):
        source = ["run", "--source", "scene", "--size", "640x480", "--format", "MJPEG", "--frames", 2,
                  "--source-set", "pace=fast", "--source-set", f"lens={lens}", *settings]
        return reports(source, f"focus:measure={measure}", tmp_path)[-1]["score"]
    assert score(0.5) > 1.1 * max(score(lens / 10) for lens in range(11) if lens != 5)


def test_a_small_window_is_widened(tmp_path):
    source = ["run", "--source", "scene", "--size", "64x48", "--frames", 2]
    for point, rows, columns in [
            ("0.5/0.5", slice(16, 32), slice(24, 40)), ("1/1", slice(32, 48), slice(48, 64))]:
        found = reports(source, f"focus:point={point},window=0.25", tmp_path)
        for line, luma in zip(found, gray_frames(source, 64, 48)[:, rows, columns], strict=True):
            assert line["score"] == pytest.approx(focus_measures.normalized(luma), rel=1e-6)
    reports(["run", "--source", "scene", "--size", "160x120", "--frames", 200, "--source-set",
             "formatchange=0.05"], "focus:window=0.14", tmp_path)


def triplets():
    """The sharp, the defocused and the motion-blurred photograph of a scene, for each scene."""
    return sorted((DATA / "focus/blur_triplets").glob("*_S.*")) if DATA.is_dir() else []


@pytest.mark.parametrize("sharp", triplets(), ids=lambda path: path.stem)
def test_sharp_beats_defocused_and_shaken(sharp, tmp_path):
    def score(letter):
        path = sharp.with_name(f"{sharp.stem[:-1]}{letter}{sharp.suffix}")
        return reports(["run", "--source", f"file:{path}"], "focus", tmp_path)[0]["score"]
    assert score("S") > 2 * max(score("F"), score("M"))


def test_the_grid_follows_the_focus_across_a_stack(tmp_path):
    # The first picture is sharp at the bottom, near the camera, the last ones at the top.
    grids = []
    for number in range(1, 8):
        path = clip(f"focus/focusstack_pcb/pcb_{number:03}.jpg")
        grids.append(reports(["run", "--source", f"file:{path}"], "focus", tmp_path)[0]["grid"])
    best = np.argmax(grids, axis=0).reshape(4, 4)
    assert (best[3] == 0).all()
    assert best[0].min() > best[3].max()
