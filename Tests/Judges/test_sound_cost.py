"""What recording sound costs: instructions per second of sound, counted by callgrind; allocations per block,
by library; and how late a level is told.

The sound is stereo of 16 bits at 48 kHz. What the scene takes to make it is left out.
"""
import functools
import os
import re
import shutil
import subprocess

import pytest

from program import LIMIT, SPROCKET, preloaded, read_allocations, read_summary
from test_allocations import FOREIGN

SCENE = ["run", "--source", "scene", "--size", "64x48", "--rate", "5", "--source-set", "pace=fast",
         "--source-set", "cached=8", "--quiet", "--overwrite"]
# Functions of the program in callgrind's list: what makes the sound, the thread that reads it.
MADE = re.compile(r"^ *([0-9,]+) .*SprocketScene0B10MicrophoneC4read")
READ = re.compile(r"^ *([0-9,]+) .*SprocketEngine05AudioB0C3run")
ALL = re.compile(r"^ *([0-9,]+) .*PROGRAM TOTALS")


@pytest.fixture(scope="module")
def stripped(tmp_path_factory):
    """valgrind does not read the program's debugging information."""
    path = tmp_path_factory.mktemp("stripped") / "sprocket"
    subprocess.run(["strip", "--strip-debug", "-o", path, SPROCKET], check=True, timeout=LIMIT)
    return path


def counted(program, folder, seconds, options):
    """Instructions of a run: of all but the thread that reads sound, and of that, without what makes it.
    Seconds of sound that were read, and recorded: behind the last picture, sound goes on for a while."""
    out, summary = folder / "callgrind", folder / "summary.json"
    subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, *SCENE, "--duration",
         f"{seconds}s", "--movie", folder / "m.mov", "--summary", summary, *options], capture_output=True,
        timeout=LIMIT, check=True)
    text = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", out],
                          capture_output=True, text=True, timeout=LIMIT, check=True).stdout
    def of(pattern):
        found = [pattern.match(line) for line in text.splitlines()]
        return max((int(match[1].replace(",", "")) for match in found if match), default=0)
    sound = read_summary(summary).get("sound")
    if not sound:
        return of(ALL), 0, 0, 0
    assert of(READ) > of(MADE) > 0
    return (of(ALL) - of(READ), of(READ) - of(MADE), sound[0]["produced"] / 48000,
            sound[0]["sinks"]["movie"]["delivered"] / 48000)


@functools.cache
def silent(program, folder, seconds):
    return counted(program, folder, seconds, ["--microphone", "none"])


def per_second(program, folder, options, first, last):
    """Millions of instructions per second of sound, between two lengths of a run."""
    none = silent(program, folder, last)[0] - silent(program, folder, first)[0]
    early, late = (counted(program, folder, seconds, options) for seconds in (first, last))
    others, read, produced, delivered = (after - before for before, after in zip(early, late))
    return (read / produced + (others - none) / delivered) / 1e6


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.parametrize("microphone, most", [("scene", 3), ("scene:drift=200", 12)],
                         ids=["copied", "corrected"])
def test_recording_takes_few_instructions(microphone, most, stripped):
    # A clock that is off by 200 ppm is corrected from 15 s on; one that is right never.
    first = 16 if "drift" in microphone else 2
    found = per_second(stripped, stripped.parent, ["--microphone", microphone], first, first + 3)
    print(f"{microphone}: {found:.2f} million instructions per second")
    assert 0.5 < found <= most


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    return preloaded("allocations.c", tmp_path_factory.mktemp("counter"))


def allocations(counter, folder, seconds, options):
    path = folder / "counts"
    subprocess.run([SPROCKET, *SCENE, "--duration", f"{seconds}s", *options, "--summary",
                    folder / "summary.json"],
                   env={**os.environ, "LD_PRELOAD": str(counter), "ALLOCATIONS": str(path)}, check=True,
                   capture_output=True, timeout=LIMIT)
    return read_allocations(path), read_summary(folder / "summary.json")["sound"][0]["produced"] / 480


@pytest.mark.parametrize("ending", ["mov", "mkv"])
@pytest.mark.parametrize("microphone", ["scene", "scene:drift=300,jitter=1,gap=0.2",
                                        "scene:number=s24,channels=3"])
def test_no_block_allocates(microphone, ending, counter, tmp_path):
    options = ["--microphone", microphone, "--movie", tmp_path / f"m.{ending}", "--sound", tmp_path / "s.wav",
               "--levels", tmp_path / "l.jsonl", "--audio-stage", "gain:db=-3"]
    (few, before), (many, after) = (allocations(counter, tmp_path, seconds, options) for seconds in (20, 60))
    found = {name: (many[name] - few.get(name, 0)) / (after - before) for name in many}
    print({name: round(count, 4) for name, count in found.items() if count})
    # Once for each picture, of which there are 5 a second, would be 0.05.
    assert all(abs(count) < 0.02 for name, count in found.items() if not name.startswith(FOREIGN)), found


@pytest.mark.alone
def test_a_level_is_told_within_two_periods(tmp_path):
    """A reader of a pipe notes when each line came; most of them come in time, whatever the machine does."""
    script = tmp_path / "reader.py"
    script.write_text("import sys, time, json\n"
                      "for line in sys.stdin:\n"
                      "    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)\n"
                      "    line = json.loads(line)\n"
                      "    print(now - line['time_ns'] - line['count'] * 10**9 // 48000, flush=True)\n")
    command = (f"{SPROCKET} run --source none --microphone scene --duration 4s --levels - --quiet | "
               f"python3 {script}")
    out = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=LIMIT,
                         check=True).stdout
    late = sorted(int(line) for line in out.split())
    assert len(late) > 300
    # From a block's last sample; a period is 10 ms, and the block's first sample is one more before.
    assert late[len(late) // 2] <= 10e6, late[len(late) // 2]
