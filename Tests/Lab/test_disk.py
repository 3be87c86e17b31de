"""What a file system has when the power fails in the middle of a recording."""
import json
import shutil
import signal
import subprocess
import sys
import time

import pytest

from conftest import LIMIT, SPROCKET, wait_until

SCENE = ["--source", "scene", "--source-set", "pace=real", "--source-set", "cached=8", "--size", "160x120",
         "--rate", "10", "--quiet"]
SECONDS = 9


def mounted(image, folder):
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-o", "loop", image, folder], check=True, timeout=LIMIT)


@pytest.mark.costly
@pytest.mark.parametrize("options, most", [(["--sync", "1s"], 1.0), ([], None)], ids=["synced", "default"])
def test_what_was_synced_is_there_after_a_power_cut(tmp_path, options, most):
    """The disk is a file: a copy of it, at one moment, has what the kernel had handed to the disk by then."""
    image, snapshot, before, after = (tmp_path / name for name in ("image", "snapshot", "before", "after"))
    with image.open("wb") as file:
        file.truncate(32 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True, timeout=LIMIT)
    mounted(image, before)
    process = subprocess.Popen(
        [SPROCKET, "run", *SCENE, "--movie", before / "a.mov", "--reports", tmp_path / "r.jsonl", *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        lines = tmp_path / "r.partial.jsonl"
        wait_until(lambda: lines.exists() and lines.stat().st_size)
        time.sleep(SECONDS)
        process.send_signal(signal.SIGSTOP)
        shutil.copyfile(image, snapshot)
    finally:
        process.kill()
        process.wait()
        subprocess.run(["umount", before], check=True, timeout=LIMIT)
    newest = json.loads(lines.read_text().splitlines()[-2])["captured_ns"]
    mounted(snapshot, after)
    try:
        left = after / "a.partial.mov"
        found = json.loads(subprocess.run(
            ["ffprobe", "-v", "error", "-show_entries", "format_tags:packet=pts_time,duration_time", "-of",
             "json", left], capture_output=True, timeout=LIMIT).stdout or "{}") if left.exists() else {}
    finally:
        subprocess.run(["umount", after], check=True, timeout=LIMIT)
    packets = found.get("packets", [])
    if packets:
        tags = found["format"]["tags"]
        start = int(next(value for key, value in tags.items() if key.endswith("captured_ns")))
        end = start + int((float(packets[-1]["pts_time"]) + float(packets[-1]["duration_time"])) * 1e9)
        lost = (newest - end) / 1e9
    else:
        lost = SECONDS
    print(f"{' '.join(options) or 'default'}: {lost:.2f} s are lost", file=sys.stderr)
    assert most is None or lost <= most
