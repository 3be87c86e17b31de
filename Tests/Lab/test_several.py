"""Several cameras in one run: the ledger of each is that of its own driver."""
import json
import os
import signal
import subprocess

import pytest

from conftest import (CAMERA, LIMIT, LOOPBACK, PLANES, WITNESS, assert_ledger_is_the_drivers, control,
                      read_streams, wait_until)
from program import SPROCKET, fates, one_sentence, read_lines, sprocket
from test_replug import feed

CAMERAS = {"left": CAMERA, "right": PLANES, "loop": LOOPBACK}


class Part:
    """What a run of several sources left of one of them."""

    def __init__(self, folder, label, device, summary):
        self.reports = read_lines(folder / f"{label}.jsonl")
        self.summary = summary
        self.device = device
        self.folder = folder

    def buffers(self):
        return read_streams(self.folder / f"dequeued.{os.path.basename(self.device)}")[-1]


@pytest.mark.costly
def test_five_sources_have_exact_ledgers(camera, tmp_path):
    """Two cameras of vivid, which lose and damage frames, a loopback, and two scenes."""
    feeder = feed(LOOPBACK, 120)
    wait_until(lambda: "[0]" in subprocess.run(
        ["v4l2-ctl", "-d", LOOPBACK, "--list-formats"], capture_output=True, text=True).stdout)
    control(CAMERA, percentage_of_dropped_buffers=10)
    sources = [f"{label}=camera:{device}" for label, device in CAMERAS.items()]
    command = [SPROCKET, "run", *(word for text in [*sources, "scene", "other=scene"]
                                  for word in ("--source", text)),
               "--size", "left=320x180", "--size", "right=320x180", "--size", "scene=160x120",
               "--size", "other=160x120", "--format", "left=GREY", "--format", "right=GREY",
               "--rate", "scene=5", "--rate", "other=5", "--source-set", "left.startup=0",
               "--dump", tmp_path / "all.mcap", "--reports", tmp_path / "{source}.jsonl", "--summary",
               tmp_path / "s.json", "--pair", "100ms", "--quiet"]
    process = subprocess.Popen(
        list(map(str, command)), stderr=subprocess.PIPE, text=True,
        env={**os.environ, "LD_PRELOAD": str(WITNESS), "DEQUEUED": str(tmp_path / "dequeued"),
             "DEQUEUED_EACH": "1"})
    try:
        def has_frames(device):
            return len(read_streams(tmp_path / f"dequeued.{os.path.basename(device)}")[-1]) >= 25
        wait_until(lambda: process.poll() is not None or all(map(has_frames, CAMERAS.values())))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
        feeder.kill()
        feeder.wait()
    assert process.returncode == 0 and not errors, errors
    document = json.loads((tmp_path / "s.json").read_text())
    assert sorted(document["sources"]) == ["left", "loop", "other", "right", "scene"]
    for label, summary in document["sources"].items():
        for sink in summary["sinks"].values():
            assert sum(fates(sink).values()) == summary["produced"], label
        if label in CAMERAS:
            part = Part(tmp_path, label, CAMERAS[label], summary)
            assert len(assert_ledger_is_the_drivers(part)) >= 20, label
    assert document["sources"]["left"]["sinks"]["reports"]["missing"] > 0
    # Each was paired with the first.
    assert [pairs["sources"] for pairs in document["pairs"]] == [
        ["left", other] for other in ("right", "loop", "scene", "other")]
    whole = json.loads(sprocket("inspect", tmp_path / "all.mcap", "--json").stdout)[0]
    assert [track["source"] for track in whole["tracks"]] == ["left", "right", "loop", "scene", "other"]


def test_one_camera_twice_is_refused(camera, tmp_path):
    result = sprocket("run", "--source", f"a=camera:{CAMERA}", "--source", f"b=camera:{CAMERA}", "--reports",
                      tmp_path / "{source}.jsonl", check=False)
    assert result.returncode == 2 and "a and b are the same camera" in one_sentence(result.errors)
    assert not list(tmp_path.iterdir())
