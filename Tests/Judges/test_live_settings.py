"""Settings that change while a run goes on: how they are asked for, and that a replay repeats them."""
import collections
import json

import pytest

from program import clip, one_sentence, read_lines, read_summary, sprocket
from test_on_demand import SCENE, Client, asked_run, finish

SMALL = ["--source", "scene", "--size", "64x48", "--rate", "30"]
CHAIN = ["--stage", "latedrop:budget=30ms", "--stage", "meter", "--stage", "focus", "--stage",
         "stabilize:mode=standard"]
FAULTS = {"seed": 5, "startup": 3, "drop": 0.05, "corrupt": 0.05, "truncate": 0.04, "late": 0.1,
          "latefor": "40ms", "unplug": 0.01, "unplugfor": "30ms", "formatchange": 0.01}


def request(stage, settings, **when):
    return json.dumps({"request": "set", "stage": stage, "settings": settings, **when})


def script(folder, frames):
    """A change of some stage at each third frame."""
    modes = ["spot", "zones", "average", "highlights", "center"]
    changes = [lambda turn, part: ("meter", {"mode": modes[turn % 5], "point": f"{part}/0.3"}),
               lambda turn, part: ("focus", {"point": f"0.4/{part}", "window": part}),
               lambda turn, part: ("latedrop", {"budget": f"{15 + 3 * turn}ms"}),
               lambda turn, part: ("stabilize", {"crop": part / 10}),
               lambda turn, part: ("meter", {"target": part})]
    lines = [request(*changes[index % 5](index // 5, (index % 9 + 1) / 10), at_frame=frame)
             for index, frame in enumerate(range(0, frames, 3))]
    path = folder / "script"
    path.write_text("\n".join(lines))
    return path, len(lines)


def without_times(path):
    return [{key: value for key, value in line.items() if key not in ("clock", "latency_us")}
            for line in read_lines(path)]


def outcome(folder, name, arguments):
    reports, summary = folder / f"{name}.jsonl", folder / f"{name}.json"
    sprocket("run", *arguments, "--reports", reports, "--summary", summary, "--checksum", "--quiet")
    return without_times(reports), read_summary(summary)["sinks"]["checksum"]["digest"]


def changed_fates(lines):
    """Fates of the frames that events of changed settings belong to."""
    return collections.Counter(
        line["fate"] for line in lines
        for event in line.get("events") or [] if event["kind"] == "settings_changed")


@pytest.mark.parametrize("source", ["live", "offline", "clip"])
def test_a_replay_repeats_the_changes(source, tmp_path):
    path, count = script(tmp_path, 100 if source == "clip" else 330)
    if source == "clip":
        given = ["--source", f"file:{clip('generic/vtest.avi')}", "--frames", 100]
    else:
        pace = ["--frames", 330] if source == "offline" else ["--rate", 60, "--duration", "6s"]
        given = ["--source", "scene", "--size", "160x120", *pace]
        for key, value in FAULTS.items():
            given += ["--source-set", f"{key}={value}"]
    dump = tmp_path / "a.mcap"
    first = outcome(tmp_path, "first", [*given, *CHAIN, "--script", path, "--dump", dump])
    for workers in 1, 2, 4:
        again = outcome(tmp_path, f"replay-{workers}",
                        ["--source", f"replay:{dump}", *CHAIN, "--workers", workers])
        assert again == first
    if source != "live":
        unchanged = outcome(tmp_path, "unchanged", [*given, *CHAIN])
        assert unchanged[1] != first[1]
        differing = [name for name in ("meter", "focus", "stabilize") if any(
            one.get(name) != other.get(name) for one, other in zip(unchanged[0], first[0]))]
        assert differing == ["meter", "focus", "stabilize"]
    fates = changed_fates(first[0])
    if source == "clip":
        assert fates == {"delivered": 34}
        return
    # Each change is told once, also where its frame is damaged or dropped.
    assert fates["corrupt"] > 0 and fates["delivered"] > 0, fates
    if source == "offline":
        assert fates.total() == count
        for workers in 1, 2, 4:
            again = outcome(tmp_path, f"again-{workers}",
                            [*given, *CHAIN, "--script", path, "--workers", workers])
            assert again == first
    else:
        assert fates["late"] > 0, fates


def test_a_frame_is_measured_by_the_settings_of_its_number(tmp_path):
    path = tmp_path / "script"
    path.write_text(request("focus", {"window": 0.3}, at_frame=20))
    run = ["--source", "scene", "--size", "160x120", "--frames", 40]
    lines, _ = outcome(tmp_path, "changed", [*run, "--stage", "focus", "--script", path, "--workers", 4])
    before, _ = outcome(tmp_path, "before", [*run, "--stage", "focus"])
    after, _ = outcome(tmp_path, "after", [*run, "--stage", "focus:window=0.3"])
    assert [line["focus"] for line in lines] == [line["focus"] for line in before[:20] + after[20:]]


def test_the_control_socket_sets_and_tells(tmp_path):
    with asked_run(tmp_path, "--stage", "meter", scene=SMALL) as (client, process):
        watcher = Client(tmp_path / "control")
        assert watcher.ask("events")["ok"]
        # Before the first frame, the setting is in force from frame 0 on.
        client.wait(1)
        answer = sprocket("ask", tmp_path / "control", "set", "meter:mode=spot,point=0.3/0.4")
        assert json.loads(answer.stdout) == {"ok": True}
        event = watcher.line()
        frame = event.pop("frame")
        assert event == {"event": "settings", "stage": "meter",
                         "settings": {"mode": "spot", "point": "0.3/0.4"}}
        assert 0 < frame <= client.frames()
        later = client.frames() + 30
        assert client.ask("set", stage="meter", settings={"target": 0.25}, at_frame=later)["ok"]
        event = watcher.line()
        # That frame, or the first after it if it is missing.
        assert event["frame"] >= later and event["settings"] == {"target": "0.25"}
        recording = client.ask("record")["recording"]
        event = watcher.line()
        assert event["event"] == "started" and event["file"]["recording"] == recording
        assert event["file"]["path"] == str(tmp_path / "take-1.mov")
        client.wait(5)
        client.ask("next")
        kinds = {watcher.line()["event"] for _ in range(2)}
        assert kinds == {"started", "ended"}
        finish(client, process)
        events = []
        while (line := watcher.line()) is not None:
            events.append(line["event"])
        assert events == ["ended", "end"]
        watcher.close()


@pytest.mark.parametrize("keys, sentence", [
    ({"stage": "meeter", "settings": {"mode": "spot"}},
     "no stage `meeter`; did you mean `meter`?"),
    ({"stage": "meter", "settings": {"mod": "spot"}}, "has no setting `mod`; did you mean `mode`?"),
    ({"stage": "meter", "settings": {"samples": 5}}, "`samples` of meter cannot be changed while"),
    ({"stage": "meter", "settings": {"mode": "sput"}}, "mode=sput is not allowed; did you mean `spot`?"),
    ({"stage": "meter", "settings": {"target": 2}}, "target=2 is not allowed: give 0.01 to 1"),
    ({"stage": "meter", "settings": {"target": True}}, "target=true is not allowed"),
    ({"stage": "meter", "settings": {}}, "no setting of meter is given"),
    ({"stage": "meter", "settings": "mode=spot"}, "`settings` is an object"),
    ({"stage": "meter", "settings": {"mode": ["spot"]}}, "`settings` is an object"),
    ({"stage": "meter", "settings": {"mode": None}}, "`settings` is an object"),
    ({"stage": "meter"}, "`set` has a stage and its settings"),
    ({"settings": {"mode": "spot"}}, "`set` has a stage and its settings"),
    ({"stage": "meter", "settings": {"mode": "spot"}, "at_s": -1}, "at_s"),
])
def test_a_wrong_change_is_refused_in_one_sentence(keys, sentence, tmp_path):
    with asked_run(tmp_path, "--stage", "meter", scene=SMALL) as (client, process):
        answer = client.ask("set", **keys)
        assert not answer["ok"] and sentence in answer["error"], answer
        finish(client, process)


def test_a_control_that_is_given_twice_in_one_request_is_refused(tmp_path):
    with asked_run(tmp_path, scene=SMALL) as (client, process):
        answer = client.ask("control", name="gain", value=2, controls={"gain": 3})
        assert not answer["ok"] and "gives gain twice" in answer["error"], answer
        finish(client, process)


@pytest.mark.parametrize("argument, sentence", [
    ("meter", "write meter as STAGE:KEY=VALUE"), ("meter:mode", "mode"), ("meter:", "no setting")])
def test_a_wrong_argument_is_refused_in_one_sentence(argument, sentence, tmp_path):
    with asked_run(tmp_path, "--stage", "meter", scene=SMALL) as (client, process):
        result = sprocket("ask", tmp_path / "control", "set", argument, check=False)
        told = result.errors or json.loads(result.stdout)["error"]
        assert result.returncode in (1, 2) and sentence in told
        finish(client, process)


def test_a_script_names_the_line_of_a_wrong_change(tmp_path):
    path = tmp_path / "script"
    path.write_text(request("meter", {"mode": "spot"}, at_frame=1) + "\n"
                    + request("meter", {"samples": 1}, at_frame=1))
    result = sprocket("run", *SCENE, "--stage", "meter", "--null", "--script", path, check=False)
    assert result.returncode == 2
    assert "line 2: `samples` of meter cannot be changed" in one_sentence(result.errors)


def test_the_inspector_tells_what_is_live():
    stages = {stage["name"]: stage for stage in json.loads(sprocket("stages", "--json").stdout)
              if stage["kind"] == "stage"}
    live = {name: {setting["name"] for setting in stage["settings"] if setting["live"]}
            for name, stage in stages.items()}
    assert live["meter"] == {"mode", "point", "target", "highlighttarget"}
    assert live["focus"] == {"measure", "point", "window"}
    assert live["autoexposure"] == {"mode", "bias", "exposure", "gain", "speed"}
    assert live["autofocus"] == {"mode", "position"}
    assert live["latedrop"] == {"budget"}
    assert live["stabilize"] == {"crop"}
    assert "also while the run goes on" in sprocket("stages", "latedrop").stdout.decode()
