"""A run whose source, stages and sinks change while it goes on."""
import fcntl
import json
import os
import select
import socket
import struct
import threading

import pytest

from program import LIMIT, SPROCKET, fates, frame_count, read_lines, read_summary, running, sprocket
from test_on_demand import SCENE, Client, asked_run, finish, wait_for


def frames_of(line):
    return sum(line[fate] for fate in fates(line))


def test_a_movie_comes_and_goes_beside_one_that_is_asked_for(tmp_path):
    with asked_run(tmp_path) as (client, process):
        client.wait(20)
        assert client.ask("record")["ok"]
        client.wait(10)
        attached = [f"dump:{tmp_path}/part.mcap", f"reports:{tmp_path}/part.jsonl"]
        assert client.ask("reconfigure", attach=attached)["ok"]
        client.wait(40)
        assert client.ask("reconfigure", detach=["dump"])["ok"]
        client.wait(10)
        assert client.ask("reconfigure", detach=["reports"])["ok"]
        client.wait(10)
        finish(client, process)
    recordings = read_summary(tmp_path / "summary.json")["recordings"]
    summary = read_summary(tmp_path / "summary.json")
    assert summary["epochs"] == 1 and summary["errors"] == []
    detached = {line["name"]: line for line in summary["detached"]}
    assert set(detached) == {"dump", "dump-fates", "reports"}
    for line in detached.values():
        assert frames_of(line) == line["detached_at"] - line["attached_at"] > 30
    # One recording, one file, no gap.
    (recording,) = recordings
    assert recording["reason"] == "end"
    assert frame_count(recording["path"]) == recording["frames"]["delivered"]
    lines = read_lines(tmp_path / "part.jsonl")
    numbers = [line["sequence"] for line in lines]
    assert numbers == sorted(set(numbers)) and len(numbers) == frames_of(detached["reports"])
    # The dump is whole, and a replay has its frames.
    sprocket("run", "--source", f"replay:{tmp_path}/part.mcap", "--null", "--summary", tmp_path / "r.json")
    replayed = read_summary(tmp_path / "r.json")
    assert replayed["sinks"]["null"]["delivered"] >= detached["dump"]["delivered"] - 1


def test_stages_and_format_change(tmp_path):
    path = tmp_path / "reports.jsonl"
    with asked_run(tmp_path, "--reports", path, "--stage", "meter") as (client, process):
        client.wait(10)
        assert client.ask("record")["ok"]
        client.wait(10)
        assert client.ask("reconfigure", stages=["meter:mode=spot", "focus"])["ok"]
        client.wait(10)
        assert client.ask("reconfigure", size="480x360")["ok"]
        client.wait(10)
        status = client.ask("status")["status"]
        assert (status["width"], status["height"], status["epochs"]) == (480, 360, 3)
        assert client.ask("reconfigure", stages=[])["ok"]
        client.wait(10)
        finish(client, process)
    recordings = read_summary(tmp_path / "summary.json")["recordings"]
    assert [recording["reason"] for recording in recordings] == ["discontinuity", "end"]
    for recording in recordings:
        assert frame_count(recording["path"]) == recording["frames"]["delivered"]
    epochs = {}
    for line in read_lines(path):
        if line["fate"] == "delivered":
            reports = frozenset(key for key in ("meter", "focus") if key in line)
            epochs.setdefault(line["epoch"], set()).add(reports)
    assert epochs == {0: {frozenset({"meter"})}, 1: {frozenset({"meter", "focus"})},
                      2: {frozenset({"meter", "focus"})}, 3: {frozenset()}}


def test_what_stays_the_same_costs_nothing(tmp_path):
    """Live settings alone begin no epoch; neither does what the run has already."""
    path = tmp_path / "reports.jsonl"
    with asked_run(tmp_path, "--reports", path, "--stage", "meter") as (client, process):
        client.wait(5)
        assert client.ask("reconfigure", stages=["meter:mode=spot"])["ok"]
        client.wait(5)
        assert client.ask("set", stage="meter", settings={"target": 0.3})["ok"]
        client.wait(5)
        # What was set since counts: it goes back to its default.
        assert client.ask("reconfigure", stages=["meter:mode=spot"])["ok"]
        client.wait(5)
        assert client.ask("reconfigure", stages=["meter:mode=spot"])["ok"]
        # Another setting needs a new chain.
        assert client.ask("status")["status"]["epochs"] == 1
        assert client.ask("reconfigure", stages=["meter:mode=spot,samples=100"])["ok"]
        client.wait(5)
        assert client.ask("status")["status"]["epochs"] == 2
        finish(client, process)
    told = [event["settings"] for line in read_lines(path) for event in line.get("events") or []
            if event["kind"] == "settings_changed"]
    assert told == [{"mode": "spot"}, {"target": "0.3"}, {"target": "0.18"}]


