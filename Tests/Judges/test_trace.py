"""`run --trace`, read by a parser written from the description of the trace-event format, and `--histograms`.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU: a JSON object with a list
`traceEvents`; every event has a phase `ph` and a `pid`; a complete event `X` has a `name`, a `tid`, and `ts`
and `dur` in microseconds; metadata `M` name processes and threads; events of a thread nest.
"""
import collections
import contextlib
import json
import math
import pathlib
import signal
import subprocess

import pytest

from program import LIMIT, SPROCKET, one_sentence, read_summary, running, sprocket, wait_for
from test_allocations import counted, counter  # noqa: F401, the fixture.

KEPT = 65_536  # Slices of each thread, as docs/measuring.md has it.
EVENT_BYTES = 300  # What a slice takes in the file, with its flow and the ring's level, at most.
SCENE = ["run", "--source", "scene", "--quiet"]

Slice = collections.namedtuple("Slice", "thread name start end frame fate")


def parse(path):
    """The slices in the order of the file, the missing ones by thread, and the whole document."""
    document = json.loads(pathlib.Path(path).read_text())
    names, missing, slices, ends = {}, {}, [], {}
    processes = set()
    for event in document["traceEvents"]:
        processes.add(event["pid"])
        assert isinstance(event["pid"], int)
        if event["ph"] == "M":
            if event["name"] == "thread_name":
                assert event["tid"] not in names
                # An epoch may have threads of its own.
                names[event["tid"]] = event["args"]["name"]
                missing[event["args"]["name"]] = event["args"]["missing"]
            else:
                assert event["name"] in ("process_name", "thread_sort_index")
            continue
        if event["ph"] != "X":
            assert event["ph"] in "stfC"
            continue
        start, duration = event["ts"], event["dur"]
        assert duration >= 0 and isinstance(event["name"], str)
        # Slices of one thread do not overlap.
        assert start >= ends.get(event["tid"], 0) - 1e-3, event
        ends[event["tid"]] = start + duration
        slices.append(Slice(names[event["tid"]], event["name"], start, start + duration,
                            event["args"]["frame"], event["args"].get("fate")))
    assert len(processes) == 1
    return slices, missing, document


def run(folder, *arguments):
    paths = ["--trace", folder / "t.json", "--summary", folder / "s.json", "--histograms"]
    sprocket(*SCENE, *arguments, *paths)
    return parse(folder / "t.json"), read_summary(folder / "s.json")


FAULTS = ["--source-set", "drop=0.03", "--source-set", "corrupt=0.05", "--source-set", "truncate=0.02",
          "--source-set", "noise=0"]
RUNS = {
    "all": ["--size", "320x240", "--frames", "400", "--stage", "meter", "--stage", "focus", "--stage",
            "stabilize:mode=cinematic", "--stage", "negate", "--checksum", *FAULTS],
    "one worker": ["--size", "160x120", "--frames", "300", "--workers", "1", "--stage", "focus"],
    "nothing to do": ["--size", "160x120", "--frames", "300", "--format", "I420"],
    "live": ["--size", "160x120", "--rate", "240", "--duration", "1500ms", "--stage",
             "latedrop:budget=3ms", "--stage", "meter", "--source-set", "cached=30", "--source-set",
             "late=0.2"],
    "epochs": ["--size", "160x120", "--frames", "300", "--stage", "meter", "--source-set",
               "formatchange=0.02"],
}


@pytest.mark.parametrize("name", RUNS)
def test_the_slices_agree_with_the_summary(name, tmp_path):
    sinks = ["--movie", tmp_path / "m.mkv", "--null"]
    (slices, missing, document), summary = run(tmp_path, *RUNS[name], *sinks)
    assert not any(missing.values()) and document["otherData"]["stuck_threads"] == []
    if name == "epochs":
        assert summary["epochs"] > 1
    durations = collections.defaultdict(list)
    for found in slices:
        durations[found.name].append(found.end - found.start)
    for stage, line in summary["stages"].items():
        times = durations.pop(stage) if line["count"] else []
        assert len(times) == line["count"], stage
        total = line["mean_us"] * line["count"]
        # Resolution of a histogram's buckets: 1 %, and 64 ns.
        assert abs(sum(times) - total) <= 0.01 * total + 0.064 * line["count"], stage
    lanes = [s for s in slices if s.thread != "source" and not s.thread.startswith("sink ")]
    for sink, line in summary["sinks"].items():
        found = [s for s in slices if s.thread == f"sink {sink}"]
        assert [s.fate for s in found] == ["delivered"] * line["delivered"], sink
        assert [s.frame for s in found] == sorted({s.frame for s in found})
        for fate in ("late", "rejected"):
            assert sum(s.fate == fate for s in lanes) == line[fate]
        delivered = [s for s in slices if s.name == "deliver"]
        discarded = [s for s in slices if s.name == "discard"]
        assert len(delivered) + len(discarded) + line["missing"] == summary["produced"]
        assert sum(s.fate == "corrupt" for s in delivered + discarded + lanes) == line["corrupt"]
        durations.pop(f"sink {sink}")
    assert set(durations) <= {"wait for room", "wait for frame", "deliver", "discard", "select"}


