"""Requests at random to runs that write real movies and photographs: what each record says is in its file.

SPROCKET_REQUEST_STORMS is the number of runs, by default 2; each makes some 20 files.
"""
import os
import random
import time

import pytest

from program import frame_count, read_summary
from test_on_demand import SCENE, asked_run, finish

FAULTY = [*SCENE, "--source-set", "drop=0.02", "--source-set", "corrupt=0.02"]
RUNS = int(os.environ.get("SPROCKET_REQUEST_STORMS", "2"))


def ask_at_random(client, chance, folder):
    """A request, which may be refused."""
    kind = chance.choice(["record"] * 4 + ["stop"] * 3 + ["next"] * 4 + ["photo"] * 2 + ["set"] * 2
                         + ["shape"] * 3)
    moment = {} if chance.random() < 0.7 else {"at_frame": client.frames() + chance.randrange(40)}
    if kind == "record":
        frames = {"frames": chance.randrange(1, 30)} if chance.random() < 0.4 else {}
        return client.ask("record", **frames, **moment)
    if kind in ("stop", "next"):
        return client.ask(kind, **moment)
    if kind == "photo":
        return client.ask("photo", frames=chance.randrange(1, 4), **moment)
    if kind == "set":
        return client.ask("set", stage="meter", settings={"mode": chance.choice(["spot", "average"])})
    return client.ask("reconfigure", **chance.choice([
        {"stages": ["meter"]}, {"stages": ["negate"]}, {"stages": []}, {"attach": ["null"]},
        {"detach": ["null"]},
        {"size": chance.choice(["320x240", "400x300"])}, {"detach": ["nobody"]},
        {"attach": [f"reports:{folder}/{chance.randrange(10**9)}.jsonl"]}, {"detach": ["reports"]}]))


@pytest.mark.parametrize("seed", range(RUNS))
def test_what_each_record_says_is_in_its_file(tmp_path, seed):
    chance = random.Random(seed)
    options = ["--stills", tmp_path / "photos", "--stage", "meter"]
    if chance.random() < 0.5:
        options += ["--pre-roll", "300ms"]
    if chance.random() < 0.5:
        options += ["--split", "400ms"]
    with asked_run(tmp_path, *options, scene=FAULTY) as (client, process):
        for _ in range(60):
            ask_at_random(client, chance, tmp_path)
            time.sleep(chance.random() * 0.15)
        finish(client, process)
    assert process.returncode == 0
    summary = read_summary(tmp_path / "summary.json")
    assert summary["errors"] == []
    frames = {"movie": 0, "stills": 0}
    covered = {"movie": set(), "stills": set()}
    for record in summary["recordings"]:
        count = record["frames"]["delivered"]
        frames[record["sink"]] += count
        if record["sink"] == "movie" and count:
            assert record["usable"] and frame_count(record["path"]) == count, record
            numbers = range(record["begin"], record["end"])
            assert sum(record["frames"].values()) == len(numbers), record
            # No frame is in two files.
            assert covered["movie"].isdisjoint(numbers), record
            covered["movie"].update(numbers)
    assert len(list((tmp_path / "photos").glob("*.jpg"))) == frames["stills"]
    for name, count in frames.items():
        assert summary["sinks"][name]["delivered"] == count
    print(len([record for record in summary["recordings"] if record["frames"]["delivered"]]), "files")
