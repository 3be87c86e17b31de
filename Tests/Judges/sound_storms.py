#!/usr/bin/env python3
"""Runs the engine with pictures and sound in storms, and holds what it says of samples against the files.

    sound_storms.py SEEDS [--jobs 4] [--keep]    SEEDS: 17, or 1-200

A storm (Tests/SoundStorm) follows from its seed alone: microphones with gaps, overruns, unplugs, late starts
and clocks that are off, sinks that are slow, fail or leave, full disks, recordings on demand, changes and
ends at any time. In a part of them the disk is slow, or one of its calls fails. Every sample that a
microphone made has to be accounted for once, for each sink, and every complete file has to hold what it is
said to hold: samples are numbered, and ffmpeg decodes them.

SPROCKET names a program beside which SprocketSoundStorm is; SPROCKET_THREAD and SPROCKET_ADDRESS name ones
with sanitizers, which take a tenth of the seeds each.
"""
import argparse
import concurrent.futures
import errno
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

from program import LIMIT, ROOT, SPROCKET, preloaded

PROGRAM = "SprocketSoundStorm"
BITS = {"s24": 24, "s32": 32}
FILES = ("movie", "sound")


def build(seed):
    """The program that a seed is run with, and whether a sanitizer is in it."""
    kind = {0: "SPROCKET_THREAD", 5: "SPROCKET_ADDRESS"}.get(seed % 10)
    path = os.environ.get(kind) if kind else None
    return str(pathlib.Path(path or SPROCKET).resolve().with_name(PROGRAM)), bool(path)


def environment(seed, folder, libraries, is_sanitized):
    """The variables of a run, and whether calls of the disk fail in it."""
    def options(suppressions):
        return f"suppressions={ROOT}/Tests/{suppressions}:print_suppressions=0:log_path={folder}/sanitizer"
    found = {**os.environ, "TSAN_OPTIONS": options("races.supp"), "LSAN_OPTIONS": options("leaks.supp"),
             "ASAN_OPTIONS": f"log_path={folder}/sanitizer"}
    draw = random.Random(seed)
    kind = draw.choice(["usual", "usual", "slow", "failing"])
    if is_sanitized or kind == "usual":
        return found, False
    if kind == "slow":
        return {**found, "LD_PRELOAD": libraries["slow_disk.c"], "SLOW_DISK_EVERY": str(draw.randrange(1, 9)),
                "SLOW_DISK_SYNC": str(draw.randrange(200)), "SLOW_DISK_WRITE": str(draw.randrange(60))}, False
    call = draw.choice(["open", "write", "write", "write", "sync", "sync range", "rename", "truncate"])
    how = draw.choice(["short", errno.EIO, errno.ENOSPC, errno.EDQUOT]) if call == "write" else errno.EIO
    return {**found, "LD_PRELOAD": libraries["disk_errors.c"], "DISK_ERRORS_FOLDER": str(folder / "files"),
            "DISK_ERRORS_CALL": call, "DISK_ERRORS_AT": str(draw.randrange(1, 40)),
            "DISK_ERRORS_HOW": str(how),
            **({"DISK_ERRORS_LASTS": "1"} if draw.random() < 0.5 else {})}, True