def test_a_file_says_what_the_run_is_to_be(tmp_path):
    (tmp_path / "run.yaml").write_text("""
source: {kind: scene, rate: 60, size: 320x240}
stages: [meter]
outputs:
  reports: {path: reports.jsonl}
  dump: part.mcap
control-socket: control
""")
    with running([SPROCKET, "run", "--pipeline", tmp_path / "run.yaml"]) as process:
        wait_for((tmp_path / "control").exists, process)
        client = Client(tmp_path / "control")

        def ask(text):
            (tmp_path / "next.yaml").write_text(text)
            return sprocket("ask", tmp_path / "control", "reconfigure",
                            f"pipeline={tmp_path}/next.yaml", check=False)
        text = (tmp_path / "run.yaml").read_text()
        assert ask(text).returncode == 0
        client.wait(5)
        assert client.ask("status")["status"]["epochs"] == 1
        assert ask(text.replace("dump: part.mcap", "checksum: {path: sums}")).returncode == 0
        client.wait(5)
        status = client.ask("status")["status"]
        assert status["epochs"] == 1 and set(status["sinks"]) == {"reports", "checksum"}
        for other, sentence in [(text + "duration: 5s\n", "duration: cannot change while the run goes on"),
                                (text + "sound: {microphones: scene}\n", "sound: cannot change while"),
                                (text.replace(": control", ": other"), "control-socket: cannot change"),
                                (text.replace("meter", "metr"), "did you mean `meter`?")]:
            refused = ask(other)
            told = refused.errors or refused.stdout.decode()
            assert refused.returncode != 0 and sentence in told, (other, told)
        # A file that was written and is complete is not written again.
        assert "part.mcap already" in ask(text).stdout.decode()
        text = text.replace("dump: part.mcap", "checksum: {path: sums}")
        assert ask(text.replace("320x240", "160x120")).returncode == 0
        client.wait(5)
        assert client.ask("status")["status"]["width"] == 160
        finish(client, process)
        client.close()
    assert (tmp_path / "sums").read_text()


def test_nothing_is_done_by_halves_or_forgotten(tmp_path):
    slow = ["--source", "scene", "--size", "320x240", "--rate", "2"]
    with asked_run(tmp_path, "--stage", "meter", scene=slow) as (client, process):
        def sinks():
            return set(client.ask("status")["status"]["sinks"])
        # Removed and added as it was, it is there, and what was asked before the next frame counts.
        assert client.ask("reconfigure", attach=["null"])["ok"]
        assert client.ask("reconfigure", detach=["null"], attach=["null"])["ok"] and "null" in sinks()
        assert client.ask("set", stage="meter", settings={"mode": "spot"})["ok"]
        assert client.ask("reconfigure", stages=["meter"])["ok"]
        while client.ask("set", stage="meter", settings={"mode": "zones"}, at_frame=1 << 40)["ok"]:
            pass
        refused = client.ask("reconfigure", stages=["meter:mode=spot"])
        assert not refused["ok"] and "64 requests" in refused["error"]
        assert client.ask("reconfigure", stages=["meter:mode=spot"], attach=[f"dump:{tmp_path}/d.mcap"])["ok"]
        assert client.ask("reconfigure", detach=["dump"])["ok"] and "dump" not in sinks()
        # A rule that a run has holds for its changes, too.
        other = [f"movie:{tmp_path}/x.mov", f"dump:{tmp_path}/x.partial.mov"]
        refused = client.ask("reconfigure", attach=other, detach=["movie"])
        assert not refused["ok"] and "partial file" in refused["error"]
        for keys, sentence in [({"size": "auto"}, "`size` stays as it is"),
                               ({"source_settings": {}}, "nothing is to change")]:
            refused = client.ask("reconfigure", **keys)
            assert not refused["ok"] and sentence in refused["error"]
        assert client.ask("photo", at_frame=1e3)["error"].startswith("this run takes no photographs")
        finish(client, process)
    assert process.returncode == 0


