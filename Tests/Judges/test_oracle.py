"""Compares what the command line makes of 300 requests with a record: refusals, digests, summaries, files.

`oracle.jsonl` has a request per line and what became of it. A change of the plumbing changes none of them.
One that is better is recorded anew, and its difference is read: `SPROCKET_ORACLE=write`, with this test
alone.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest

from program import LIMIT, SPROCKET, sprocket

PATH = pathlib.Path(__file__).with_name("oracle.jsonl")
WRITES = os.environ.get("SPROCKET_ORACLE") == "write"
REQUESTS = [json.loads(line) for line in PATH.read_text().splitlines()]
# Files that requests read.
INPUTS = [
    "run --source scene --size 64x48 --frames 30 --microphone scene --movie in.mov --quiet",
    "run --source scene --size 64x48 --frames 30 --microphone scene --dump in.mcap --quiet",
    "run --source left=scene --source right=scene --size 64x48 --frames 12 --dump two.mcap --quiet",
    "run --source scene --size 64x48 --frames 6 --stills shots/{n}.png --quiet",
    "export in.mov clip.mp4 --quiet",
    "export in.mov in.wav --quiet",
]
# Keys of a summary that differ from run to run: times, memory, what depends on them, and names in full.
VARYING = re.compile(r"_us$|_s$|_bytes$|^behind$|^pipeline$")
# Sound goes on until the run has ended, for as long as that takes.
# Options that say how a run is told of, and are in no description.
DOORS = ("--quiet", "--verbose", "--overwrite", "--signal")
SOUND_KEYS = ("name", "rate", "channels", "number", "live")
TRACK_KEYS = ("kind", "codec", "width", "height", "packets", "rate", "channels", "language", "duration_s")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Makes the files that requests read; each request runs in a folder of its own with links to them."""
    inputs = tmp_path_factory.mktemp("oracle")
    for request in INPUTS:
        sprocket(*shlex.split(request), cwd=inputs)
    return inputs


def stable(value):
    if isinstance(value, dict):
        return {key: [{own: part[own] for own in SOUND_KEYS if own in part} for part in value[key]]
                if key == "sound" else stable(value[key]) for key in value if not VARYING.search(key)}
    return [stable(part) for part in value] if isinstance(value, list) else value


def facts(path):
    """Describes a file that was made, by what is the same each time."""
    if path.suffix not in (".mov", ".mp4", ".mkv", ".mcap", ".wav", ".flac"):
        return {}
    found = json.loads(sprocket("inspect", path, "--json").stdout)[0]
    return {"tracks": [{key: track[key] for key in TRACK_KEYS if key in track
                        if track["kind"] == "video" or key not in ("packets", "duration_s")}
                       for track in found.get("tracks", [])]}


def outcome(request, folder, place, by_file=False):
    """Makes a request in a folder of its own; with `by_file`, by a file that `--print-pipeline` writes."""
    place.mkdir()
    for path in folder.iterdir():
        os.symlink(path, place / path.name)
    words = shlex.split(request)
    reads = set(os.listdir(place))
    if words[0] == "run":
        prints = any(word in words for word in ("--pipe", "-", "--help"))
        words += [] if "--summary" in words else ["--summary", "summary.json"]
        words += [] if prints or "--checksums" in words else ["--checksum"]
    described = b""
    if by_file:
        printed = subprocess.run([SPROCKET, *words, "--print-pipeline"], capture_output=True, timeout=LIMIT,
                                 cwd=place)
        if printed.returncode:
            return {"exit": printed.returncode}
        assert set(os.listdir(place)) == reads, "to print a description makes no file"
        described = printed.stdout
        words = ["run", "--pipeline", "-", *(word for word in words if word in DOORS)]
    result = subprocess.run([SPROCKET, *words], capture_output=True, timeout=LIMIT, cwd=place,
                            input=described)
    found = {"exit": result.returncode}
    if result.returncode:
        found["says"] = result.stderr.decode().replace(str(place), "HERE").splitlines()[-1:]
        return found
    made = [path for path in sorted(place.rglob("*")) if path.relative_to(place).parts[0] not in reads]
    summary = place / "summary.json"
    if summary.exists():
        found["summary"] = stable(json.loads(summary.read_text().replace(f"{place}/", "")))
    found["files"] = {str(path.relative_to(place)): facts(path) for path in made
                      if path.is_file() and path != summary}
    return found


@pytest.mark.parametrize("number", range(len(REQUESTS)), ids=lambda number: REQUESTS[number]["do"][:60])
def test_a_request_comes_to_what_it_came_to(number, folder, tmp_path):
    known = REQUESTS[number]
    found = outcome(known["do"], folder, tmp_path / "here")
    if WRITES:
        REQUESTS[number] = {"do": known["do"], **found}
        PATH.write_text("".join(json.dumps(request) + "\n" for request in REQUESTS))
        return
    assert found == {key: value for key, value in known.items() if key != "do"}


RUNS = [request for request in REQUESTS if request["do"].startswith("run") and "--help" not in request["do"]]


@pytest.mark.parametrize("request_", RUNS, ids=lambda request: request["do"][:60])
def test_a_request_comes_to_the_same_by_a_file(request_, folder, tmp_path):
    found = outcome(request_["do"], folder, tmp_path / "here", by_file=True)
    assert found["exit"] == request_["exit"]
    if not found["exit"]:
        assert found == {key: value for key, value in request_.items() if key != "do"}