def test_a_frame_goes_from_the_source_past_the_lanes_to_the_sink(tmp_path):
    (slices, _, _), _ = run(tmp_path, *RUNS["all"])
    frames = collections.defaultdict(dict)
    for found in slices:
        frames[found.frame][found.name] = found
    order = ["wait for frame", "deliver", "unpack", "meter", "focus", "stabilize/estimate",
             "stabilize/warp", "negate", "sink checksum"]
    whole = [steps for steps in frames.values() if "sink checksum" in steps]
    assert len(whole) > 300
    for steps in whole:
        assert set(order) <= set(steps)
        for one, next in zip(order, order[1:]):
            assert steps[one].end <= steps[next].start + 1e-3
    # The steps of a worker on a frame follow each other without a gap.
    one = whole[0]
    assert one["meter"].end == pytest.approx(one["focus"].start, abs=1e-3, rel=0)
    assert one["meter"].thread == one["focus"].thread


def flows(document):
    """{(category, frame): the flow's events by time}, each of which lies in a slice of that frame."""
    slices = collections.defaultdict(set)
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            slices[event["tid"], event["ts"]].add(event["args"]["frame"])
    found = collections.defaultdict(list)
    for event in document["traceEvents"]:
        if event["ph"] in "stf":
            assert event["id"] in slices[event["tid"], event["ts"]]
            found[event["cat"], event["id"]].append(event)
    return {key: sorted(events, key=lambda event: event["ts"]) for key, events in found.items()}


def test_flows_follow_each_frame_from_thread_to_thread(tmp_path):
    (_, _, document), summary = run(tmp_path, *RUNS["all"], "--null")
    names = {event["tid"]: event["args"]["name"] for event in document["traceEvents"]
             if event["ph"] == "M" and event["name"] == "thread_name"}
    found = flows(document)
    sinks = [f"sink {name}" for name in summary["sinks"]]
    assert {category for category, _ in found} == {"frame", *sinks}
    lanes = {name for name in names.values() if name != "source" and name not in sinks}
    for (category, frame), events in found.items():
        threads = [names[event["tid"]] for event in events]
        phases = "".join(event["ph"] for event in events)
        assert phases == "s" + "t" * (len(events) - 2) + "f" and len(set(threads)) == len(threads)
        if category == "frame":
            assert threads[0] == "source" and set(threads[1:]) <= lanes
        else:
            assert len(threads) == 2 and threads[0] in lanes and threads[1] == category
            assert events[0]["ts"] == found["frame", frame][-1]["ts"]
    delivered = summary["sinks"]["checksum"]["delivered"]
    assert sum(category == "sink checksum" for category, _ in found) == delivered > 300


def test_threads_have_the_kernels_numbers(tmp_path):
    """While it runs, /proc has the threads of the run, by number and the first 15 bytes of their name."""
    path, reports = tmp_path / "t.json", tmp_path / "r.partial.jsonl"
    command = [SPROCKET, *SCENE, "--size", "64x48", "--rate", "60", "--stage", "meter", "--null", "--trace",
               path, "--reports", tmp_path / "r.jsonl"]
    with running(command) as process:
        tasks = pathlib.Path(f"/proc/{process.pid}/task")

        def seen():
            with contextlib.suppress(OSError):
                return {int(task.name): (task / "comm").read_text().rstrip("\n") for task in tasks.iterdir()}
            return {}
        seen_at_once = wait_for(lambda: {"source", "null"} <= set(seen().values()) and seen(), process)
        # A run that is stopped before its first frame ends with 1.
        wait_for(lambda: reports.exists() and reports.stat().st_size > 0, process)
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 0
    document = json.loads(path.read_text())
    threads = {event["tid"]: event["args"]["name"] for event in document["traceEvents"]
               if event["ph"] == "M" and event["name"] == "thread_name"}
    by_name = {name: number for number, name in threads.items()}
    assert seen_at_once[by_name["source"]] == "source" and seen_at_once[by_name["sink null"]] == "null"
    assert all(event["tid"] in threads for event in document["traceEvents"] if event["ph"] != "M")