def test_a_description_sets_controls(tmp_path):
    text = """
source: {kind: scene, rate: 60, size: 320x240, control: [{gain: 4}]}
outputs: {shots: {kind: stills, path: shots, on-demand: true}}
control-socket: control
"""
    (tmp_path / "run.yaml").write_text(text)
    with running([SPROCKET, "run", "--pipeline", tmp_path / "run.yaml"]) as process:
        wait_for((tmp_path / "control").exists, process)
        client = Client(tmp_path / "control")

        def becomes(text):
            (tmp_path / "next.yaml").write_text(text)
            result = sprocket("ask", tmp_path / "control", "reconfigure", f"pipeline={tmp_path}/next.yaml",
                              check=False)
            client.wait(12)
            return result.errors or result.stdout.decode()
        for wanted in "gain: 8", "gain: 4":
            assert '"ok":true' in becomes(text.replace("gain: 4", wanted))
            assert client.ask("status")["status"]["controls"]["gain"] == float(wanted[-1])
        assert client.ask("control", controls={"gain": 2})["ok"]
        assert '"ok":true' in becomes(text)
        assert client.ask("status")["status"]["controls"]["gain"] == 4
        assert '"ok":true' in becomes(text.replace(", control: [{gain: 4}]", ", gain: 7"))
        assert client.ask("status")["status"]["controls"]["gain"] == 7
        assert "there is no control `nonsense`" in becomes(text.replace("gain", "nonsense"))
        assert client.ask("photo")["ok"]
        # The description itself is not replaced.
        wrong = becomes(text.replace("outputs: {", "outputs: {dump: next.yaml, "))
        assert "next.yaml" in wrong and (tmp_path / "next.yaml").read_text().startswith("\nsource")
        finish(client, process)
        client.close()
    assert list((tmp_path / "shots").iterdir())


def test_a_movie_that_comes_later_records_as_it_says(tmp_path):
    """At once, where it is not on demand; a condition, which is watched from the start, is refused."""
    command = [SPROCKET, "run", *SCENE, "--movie", tmp_path / "a-{n}.mov", "--split", "60s", "--overwrite",
               "--control-socket", tmp_path / "control", "--summary", tmp_path / "s.json"]
    with running(command) as process:
        wait_for((tmp_path / "control").exists, process)
        client = Client(tmp_path / "control")
        client.wait(5)
        numbered = f"movie:{tmp_path}/a-{{n}}.mov,split=40s"
        wrong = numbered + ",record-when=meter.key > 1"
        refused = client.ask("reconfigure", detach=["movie"], attach=[wrong])
        assert not refused["ok"] and "a condition is watched from the run's start" in refused["error"]
        # The names are numbers, which go on: nothing is replaced, and the run does not end.
        assert client.ask("reconfigure", detach=["movie"], attach=[numbered])["ok"]
        client.wait(10)
        assert client.ask("reconfigure", attach=[f"reports:{tmp_path}/r.jsonl"])["ok"]
        client.wait(5)
        assert client.ask("reconfigure", detach=["reports"])["ok"]
        again = client.ask("reconfigure", attach=[f"reports:{tmp_path}/r.jsonl"])
        assert not again["ok"] and "r.jsonl already" in again["error"]
        finish(client, process)
        client.close()
    summary = read_summary(tmp_path / "s.json")
    assert process.returncode == 0 and summary["errors"] == []
    assert sorted(path.name for path in tmp_path.glob("*.mov")) == ["a-1.mov", "a-2.mov"]
    assert all(frame_count(tmp_path / f"a-{n}.mov") > 4 for n in (1, 2))


def test_a_run_goes_on_without_the_movie_of_its_condition(tmp_path):
    command = [SPROCKET, "run", *SCENE, "--stage", "motion", "--movie", tmp_path / "a-{n}.mov", "--null",
               "--record-when", "not motion.dark", "--control-socket", tmp_path / "control"]
    with running(command) as process:
        wait_for((tmp_path / "control").exists, process)
        client = Client(tmp_path / "control")
        client.wait(10)
        assert client.ask("reconfigure", detach=["movie"])["ok"]
        client.wait(5)
        finish(client, process)
        client.close()
    assert process.returncode == 0 and frame_count(tmp_path / "a-1.mov") > 4


