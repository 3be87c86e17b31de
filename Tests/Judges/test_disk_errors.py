"""Disks that fail in any one call: that output fails with one sentence, it alone, and what its ledger calls
delivered can be read."""
import collections
import concurrent.futures
import errno
import json
import os
import pathlib
import subprocess

import pytest

from program import LIMIT, SPROCKET, fates, one_sentence, preloaded, read_summary
from recordings import image_schemas, movie_packets, stream_messages

# With 1 some calls of each kind fail, with more each call does, in every way.
IS_LONG = float(os.environ.get("SPROCKET_STRESS", "1")) > 1
# Runs that are under way at once.
BATCH = 4
FRAMES = 40
# What the run writes: the option, and the name in a folder of its own.
OUTPUTS = {
    "mov": ("--movie", "m.mov"), "mp4": ("--movie", "m.mp4"), "mkv": ("--movie", "m.mkv"),
    "stills": ("--stills", "stills"), "dump": ("--dump", "d.mcap"),
    "reports": ("--reports", "r.jsonl"), "checksums": ("--checksums", "c.txt"),
    "summary": ("--summary", "s.json"),
}
# The sinks of an output, as the summary has them.
SINKS = {"mov": ["movie"], "mp4": ["movie"], "mkv": ["movie"], "stills": ["stills"],
         "dump": ["dump", "dump-fates"], "reports": ["reports"], "checksums": ["checksum"], "summary": []}

# What was called, in order, and the path of each.
Run = collections.namedtuple("Run", "folder status errors calls paths")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return preloaded("disk_errors.c", tmp_path_factory.mktemp("library"))


def outputs(victim):
    """One of each, the victim among the movies."""
    movie = victim if OUTPUTS[victim][0] == "--movie" else "mov"
    return [name for name, (option, _) in OUTPUTS.items() if option != "--movie" or name == movie]


def path(folder, name):
    return folder / name / OUTPUTS[name][1]


