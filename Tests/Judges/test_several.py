"""Several sources in one run: files, labels, one dump, pairs, and what it costs."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from mcap.reader import make_reader

from program import (LIMIT, SPROCKET, fates, frame_count, one_sentence, read_lines, read_summary, running,
                     send_and_wait, sprocket, wait_for, wait_until_full)

SMALL = ["--size", "320x240", "--source-set", "cached=30", "--quiet", "--overwrite"]
FIVE = [f"{label}=scene" for label in ("a", "b", "c", "d", "e")]


def sources(*texts):
    return [word for text in texts for word in ("--source", text)]


def ledgers(path):
    """The summaries of all sources, whose fates add up."""
    document = json.loads(path.read_text())
    for label, summary in document["sources"].items():
        for name, sink in summary["sinks"].items():
            assert sum(fates(sink).values()) == summary["produced"], (label, name)
    return document


def topics(path):
    with open(path, "rb") as file:
        summary = make_reader(file, validate_crcs=True).get_summary()
    counts = summary.statistics.channel_message_counts
    return {channel.topic: counts.get(number, 0) for number, channel in summary.channels.items()}


def ends(path, topic):
    with open(path, "rb") as file:
        return [message.data[-500:] for _, _, message in make_reader(file).iter_messages(topics=[topic])]


def test_five_scenes_are_recorded_dumped_and_stabilized(tmp_path):
    sprocket("run", *sources(*FIVE), *SMALL, "--frames", 40, "--rate", "e=15", "--stage", "stabilize",
             "--movie", tmp_path / "{source}.mov", "--dump", tmp_path / "all.mcap", "--reports",
             tmp_path / "{source}.jsonl", "--summary", tmp_path / "s.json", "--trace", tmp_path / "t.json",
             "--source-set", "b.seed=7")
    document = ledgers(tmp_path / "s.json")
    assert sorted(document["sources"]) == ["a", "b", "c", "d", "e"] and document["pairs"] == []
    assert document["sources"]["e"]["source"]["frames_per_second"] == 15
    found = topics(tmp_path / "all.mcap")
    for label in "abcde":
        assert frame_count(tmp_path / f"{label}.mov") == 40
        lines = read_lines(tmp_path / f"{label}.jsonl")
        assert len(lines) == 40 and all("stabilize" in line for line in lines)
        assert found[f"{label}/image"] == found[f"{label}/source"] == found[f"{label}/fate"] == 40
        assert found[f"{label}/session"] == found[f"{label}/ledger"] == 1
    # The same scene but for the frame of reference and the time.
    assert ends(tmp_path / "all.mcap", "a/image") == ends(tmp_path / "all.mcap", "c/image")
    threads = {event["args"]["name"] for event in json.loads((tmp_path / "t.json").read_text())["traceEvents"]
               if event["name"] == "thread_name"}
    assert {"a/source", "e/source"} <= threads


def test_a_source_of_a_dump_is_played_as_one_that_was_dumped_alone(tmp_path):
    shared, alone = tmp_path / "all.mcap", tmp_path / "alone.mcap"
    scene = [*SMALL, "--frames", 20, "--source-set", "pace=fast"]
    sprocket("run", *sources("left=scene", "right=scene"), *scene, "--source-set", "right.seed=3",
             "--stage", "meter", "--dump", shared)
    sprocket("run", "--source", "scene", *scene, "--source-set", "seed=3", "--stage", "meter", "--dump",
             alone)

    def digest(*arguments):
        text = sprocket("run", *arguments, "--checksum", "--summary", "-", "--quiet").stdout
        return json.loads(text)["sinks"]["checksum"]["digest"]
    assert digest("--source", f"replay:{shared}", "--source-set", "stream=right") == \
        digest("--source", f"replay:{alone}") != \
        digest("--source", f"replay:{shared}", "--source-set", "stream=left")
    for stream, words in (("", "sources left, right"), ("rihgt", "no stream `rihgt`; "),
                          ("rihgt", "such as stream=right")):
        result = sprocket("run", "--source", f"replay:{shared}", "--source-set", f"stream={stream}",
                          check=False)
        assert result.returncode == 2 and words in one_sentence(result.errors)
    result = sprocket("run", "--source", f"replay:{alone}", "--source-set", "stream=up", check=False)
    assert result.returncode == 2 and "leave" in one_sentence(result.errors)
    # Exported, inspected and recovered.
    sprocket("export", shared, tmp_path / "right.mp4", "--stream", "right", "--quiet")
    assert frame_count(tmp_path / "right.mp4") == 20
    entry = json.loads(sprocket("inspect", shared, "--json").stdout)[0]
    assert [(track["source"], track["count"]) for track in entry["tracks"]] == [("left", 20), ("right", 20)]
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(shared.read_bytes()[:-1000])
    sprocket("recover", cut, tmp_path / "whole.mcap")
    assert topics(tmp_path / "whole.mcap")["left/image"] == 20


def test_inspect_counts_the_frames_that_a_dump_has(tmp_path):
    dump = tmp_path / "all.mcap"
    sprocket("run", *sources("left=scene", "right=scene"), *SMALL, "--frames", 60, "--source-set",
             "pace=fast", "--source-set", "left.drop=0.2", "--dump", dump, "--summary", tmp_path / "s.json")
    lost = ledgers(tmp_path / "s.json")["sources"]["left"]["sinks"]["dump"]["missing"]
    left, right = json.loads(sprocket("inspect", dump, "--json").stdout)[0]["tracks"]
    assert lost > 3 and (left["count"], left["missing"]) == (topics(dump)["left/image"], lost)
    assert 0 < left["gaps"] <= lost and (right["missing"], right["gaps"]) == (0, 0)
    assert f"left: video MJPG 320x240, {60 - lost} frames, {lost} missing, " in \
        sprocket("inspect", dump).stdout.decode()


def test_python_reads_a_source_of_a_dump(tmp_path):
    import conftest  # Finds the package.
    assert conftest
    import sprocket as package
    path = tmp_path / "all.mcap"
    sprocket("run", *sources("left=scene", "right=scene"), *SMALL, "--frames", 5, "--source-set", "pace=fast",
             "--source-set", "right.seed=3", "--dump", path)
    left, right = package.Dump(path, "left"), package.Dump(path, "right")
    assert len(left) == len(right) == 5 and left[2].data != right[2].data
    assert (left[2].image != right[2].image).any() and left[2].session["source"] == "scene"
    for stream in (None, "up"):
        with pytest.raises(package.Error, match="left, right"):
            package.Dump(path, stream)


@pytest.mark.alone
@pytest.mark.parametrize("phase", [0, 4, 12])
def test_frames_are_paired_by_their_times(phase, tmp_path):
    sprocket("run", *sources("left=scene", "right=scene"), *SMALL, "--duration", "3s", "--source-set",
             "genlock=true", "--source-set", f"right.phase={phase}ms", "--pair", "15ms", "--pairs",
             tmp_path / "pairs.jsonl", "--reports", tmp_path / "{source}.jsonl", "--summary",
             tmp_path / "s.json", "--source-set", "right.drop=0.1")
    document = ledgers(tmp_path / "s.json")
    pairs, = document["pairs"]
    lines = read_lines(tmp_path / "pairs.jsonl")
    offsets = [line["offset_us"] for line in lines if line["offset_us"] is not None]
    assert pairs["sources"] == ["left", "right"] and pairs["pairs"] == len(offsets) > 40
    assert all(abs(offset - phase * 1000) < 1000 for offset in offsets)
    assert abs(pairs["offset_us"]["p50"] - phase * 1000) < 1000
    # Each frame that arrived has one line; those without a partner are the other's lost ones.
    captured = {}
    for index, label in enumerate(("left", "right")):
        times = [line["captured_ns"] for line in read_lines(tmp_path / f"{label}.jsonl")
                 if line["fate"] == "delivered"]
        assert [line["captured_ns"][index] for line in lines if line["captured_ns"][index]] == times
        assert pairs["alone"][index] == len(times) - pairs["pairs"]
        captured[label] = times
    near = [any(abs(other - time) < 15e6 for other in captured["right"]) for time in captured["left"]]
    assert pairs["alone"][0] == near.count(False)


def test_a_source_that_is_ahead_waits_for_its_partner(tmp_path):
    """Frames that wait, where no source is live: of 1,200 each has its partner."""
    result = sprocket("run", *sources("a=scene", "b=scene"), "--size", "a=64x48", "--size", "b=320x240",
                      "--source-set", "a.cached=2", "--frames", 1200, "--pair", "5ms", "--quiet", "--summary",
                      "-")
    pairs, = json.loads(result.stdout)["pairs"]
    assert (pairs["pairs"], pairs["alone"]) == (1200, [0, 0])


def test_a_reader_of_pairs_that_hangs_does_not_hold_the_run(tmp_path):
    os.mkfifo(tmp_path / "pairs")
    with open(os.open(tmp_path / "pairs", os.O_RDWR), "rb") as pipe:
        with running([SPROCKET, "run", *sources("a=scene", "b=scene"), "--size", "64x48", "--rate", "1000",
                      "--source-set", "cached=2", "--pair", "5ms", "--pairs", tmp_path / "pairs",
                      "--summary", tmp_path / "s.json", "--quiet"]) as process:
            wait_until_full(pipe)
            for _ in range(2):
                send_and_wait(process, signal.SIGINT)
            process.wait(LIMIT)
    assert ledgers(tmp_path / "s.json")["pairs"]


@pytest.mark.parametrize("phase, tolerance, words", [
    ("left.phase=2ms", "5ms", r"right 2\.\d{3} ms earlier \(median; "),
    ("right.phase=2ms", "5ms", r"right [12]\.\d{3} ms later \(median; "),
    ("right.phase=12ms", "5ms", r" 0 pairs, the nearest frames are 1[12]\.\d{3} ms apart; without a partner"),
])
def test_the_line_about_pairs_says_which_came_first(phase, tolerance, words):
    scene = [option for option in SMALL if option != "--quiet"]
    said = sprocket("run", *sources("left=scene", "right=scene"), *scene, "--duration", "1s", "--source-set",
                    "genlock=true", "--source-set", phase, "--pair", tolerance).errors
    assert re.search(words, said), said
    # The end that both share is no news.
    assert "go on" not in said


WRONG = [
    ([*sources("scene", "replay:d.mcap"), "--source-set", "scene.pace=real", "--pair", "5ms"],
     "different clocks"),
    ([*sources("scene", "b=scene"), "--stills", "shots/{source}-{n}.jpg"],
     "put {source} into the folder's name"),
    ([*sources("scene", "b=scene"), "--pairs", "{source}.jsonl", "--pair", "5ms"], "one file of all sources"),
    ([*sources("scene", "b=scene"), "--microphone", "c=scene"], "no source called c"),
    ([*sources("scene", "b=scene"), "--size", "=64x48"], "label before the value is empty"),
    (sources("a=scene", "a=scene"), "two sources are called a"),
    ([*sources("scene", "scene"), "--movie", "m.mov"], "put {source} into its name"),
    ([*sources("scene", "scene"), "--reports", "-"], "with {source} in their names"),
    ([*sources("scene", "scene"), "--sink", "reports:x.jsonl"], "put {source} into its name"),
    ([*sources("scene", "scene"), "--pipe", "gray"], "share frames instead"),
    ([*sources("scene", "scene"), "--summary", "{source}.json"], "one file of all sources"),
    ([*sources("scene", "scene"), "--control", "up.gain=2"], "no source called up"),
    ([*sources("scene", "scene"), "--size", "up=64x48"], "no source called up"),
    ([*sources("scene", "scene"), "--size", "scene=64x48", "--size", "scene=32x32"], "given twice"),
    ([*sources("scene", "scene"), "--pairs", "p.jsonl"], "such as 5ms"),
    ([*sources("scene"), "--pair", "5ms"], "name a second one"),
    ([*sources("scene", "file:nowhere.mov")], "file: "),
    ([*sources("scene", "b=scene"), "--source-set", "b.pace=slow"], "b: "),
    ([*sources("a=scene", "b=file:a.mov"), "--movie", "{source}.mov"], "a.mov"),
]


@pytest.mark.parametrize("arguments, words", WRONG, ids=[" ".join(wrong[0][2:]) for wrong in WRONG])
def test_what_cannot_be_is_refused(arguments, words, tmp_path):
    (tmp_path / "a.mov").write_bytes(b"kept")
    if "replay:d.mcap" in arguments:
        sprocket("run", "--source", "scene", *SMALL, "--frames", 3, "--dump", tmp_path / "d.mcap")
    before = sorted(path.name for path in tmp_path.iterdir())
    result = sprocket("run", *arguments, "--frames", 3, check=False, cwd=tmp_path)
    assert result.returncode in (1, 2) and words in one_sentence(result.errors)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert (tmp_path / "a.mov").read_bytes() == b"kept"


def test_one_that_ends_leaves_the_others_at_work(tmp_path):
    clip = tmp_path / "clip.mov"
    sprocket("run", "--source", "scene", *SMALL, "--frames", 8, "--movie", clip)
    result = sprocket("run", *sources(f"short=file:{clip}", "long=scene"), "--size", "long=320x240",
                      "--quiet", "--overwrite", "--duration", "1500ms", "--dump", tmp_path / "all.mcap",
                      "--summary", tmp_path / "s.json")
    assert not result.errors
    produced = {label: found["produced"] for label, found in ledgers(tmp_path / "s.json")["sources"].items()}
    assert produced["short"] == 8 and produced["long"] > 30
    assert topics(tmp_path / "all.mcap")["short/image"] == 8
    said = sprocket("run", *sources(f"short=file:{clip}", "long=scene"), "--duration", "3s").errors
    assert "short: ended, and the other sources go on" in said


def test_a_full_disk_ends_all_that_share_the_dump(tmp_path):
    """`ulimit -f` is the disk; each source tells the same error, and the ledgers are exact."""
    command = f"""ulimit -f 4000; trap '' XFSZ; exec "$0" "$@" """
    result = subprocess.run(
        ["bash", "-c", command, SPROCKET, "run", *sources("a=scene", "b=scene"), *SMALL, "--source-set",
         "pace=fast", "--frames", "900", "--dump", tmp_path / "all.mcap", "--checksum", "--summary", "-"],
        capture_output=True, timeout=LIMIT, text=True)
    assert result.returncode == 1
    document = json.loads(result.stdout)
    for label in "ab":
        found = document["sources"][label]
        assert found["sinks"]["checksum"]["delivered"] == 900
        assert found["sinks"]["dump"]["failed"] > 0
        assert any("what was recorded before is in" in error for error in found["errors"])
    assert not (tmp_path / "all.mcap").exists()
    sprocket("recover", tmp_path / "all.partial.mcap", tmp_path / "whole.mcap")
    found = topics(tmp_path / "whole.mcap")
    for label in "ab":
        assert found[f"{label}/image"] == document["sources"][label]["sinks"]["dump"]["delivered"] > 0


def test_ctrl_c_ends_all_and_completes_their_files(tmp_path):
    with running([SPROCKET, "run", *sources("a=scene", "b=scene"), *SMALL, "--movie",
                  tmp_path / "{source}.mov", "--dump", tmp_path / "all.mcap", "--summary",
                  tmp_path / "s.json"]) as process:
        wait_for(lambda: (tmp_path / "b.partial.mov").exists()
                 and (tmp_path / "b.partial.mov").stat().st_size > 100_000)
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 0
    document = ledgers(tmp_path / "s.json")
    for label in "ab":
        delivered = document["sources"][label]["sinks"]["movie"]["delivered"]
        assert frame_count(tmp_path / f"{label}.mov") == delivered > 5


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_sources_together_take_what_they_take_apart(tmp_path):
    """Instructions, counted by callgrind."""
    stripped = tmp_path / "sprocket"
    subprocess.run(["strip", "--strip-debug", "-o", stripped, SPROCKET], check=True, timeout=LIMIT)

    def instructions(*arguments):
        result = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={tmp_path}/callgrind", stripped, "run",
             "--size", "160x120", "--source-set", "pace=fast", "--source-set", "cached=8", "--frames", "150",
             "--workers", "1", "--stage", "stabilize", "--quiet", "--overwrite", *arguments],
            capture_output=True, text=True, timeout=LIMIT, check=True)
        return int(re.search(r"Collected : (\d+)", result.stderr)[1])
    files = ["--movie", f"{tmp_path}/{{source}}.mov", "--dump", f"{tmp_path}/all.mcap"]
    together = instructions(*sources(*FIVE), *files)
    alone = instructions("--source", "a=scene", *files)
    print(f"{together / 5 / alone:.4f} of separate runs")
    assert together <= 1.02 * 5 * alone
