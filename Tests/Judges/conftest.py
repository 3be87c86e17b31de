"""What the judges share beside the program: other programs' view of a clip."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from program import DATA, LIMIT, ROOT, SPROCKET, clip, read_lines, sprocket  # For the judges.

# Python's package, and the program that it starts.
sys.path.insert(0, str(ROOT / "Python"))
os.environ["SPROCKET"] = SPROCKET

# Which tests run.
sys.path.append(str(ROOT / "Tests"))
pytest_plugins = ["selection"]


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: runs live, and says little on a machine with other work")


def pytest_collection_modifyitems(items):
    """Tests of one clip follow each other in modules that say `TOGETHER`, the parameter that names it."""
    places = {}

    def place(item):
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        together = parameters.get(getattr(item.module, "TOGETHER", None), item.nodeid)
        return places.setdefault((item.module, together), len(places))

    modules = {item.module: number for number, item in reversed(list(enumerate(items)))}
    items.sort(key=lambda item: (modules[item.module], place(item)))


@pytest.fixture(autouse=True)
def kills_what_still_runs(monkeypatch):
    """Kills the program of a `with` whose test has failed; its end would be waited for without a bound."""
    ends = subprocess.Popen.__exit__

    def kills(process, kind, *error):
        if kind:
            process.kill()
        return ends(process, kind, *error)
    monkeypatch.setattr(subprocess.Popen, "__exit__", kills)


def gray_frames(arguments, width, height):
    """The luma that stages are handed, by `--pipe gray`: frames x height x width."""
    data = sprocket(*arguments, "--pipe", "gray", "--quiet").stdout
    return np.frombuffer(data, np.uint8).reshape(-1, height, width)


def probe(path):
    """Width, height, pixel format and range of a clip's largest video, as ffprobe sees it."""
    text = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-of", "json", "-show_entries",
         "stream=width,height,pix_fmt,color_range,codec_name", str(path)],
        capture_output=True, check=True, timeout=LIMIT).stdout
    return max(json.loads(text)["streams"], key=lambda stream: stream["width"] * stream["height"])


def clips():
    """Every clip and photograph of the data that is meant to be read."""
    if not DATA.is_dir():
        return []
    kinds = {".avi", ".mp4", ".mkv", ".mjpeg", ".jpg", ".png"}
    found = [path for path in sorted(DATA.rglob("*")) if path.suffix.lower() in kinds]
    return [path for path in found if "corrupt_dev" not in path.parts]