def run(library, folder, victim, call="open", at=0, how=errno.EIO, lasts=False):
    """A run into every output, in which a call on the folder of the victim fails: of those of the kind of
    `call` number `at`."""
    command = [SPROCKET, "run", "--source", "scene", "--size", "64x48", "--rate", "20", "--frames",
               str(FRAMES), "--quiet"]
    for name in outputs(victim):
        (folder / name).mkdir(parents=True)
        command += [OUTPUTS[name][0], str(path(folder, name))]
    settings = {"LD_PRELOAD": library, "DISK_ERRORS_FOLDER": folder / victim, "DISK_ERRORS_CALL": call,
                "DISK_ERRORS_AT": at, "DISK_ERRORS_HOW": how, "DISK_ERRORS_LOG": folder / "calls"}
    if lasts:
        settings["DISK_ERRORS_LASTS"] = 1
    result = subprocess.run(command, capture_output=True, timeout=LIMIT,
                            env={**os.environ, **{key: str(value) for key, value in settings.items()}})
    lines = (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []
    calls, paths = zip(*(line.split("\t") for line in lines)) if lines else ((), ())
    return Run(folder, result.returncode, result.stderr.decode(), list(calls), list(paths))


@pytest.fixture(scope="module")
def whole(library, tmp_path_factory):
    """A run of each victim in which nothing fails."""
    folder = tmp_path_factory.mktemp("whole")
    runs = {victim: run(library, folder / victim, victim) for victim in OUTPUTS}
    for victim, done in runs.items():
        assert done.status == 0 and len(done.calls) > 3, (victim, done)
    return runs


def dumped(file):
    """How many pictures a dump has, and how many frames it tells of as delivered."""
    messages = stream_messages(file)
    pictures = sum(schema in image_schemas() for schema, _ in messages)
    told = [json.loads(message.data)["fate"] for schema, message in messages if schema == "sprocket.fate"]
    return pictures, told.count("delivered")


def whole_lines(file):
    return file.read_bytes().split(b"\n")[:-1]


def readable(name, file, reference):
    """How many frames of each of its sinks other programs find in what an output left."""
    if name == "stills":
        found = [still for still in file.iterdir() if "partial" not in still.name] \
            if file.is_dir() else []
        assert all(still.read_bytes() == (reference / still.name).read_bytes() for still in found)
        return [len(found)]
    left = [left for left in file.parent.iterdir() if left.stat().st_size > 0]
    if not left:
        return [0] * len(SINKS[name])
    [left] = left
    if name == "dump":
        return list(dumped(left))
    if name == "reports":
        return [sum(json.loads(line)["fate"] == "delivered" for line in whole_lines(left))]
    if name == "checksums":
        assert whole_lines(reference)[:len(whole_lines(left))] == whole_lines(left)
        return [len(whole_lines(left))]
    try:
        packets = movie_packets(left)
    except subprocess.CalledProcessError:
        return [0]  # Cut off before the first fragment.
    # As a player reads what was cut off.
    assert [packet.data for packet in packets] == \
        [packet.data for packet in movie_packets(reference)][:len(packets)]
    return [len(packets)]


def assert_is_complete(name, file, reference):
    """Under its final name, and all of it."""
    assert file.exists(), file
    if name in ("mov", "mp4", "checksums"):
        assert file.read_bytes() == reference.read_bytes(), file
    elif name != "summary":
        assert readable(name, file, reference) == [FRAMES] * len(SINKS[name]), file


def is_harmless(call, how):
    """Whether a run is complete although that call failed so: what is interrupted is done again, what took
    a part is continued, and what was synced before needs nothing of closing."""
    return how in (errno.EINTR, "short") or call == "close"


def judge(done, victim, reference, call, how):
    """One run, in which `call` failed so."""
    folder = done.folder
    assert done.status in (0, 1, 2), done
    names = outputs(victim)
    if done.status == 0:
        assert is_harmless(call, how) and done.errors == "", done
        for name in names:
            assert_is_complete(name, path(folder, name), path(reference, name))
        return
    assert not is_harmless(call, how), done
    assert str(folder / victim) in one_sentence(done.errors), done
    written = [file for file in folder.rglob("*") if file.is_file() and file.name != "calls"]
    if not written or victim == "summary":
        # Refused before the first frame; or nothing tells the ledger.
        assert written or call in ("open", "mkdir"), done
        return
    assert done.status == 1, done
    summary = read_summary(path(folder, "summary"))
    assert len(summary["errors"]) == 1 and summary["produced"] == FRAMES
    found = readable(victim, path(folder, victim), path(reference, victim))
    for sink, count in zip(SINKS[victim], found):
        ledger = summary["sinks"][sink]
        context = (call, how, done.errors, sink, count, fates(ledger))
        assert ledger["failed"] + ledger["delivered"] == FRAMES, context
        assert count >= ledger["delivered"], context
        # Of a whole file, a sync that fails vouches for nothing.
        assert victim == "stills" or not call.startswith("sync") or ledger["delivered"] == 0, context
    for name in names:
        if name not in (victim, "summary"):
            assert_is_complete(name, path(folder, name), path(reference, name))


def ways(calls):
    """Which call fails: of which kind, which of these, how, and whether all after it do."""
    kinds = {"write": [errno.EIO, errno.ENOSPC, errno.EINTR, "short"],
             "sync": [errno.EIO, errno.ENOSPC, errno.EINTR], "sync range": [errno.EIO],
             "open": [errno.EIO, errno.EMFILE, errno.EINTR], "truncate": [errno.EIO, errno.EINTR],
             "rename": [errno.EIO, errno.ENOSPC], "link": [errno.EIO], "mkdir": [errno.EIO],
             "close": [errno.EIO]}
    for call, errors in kinds.items():
        count = calls.count(call)
        if IS_LONG:
            chosen = [(place, how, lasts) for place in range(1, count + 1) for how in errors
                      for lasts in (False, True)]
        else:
            some = sorted({1, (count + 1) // 2, count}) if count > 0 else []
            chosen = [(place, errors[index % len(errors)], index % 2 == 1)
                      for index, place in enumerate(some * 2)]
        # What is interrupted for ever is done again for ever.
        yield from sorted({(call, place, how, lasts and not is_harmless(call, how))
                           for place, how, lasts in chosen}, key=str)


@pytest.mark.parametrize("victim", OUTPUTS)
def test_whichever_call_fails_that_output_fails_alone_and_its_ledger_is_true(
        victim, library, whole, tmp_path):
    calls, reference = whole[victim].calls, whole[victim].folder

    def attempt(number, way):
        call, place, how, _ = way
        done = run(library, pathlib.Path(tmp_path / str(number)), victim, *way)
        # Threads share a dump, and may need a call less.
        is_reached = done.calls.count(call) >= place
        judge(done, victim, reference, call if is_reached else "close", how)

    with concurrent.futures.ThreadPoolExecutor(BATCH) as pool:
        attempts = [pool.submit(attempt, *one) for one in enumerate(ways(calls))]
    wrong = [error for one in attempts if (error := one.exception())]
    assert not wrong, "\n".join(f"{type(error).__name__}: {error}" for error in wrong)


def test_names_are_synced_too(whole):
    """A new folder of stills with its parent, and of each file the folder that it is in."""
    for victim, done in whole.items():
        file = path(done.folder, victim)
        synced = [str(folder) for call, folder in zip(done.calls, done.paths) if call == "sync"]
        assert str(file.parent) in synced, (victim, synced)
        # Renamed before.
        last = max(place for place, call in enumerate(done.calls) if call == "rename")
        after = [str(folder) for call, folder in zip(done.calls[last:], done.paths[last:])
                 if call == "sync"]
        assert after == ([str(file), str(file.parent)] if victim == "stills" else [str(file.parent)])


@pytest.mark.parametrize("option", [("--pipe", "gray"), ("--reports", "/dev/stdout")])
def test_what_a_disk_tells_only_at_closing_is_told(option, library, tmp_path):
    command = [SPROCKET, "run", "--source", "scene", "--size", "64x48", "--frames", "3", "--quiet", *option,
               "--summary", str(tmp_path / "s.json")]
    settings = {"LD_PRELOAD": library, "DISK_ERRORS_FOLDER": tmp_path / "out", "DISK_ERRORS_CALL": "close",
                "DISK_ERRORS_AT": 1}
    (tmp_path / "out").mkdir()
    with open(tmp_path / "out" / "pixels", "wb") as file:
        result = subprocess.run(command, stdout=file, stderr=subprocess.PIPE, timeout=LIMIT,
                                env={**os.environ, **{key: str(value) for key, value in settings.items()}})
    assert result.returncode == 1
    assert "its disk is gone or broken" in one_sentence(result.stderr.decode())
    ledger = read_summary(tmp_path / "s.json")["sinks"][option[0].strip("-")]
    assert (ledger["failed"], ledger["delivered"]) == (3, 0)
