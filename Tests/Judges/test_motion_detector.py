"""The stage `motion` on real clips, beside OpenCV's background subtraction, and on the scene."""
import json
import subprocess

import cv2
import numpy as np
import pytest

from program import LIMIT, clip, sprocket

STILL = ["--source", "scene", "--source-set", "pace=fast", *(
    part for name in ("pan", "shake", "roll", "zoom") for part in ("--source-set", f"{name}=0"))]


def reports(*arguments, frames):
    lines = sprocket("run", *arguments, "--stage", "motion", "--frames", frames, "--reports", "-",
                     "--quiet").stdout.splitlines()
    found = [json.loads(line)["motion"] for line in lines]
    assert len(found) == frames
    return found


def foreground(path, frames):
    """Shares of pixels that MOG2 calls foreground and not shadow, single ones left out."""
    video, model = cv2.VideoCapture(str(path)), cv2.createBackgroundSubtractorMOG2(detectShadows=True)
    shares = []
    while len(shares) < frames:
        _, picture = video.read()
        mask = (model.apply(picture) == 255).astype(np.uint8)
        shares.append(cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)).mean())
    return np.array(shares)


@pytest.mark.parametrize("name, frames, least", [
    ("generic/vtest.avi", 450, 0.7), ("generic/box.mp4", 450, 0.8), ("generic/tree.avi", 68, 0.85)])
def test_the_score_follows_opencvs_foreground(name, frames, least):
    path = clip(name)
    scores = np.array([report["score"] for report in reports("--source", f"file:{path}", frames=frames)])
    correlation = np.corrcoef(scores[30:], foreground(path, frames)[30:])[0, 1]
    print(name, correlation, np.median(scores))
    assert correlation > least


def test_people_on_a_street_are_regions_of_their_size():
    found = reports("--source", f"file:{clip('generic/vtest.avi')}", frames=300)[50:]
    assert 3 <= np.median([report["regions"] for report in found]) <= 15
    assert all(not report["scene_changed"] and not report["dark"] for report in found)
    assert np.median([report["height"] for report in found]) > 0.05


def test_a_covered_camera_is_another_scene(tmp_path):
    covered = tmp_path / "covered.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-i", clip("generic/vtest.avi"), "-frames:v", "60", "-vf",
                    "drawbox=t=fill:color=0x303030:enable='gte(n,40)'", "-c:v", "ffv1", covered],
                   check=True, timeout=LIMIT)
    found = reports("--source", f"file:{covered}", frames=60)
    assert [number for number, report in enumerate(found) if report["scene_changed"]] == [40]
    assert found[40]["light"] == 0 and found[45]["score"] == 0


@pytest.mark.parametrize("light", [0, -5])
def test_noise_does_not_move(light):
    found = reports(*STILL, "--source-set", f"light={light}", frames=120)
    assert max(report["score"] for report in found) == 0
    assert not any(report["scene_changed"] or report["subject_area_changed"] for report in found)


def test_a_thing_that_covers_a_twentieth_is_that_large():
    found = reports(*STILL, "--source-set", "object=0.05", frames=150)
    assert np.median([report["score"] for report in found[30:]]) == pytest.approx(0.055, abs=0.01)


def test_light_is_no_motion_but_another_subject_area():
    found = reports(*STILL, "--source-set", "lightstep=1.5", "--source-set", "lightat=3", frames=150)
    assert sum(report["score"] > 0.02 for report in found) <= 2
    assert max(report["light"] for report in found) > 60
    changed = [number for number, report in enumerate(found) if report["subject_area_changed"]]
    assert len(changed) == 1 and 100 <= changed[0] <= 110