def test_the_rings_level_is_a_counter(tmp_path):
    (slices, _, document), summary = run(tmp_path, *RUNS["one worker"])
    levels = [event for event in document["traceEvents"] if event["ph"] == "C"]
    assert {event["name"] for event in levels} == {"ring"}
    assert [event["ts"] for event in levels] == pytest.approx(
        [s.end for s in slices if s.name == "deliver"], rel=0, abs=0.002)
    depth = sum(summary["ring"].values()) if isinstance(summary.get("ring"), dict) else 1000
    assert levels[0]["args"]["used"] == 0 and all(0 <= e["args"]["used"] <= depth for e in levels)


def test_the_latest_slices_are_kept_within_a_bound(tmp_path):
    frames = 70_000
    path = tmp_path / "t.json"
    told = sprocket("run", "--source", "scene", "--size", "64x48", "--format", "GREY", "--source-set",
                    "cached=30", "--frames", frames, "--workers", 1, "--stage", "negate", "--trace", path)
    slices, missing, document = parse(path)
    kept = collections.Counter(s.thread for s in slices)
    assert kept["sink null"] == KEPT and missing["sink null"] == frames - KEPT
    assert kept["source"] == KEPT and missing["source"] >= 2 * frames - KEPT
    assert [s.frame for s in slices if s.thread == "sink null"] == list(range(frames - KEPT, frames))
    assert document["otherData"]["missing"] == sum(missing.values())
    assert f"{sum(missing.values())} earlier ones are not in it" in told.errors
    assert path.stat().st_size <= len(kept) * KEPT * EVENT_BYTES


def test_tracing_allocates_nothing_per_frame(counter, tmp_path):  # noqa: F811
    # On a full disk only the first chunk of text is made, which has the same size in both runs. Formatting a
    # slice allocates.
    scene = ["run", "--source", "scene", "--size", "64x48", "--source-set", "cached=30", "--format",
             "GREY", "--workers", 1, "--stage", "meter", "--stage", "negate", "--null", "--trace",
             "/dev/full"]
    few, many = (counted(counter, tmp_path, scene, frames, code=1) for frames in (5_000, 25_000))
    found = {name: (many[name] - few[name]) / 20_000 for name in many}
    print({name: count for name, count in found.items() if count})
    assert all(abs(count) < 0.01 for count in found.values()), found


def test_a_trace_that_cannot_be_written_is_told(tmp_path):
    failed = sprocket(*SCENE, "--frames", 300, "--size", "64x48", "--trace", "/dev/full", check=False)
    assert failed.returncode == 1
    assert "/dev/full" in one_sentence(failed.errors) and "space" in failed.errors
    same = ["--summary", tmp_path / "a.json", "--trace", tmp_path / "a.json"]
    refused = sprocket(*SCENE, "--frames", 3, *same, check=False)
    assert refused.returncode == 2 and "(--summary, --trace)" in one_sentence(refused.errors)
    (tmp_path / "b.json").write_text("kept")
    refused = sprocket(*SCENE, "--frames", 3, "--trace", tmp_path / "b.json", check=False)
    assert refused.returncode == 2 and (tmp_path / "b.json").read_text() == "kept"


def test_a_reader_that_has_read_enough_is_no_error(tmp_path):
    command = [SPROCKET, *SCENE, "--frames", "3000", "--size", "64x48", "--trace", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.read(10) == b'{"displayT'
        process.stdout.close()
        assert process.wait(LIMIT) == 0, process.stderr.read()


def percentile(histogram, share):
    total, seen = sum(count for _, count in histogram), 0
    for value, count in histogram:
        seen += count
        if seen >= max(1, math.ceil(share * total - 1e-9)):
            return value


def test_percentiles_follow_from_the_histograms(tmp_path):
    _, summary = run(tmp_path, *RUNS["all"])
    sinks = [sink["latency_us"] for sink in summary["sinks"].values()]
    for line in [summary["latency_us"], *sinks, *summary["stages"].values()]:
        suffix = "_us" if "p50_us" in line else ""
        histogram = line["histogram" + suffix]
        assert sum(count for _, count in histogram) == line["count"] > 0
        assert [value for value, _ in histogram] == sorted({value for value, _ in histogram})
        for name, share in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)]:
            assert percentile(histogram, share) == line[name + suffix]
        assert histogram[-1][0] == pytest.approx(line["max" + suffix], rel=0.01)


def test_histograms_are_for_the_summary(tmp_path):
    refused = sprocket(*SCENE, "--frames", 3, "--histograms", check=False)
    assert refused.returncode == 2 and "--summary" in one_sentence(refused.errors)
    sprocket(*SCENE, "--frames", 30, "--size", "64x48", "--summary", tmp_path / "s.json")
    assert '"histogram' not in (tmp_path / "s.json").read_text()
