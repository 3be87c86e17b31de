"""The program under test and the clips: where they are, and how to run the one on the other.

The standard library alone, and pytest: the lab, where Python starts slowly, has this too.
"""
import collections
import contextlib
import json
import os
import pathlib
import select
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPROCKET = os.environ.get("SPROCKET", str(ROOT / ".build/release/sprocket"))
DATA = pathlib.Path(os.environ.get("SPROCKET_TEST_DATA", ROOT / "../shared/data")).resolve()
# Seconds that a command, and whatever a test waits for, may take. It is the one limit of judges and lab, many
# times what a slow machine needs: what it ends hangs.
LIMIT = 600


def sprocket(*arguments, check=True, **options):
    """Runs the program; its standard output and error as bytes and text."""
    command = [SPROCKET, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, timeout=LIMIT, **options)
    result.errors = result.stderr.decode()
    if check:
        assert result.returncode == 0, f"{command}: exit {result.returncode}: {result.errors}"
    return result


@contextlib.contextmanager
def running(command, descriptors=()):
    """The program while it runs, with these descriptors; what still does at the end is killed."""
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, pass_fds=descriptors)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def wait_for(condition, process=None, pause=0.02):
    """What `condition` gives, once that is true. Fails where `process` has ended before."""
    end = time.monotonic() + LIMIT
    while True:
        # In this order: what a program does last counts.
        has_ended = process is not None and process.poll() is not None
        found = condition()
        if found:
            return found
        assert not has_ended, f"the program ended before, with {process.returncode}"
        assert time.monotonic() < end, f"it did not come to pass within {LIMIT} s"
        time.sleep(pause)


def wait_for_bytes(path, process, count=1):
    """Until a file has so many bytes, which `process` writes."""
    wait_for(lambda: path.exists() and path.stat().st_size >= count, process)


def wait_for_lines(path, process, count):
    """Until a file has so many lines, which `process` writes."""
    wait_for(lambda: path.exists() and path.read_bytes().count(b"\n") >= count, process)


def signals(process, name):
    """A set of signals of a process, by its name in /proc: `SigBlk`, `ShdPnd`."""
    with open(f"/proc/{process.pid}/status") as file:
        text = next(line.split()[1] for line in file if line.startswith(name))
    return {number for number in range(1, 65) if int(text, 16) >> (number - 1) & 1}


def send_and_wait(process, number):
    """Sends a signal, and waits until the program has taken it or has ended."""
    process.send_signal(number)
    wait_for(lambda: process.poll() is not None or number not in signals(process, "ShdPnd"))


def wait_until_full(pipe):
    """Until a pipe takes nothing more, by its reading end. How many bytes that are depends on the writes: one
    that does not fit into the rest of a page begins another."""

    number = pipe if isinstance(pipe, int) else pipe.fileno()

    def is_full():
        writer = os.open(f"/proc/self/fd/{number}", os.O_WRONLY | os.O_NONBLOCK)
        try:
            return not select.select([], [writer], [], 0)[1]
        finally:
            os.close(writer)

    wait_for(is_full)


def one_sentence(errors):
    """What the program said, which is one line."""
    lines = errors.strip().splitlines()
    assert len(lines) == 1, errors
    assert lines[0].startswith("sprocket: ")
    return lines[0]


def preloaded(source, folder):
    """A library for LD_PRELOAD, compiled into a folder from a C file beside this one."""
    path = folder / source.replace(".c", ".so")
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", path,
                    ROOT / "Tests/Judges" / source, "-ldl"], check=True, timeout=LIMIT)
    return path


def read_allocations(path):
    """What `allocations.c` counted: {library: allocations}. The file has a line for each caller."""
    counts = collections.Counter()
    for line in path.read_text().splitlines():
        name, count = line.rsplit(" ", 1)
        counts[name] += int(count)
    return counts


def apart(script, *arguments):
    """Runs a shell's script where it may mount over what the machine has."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *user, "--mount", "sh", "-euc", script, "sh", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)


# A script for `apart`: replaces the folder of libraries, $1, by one with links to all of them but those whose
# names begin with one of the words of $4, and runs the program, $3, with the arguments after that. $2 is an
# empty folder to work in.
HIDE = """
libraries=$(readlink -f "$1"); folder=$2; program=$3; names=$4; shift 4
mkdir "$folder/real" "$folder/links"
mount --bind "$libraries" "$folder/real"
cp --recursive --symbolic-link "$folder/real/." "$folder/links"
for name in $names; do rm "$folder/links/$name"*; done
mount --bind "$folder/links" "$libraries"
exec "$program" "$@"
"""


def frame_count(path):
    """Frames of a movie, as ffprobe decodes them."""
    text = subprocess.run(
        ["ffprobe", "-v", "error", "-count_frames", "-select_streams", "v", "-of", "csv=p=0",
         "-show_entries", "stream=nb_read_frames", str(path)],
        capture_output=True, check=True, timeout=LIMIT).stdout
    return int(text.split(b",")[0])


def read_lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def read_summary(path):
    """A run's summary, whose fates add up for every sink, for the frames while it was attached."""
    summary = json.loads(pathlib.Path(path).read_text())
    sinks = [*summary["sinks"].values(), *summary.get("detached", [])]
    for sink in sinks:
        end = sink.get("detached_at", summary["produced"])
        assert sum(fates(sink).values()) == end - sink.get("attached_at", 0), (sink, summary["produced"])
    return summary


def fates(sink):
    """The fates among the keys of a sink in a summary."""
    return {name: sink[name] for name in FATES if name in sink}


FATES = ("delivered", "missing", "corrupt", "startup", "overrun", "late", "rejected", "behind",
         "skipped", "unselected", "failed", "flushed")


def clip(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there: set SPROCKET_TEST_DATA")
    return path


def example(name):
    """A program of Examples, beside Sprocket's. Skips where it is not."""
    program = pathlib.Path(SPROCKET).with_name(name)
    if program.exists():
        return program
    pytest.skip(f"{name} is not built; run: make examples")