@pytest.mark.parametrize("keys, sentence", [
    ({"detach": ["dum"]}, "no sink of this run is called dum"),
    ({"attach": ["dum:x"]}, "there is no sink `dum`"),
    ({"attach": ["dump:/proc/nowhere/x.mcap"]}, "cannot write"),
    ({"attach": ["movie:other.mov"]}, "two sinks are called movie"),
    ({"attach": ["pipe:gray"]}, "cannot take standard output"),
    ({"attach": ["checksum:-"]}, "cannot take standard output"),
    ({"attach": ["dump:{folder}/x.mcap", "reports:{folder}/x.mcap"]}, "already; give another file"),
    ({"attach": ["reports:{folder}/summary.json"]}, "already; give another file"),
    ({"stages": ["metr"]}, "there is no stage `metr`; did you mean `meter`?"),
    ({"stages": ["meter", "meter"]}, "given twice"),
    ({"stages": ["meter:mode=none"]}, "mode=none is not allowed"),
    ({"source": "scen"}, "there is no source `scen`"),
    ({"source": "file:/nowhere.mov"}, "/nowhere.mov"),
    ({"size": "1x"}, "source.size: the source: size=1x is not allowed: give width and height"),
    ({"size": "99999x99999"}, "not 99999x99999"),
    ({"rate": -1}, "source.rate: the source: rate=-1 is not allowed"),
    ({"format": "ABCD"}, "ABCD"),
    ({"source_settings": {"noize": 1}}, "did you mean `noise`?"),
    ({"stages": "meter"}, "`stages` is a list of texts"),
    ({}, "nothing is to change"),
    ({"at_frame": 3}, "`reconfigure` has no `at_frame`"),
])
def test_what_is_refused_changes_nothing(tmp_path, keys, sentence):
    keys = json.loads(json.dumps(keys).replace("{folder}", str(tmp_path)))
    with asked_run(tmp_path) as (client, process):
        client.wait(5)
        assert client.ask("record")["ok"]
        client.wait(5)
        answer = client.ask("reconfigure", **keys)
        assert not answer["ok"] and sentence in answer["error"], answer
        client.wait(5)
        finish(client, process)
    recordings = read_summary(tmp_path / "summary.json")["recordings"]
    summary = read_summary(tmp_path / "summary.json")
    assert summary["epochs"] == 1 and summary["errors"] == [] and "detached" not in summary
    (recording,) = recordings
    assert recording["reason"] == "end"
    assert frame_count(recording["path"]) == recording["frames"]["delivered"]
    assert not list(tmp_path.glob("*.partial*"))


