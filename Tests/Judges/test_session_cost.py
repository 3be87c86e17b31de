"""What a capture session costs beside the bare engine: counted instructions and allocations for each frame."""

import os
import pathlib
import re
import subprocess

import pytest

from conftest import LIMIT, SPROCKET

PROGRAM = pathlib.Path(SPROCKET).parent / "SprocketSessionCost"


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


def allocated(*arguments):
    result = subprocess.run(
        ["valgrind", "--tool=memcheck", "--undef-value-errors=no", "--leak-check=no", PROGRAM, *arguments],
        capture_output=True, text=True, timeout=LIMIT, check=True)
    return int(result.stdout), int(re.search(r"total heap usage: ([\d,]+) allocs", result.stderr)[1].replace(",", ""))


def for_each_frame(measure, kind):
    """The cost of further frames: what begins and ends a run does not count."""
    (few, before), (many, after) = measure(kind, "100"), measure(kind, "500")
    return (after - before) / (many - few)


@pytest.mark.parametrize("pixels", ["mjpeg", "nv12"])
def test_instructions(tmp_path, pixels):
    def measure(kind, count):
        return counted(tmp_path, "frames", kind, pixels, count)
    engine, session = for_each_frame(measure, "engine"), for_each_frame(measure, "session")
    print(f"{pixels}: {engine:.0f} instructions for each frame, {session:.0f} in a session: {session / engine:.4f}")
    assert session <= 1.02 * engine


def test_allocations():
    def measure(kind, count):
        return allocated("frames", kind, "mjpeg", count)
    engine, session = for_each_frame(measure, "engine"), for_each_frame(measure, "session")
    print(f"{engine:.3f} allocations for each frame, {session:.3f} in a session")
    assert session <= engine + 0.02