def decoded(path, track, microphone):
    """The first channel of a track's samples, as whole numbers; `None` where there is no such track."""
    probe = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", f"a:{track}", "-show_entries", "stream=channels",
         "-of", "csv=p=0", path], capture_output=True, timeout=LIMIT)
    count = int(probe.stdout.split()[0].strip(b",")) if probe.stdout.split() else 0
    if count == 0:
        return None
    result = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", path, "-map", f"0:a:{track}", "-c:a", "pcm_s32le", "-f", "s32le",
         "-"], capture_output=True, timeout=LIMIT)
    numbers = np.frombuffer(result.stdout[:len(result.stdout) // 4 * 4], "<i4")
    first = numbers[:len(numbers) // count * count].reshape(-1, count)[:, 0]
    return first >> (32 - BITS[microphone["number"]])


def file_faults(folder, file, microphone, track, heard):
    """What a complete file holds against what is told of it. Adds the numbers of its samples to `heard`."""
    path, name = folder / file["path"], file["path"]
    rate = file["samples"] - file["corrected"] - file["delivered"] - file["silence"]
    if microphone["is_copied"] and (rate != 0 or file["corrected"] != 0):
        yield f"{name}: {file} does not add up"
    if not path.exists():
        yield f"{name} is not there"
        return
    numbers = decoded(path, track if file["sink"] == "movie" else 0, microphone)
    if numbers is None and file["samples"] == 0:
        return  # Containers differ in what they say of a track without samples.
    if numbers is None or len(numbers) != file["samples"]:
        yield f"{name}: ffmpeg finds {None if numbers is None else len(numbers)} of {file['samples']} samples"
        return
    if microphone["is_copied"]:
        sound = numbers[numbers != 0]
        # A number of 0 comes again where numbers begin anew.
        if not 0 <= file["delivered"] - len(sound) <= microphone["produced"] >> BITS[microphone["number"]]:
            yield f"{name}: {len(sound)} samples of the device, {file['delivered']} are told of"
        heard.append(sound)


def sink_faults(folder, microphone, track, sink):
    counts, files = microphone["sinks"][sink], [file for file in microphone["files"] if file["sink"] == sink]
    if sum(counts.values()) != microphone["produced"]:
        yield f"{sink} accounts for {sum(counts.values())} of {microphone['produced']} samples: {counts}"
    if counts["missing"] > microphone["missing"]:
        yield f"{sink} misses {counts['missing']} of {microphone['missing']} samples"
    if sink not in FILES:
        return
    heard = []
    for file in files:
        yield from file_faults(folder, file, microphone, track, heard)
    delivered = sum(file["delivered"] for file in files)
    kind = f"{sink}{track}" if sink == "sound" else sink
    partial = [path for path in folder.glob("*.partial.*") if path.name.startswith((kind, "take"))]
    if not partial and delivered != counts["delivered"]:
        yield f"{sink}: {counts['delivered']} samples are delivered, complete files have {delivered}"
    if partial and microphone["is_copied"]:
        left = [decoded(path, track if sink == "movie" else 0, microphone) for path in partial]
        heard += [numbers[numbers != 0] for numbers in left if numbers is not None]
        if sum(map(len, heard)) < counts["delivered"]:
            yield (f"{sink}: {counts['delivered']} samples are delivered, and {sum(map(len, heard))} are in "
                   f"the files, some of which failed")
    if microphone["produced"] >= 1 << (BITS[microphone["number"]] - 1):
        return  # Numbers have begun anew.
    numbers = np.concatenate(heard) if heard else np.array([])
    if len(np.unique(numbers)) != len(numbers):
        yield f"{sink}: {len(numbers) - len(np.unique(numbers))} samples are there twice"
    if any((np.diff(part) <= 0).any() for part in heard):
        yield f"{sink}: samples are not in order"


def level_faults(folder, microphone, track):
    path = folder / f"levels{track}.jsonl"
    counts = microphone["sinks"].get("levels")
    if not counts or counts["failed"] or not path.exists():
        return
    told = sum(json.loads(line)["count"] for line in path.read_text().splitlines())
    if told != counts["delivered"]:
        yield f"levels: {told} samples are told of, {counts['delivered']} delivered"


def faults(folder, status, output, is_failing):
    """What is bad about a run, as sentences."""
    for report in folder.glob("sanitizer*"):
        yield f"a sanitizer reports: {report.read_text()[:3000]}"
    lines = output.splitlines()
    if status == 1 and is_failing and len(lines) == 1 and "did not" not in output:
        return  # The disk failed before the run began.
    if status != 0:
        yield f"exit {status}: {output[-2000:]}"
        return
    microphones = [json.loads(line) for line in lines]
    files = folder / "files"
    for track, microphone in enumerate(microphones):
        if not microphone["is_over"]:
            yield "the sound is not over"
        for sink in microphone["sinks"]:
            yield from sink_faults(files, microphone, track, sink)
        yield from level_faults(files, microphone, track)
        lost = {sink: counts["failed"] for sink, counts in microphone["sinks"].items()
                if sink in FILES and counts["failed"]}
        if lost and not is_failing and not microphone["is_limited"]:
            yield f"samples failed though the disk did not: {lost}"


def judge(seed, libraries, is_kept=False):
    """Runs a storm; what is bad about it, with how to repeat it, or `None`."""
    program, is_sanitized = build(seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"sound-storm-{seed}-"))
    (folder / "files").mkdir()
    variables, is_failing = environment(seed, folder, libraries, is_sanitized)
    try:
        result = subprocess.run([program, str(seed)], cwd=folder / "files", env=variables,
                                capture_output=True, timeout=LIMIT)
        output = (result.stdout + result.stderr).decode()
        found = list(faults(folder, result.returncode, output, is_failing))
    except subprocess.TimeoutExpired:
        found = [f"it did not end within {LIMIT} s"]
    except (ValueError, KeyError) as error:
        found = [f"what it left cannot be read: {error!r}"]
    if is_kept:
        print(folder, json.dumps(variables) if is_failing else "", output, sep="\n")
    else:
        shutil.rmtree(folder)
    if not found:
        return None
    preload = {key: value for key, value in variables.items() if key.startswith(("LD_P", "DISK", "SLOW"))}
    return f"seed {seed}: {'; '.join(found)}\n  {os.path.relpath(__file__)} {seed} --keep; {preload}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", help="one, or first-last")
    parser.add_argument("--jobs", type=int, default=4, help="storms at a time")
    parser.add_argument("--keep", action="store_true", help="keep the files of each")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    begun, bad = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as name:
        libraries = {source: str(preloaded(source, pathlib.Path(name)))
                     for source in ("slow_disk.c", "disk_errors.c")}
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for text in pool.map(lambda seed: judge(seed, libraries, options.keep), seeds):
                if text:
                    bad += 1
                    print(text, flush=True)
    print(f"{len(seeds)} storms with sound, {bad} bad, {time.monotonic() - begun:.0f} s")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
