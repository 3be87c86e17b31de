"""`sprocket bench`: what its result holds, and what it says of an earlier one. No speed is judged."""
import collections
import contextlib
import copy
import csv
import json
import pathlib
import re
import signal
import statistics
import subprocess
import time

import pytest

from program import LIMIT, SPROCKET, frame_count, one_sentence, sprocket, wait_for
from test_allocations import counted, counter  # noqa: F401, the fixture.
from test_own import own

SHORT = ["--rounds", 2, "--frames", 20]
SMALL = ["bench", "--stage", "focus", "--size", "64x48", "--format", "NV12"]


def bench(folder, *arguments):
    path = folder / "bench.json"
    told = sprocket(*arguments, "--json", path, "--overwrite")
    return json.loads(path.read_text()), told.stdout.decode()


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Ten rounds of a small case."""
    found, _ = bench(tmp_path_factory.mktemp("bench"), *SMALL, "--rounds", 10, "--frames", 20)
    return found


def test_every_choice_is_a_case_and_every_round_is_kept(tmp_path):
    found, table = bench(tmp_path, "bench", "--stage", "focus", "--stage", "negate", "--size", "161x121",
                         "--size", "64x48", "--format", "NV12", "--format", "MJPG", "--workers", 1,
                         "--workers", 2, *SHORT)
    cases = [(c["format"], c["width"], c["height"], c["workers"]) for c in found["cases"]]
    assert sorted(cases) == sorted((f, *size, workers) for f in ("NV12", "MJPG")
                                   for size in ((161, 121), (64, 48)) for workers in (1, 2))
    for case in found["cases"]:
        assert case["chain"] == ["focus", "negate"] and case["frames"] == 20
        assert len(case["disturbance"]) == 2
        assert [step["name"] for step in case["steps"]] == ["unpack", "focus", "negate"]
        measured = [case["frames_per_second"], case["cpu_us"], case["yardstick_us"]]
        for step in case["steps"]:
            assert 0 < step["p50_us"] <= step["p90_us"] <= step["p99_us"] <= step["p999_us"]
            measured += [step["wall_us"], step["cpu_us"], step["fast_us"], step["low_us"]]
        for rounds in measured:
            assert len(rounds["rounds"]) == 2 and min(rounds["rounds"]) > 0
            assert rounds["median"] == pytest.approx(statistics.median(rounds["rounds"]))
        # 4:2:0 of 161x121 has two planes of chroma of 81x61. The focus score reads luma alone.
        if case["width"] == 161:
            luma, image = 161 * 121, 161 * 121 + 2 * 81 * 61
            unpack, focus, negate = case["steps"]
            assert (focus["bytes_read"], focus["bytes_written"]) == (luma, 0)
            assert (negate["bytes_read"], negate["bytes_written"]) == (image, image)
            assert unpack["bytes_written"] == image
            assert case["format"] == "MJPG" or unpack["bytes_read"] == image
    for words in ("frames/s", "allocations per frame", "p99.9", "focus, negate; MJPG 161x121, 2 workers"):
        assert words in table


def test_a_round_may_choose_its_frames_and_a_file_is_a_source(tmp_path):
    clip = tmp_path / "clip.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=30", "-frames:v",
                    "40", "-c:v", "mpeg4", str(clip)], check=True, timeout=LIMIT)
    found, _ = bench(tmp_path, "bench", "--stage", "meter", "--source", f"file:{clip}", "--rounds", 1)
    (case,) = found["cases"]
    assert (case["format"], case["width"], case["height"]) == ("YU12", 64, 48)
    assert 20 <= case["frames"] <= 1000


def test_a_program_of_ones_own_measures_with_its_own_source(tmp_path):
    path = tmp_path / "own.json"
    told = own("bench", "--stage", "meter", "--source", "ramp:10", "--json", path, *SHORT)
    assert told.returncode == 0, told.stderr
    found = json.loads(path.read_text())
    assert found["machine"]["program"].startswith("SprocketOwn")
    assert found["cases"][0]["format"] == "GREY" and found["cases"][0]["width"] == 16


def test_variants_sinks_and_encoders_stand_in_one_table(tmp_path):
    found, table = bench(tmp_path, "bench", "--stage", "focus:window=0.2", "--stage", "negate", "--stage",
                         "focus:window=0.4", "--sink", f"movie:{tmp_path / 'a.mov'}", "--sink", "checksum",
                         "--sink", f"movie:{tmp_path / 'b.mov'},codec=h264", "--size", "64x48", "--format",
                         "NV12", *SHORT)
    chains = [case["chain"] for case in found["cases"]]
    assert [chain[:2] for chain in chains] == 2 * [["focus:window=0.2", "negate"]] + 2 * [
        ["focus:window=0.4", "negate"]]
    assert [chain[2] for chain in chains] == 2 * [f"sink movie:path={tmp_path / 'a.mov'}",
                                                  f"sink movie:codec=h264,path={tmp_path / 'b.mov'}"]
    for case in found["cases"]:
        assert case["chain"][3] == "sink checksum"
        assert [step["name"] for step in case["steps"]] == [
            "unpack", "focus", "negate", "pack", "sink movie", "sink checksum"]
        assert all(step["cpu_us"]["median"] > 0 and step["p50_us"] > 0 for step in case["steps"])
    assert table.count("fastest us") == 1
    # Each round replaced the files of the rounds before.
    assert all(frame_count(tmp_path / name) == 50 for name in ("a.mov", "b.mov"))
    # An encoder costs more than frames that are encoded already.
    writes = [case["steps"][4]["p50_us"] for case in found["cases"]]
    assert writes[1] > writes[0] and writes[3] > writes[2]


def test_a_source_is_measured_and_steered(tmp_path):
    steered, _ = bench(tmp_path, "bench", "--stage", "focus", "--stage", "autofocus", "--size", "64x48",
                       "--format", "NV12", *SHORT)
    (case,) = steered["cases"]
    assert [step["name"] for step in case["steps"]] == ["source", "unpack", "focus", "autofocus"]
    assert case["chain"][0].startswith("source scene") and case["steps"][0]["cpu_us"]["median"] > 0
    clip = tmp_path / "clip.mkv"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=30", "-frames:v",
                    "40", "-c:v", "mpeg4", str(clip)], check=True, timeout=LIMIT)
    # It has 10 frames more than are left out at the start.
    found, _ = bench(tmp_path, "bench", "--measure-source", "--source", f"file:{clip}", "--rounds", 2)
    (case,) = found["cases"]
    assert [step["name"] for step in case["steps"]] == ["source"] and case["frames"] == 10
    assert case["chain"] == [f"source file:path={clip}"]


def test_a_table_and_the_times_of_frames_are_written_as_csv(tmp_path):
    tables = {name: tmp_path / f"{name}.csv" for name in ("steps", "frames")}
    found, _ = bench(tmp_path, *SMALL, "--stage", "negate", "--workers", 1, "--workers", 2, *SHORT, "--csv",
                     tables["steps"], "--frame-times", tables["frames"])
    rows = {name: list(csv.DictReader(path.open())) for name, path in tables.items()}
    steps = [(case, step) for case in found["cases"] for step in case["steps"]]
    assert len(rows["steps"]) == len(steps) == 6
    for row, (case, step) in zip(rows["steps"], steps):
        assert row["case"].startswith("focus, negate; NV12 64x48, ") and row["step"] == step["name"]
        for name in ("p50_us", "p999_us", "bytes_read"):
            assert float(row[name]) == step[name]
        assert float(row["step_cpu_us"]) == step["cpu_us"]["median"]
        assert float(row["fastest_us"]) == min(step["fast_us"]["rounds"])
        assert row["instructions"] == "" or float(row["instructions"]) > 0
    # Each measured frame once in each step, and the percentiles are those of these times.
    kept = collections.defaultdict(list)
    for row in rows["frames"]:
        if row["step"] in ("unpack", "focus", "negate"):
            kept[row["case"], row["round"], row["step"]].append((int(row["frame"]), float(row["us"])))
    assert len(kept) == 2 * 2 * 3
    assert all(sorted(frame for frame, _ in times) == list(range(20)) for times in kept.values())
    name = rows["steps"][1]["case"]
    times = sorted(time for count in "01" for _, time in kept[name, count, "focus"])
    # Buckets are 1 % or 64 ns wide.
    assert found["cases"][0]["steps"][1]["p50_us"] == pytest.approx(times[19], rel=0.01, abs=0.065)


def test_memory_load_governor_and_cores_are_told(tmp_path):
    found, table = bench(tmp_path, *SMALL, *SHORT, "--cpu", 0)
    (case,) = found["cases"]
    assert 1e6 < case["peak_memory"] < 1e9 and " MB at most" in table
    assert len(found["load_average"]) == 2 and found["machine"]["pinned"] == [0]
    first = table.splitlines()[0]
    governors = pathlib.Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    governor = governors.read_text().strip() if governors.exists() else "not known"
    assert ", on 0 alone; governor " in first and f"load {found['load_average'][0]:.2f}" in first
    assert governor in first and found["machine"].get("governor", "not known") in first
    # Larger frames need more.
    large, _ = bench(tmp_path, "bench", "--stage", "focus", "--size", "1920x1080", "--format", "NV12",
                     *SHORT)
    assert large["cases"][0]["peak_memory"] > case["peak_memory"] + 30 * 1920 * 1080
    # Threads of the engine run where they were told to.
    command = [SPROCKET, *SMALL, "--rounds", "100", "--frames", "5000", "--cpu", "0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        tasks = pathlib.Path(f"/proc/{process.pid}/task")

        def cores():
            with contextlib.suppress(OSError):
                threads = [(task / "status").read_text() for task in tasks.iterdir()]
                return {re.search(r"Cpus_allowed_list:\s*(\S+)", text)[1] for text in threads
                        if re.search(r"Name:\s*(source|focus|unpack)", text)}
        assert wait_for(cores, process) == {"0"}
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) in (0, 1)


def test_instructions_are_counted_where_the_kernel_allows_it(tmp_path):
    found, table = bench(tmp_path, "bench", "--stage", "focus", "--size", "64x48", "--size", "128x96",
                         "--format", "NV12", *SHORT)
    if "not_counted" in found:
        assert found["not_counted"] in table and "instructions and cache misses are not counted: " in table
        assert not any("instructions" in case for case in found["cases"])
        pytest.skip(found["not_counted"])
    small, large = (case["instructions"]["median"] for case in found["cases"])
    assert small < large and " cache misses" in table
    rates = [case["instructions"]["median"] / case["cycles"]["median"] for case in found["cases"]]
    assert all(0.05 < rate < 10 for rate in rates)


def test_files_of_sinks_are_replaced_on_request_alone(tmp_path):
    path = tmp_path / "kept.mov"
    path.write_text("kept")
    measured = ["bench", "--sink", f"movie:{path}", "--size", "64x48", "--format", "NV12", *SHORT]
    refused = sprocket(*measured, check=False)
    assert refused.returncode == 2 and path.read_text() == "kept"
    assert str(path) in one_sentence(refused.errors)
    assert list(tmp_path.iterdir()) == [path]
    sprocket(*measured, "--overwrite")
    assert frame_count(path) == 50 and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["NV12", "MJPG"])
def test_allocations_are_those_that_another_program_counts(name, counter, tmp_path):  # noqa: F811
    found, _ = bench(tmp_path, "bench", "--stage", "focus", "--size", "160x120", "--format", name,
                     "--rounds", 3, "--frames", 4000)
    run = ["run", "--source", "scene", "--size", "160x120", "--format", name, "--source-set", "cached=30",
           "--workers", 1, "--stage", "focus", "--null"]
    # Two equal runs differ by up to a hundred allocations, which is little over 4,000 frames.
    few, many = (sum(counted(counter, tmp_path, run, frames).values()) for frames in (300, 5300))
    expected = (many - few) / 5000
    print(found["cases"][0]["allocations_per_frame"], expected)
    assert found["cases"][0]["allocations_per_frame"] == pytest.approx(expected, abs=0.1)


def against(tmp_path, earlier, *options, rounds=10, code=0):
    """The comparison with an earlier result, as it is in --json, and what was said of it."""
    before, now = tmp_path / "earlier.json", tmp_path / "now.json"
    before.write_text(json.dumps(earlier))
    arguments = options if "--frames" in options else ("--frames", 20, *options)
    told = sprocket(*SMALL, "--rounds", rounds, *arguments, "--against", before, "--json", now, "--overwrite",
                    check=False)
    assert told.returncode == code, (told.returncode, told.stdout, told.errors)
    return json.loads(now.read_text())["comparison"], told.stdout.decode()


def scaled(result, factor, keys=("cpu_us", "wall_us", "fast_us", "low_us")):
    earlier = copy.deepcopy(result)
    for step in earlier["cases"][0]["steps"]:
        for key in keys:
            step[key]["rounds"] = [value * factor for value in step[key]["rounds"]]
            step[key]["median"] *= factor
    return earlier


# By a factor of 20, because the machine may be busy; unit tests use 10 %, which Benchmarks/planted measures.
SLOWER, FASTER = 0.05, 20


def test_a_gate_has_three_verdicts_and_exit_codes_of_its_own(result, tmp_path):
    gate = ("--fail-above", "5%")
    found, told = against(tmp_path, scaled(result, SLOWER), *gate, code=3)
    step = next(step for step in found["steps"] if step["step"] == "focus")
    assert found["verdict"] == step["verdict"] == "slower" and found["limit"] == 0.05
    assert 4 < step["low"] <= step["change"] <= step["high"] and found["confidence"] == 0.99
    assert step["change"] == pytest.approx(step["now_us"] / step["before_us"] - 1)
    assert re.search(r"worker: focus: slower, \+\d{3,}\.\d % \(\+\S+ % to \+\S+ %\), \S+ to \S+ us", told)
    assert told.splitlines()[-1].startswith("slower, at a limit of 5.0 %: of ")
    found, told = against(tmp_path, scaled(result, FASTER), *gate)
    assert found["verdict"] == "unchanged" and "worker: focus: faster, -" in told
    assert next(step for step in found["steps"] if step["step"] == "focus")["verdict"] == "faster"
    found, told = against(tmp_path, scaled(result, SLOWER), *gate, rounds=2, code=4)
    assert found["verdict"] == "undecided" and "too few rounds" in told
    # Without a gate it is told.
    found, _ = against(tmp_path, scaled(result, SLOWER))
    assert found["verdict"] == "slower"


def test_a_case_that_was_not_measured_before_is_undecided(result, tmp_path):
    earlier = copy.deepcopy(result)
    earlier["cases"][0]["workers"] = 3
    found, told = against(tmp_path, earlier, "--fail-above", "5%", rounds=1, code=4)
    assert found["verdict"] == "undecided" and found["steps"] == []
    assert any("not in the earlier result" in note for note in found["notes"])
    assert "in the earlier result alone" in told


def test_a_step_that_is_no_longer_there_is_undecided(result, tmp_path):
    earlier = copy.deepcopy(result)
    earlier["cases"][0]["steps"].append({**earlier["cases"][0]["steps"][-1], "name": "negate"})
    found, told = against(tmp_path, earlier, "--fail-above", "1000%", code=4)
    (gone,) = [step for step in found["steps"] if step["step"] == "negate"]
    assert (gone["verdict"], gone["reason"], gone["now_us"]) == ("undecided", "no longer there", 0)
    assert gone["before_us"] > 0 and "worker: negate: undecided: no longer there" in told


@pytest.mark.parametrize("damage, words", [
    (lambda case: case["frames_per_second"].update(rounds=[]), "has no rounds"),
    (lambda case: case["steps"][1]["low_us"]["rounds"].pop(), "not as many of each figure"),
    (lambda case: case["yardstick_us"]["rounds"].pop(), "not as many of each figure"),
    (lambda case: case["yardstick_us"].update(rounds=[0] * 10), "a yardstick that takes no time"),
    (lambda case: case.update(frames=0), "0 frames in a round"),
    (lambda case: case.update(frames=2 ** 63), "frames in a round"),
    (lambda case: case["steps"][0]["cpu_us"].update(rounds=[1e300] * 10), "more than there is"),
])
def test_a_damaged_result_is_refused(damage, words, result, tmp_path):
    earlier, path = copy.deepcopy(result), tmp_path / "earlier.json"
    earlier["cases"][0].setdefault("yardstick_us", {"rounds": [50.0] * 10, "median": 50.0, "spread": 0.0})
    damage(earlier["cases"][0])
    path.write_text(json.dumps(earlier))
    refused = sprocket(*SMALL, *SHORT, "--against", path, check=False)
    assert refused.returncode == 2 and refused.stdout == b""
    assert words in (sentence := one_sentence(refused.errors)) and "--against" in sentence, sentence


def test_what_got_no_frame_is_not_measured(tmp_path):
    dropping = own("bench", "--stage", "burn:keeps=false", "--size", "64x48", "--format", "NV12", *SHORT)
    assert dropping.returncode == 0, dropping.stderr
    assert "1 worker: no frame passed the stages (50 rejected)" in dropping.stderr
    never = f"stills:{tmp_path / 'never'},when=focus.score < 0"
    failed = sprocket(*SMALL, *SHORT, "--sink", never, check=False)
    assert failed.returncode == 1 and "a sink got no frame (50 unselected)" in one_sentence(failed.errors)
    sated = sprocket(*SMALL, *SHORT, "--sink", f"stills:{tmp_path / 's'},count=1", check=False)
    assert sated.returncode == 2 and "had all that it was asked for after" in one_sentence(sated.errors)


def test_results_of_older_versions_are_undecided(result, tmp_path):
    earlier = copy.deepcopy(result)
    del earlier["cases"][0]["yardstick_us"]
    for step in earlier["cases"][0]["steps"]:
        del step["low_us"]
    found, told = against(tmp_path, earlier)
    assert found["verdict"] == "undecided" and "measure the earlier result again" in told


def test_more_allocations_are_told(result, tmp_path):
    earlier = copy.deepcopy(result)
    earlier["cases"][0]["allocations_per_frame"] += 20
    pattern = r"worker: (\S+) allocations per frame, before (\S+)"
    found = re.search(pattern, against(tmp_path, earlier)[1])
    assert float(found[2]) - float(found[1]) == pytest.approx(20, abs=5)
    assert not re.search(pattern, against(tmp_path, result)[1])


def test_rounds_of_other_lengths_are_compared_if_they_show_every_picture(result, tmp_path):
    # 30 pictures, forwards and backwards.
    assert result["cases"][0]["pictures"] == 58 and result["cases"][0]["frames"] == 20
    earlier = scaled(result, SLOWER)
    _, told = against(tmp_path, earlier, "--frames", 80)
    assert "80 frames in a round, before 20, and 58 are needed to show every picture" in told
    earlier["cases"][0]["frames"] = 60
    found, _ = against(tmp_path, earlier, "--frames", 80)
    assert found["verdict"] == "slower"


def test_a_comparison_measures_as_many_frames_as_the_earlier_result(result, tmp_path):
    earlier, now = copy.deepcopy(result), tmp_path / "now.json"
    earlier["cases"][0]["frames"] = 33
    (tmp_path / "earlier.json").write_text(json.dumps(earlier))
    sprocket(*SMALL, "--rounds", 1, "--against", tmp_path / "earlier.json", "--json", now)
    assert json.loads(now.read_text())["cases"][0]["frames"] == 33


def test_another_machine_compiler_or_build_is_told(result, tmp_path):
    earlier = scaled(result, SLOWER)
    earlier["machine"].update(processor="Abacus", compiler="clang version 1", build="1")
    found, told = against(tmp_path, earlier, "--fail-above", "5%", code=4)
    for words in ("another processor", "cores of Abacus", "another compiler", "another build"):
        assert words in told and any(words in note for note in found["notes"])
    assert "another" not in against(tmp_path, result, rounds=1)[1]


@pytest.mark.parametrize("arguments, words", [
    (["bench"], ["--stage focus"]),
    (["bench", "--sink", "nul"], ["did you mean `null`?"]),
    (["bench", "--sink", "pipe"], ["--sink pipe", "standard output"]),
    (["bench", "--sink", "reports:-"], ["--sink reports:-", "standard output"]),
    (["bench", "--sink", "share:a"], ["--sink share:a", "waits for programs that read"]),
    (["bench", "--sink", "movie:a-{n}.mov"], ["--sink movie", "a benchmark asks for nothing"]),
    (["bench", "--sink", "movie:a.mov,split=1s"], ["--sink movie", "a benchmark asks for nothing"]),
    (["bench", "--sink", "movie:a.mov,on-demand=true"], ["--sink movie", "a benchmark asks for nothing"]),
    (["bench", "--sink", "stills:a,on-demand=true"], ["--sink stills", "a benchmark asks for nothing"]),
    (["bench", "--stage", "focsu"], ["did you mean `focus`?"]),
    (["bench", "--stage", "focus:windw=1"], ["windw", "did you mean `window`?"]),
    (["bench", "--stage", "focus", "--format", "ABCD"], ["--format", "ABCD"]),
    (["bench", "--stage", "focus", "--format", "RGGB"], ["RGGB"]),
    (["bench", "--stage", "focus", "--size", "64"], ["1280x720"]),
    (["bench", "--stage", "focus", "--size", "-1x5"], ["1280x720"]),
    (["bench", "--stage", "focus", "--workers", "0"], ["1 to 64"]),
    (["bench", "--stage", "focus", "--rounds", "0"], ["1 to 100"]),
    (["bench", "--stage", "focus", "--rounds", "2", "--rounds", "3"], ["--rounds is given twice"]),
    (["bench", "--stage", "focus", "--source", "scen"], ["did you mean `scene`?"]),
    (["bench", "--stage", "focus", "--source-set", "pace=real", "--size", "64x48"], ["live"]),
    (["bench", "--stage", "focus", "--source", "file:/nowhere.mkv"], ["/nowhere.mkv"]),
    (["bench", "--stage", "focus", "--source", "file:/dev/zero"], ["device or pipe"]),
    (["bench", "--stage", "focus", "--against", "/nowhere.json"], ["/nowhere.json", "cannot be read"]),
    (["bench", "--stage", "focus", "--against", "/dev/zero"], ["no result"]),
    (["bench", "--stage", "focus", "--against", "/etc/passwd"], ["no result"]),
    (["bench", "--stage", "focus", "--json", "/nowhere/a.json"], ["/nowhere/a.json"]),
    (["bench", "--stage", "focus", "--fail-above", "5%"], ["--against PATH"]),
    (["bench", "--stage", "focus", "--cpu", "x"], ["0-3"]),
    (["bench", "--stage", "focus", "--cpu", "1023"], ["1023", "give some of 0"]),
    (["bench", "--stage", "focus", "--cpu", "0,1000-1023"], ["the cores 1000-1023", "give some of 0"]),
    (["bench", "--stage", "focus", "--against", "a.json", "--fail-above", "0.5%"], ["1% to 1000%"]),
    (["bench", "--stage", "focus", "--csv", "-", "--json", "-"], ["standard output"]),
    (["bench", "--stage", "focus", "--against", "a.json", "--fail-above", "5"], ["such as 5%"]),
])
def test_what_cannot_be_measured_is_said_in_one_sentence(arguments, words):
    refused = sprocket(*arguments, check=False)
    assert refused.returncode in (1, 2) and refused.stdout == b""
    sentence = one_sentence(refused.errors)
    assert all(word in sentence for word in words), sentence


def test_a_result_is_replaced_on_request_alone(tmp_path):
    path = tmp_path / "kept.json"
    path.write_text("kept")
    refused = sprocket(*SMALL, *SHORT, "--json", path, check=False)
    assert refused.returncode == 2 and path.read_text() == "kept"
    sprocket(*SMALL, *SHORT, "--json", path, "--overwrite")
    assert json.loads(path.read_text())["cases"]


@pytest.mark.parametrize("frames", [5_000, 1_000_000])
def test_a_signal_leaves_what_is_finished(frames, tmp_path):
    path = tmp_path / "a.json"
    command = [SPROCKET, *SMALL, "--rounds", "100", "--frames", str(frames), "--json", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        # After the unmeasured first round it prints an estimate of the total time.
        told = process.stderr.readline() if frames == 5_000 else ""
        # A tenth of the rounds, by that estimate; or some time within the first round, which takes minutes.
        time.sleep(int(re.search(r"some (\d+) s", told)[1]) / 10 if told else 2)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=LIMIT)
    if frames == 5_000:
        assert "100 rounds" in told and process.returncode == 0, errors
        rounds = len(json.loads(path.read_text())["cases"][0]["cpu_us"]["rounds"])
        assert 1 <= rounds < 100 and f"stopped after {rounds} of 100 rounds" in errors
        assert "frames/s" in output
    else:
        assert process.returncode == 1 and "nothing was measured" in errors
        assert list(tmp_path.iterdir()) == []