def test_other_clients_are_answered_meanwhile(tmp_path):
    """A change may take long, here because the sink that is there is slow to take its frames."""
    scene = ["--source", "scene", "--size", "1280x720", "--rate", "60"]
    with asked_run(tmp_path, scene=scene) as (client, process):
        client.wait(5)
        answers = []
        other = Client(tmp_path / "control")
        asking = threading.Thread(target=lambda: answers.append(
            client.ask("reconfigure", stages=["stabilize:mode=cinematic"])))
        asking.start()
        count = 0
        while asking.is_alive() and count < 1000:
            assert other.ask("status")["ok"]
            count += 1
        asking.join(60)
        assert answers[0]["ok"], answers
        # A second change at the same time is refused, or waits for none.
        results = []
        threads = [threading.Thread(target=lambda one=one: results.append(one.ask("reconfigure", stages=[])))
                   for one in (client, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        for result in results:
            assert result["ok"] or "is being changed already" in result["error"], result
        assert any(result["ok"] for result in results)
        other.close()
        finish(client, process)


@pytest.mark.parametrize("given, expected", [({}, (4000, 3)), ({"gain": "2"}, (10_000, 2))])
def test_the_scenes_controls_keep_their_values_in_another_size(given, expected, tmp_path):
    with asked_run(tmp_path) as (client, process):
        assert client.ask("control", controls={"exposure": 4000, "gain": 3})["ok"]
        assert client.ask("reconfigure", size="96x64", source_settings=given)["ok"]
        client.wait(10)
        values = client.ask("status")["status"]["controls"]
        finish(client, process)
    assert (values["exposure"], values["gain"]) == expected


def test_the_command_ask_changes_a_run(tmp_path):
    with asked_run(tmp_path) as (client, process):
        client.wait(5)

        def ask(*words):
            return sprocket(
                "ask", tmp_path / "control", "reconfigure", *words, cwd=tmp_path, check=False)

        done = ask("attach=reports:part,a=b.jsonl", "stage=meter", "stage=focus")
        assert done.returncode == 0, done.errors
        client.wait(5)
        assert ask("detach=reports", "stage=").returncode == 0
        for word, sentence in [("attach", "write attach as KEY=VALUE"), ("stages=x", "did you mean `stage`?"),
                               ("rate=fast", "rate=fast is not allowed"), ("source-set=x", "as KEY=VALUE")]:
            done = ask(word)
            told = done.errors or done.stdout.decode()
            assert done.returncode != 0 and sentence in told, (word, told)
        finish(client, process)
    assert read_lines(tmp_path / "part,a=b.jsonl")


def test_a_file_follows_a_scene(tmp_path):
    """The run ends where the file ends."""
    sprocket("run", *SCENE, "--frames", "40", "--movie", tmp_path / "clip.mov")
    with asked_run(tmp_path, "--checksum") as (client, process):
        client.wait(5)
        assert client.ask("reconfigure", source=f"file:{tmp_path}/clip.mov")["ok"]
        assert process.wait(LIMIT) == 0
    summary = read_summary(tmp_path / "summary.json")
    assert summary["epochs"] == 2 and summary["errors"] == []
    assert summary["source"]["live"] is False
    assert summary["sinks"]["checksum"]["delivered"] >= 45


def test_both_halves_of_a_dump_are_detached_together(tmp_path):
    with asked_run(tmp_path, "--dump", tmp_path / "d.mcap") as (client, process):
        client.wait(5)
        answer = client.ask("reconfigure", detach=["dump-fates"])
        assert answer == {"ok": False, "error": "dump-fates belongs to dump; detach dump with it"}
        client.wait(5)
        assert client.ask("reconfigure", detach=["dump-fates", "dump"])["ok"]
        client.wait(5)
        finish(client, process)
    assert read_summary(tmp_path / "summary.json")["errors"] == []


def test_a_client_that_closes_its_side_gets_its_answers(tmp_path):
    with asked_run(tmp_path) as (client, process):
        client.wait(5)
        other = Client(tmp_path / "control")
        other.socket.sendall(b'{"request":"reconfigure","stages":["meter"]}\n{"request":"recordings"}\n')
        other.socket.shutdown(socket.SHUT_WR)
        assert other.line() == {"ok": True}
        assert other.line() == {"ok": True, "recordings": []}
        assert other.line() is None
        other.close()
        finish(client, process)


def test_a_change_that_is_refused_late_leaves_the_movie_alone(tmp_path):
    """The stills need the stage `focus`, which is known when the movie was asked, too."""
    path = tmp_path / "control"
    command = [SPROCKET, "run", *SCENE, "--stage", "focus", "--movie", tmp_path / "m.mov", "--stills",
               tmp_path / "s", "--stills-sharpest", "1s", "--control-socket", path, "--summary",
               tmp_path / "s.json"]
    with running(command) as process:
        wait_for(path.exists)
        client = Client(path)
        client.wait(20)
        answer = client.ask("reconfigure", stages=["negate"])
        assert not answer["ok"] and "focus" in answer["error"], answer
        client.wait(20)
        finish(client, process)
        client.close()
    summary = read_summary(tmp_path / "s.json")
    assert summary["errors"] == [] and summary["epochs"] == 1
    assert [file.name for file in tmp_path.glob("m*")] == ["m.mov"]
    assert frame_count(tmp_path / "m.mov") == summary["sinks"]["movie"]["delivered"]
    assert not [note for note in summary["notes"] if "goes on" in note or "no frame came" in note]


def test_a_reader_that_pauses_costs_the_others_no_frame_and_ends_no_run(tmp_path):
    pipe, sums = tmp_path / "pipe", tmp_path / "sums"
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDWR)
    fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, 4096)
    with asked_run(tmp_path, "--reports", pipe, "--checksums", sums) as (client, process):
        # Nobody reads: the pipe is full after some frames.
        client.wait(60)
        refused = client.ask("reconfigure", attach=["null"])
        assert not refused["ok"] and "reports has taken no frame for 2 s" in refused["error"]
        client.wait(5)
        # It reads on, and what was refused is accepted.
        threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(descriptor, 1 << 16), b"")],
                         daemon=True).start()
        wait_for(lambda: client.ask("reconfigure", attach=["null"])["ok"], process)
        client.wait(5)
        finish(client, process)
    summary = read_summary(tmp_path / "summary.json")
    assert summary["errors"] == [] and process.returncode == 0
    line = summary["sinks"]["checksum"]
    # The pause took 2 s of some 30 frames each; a slow machine may be late for one by itself.
    everything = sum(line[fate] for fate in fates(line))
    assert line["delivered"] > 60 and everything - line["delivered"] < 10, line


