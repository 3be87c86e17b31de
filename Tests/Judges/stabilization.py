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
def judged_input(name):
    """A clip's frames as the judge sees them, and what it says of them; of several videos, of the largest, as
    ffmpeg chooses."""
    source = str(clip(name))
    streams = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries",
                              "stream=index", "-of", "csv=p=0", source], check=True, timeout=LIMIT,
                             stdout=subprocess.PIPE).stdout.split()
    if len(streams) == 1:
        return judge().measure(source, None, 0)
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "input.mkv")
        subprocess.run(["ffmpeg", "-v", "error", "-i", source, "-an", "-fps_mode", "passthrough",
                        "-c:v", "ffv1", copy], check=True, timeout=LIMIT)
        return judge().measure(copy, None, 0)


def judged(name, output, crop):
    return judge().measure(str(output), judged_input(name)[0], crop)[1]


def bare_crop(name, crop, folder):
    """What the judge says of the clip through the crop alone, by OpenCV: what it sees of jitter where less is
    to be seen of the picture."""
    capture, output, writer = cv2.VideoCapture(str(clip(name))), folder / "bare.avi", None
    while True:
        found, frame = capture.read()
        if not found:
            break
        height, width = frame.shape[:2]
        matrix = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), 0, 1 / (1 - 2 * crop))
        if writer is None:
            writer = cv2.VideoWriter(str(output), cv2.VideoWriter_fourcc(*"FFV1"), 30, (width, height))
        writer.write(cv2.warpAffine(frame, matrix, (width, height), flags=cv2.INTER_LANCZOS4,
                                    borderMode=cv2.BORDER_REPLICATE))
    writer.release()
    return judged(name, output, crop)


class Stabilized:
    """A clip, or the scene, stabilized without loss into a file, and the reports."""

    def __init__(self, source, folder, mode, crop, *others):
        self.crop = crop
        self.output = folder / f"{mode}-{crop:.4f}.mkv"
        reports, summary = folder / "reports.jsonl", folder / "summary.json"
        command = [SPROCKET, "run", "--source", source, "--stage", f"stabilize:mode={mode},crop={crop}",
                   "--reports", reports, "--summary", summary, "--pipe", "y4m", "--quiet", "--overwrite"]
        run = subprocess.Popen([*map(str, command), *map(str, others)], stdout=subprocess.PIPE)
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", "-", "-c:v", "ffv1", str(self.output)],
                       stdin=run.stdout, check=True, timeout=LIMIT)
        run.stdout.close()
        assert run.wait(LIMIT) == 0
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


def vid_stab(name, folder):
    """vid.stab's two passes at their defaults, without loss."""
    transforms, output = folder / "transforms.trf", folder / "vidstab.mkv"
    for filters, out in ((f"vidstabdetect=result={transforms}", ["-f", "null", "-"]),
                         (f"vidstabtransform=input={transforms}", ["-c:v", "ffv1", str(output)])):
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", str(clip(name)), "-an", "-vf", filters, *out],
                       check=True, timeout=LIMIT)
    return output
