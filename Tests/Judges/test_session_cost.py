"""What a capture session costs beside the bare engine: counted instructions and allocations of a frame."""

import os
import pathlib
import re
import statistics
import subprocess

import pytest

from conftest import LIMIT, SPROCKET
from program import preloaded, read_allocations

PROGRAM = pathlib.Path(SPROCKET).parent / "SprocketSessionCost"
KINDS = ("engine", "session")


def counted(tmp_path, *arguments):
    """Frames seen, instructions and allocations of a run."""
    if not PROGRAM.exists():
        pytest.skip("SprocketSessionCost is not built; run: make traps")
    stripped = tmp_path / "stripped"
    if not stripped.exists():
        subprocess.run(["strip", "-o", stripped, PROGRAM], check=True)
    result = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={tmp_path}/callgrind", stripped, *arguments],
        capture_output=True, text=True, timeout=LIMIT, check=True)
    return int(result.stdout), int(re.search(r"Collected : (\d+)", result.stderr)[1])


def for_each_frame(measure, kind, pixels, counts):
    """The cost of further frames: what begins and ends a run does not count."""
    (few, before), (many, after) = (measure(kind, pixels, count) for count in counts)
    return (after - before) / (many - few)


def test_instructions_of_a_camera_of_jpegs(tmp_path):
    def measure(*options):
        return counted(tmp_path, "frames", *options)
    engine, session = (for_each_frame(measure, kind, "mjpeg", ("40", "140")) for kind in KINDS)
    print(f"{engine:.0f} instructions for each frame, {session:.0f} in a session: {session / engine:.4f}")
    assert session <= 1.02 * engine


def test_instructions_where_nothing_is_decoded(tmp_path):
    """Copying a frame takes 57,000 instructions, and a session about 1,000 more (1.7 %). Many frames are
    counted, and the median of three runs is taken, because the cost of a run's start and end depends on how
    busy the machine was. A slow machine takes fewer frames for each look of the session's watch, which
    comes five times a second: hence room for 2,000."""
    def measure(*options):
        return counted(tmp_path, "frames", *options)
    engine, session = (
        statistics.median(for_each_frame(measure, kind, "nv12", ("100", "6100")) for _ in range(3))
        for kind in KINDS)
    print(f"{engine:.0f} instructions for each frame, {session:.0f} in a session: {session / engine:.4f}")
    assert session <= engine + 2_000


def test_allocations(tmp_path):
    """Starting and ending allocate some tens more or less each time, so many frames are counted."""
    counter, counts = preloaded("allocations.c", tmp_path), tmp_path / "counts"

    def measure(*options):
        result = subprocess.run(
            [PROGRAM, "frames", *options], env={**os.environ, "LD_PRELOAD": counter, "ALLOCATIONS": counts},
            capture_output=True, text=True, timeout=LIMIT, check=True)
        return int(result.stdout), read_allocations(counts).total()
    engine, session = (for_each_frame(measure, kind, "nv12", ("500", "20500")) for kind in KINDS)
    print(f"{engine:.4f} allocations for each frame, {session:.4f} in a session")
    assert session <= engine + 0.02