@pytest.mark.parametrize("sink", ["share:fd:{}", "reports:/dev/fd/{}", "reports:/proc/self/fd/{}",
                                  "reports:/dev/../proc/{pid}/fd/{}", "reports:/dev/stderr",
                                  "reports:{folder}/link", "dump:{folder}/chain"])
def test_no_client_names_a_descriptor_of_the_run(tmp_path, sink):
    (tmp_path / "link").symlink_to("/dev/stderr")
    (tmp_path / "chain").symlink_to("link")
    with asked_run(tmp_path) as (client, process):
        assert client.ask("record")["ok"]
        client.wait(5)
        folder = f"/proc/{process.pid}/fd"
        numbers = [name for name in os.listdir(folder) if int(name) > 2]
        for number in numbers:
            answer = client.ask("reconfigure", attach=[sink.format(number, pid=process.pid, folder=tmp_path)])
            assert not answer["ok"] and "descriptor" in answer["error"]
            path = sink.partition(":")[2].format(number, pid=process.pid, folder=tmp_path)
            if "/fd/" in path:
                assert not client.ask("next", path=path + ".mov")["ok"]
        client.wait(5)
        finish(client, process)
    (recording,) = read_summary(tmp_path / "summary.json")["recordings"]
    assert frame_count(recording["path"]) == recording["frames"]["delivered"] > 5


def test_a_refused_change_leaves_a_given_descriptor_free(tmp_path):
    reader, given = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    reader.settimeout(LIMIT)
    share = f"share:fd:{given.fileno()}"
    command = [SPROCKET, "run", *SCENE, "--null", "--control-socket", tmp_path / "control"]
    with running(command, [given.fileno()]) as process:
        given.close()
        wait_for((tmp_path / "control").exists, process)
        client = Client(tmp_path / "control")
        for _ in range(2):
            refused = client.ask("reconfigure", attach=[share, f"reports:{tmp_path}/missing/reports.jsonl"])
            assert not refused["ok"] and "missing" in refused["error"]
        # The reader has neither a packet nor the end of the stream.
        assert select.select([reader], [], [], 0)[0] == []
        assert client.ask("reconfigure", attach=[share])["ok"]
        reader.send(b"SPRKRDR1" + struct.pack("<Q", 0))
        assert b'"version":1' in reader.recv(65536)
        taken = client.ask("reconfigure", attach=[share])
        assert not taken["ok"] and "two sinks are called share" in taken["error"]
        finish(client, process)
        client.close()
    # The end of the stream: no copy of the descriptor is open any more.
    while reader.recv(65536):
        pass
    reader.close()


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_sink_whose_reader_pauses_can_be_removed(goes_on, tmp_path):
    """The others get their frames meanwhile. It has an account of its own when it goes on; if it never does,
    the run ends with an error that names it."""
    pipe, sums = tmp_path / "pipe", tmp_path / "sums"
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDWR)
    fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, 4096)
    lines = []
    with asked_run(tmp_path, "--reports", pipe, "--checksums", sums) as (client, process):
        client.wait(60)
        assert client.ask("reconfigure", detach=["reports"])["ok"]
        client.wait(5)
        assert client.ask("reconfigure", attach=["null"])["ok"]
        assert set(client.ask("status")["status"]["sinks"]) == {"checksum", "movie", "null"}
        if goes_on:
            reader = threading.Thread(target=lambda: lines.extend(open(f"/dev/fd/{descriptor}", "rb")),
                                      daemon=True)
            reader.start()
        client.wait(20)
        process.send_signal(2)
        process.wait(LIMIT)
        told = process.stderr.read().decode()
    assert goes_on or "the end waits for the sink `reports`" in told
    summary = read_summary(tmp_path / "summary.json")
    (line,) = [line for line in summary["detached"] if line["name"] == "reports"]
    assert frames_of(line) == line["detached_at"] > 60
    if goes_on:
        assert process.returncode == 0 and summary["errors"] == []
        assert line["delivered"] > 60
    else:
        assert process.returncode == 1
        (error,) = summary["errors"]
        assert "the sink `reports` did not finish" in json.dumps(error)
    line = summary["sinks"]["checksum"]
    everything = frames_of(line)
    assert line["delivered"] > 60 and everything - line["delivered"] < 10, line
