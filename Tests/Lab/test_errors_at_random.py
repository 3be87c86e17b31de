"""All that vivid can do wrong, at random and together: the ledger stays exact, and the run goes on."""
import os
import random
import time

import pytest

from conftest import PLANES, Run, assert_epochs_are_the_drivers, control, wait_until
from program import sprocket

SECONDS = float(os.environ.get("SPROCKET_ERRORS_FOR", 10))  # Ten minutes in `make long`.
SEED = int(os.environ.get("SPROCKET_SEED", 1))

# Faults that are over at once, and those that last.
AT_ONCE = ["inject_v4l2_buf_flag_error", "inject_vidioc_qbuf_error", "inject_fatal_streaming_error",
           "inject_vidioc_reqbufs_error", "inject_vidioc_streamon_error", "disconnect"]
LASTING = {"percentage_of_dropped_buffers": [0, 5, 30, 60]}


def at_random(device, run, choices):
    end = time.monotonic() + SECONDS
    done = []
    while time.monotonic() < end:
        assert run.process.poll() is None, run.process.stderr.read()
        if choices.random() < 0.3:
            name, values = choices.choice(list(LASTING.items()))
            control(device, **{name: choices.choice(values)})
        else:
            name = choices.choice(AT_ONCE)
            control(device, **{name: 1})
        done.append(name)
        time.sleep(choices.uniform(0, 1.5))
    return done


def run_of_errors(device, folder, seed, *arguments):
    with Run(folder, device, "--size", "320x180", *arguments, "--checksum", "--dump", folder / "dump.mcap",
             "--on-unplug", "wait", "--source-set", "timeout=9s") as run:
        run.wait_for_frames(10)
        done = at_random(device, run, random.Random(seed))
        control(device, percentage_of_dropped_buffers=0)
        streams = len(run.streams())
        wait_until(lambda: len(run.streams()) > streams or len(run.buffers()) > 20
                   or run.process.poll() is not None)
        run.stop()
    assert_epochs_are_the_drivers(run)
    counts = run.summary["source"]["counts"]
    print(f"seed {seed}: {len(done)} faults, {run.summary['produced']} frames, {run.summary['epochs']} "
          f"epochs, {counts}")
    assert done.count("disconnect") == 0 or counts["unplugs"] > 0
    assert run.summary["errors"] == []
    # A fault that waits for the next start is none of the next test's.
    for _ in range(3):
        sprocket("run", "--source", f"camera:{device}", "--size", "320x180", "--frames", 2, "--quiet",
                 check=False)
    control(device, percentage_of_dropped_buffers=0)


@pytest.mark.costly
def test_errors_at_random(camera, tmp_path):
    run_of_errors(camera, tmp_path, SEED, "--format", "GREY", "--rate", "60")


@pytest.mark.costly
def test_errors_at_random_where_planes_lie_apart(camera, tmp_path):
    control(PLANES, osd_text_mode=2, percentage_of_dropped_buffers=0)
    run_of_errors(PLANES, tmp_path, SEED + 1, "--source-set", "fourcc=NM12")
