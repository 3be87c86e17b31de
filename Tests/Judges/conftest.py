"""What the judges share: where the program and the clips are, and how to run the one on the other."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPROCKET = os.environ.get("SPROCKET", str(ROOT / ".build/release/sprocket"))
DATA = pathlib.Path(os.environ.get("SPROCKET_TEST_DATA", ROOT / "../shared/data")).resolve()
LIMIT = 300  # Seconds that any one command may take.


def sprocket(*arguments, check=True, **options):
    """Runs the program; its standard output and error as bytes and text."""
    command = [SPROCKET, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, timeout=LIMIT, **options)
    result.errors = result.stderr.decode()
    if check:
        assert result.returncode == 0, f"{command}: exit {result.returncode}: {result.errors}"
    return result


def read_lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


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


def clip(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there: set SPROCKET_TEST_DATA")
    return path
