"""What the judges of stabilization share: the stabilizer's runs, and who judges them."""
import functools
import importlib.util
import json
import os
import subprocess
import tempfile

import cv2
import numpy as np
import pytest

from conftest import DATA, LIMIT, SPROCKET, clip, read_lines, sprocket
from remembered import answer

JUDGE = DATA.parent / "tools/stab_eval.py"


@functools.cache
def judge():
    """The judge as a module: `frames` of a clip, `measure` of one beside its source."""
    if not JUDGE.exists():
        pytest.skip(f"{JUDGE} is not there: set SPROCKET_TEST_DATA to the folder beside its own")
    found = importlib.util.spec_from_file_location("stab_eval", JUDGE)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    cv2.setNumThreads(1)  # OpenCV's waiting threads take processor time from tests on the other core.
    return module


@functools.lru_cache(maxsize=1)
def frames(name):
    """A clip's frames as the judge sees them; of several videos, those of the largest, as ffmpeg chooses."""
    source = str(clip(name))
    streams = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries",
                              "stream=index", "-of", "csv=p=0", source], check=True, timeout=LIMIT,
                             stdout=subprocess.PIPE).stdout.split()
    if len(streams) == 1:
        return judge().frames(source)
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "input.mkv")
        subprocess.run(["ffmpeg", "-v", "error", "-i", source, "-an", "-fps_mode", "passthrough",
                        "-c:v", "ffv1", copy], check=True, timeout=LIMIT)
        return judge().frames(copy)


def judged_input(name):
    """What the judge says of a clip."""
    return answer(f"input {name}", [clip(name)], [judge(), frames],
                  lambda: judge().measure(frames(name), None, 0)[1])


def judged(name, run):
    """What the judge says of a clip that was stabilized."""
    return answer(f"stabilized {name} {run.mode} {run.crop}", [clip(name), run.output], [judge(), frames],
                  lambda: judge().measure(str(run.output), frames(name), run.crop)[1])


def bare_crop(name, crop):
    """What the judge says of the clip through the crop alone, by OpenCV: what it sees of jitter where less is
    to be seen of the picture."""
    def ask():
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "bare.avi")
            write_cropped(str(clip(name)), crop, output)
            return judge().measure(output, frames(name), crop)[1]
    return answer(f"bare crop {name} {crop}", [clip(name)], [judge(), frames, write_cropped], ask)


def write_cropped(source, crop, output):
    capture, writer = cv2.VideoCapture(source), None
    while True:
        found, frame = capture.read()
        if not found:
            break
        height, width = frame.shape[:2]
        matrix = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), 0, 1 / (1 - 2 * crop))
        if writer is None:
            writer = cv2.VideoWriter(output, cv2.VideoWriter_fourcc(*"FFV1"), 30, (width, height))
        writer.write(cv2.warpAffine(frame, matrix, (width, height), flags=cv2.INTER_LANCZOS4,
                                    borderMode=cv2.BORDER_REPLICATE))
    writer.release()


class Stabilized:
    """A clip, or the scene, stabilized, and the reports; for a judge its pictures are kept as they are."""

    def __init__(self, source, folder, mode, crop, *others, for_judge=False):
        self.mode, self.crop = mode, crop
        self.output = folder / f"{mode}-{crop:.4f}.y4m"
        reports, summary = folder / "reports.jsonl", folder / "summary.json"
        command = ["run", "--source", source, "--stage", f"stabilize:mode={mode},crop={crop}", "--reports",
                   reports, "--summary", summary, "--quiet", "--overwrite", *others]
        if for_judge:
            with open(self.output, "wb") as output:
                subprocess.run([SPROCKET, *map(str, command), "--pipe", "y4m"], stdout=output, check=True,
                               timeout=LIMIT)
        else:
            sprocket(*command, "--null")
        source = json.loads(summary.read_text())["source"]
        self.size = source["width"], source["height"]
        self.lines = [line for line in read_lines(reports) if "stabilize" in line]
        self.matrices = np.array([line["stabilize"]["stabilized_from_sensor"] for line in self.lines])
        self.matrices = self.matrices.reshape(-1, 3, 3)

    def constant(self):
        """The matrix of the crop alone."""
        zoom = 1 / (1 - 2 * self.crop)
        x, y = ((side - 1) / 2 * (1 - zoom) for side in self.size)
        return np.array([[zoom, 0, x], [0, zoom, y], [0, 0, 1]])

    def corners(self):
        """The middles of the corner pixels, as columns."""
        x, y = self.size[0] - 1, self.size[1] - 1
        return np.array([[0, x, 0, x], [0, 0, y, y], [1, 1, 1, 1]], float)

    def assert_no_border_shows(self):
        assert len(self.matrices) > 0
        back = np.linalg.inv(self.matrices) @ self.corners()
        for axis, side in enumerate(self.size):
            assert back[:, axis].min() >= -1e-6, f"frame {back[:, axis].min(axis=1).argmin()}"
            assert back[:, axis].max() <= side - 1 + 1e-6, f"frame {back[:, axis].max(axis=1).argmax()}"

    def assert_zoom_is_constant(self):
        scales = np.hypot(self.matrices[:, 0, 0], self.matrices[:, 1, 0])
        assert np.allclose(scales, 1 / (1 - 2 * self.crop), rtol=1e-9, atol=0)


def vid_stab(name):
    """What the judge says of vid.stab's two passes at their defaults."""
    def ask():
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "vidstab.mkv")
            run_vid_stab(str(clip(name)), os.path.join(folder, "transforms.trf"), output)
            return judge().measure(output, frames(name), 0.05)[1]
    return answer(f"vid.stab {name}", [clip(name)], [judge(), frames, run_vid_stab], ask)


def run_vid_stab(source, transforms, output):
    for filters, out in ((f"vidstabdetect=result={transforms}", ["-f", "null", "-"]),
                         (f"vidstabtransform=input={transforms}", ["-c:v", "ffv1", output])):
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", source, "-an", "-vf", filters, *out],
                       check=True, timeout=LIMIT)
