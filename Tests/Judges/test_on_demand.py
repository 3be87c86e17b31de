"""A run that is asked: by the control socket, signals and keys; limits and splitting."""
import contextlib
import json
import os
import pathlib
import pty
import random
import re
import resource
import select
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time

import pytest

from program import (LIMIT, ROOT, SPROCKET, clip, fates, frame_count, one_sentence, preloaded, read_lines,
                     read_summary, running, sprocket, wait_for)

SCENE = ["--source", "scene", "--size", "320x240", "--rate", "60"]


class Client:
    """A program that speaks the control socket's protocol."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LIMIT)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("r")

    def line(self):
        text = self.lines.readline()
        return json.loads(text) if text else None

    def ask(self, request, **keys):
        self.socket.sendall((json.dumps({"request": request, **keys}) + "\n").encode())
        return self.line()

    def frames(self):
        return self.ask("status")["status"]["produced"]

    def wait(self, count):
        """Until so many more frames have come."""
        end = self.frames() + count
        wait_for(lambda: self.frames() >= end)

    def close(self):
        self.lines.close()
        self.socket.close()


@contextlib.contextmanager
def asked_run(folder, *arguments, record="take-{n}.mov", scene=SCENE):
    """A run with a control socket, and a client. The folder then has `summary.json`."""
    path = folder / "control"
    command = [SPROCKET, "run", *scene, "--movie", folder / record, "--on-demand",
               "--control-socket", path, "--summary", folder / "summary.json", *arguments]
    with running(command) as process:
        wait_for(path.exists)
        client = Client(path)
        try:
            yield client, process
        finally:
            client.close()


def finish(client, process):
    """Ends the run; its summary's recordings."""
    assert client.ask("quit")["ok"]
    process.wait(LIMIT)


def test_every_record_says_what_is_in_its_file(tmp_path):
    with asked_run(tmp_path, "--stills", tmp_path / "photos") as (client, process):
        client.wait(5)
        first = client.ask("record")["recording"]
        client.wait(20)
        assert client.ask("next")["recording"] == first
        client.wait(20)
        photo = client.ask("photo", frames=3)["recording"]
        client.wait(10)
        assert client.ask("stop") == {"ok": True, "recording": first}
        client.wait(10)
        second = client.ask("record", path=str(tmp_path / "own.mkv"))["recording"]
        client.wait(10)
        again = client.ask("record")
        assert not again["ok"] and "is recording already" in again["error"]
        ended = client.ask("stop", recording=first)
        assert not ended["ok"] and "it ended as asked" in ended["error"]
        finish(client, process)
    summary = read_summary(tmp_path / "summary.json")
    records = {(record["recording"], record["path"]): record for record in summary["recordings"]}
    assert len(records) == 4
    movies = [tmp_path / "take-1.mov", tmp_path / "take-2.mov", tmp_path / "own.mkv"]
    one, two, own = (
        records[number, str(path)] for number, path in zip([first, first, second], movies))
    assert [one["reason"], two["reason"], own["reason"]] == ["split", "asked", "end"]
    assert one["end"] == two["begin"]
    for record, path in zip((one, two, own), movies):
        assert record["usable"]
        assert record["frames"]["delivered"] == frame_count(path)
        assert sum(record["frames"].values()) == record["end"] - record["begin"]
    photos = sorted((tmp_path / "photos").iterdir())
    assert len(photos) == 3
    assert [records[key] for key in records if key[0] == photo][0]["path"] == str(photos[0])
    delivered = sum(record["frames"]["delivered"] for record in (one, two, own))
    assert fates(summary["sinks"]["movie"])["delivered"] == delivered
    assert not (tmp_path / "control").exists()


def test_events_tell_of_each_file_and_of_the_end(tmp_path):
    with asked_run(tmp_path) as (client, process):
        watcher = Client(tmp_path / "control")
        assert watcher.ask("events")["ok"]
        client.ask("record", frames=5)
        event = watcher.line()
        assert event["event"] == "started" and event["file"]["begin"] == event["file"]["asked"]
        event = watcher.line()
        assert event["event"] == "ended" and event["file"]["frames"]["delivered"] == 5
        assert frame_count(event["file"]["path"]) == 5
        finish(client, process)
        assert watcher.line() == {"event": "end"}
        watcher.close()


def test_ask_is_a_client(tmp_path):
    with asked_run(tmp_path) as (client, process):
        path = tmp_path / "control"
        answer = json.loads(sprocket("ask", path, "record", tmp_path / "a.mov").stdout)
        assert answer["ok"]
        client.wait(5)
        stopped = sprocket("ask", path, "stop", answer["recording"])
        assert json.loads(stopped.stdout) == answer
        assert json.loads(sprocket("ask", path, "status").stdout)["status"]["protocol"] == 1
        answer = json.loads(sprocket("ask", path, "control", "gain=2", "exposure=4000").stdout)
        assert answer["ok"] and answer["controls"] == {"gain": 2, "exposure": 4000}
        refused = sprocket("ask", path, "control", "gain=3", "exposure=-1", check=False)
        assert refused.returncode == 1 and b"exposure=-1 is not allowed" in refused.stdout
        controls = json.loads(sprocket("ask", path, "status").stdout)["status"]["controls"]
        assert controls["gain"] == 2 and controls["exposure"] == 4000 and "lens" in controls
        refused = sprocket("ask", path, "photo", check=False)
        assert refused.returncode == 1 and not json.loads(refused.stdout)["ok"]
        assert sprocket("ask", path, "recrd", check=False).returncode == 2
        sprocket("ask", path, "quit")
        process.wait(LIMIT)
    gone = sprocket("ask", path, "status", check=False)
    assert gone.returncode == 1 and "no run listens" in one_sentence(gone.errors)


@pytest.mark.parametrize("line, sentence", [
    ("", "a request is a JSON object"), ("[]", "a request is a JSON object"),
    ("{}", "has the text `request`"), ('{"request":5}', "`request` is a text"),
    ('{"request":"recrd"}', "there is no request `recrd`; did you mean `record`?"),
    ('{"request":"record","pth":"x.mov"}', "`record` has no `pth`"),
    ('{"request":"record","frames":-1}', "`frames` is a whole number"),
    ('{"request":"record","frames":0}', "1 to 281474976710656 frames"),
    ('{"request":"record","path":"x.avi"}', "the ending says"),
    ('{"request":"record","path":""}', "the ending says"),
    ('{"request":"record","path":"/nowhere/x.mov"}', "/nowhere/x.mov"),
    ('{"request":"record","sink":"films"}', "no on-demand sink is called films"),
    ('{"request":"stop"}', "no recording is under way"),
    ('{"request":"stop","recording":7}', "there is no recording 7"),
    ('{"request":"record","at_s":-1}', "at_s"),
    ('{"request":"control","name":"gian","value":"1"}', "there is no control `gian`"),
    ('{"request":"control","name":"gain","value":"x"}', "gain=x is not allowed"),
    ("[" * 40000, "a request is a JSON object"),
])
def test_what_is_asked_wrongly_is_refused_in_one_sentence(tmp_path, line, sentence):
    with asked_run(tmp_path) as (client, process):
        client.socket.sendall(line.encode() + b"\n")
        answer = client.line()
        assert not answer["ok"] and sentence in answer["error"]
        assert client.ask("status")["ok"]
        finish(client, process)


def test_a_client_that_stalls_floods_or_vanishes_harms_nobody(tmp_path):
    with asked_run(tmp_path) as (client, process):
        path = tmp_path / "control"
        silent = [Client(path) for _ in range(5)]
        silent[0].socket.sendall(b'{"request":"sta')
        flood = Client(path)
        flood.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError, ConnectionError):
            while True:
                flood.socket.send(b'{"request":"status"}\n' * 1000)
        endless = Client(path)
        with contextlib.suppress(ConnectionError):
            endless.socket.sendall(b"x" * 200_000)
        Client(path).close()
        assert client.ask("record", frames=5)["ok"]
        # The answer did not wait until those that stall were disconnected.
        assert not select.select([other.socket for other in silent], [], [], 0)[0]
        client.wait(20)
        finish(client, process)
    assert read_summary(tmp_path / "summary.json")["recordings"][0]["frames"]["delivered"] == 5


def test_the_socket_withstands_random_bytes(tmp_path):
    chance = random.Random(1)
    words = ['"request"', '"record"', '"stop"', '"next"', '"photo"', '"path"', '"frames"', "{", "}",
             "[", "]", ",", ":", "1", "-1", "1e400", "null", '"\\ud800"', "\x00", "é", " ",
             '"at_s"', '"at_frame"', "18446744073709551616", "\n", '"set"', '"stage"', '"reconfigure"',
             '"stages"', '"attach"', '"meter"', '{"request":"reconfigure","stages":[',
             '{"request":"reconfigure","attach":["null"', '{"request":"set","stage":"meter","settings":{']
    with asked_run(tmp_path) as (client, process):
        for _ in range(int(os.environ.get("SPROCKET_FUZZ_CLIENTS", "300"))):
            other = Client(tmp_path / "control")
            with contextlib.suppress(ConnectionError):
                for _ in range(20):
                    text = "".join(chance.choice(words) for _ in range(chance.randrange(12)))
                    other.socket.sendall(text.encode() + b"\n" + chance.randbytes(chance.randrange(8)))
            other.close()
            assert client.ask("status")["ok"]
        finish(client, process)
        assert process.returncode == 0


def test_no_other_user_can_connect():
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(dir="/tmp") as name, asked_run(open_folder(name)) as (
            client, process):
        path = pathlib.Path(name) / "control"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r})"
        result = subprocess.run(
            ["python3", "-c", code], user=65534, group=65534, capture_output=True, timeout=LIMIT)
        assert b"PermissionError" in result.stderr
        # Even where the mode lets others in, who they are is asked.
        path.chmod(0o666)
        code += f"; s = socket.socket(socket.AF_UNIX); s.settimeout({LIMIT})"
        code += f"; s.connect({str(path)!r}); print(s.recv(1) == b'')"
        result = subprocess.run(
            ["python3", "-c", code], user=65534, group=65534, capture_output=True, timeout=LIMIT)
        assert result.stdout == b"True\n"
        finish(client, process)


def open_folder(name):
    """The folder, which other users may look into."""
    folder = pathlib.Path(name)
    folder.chmod(0o755)
    return folder


def test_the_place_of_the_socket(tmp_path):
    path = tmp_path / "control"
    run = ["run", *SCENE, "--frames", "2", "--null", "--control-socket"]
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    sprocket(*run, path)
    assert not path.exists()
    path.write_text("precious")
    refused = sprocket(*run, path, check=False)
    assert refused.returncode == 2 and "no socket" in one_sentence(refused.errors)
    assert path.read_text() == "precious"
    long = sprocket(*run, tmp_path / ("x" * 200), check=False)
    assert long.returncode == 2 and "shorter" in one_sentence(long.errors)
    path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    taken = sprocket(*run, path, check=False)
    assert taken.returncode == 2 and "another program listens" in one_sentence(taken.errors)
    listener.close()


def test_clients_beyond_the_most_are_refused_and_cost_nothing(tmp_path):
    with asked_run(tmp_path) as (client, process):
        others = [Client(tmp_path / "control") for _ in range(31)]
        late = Client(tmp_path / "control")
        assert late.line() is None
        assert client.ask("status")["ok"]
        for other in [*others, late]:
            other.close()

        def is_answered():
            # Until the run has seen that the others left, it disconnects new clients.
            with contextlib.suppress(ConnectionError):
                return Client(tmp_path / "control").ask("status") is not None

        wait_for(is_answered)
        finish(client, process)


def test_signals_take_photographs_and_record(tmp_path):
    with asked_run(tmp_path, "--stills", tmp_path / "photos", "--signal") as (client, process):
        client.wait(5)
        process.send_signal(signal.SIGUSR1)
        process.send_signal(signal.SIGUSR2)
        wait_for((tmp_path / "take-1.partial.mov").exists)
        client.wait(20)
        process.send_signal(signal.SIGUSR2)
        wait_for((tmp_path / "take-1.mov").exists)
        finish(client, process)
    records = read_summary(tmp_path / "summary.json")["recordings"]
    assert sorted((record["sink"], record["reason"]) for record in records) == [
        ("movie", "asked"), ("stills", "asked")]
    assert len(list((tmp_path / "photos").iterdir())) == 1


def test_keys_take_photographs_and_record(tmp_path):
    command = [SPROCKET, "run", *SCENE, "--movie", tmp_path / "take-{n}.mov", "--on-demand",
               "--stills", tmp_path / "photos", "--summary", tmp_path / "summary.json"]
    child, terminal = pty.fork()
    if child == 0:
        os.execv(SPROCKET, list(map(str, command)))
    shown = b""

    def until(condition):
        nonlocal shown
        end = time.monotonic() + LIMIT
        while not condition():
            assert time.monotonic() < end, shown.decode(errors="replace")
            if select.select([terminal], [], [], 0.05)[0]:
                shown += os.read(terminal, 65536)

    try:
        until(lambda: b"r record" in shown and b"GB free" in shown)
        os.write(terminal, b"r")
        until(lambda: b"n next file" in shown)
        os.write(terminal, b" n")
        until(lambda: b"take-1.mov" in shown and (tmp_path / "take-1.mov").exists())
        os.write(terminal, b"r")
        until((tmp_path / "take-2.mov").exists)
        os.write(terminal, b"n")
        until(lambda: b"recording 1 has ended" in shown)
        os.write(terminal, b"q")
        # The terminal ends with the program.
        with pytest.raises(OSError):
            until(lambda: False)
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    records = read_summary(tmp_path / "summary.json")["recordings"]
    assert sorted(record["reason"] for record in records) == ["asked", "asked", "split"]


@pytest.mark.parametrize("ending", ["mov", "mp4", "mkv"])
def test_a_movie_goes_on_in_its_next_file(tmp_path, ending):
    sprocket("run", *SCENE, "--frames", "300", "--movie", tmp_path / ("take-{n}." + ending),
             "--split", "1s", "--summary", tmp_path / "summary.json")
    files = [tmp_path / f"take-{number}.{ending}" for number in range(1, 6)]
    assert sorted(tmp_path.glob("take*")) == files
    assert [frame_count(path) for path in files] == [60] * 5
    records = read_summary(tmp_path / "summary.json")["recordings"]
    assert [record["begin"] for record in records] == [0, 60, 120, 180, 240]
    assert [record["reason"] for record in records] == ["split"] * 4 + ["end"]


def test_a_movie_is_split_by_its_size(tmp_path):
    sprocket("run", *SCENE, "--frames", "300", "--movie", tmp_path / "a.mov", "--split", "1M",
             "--summary", tmp_path / "summary.json")
    records = read_summary(tmp_path / "summary.json")["recordings"]
    assert len(records) > 1
    assert records[1]["path"] == str(tmp_path / "a-2.mov")
    for record in records[:-1]:
        assert 1 << 20 <= record["bytes"] < 1.1 * (1 << 20)
    assert sum(frame_count(record["path"]) for record in records) == 300


@pytest.mark.parametrize("limit, reason", [("2s", "duration"), ("1M", "size")])
def test_a_limit_leaves_a_complete_file_and_ends_the_run(tmp_path, limit, reason):
    result = sprocket("run", *SCENE, "--movie", tmp_path / "a.mov", "--longest", limit,
                      "--summary", tmp_path / "summary.json")
    record, = read_summary(tmp_path / "summary.json")["recordings"]
    assert record["reason"] == reason and record["usable"]
    assert frame_count(tmp_path / "a.mov") == record["frames"]["delivered"]
    if reason == "duration":
        assert record["frames"]["delivered"] + record["frames"].get("missing", 0) == 120
    assert f"recording 1: {tmp_path}/a.mov" in result.errors


def test_the_disk_keeps_its_free_space(tmp_path):
    free = shutil.disk_usage(tmp_path).free
    result = sprocket("run", *SCENE, "--movie", tmp_path / "a.mov", "--keep-free",
                      f"{free // (1 << 30) + 1}G", "--summary", tmp_path / "summary.json", check=False)
    assert result.returncode == 1 and "no frame reached" in result.errors
    record, = read_summary(tmp_path / "summary.json")["recordings"]
    assert record["reason"] == "disk" and record["frames"]["delivered"] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]
    assert "the disk has less free space than was to be kept" in result.errors


def test_a_trigger_does_not_try_again_at_each_frame(tmp_path):
    free = shutil.disk_usage(tmp_path).free
    sprocket("run", *SCENE, "--duration", "3s", "--stage", "motion", "--movie", tmp_path / "a-{n}.mov",
             "--record-when", "motion.score >= 0", "--keep-free", f"{free // (1 << 30) + 1}G",
             "--summary", tmp_path / "summary.json")
    assert len(read_summary(tmp_path / "summary.json")["recordings"]) == 1


def test_a_movie_that_cannot_be_made_is_told_before_the_run(tmp_path):
    result = sprocket("run", *SCENE, "--movie", tmp_path / "nowhere/a-{n}.mov", "--on-demand", check=False)
    assert result.returncode != 0 and "nowhere" in one_sentence(result.errors)


def test_files_of_patterns_are_never_replaced(tmp_path):
    run = ["run", *SCENE, "--frames", "30", "--movie", tmp_path / "a-{n}.mov", "--overwrite"]
    sprocket(*run)
    sprocket(*run)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-1.mov", "a-2.mov"]
    with asked_run(tmp_path, "--overwrite") as (client, process):
        path = str(tmp_path / "same.mov")
        client.ask("record", path=path, frames=3)
        wait_for(lambda: (tmp_path / "same.mov").exists())
        again = client.ask("record", path=path, frames=3)
        assert not again["ok"] and "was recorded by this run" in again["error"]
        nul = client.ask("record", path=str(tmp_path / "nul\0x.mov"))
        assert not nul["ok"]
        finish(client, process)


@pytest.mark.parametrize("arguments, sentence", [
    (["--on-demand"], "--on-demand is for --movie and --stills"),
    (["--split", "1s"], "is for --movie"), (["--movie", "a.mov", "--split", "1"], "60s or 500M"),
    (["--movie", "a.avi", "--on-demand"], "the ending says"),
])
def test_options_that_do_not_fit_are_refused(arguments, sentence):
    result = sprocket("run", *SCENE, *arguments, check=False)
    assert result.returncode == 2 and sentence in one_sentence(result.errors)


def test_a_service_manager_is_told(tmp_path):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(tmp_path / "notify"))
    listener.settimeout(LIMIT)
    environment = {**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "400000"}
    process = subprocess.Popen([SPROCKET, "run", *SCENE, "--null", "--quiet"], env=environment)
    try:
        assert listener.recv(1000).startswith(b"READY=1\n")
        assert listener.recv(1000).startswith(b"WATCHDOG=1\n")
        process.send_signal(signal.SIGTERM)
        while not (message := listener.recv(1000)).startswith(b"STOPPING=1\n"):
            assert message.startswith(b"WATCHDOG=1\n")
        assert process.wait(LIMIT) == 0
    finally:
        process.kill()
        process.wait()
        listener.close()


def test_a_recording_begins_before_it_was_asked_for(tmp_path):
    script = tmp_path / "script"
    script.write_text("\n".join(json.dumps(request) for request in [
        {"request": "record", "at_frame": 100}, {"request": "stop", "at_frame": 150},
        {"request": "record", "path": str(tmp_path / "again.mkv"), "at_frame": 170}]))
    sprocket("run", *SCENE, "--frames", "200", "--movie", tmp_path / "a.mov", "--on-demand", "--pre-roll",
             "1s", "--script", script, "--summary", tmp_path / "summary.json", "--reports",
             tmp_path / "reports.jsonl")
    first, second = read_summary(tmp_path / "summary.json")["recordings"]
    times = [line["captured_ns"] for line in read_lines(tmp_path / "reports.jsonl")]
    # 60 frames a second; what is in the first is not in the second.
    assert (first["asked"], first["begin"], first["end"]) == (100, 40, 150)
    assert (second["asked"], second["begin"], second["end"]) == (170, 150, 200)
    for record in (first, second):
        assert record["first_captured_ns"] == times[record["begin"]]
        assert record["frames"] == {"delivered": record["end"] - record["begin"]}
        assert record["frames"]["delivered"] == frame_count(record["path"])


@pytest.mark.parametrize("key", ["at_frame", "at_s"])
def test_a_script_has_any_number_of_requests(tmp_path, key):
    # 60 frames a second. The source is not live: it waits for what is still to be asked.
    def request(name, frame, **keys):
        moment = frame if key == "at_frame" else max(0, frame - 0.5) / 60
        return json.dumps({"request": name, key: moment, **keys})

    lines = []
    for index in range(250):
        mode = "spot" if index % 2 else "average"
        lines += [request("photo", 3 * index),
                  request("set", 3 * index + 1, stage="meter", settings={"mode": mode})]
    (tmp_path / "script").write_text("\n".join(lines))
    sprocket("run", *SCENE, "--frames", "800", "--stage", "meter", "--stills", tmp_path / "photos",
             "--on-demand", "--script", tmp_path / "script", "--summary", tmp_path / "summary.json",
             "--reports", tmp_path / "reports.jsonl")
    records = read_summary(tmp_path / "summary.json")["recordings"]
    assert [record["first_frame"] for record in records] == [3 * index for index in range(250)]
    assert all(record["frames"] == {"delivered": 1} for record in records)
    changed = [number for number, line in enumerate(read_lines(tmp_path / "reports.jsonl"))
               for event in line.get("events", []) if event["kind"] == "settings_changed"]
    assert changed == [3 * index + 1 for index in range(250)]


def test_what_a_long_script_cannot_have_is_told(tmp_path):
    script, photos = tmp_path / "script", tmp_path / "photos"

    def ran(lines):
        script.write_text("\n".join(json.dumps(line) for line in lines))
        return sprocket("run", *SCENE, "--frames", "200", "--stills", photos, "--on-demand", "--script",
                        script, "--overwrite", check=False)

    falling = ran([{"request": "photo", "at_frame": 100 - index} for index in range(65)])
    assert falling.returncode == 2
    assert b"line 2: a script of more than 64 requests has them in order" in falling.stderr
    # The places for files are taken by recordings that need more frames than have come.
    full = ran([{"request": "photo", "frames": 100, "at_frame": index} for index in range(90)])
    assert full.returncode == 1 and b"line 81: 80 files are still being completed" in full.stderr
    over = ran([{"request": "photo", "at_frame": 150 + index} for index in range(200)])
    # The run made the requests of its last 50 frames, and up to 64 that wait for later frames.
    line, left = re.search(rb"the run ended before line (\d+); (\d+) requests", over.stderr).groups()
    # 50 requests are for frames that the run has; those that wait at its end are not made either.
    assert over.returncode == 1 and (int(line), int(left)) == (51, 150)


def test_photographs_that_are_too_few_or_begin_later_are_told(tmp_path):
    script, photos, summary = tmp_path / "script", tmp_path / "photos", tmp_path / "summary.json"

    def ran(*requests, options=()):
        script.write_text("\n".join(map(json.dumps, requests)))
        result = sprocket("run", *SCENE, "--frames", "40", "--stills", photos, "--on-demand", "--script",
                          script, "--overwrite", "--summary", summary, *options, check=False)
        said = read_summary(summary)
        assert len(said["errors"]) == result.returncode
        records = said["recordings"]
        return result.returncode, said, [record["frames"].get("delivered", 0) for record in records]

    def photo(frames, **moment):
        return {"request": "photo", "frames": frames, **moment}

    code, said, counts = ran(photo(5, at_frame=10), photo(5, at_frame=20))
    assert code == 0 and counts == [5, 5] and not any("as asked" in note for note in said["notes"])
    for first, second in [({"at_frame": 12}, {"at_frame": 14}), ({"at_s": 11.5 / 60}, {"at_s": 13.5 / 60})]:
        code, said, counts = ran(photo(5, **first), photo(5, **second))
        assert code == 0 and counts == [5, 5]
        assert any("recording 2 begins at frame 17, and not at 14" in note for note in said["notes"])
    code, said, counts = ran(*[photo(3, at_frame=index) for index in range(6)])
    moved = [note for note in said["notes"] if "asked" in note]
    assert code == 0 and len(moved) == 2 and "4 more recordings began later than asked" in moved[1]
    code, said, counts = ran(photo(5, at_frame=38), photo(5, at_frame=39))
    assert code == 1 and counts == [2, 0] and not any("as asked" in note for note in said["notes"])
    assert "recording 1 had 2 of its 5 frames; others with too few: 1" in said["errors"][0]
    movie = ["--movie", tmp_path / "{n}.mov", "--split", "0.3s"]
    code, said, _ = ran({"request": "record", "frames": 35, "at_frame": 10}, options=movie)
    assert code == 1 and "recording 1 had 30 of its 35 frames" in said["errors"][0]


def test_a_clients_recording_that_the_runs_end_cut_short_is_an_error(tmp_path):
    """Frames come by a pipe, which ends when the requests are there."""
    film = subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10", "-frames:v",
                           "10", "-f", "yuv4mpegpipe", "-pix_fmt", "yuv420p", "-"],
                          check=True, capture_output=True, timeout=LIMIT).stdout
    for request, options, sentence in [
            ({"frames": 100, "at_frame": 4}, ["--pre-roll", "5s"], "recording 1 had 10 of its 100 frames"),
            ({"frames": 5, "at_frame": 50}, [], "the run ended before the frame of 1 recordings"),
            ({"at_frame": 50}, [], "the run ended before the frame of 1 recordings")]:
        process = subprocess.Popen(
            [SPROCKET, "run", "--source", "file:-", "--movie", tmp_path / "a.mov", "--on-demand", *options,
             "--control-socket", tmp_path / "control", "--summary", tmp_path / "summary.json", "--overwrite",
             "--quiet"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            process.stdin.write(film)
            process.stdin.flush()
            wait_for(lambda: (tmp_path / "control").exists())
            with contextlib.closing(Client(tmp_path / "control")) as client:
                # The last frame waits for what comes after it.
                wait_for(lambda: client.frames() >= 9)
                assert client.ask("record", **request)["ok"]
            process.stdin.close()
            said = process.stderr.read().decode()
            assert process.wait(LIMIT) == 1 and sentence in said, said
        finally:
            process.kill()
            process.wait()


def test_a_scripts_request_that_its_sink_refuses_is_an_error(tmp_path):
    script, summary = tmp_path / "script", tmp_path / "summary.json"

    def ran(*lines):
        script.write_text("\n".join(map(json.dumps, lines)))
        result = sprocket("run", *SCENE, "--frames", "40", "--movie", tmp_path / "{n}.mov", "--on-demand",
                          "--script", script, "--summary", summary, "--overwrite", check=False)
        told = [line in result.errors for line in read_summary(summary)["errors"]]
        assert told == [True] * result.returncode
        return result

    record = {"request": "record", "at_frame": 5}
    second = ran(record, {"request": "record", "at_frame": 10})
    assert second.returncode == 1 and "line 2: not made: its sink had another" in second.errors
    stop = {"request": "stop", "at_frame": 10}
    late = ran(record, stop, {"request": "next", "at_frame": 15})
    assert late.returncode == 1 and "line 3: not made" in late.errors
    # What a second stop asks for is there.
    assert ran(record, stop, {"request": "stop", "at_frame": 15}).returncode == 0
    assert ran(record, {"request": "stop", "at_frame": 50}).returncode == 1


def test_each_line_of_a_script_is_checked_before_the_run(tmp_path):
    def ran(line):
        lines = [json.dumps({"request": "set", "stage": "meter", "settings": {"mode": "spot"},
                             "at_frame": 1})] * 70
        (tmp_path / "script").write_text("\n".join([*lines, json.dumps({**line, "at_frame": 2})]))
        return sprocket("run", *SCENE, "--frames", "10", "--stage", "meter", "--movie", tmp_path / "a.mov",
                        "--on-demand", "--script", tmp_path / "script", check=False)

    for line, sentence in [
            ({"request": "set"}, "`set` has a stage and its settings"),
            ({"request": "photo"}, "this run takes no photographs"),
            ({"request": "record", "sink": "mov"}, "no on-demand sink is called mov"),
            ({"request": "record", "frames": 0}, "a recording has 1 to"),
            ({"request": "record", "path": "/dev/fd/1"}, "descriptor")]:
        refused = ran(line)
        assert refused.returncode == 2 and "line 71: " in refused.errors and sentence in refused.errors
        assert [path.name for path in tmp_path.iterdir()] == ["script"]


@pytest.mark.parametrize("key", ["at_frame", "at_s"])
@pytest.mark.parametrize("limit", [["--frames", "30"], ["--duration", "0.5s"]])
def test_the_last_frame_waits_for_its_requests(tmp_path, key, limit):
    """60 frames a second: 30 are half a second. The photograph is asked for when places are free again."""
    moment = {key: 29 if key == "at_frame" else 28.5 / 60}
    setting = {"request": "set", "stage": "meter", "settings": {"mode": "spot"}, **moment}
    (tmp_path / "script").write_text("\n".join(
        json.dumps(line) for line in [setting] * 70 + [{"request": "photo", **moment}]))
    sprocket("run", *SCENE, "--source-set", "pace=fast", *limit, "--stage", "meter", "--stills",
             tmp_path / "photos", "--on-demand", "--script", tmp_path / "script")
    assert [photo.name for photo in (tmp_path / "photos").iterdir()] == ["still-00000029.jpg"]


def test_each_late_request_of_a_live_script_is_counted(tmp_path):
    """200 requests for one frame, of which 64 may wait: a live source does not wait for the others."""
    setting = {"request": "set", "stage": "meter", "settings": {"mode": "spot"}, "at_frame": 5}
    (tmp_path / "script").write_text("\n".join([json.dumps(setting)] * 200))
    live = sprocket("run", "--source", "scene", "--source-set", "pace=real", "--size", "64x48", "--rate",
                    "30", "--frames", "60", "--stage", "meter", "--script", tmp_path / "script", "--reports",
                    tmp_path / "reports.jsonl", "--null", check=False)
    changed = [line["sequence"] for line in read_lines(tmp_path / "reports.jsonl")
               for event in line.get("events", []) if event["kind"] == "settings_changed"]
    late = sum(number > changed[0] for number in changed)
    assert len(changed) == 200 and late >= 100
    assert live.returncode == 1 and f"(and {late - 1} more of this kind)" in live.errors
    assert live.errors.count("its frame had passed") == 11


def test_what_follows_a_record_that_was_refused_meets_no_other_recording(tmp_path):
    lines = [{"request": "set", "stage": "meter", "settings": {"mode": "spot"}, "at_frame": 1}] * 70
    lines[0] = {"request": "record", "path": str(tmp_path / "a.mov"), "at_frame": 1}
    lines += [{"request": "record", "path": str(tmp_path / "missing/b.mov"), "at_frame": 5},
              {"request": "stop", "at_frame": 10}]
    (tmp_path / "script").write_text("\n".join(map(json.dumps, lines)))
    ran = sprocket("run", *SCENE, "--frames", "30", "--stage", "meter", "--movie", tmp_path / "{n}.mov",
                   "--on-demand", "--script", tmp_path / "script", check=False)
    assert ran.returncode == 1 and "line 72: not made, because the `record` of line 71" in ran.errors
    assert frame_count(tmp_path / "a.mov") == 29


def test_a_script_comes_through_a_pipe(tmp_path):
    script = tmp_path / "script"
    os.mkfifo(script)
    text = '\t{"request":"photo","at_frame":3}\r\n\r\n \n# none\n'
    writer = threading.Thread(target=lambda: (time.sleep(0.3), script.write_text(text)), daemon=True)
    writer.start()
    sprocket("run", *SCENE, "--frames", "5", "--stills", tmp_path / "photos", "--on-demand", "--script",
             script)
    writer.join(LIMIT)
    assert [photo.name for photo in (tmp_path / "photos").iterdir()] == ["still-00000003.jpg"]
    silent = sprocket("run", *SCENE, "--frames", "5", "--null", "--script", script, check=False)
    assert silent.returncode == 2 and "a pipe whose writer sends nothing" in one_sentence(silent.errors)


@pytest.mark.parametrize("ending, demuxer", [("mov", "qtdemux"), ("mkv", "matroskademux")])
def test_other_programs_play_a_recording_with_pre_roll(tmp_path, ending, demuxer):
    (tmp_path / "script").write_text('{"request":"record","at_frame":70}')
    path = tmp_path / ("take." + ending)
    sprocket("run", *SCENE, "--frames", "90", "--movie", path, "--on-demand", "--pre-roll", "1s",
             "--script", tmp_path / "script")
    frames = 80
    assert frame_count(path) == frames
    cv2 = pytest.importorskip("cv2")
    movie, count = cv2.VideoCapture(str(path)), 0
    while movie.grab():
        count += 1
    assert count == frames
    if shutil.which("gst-launch-1.0"):
        result = subprocess.run(
            ["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", demuxer, "!", "jpegdec", "!",
             "fakesink"], capture_output=True, timeout=LIMIT)
        assert result.returncode == 0, result.stderr


def test_it_records_while_a_condition_holds(tmp_path):
    limit = 0.06
    sprocket("run", "--source", f"file:{clip('generic/vtest.avi')}", "--stage", "motion",
             "--movie", tmp_path / "event-{n}.mov", "--record-when", f"motion.score > {limit}",
             "--pre-roll", "500ms", "--keep", "1s", "--reports", tmp_path / "reports.jsonl",
             "--summary", tmp_path / "summary.json")
    lines = read_lines(tmp_path / "reports.jsonl")
    hits = [number for number, line in enumerate(lines) if line["motion"]["score"] > limit]
    assert 0 < len(hits) < len(lines)
    records = read_summary(tmp_path / "summary.json")["recordings"]
    recorded = [number for record in records for number in range(record["begin"], record["end"])]
    assert len(recorded) == len(set(recorded)) and set(hits) <= set(recorded)
    for before, record in zip([None, *records], records):
        inside = [number for number in hits if record["begin"] <= number < record["end"]]
        assert frame_count(record["path"]) == record["end"] - record["begin"]
        # Ten frames a second: five before the first hit, if the recording before had not taken them.
        earliest = max(inside[0] - 5, before["end"] if before else 0)
        assert record["begin"] == earliest
        assert record["end"] >= min(inside[-1] + 10, len(lines))


@pytest.mark.parametrize("condition, sentence", [
    ("motion.scor > 1", "did you mean `score`?"), ("focus.score > 1", "no stage focus of this run"),
    ("motion.score >", "ends too early"), ("motion.score", "not true or false by itself"),
    ("(motion.dark", "a parenthesis is not closed"), ("motion.grid > 1", "a row of numbers"),
    ("motion.score > high", "`high` is no number and no field"), ("", "ends too early"),
    ("motion.dark dark", "`dark` is not expected"), ("not " * 2000 + "motion.dark", "too long"),
])
def test_a_condition_that_makes_no_sense_is_refused(tmp_path, condition, sentence):
    result = sprocket("run", *SCENE, "--stage", "motion", "--movie", tmp_path / "a.mov",
                      "--record-when", condition, check=False)
    assert result.returncode == 2 and sentence in one_sentence(result.errors)
    assert not list(tmp_path.iterdir())


def unit():
    """The systemd unit of docs/on-demand.md."""
    page = (ROOT / "docs/on-demand.md").read_text()
    return page.split("```ini\n")[1].split("```")[0]


def test_the_unit_is_one_that_systemd_takes(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd-analyze")
    path = tmp_path / "sprocket-watch.service"
    path.write_text(unit().replace("/usr/local/bin/sprocket", SPROCKET))
    result = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True,
                            timeout=LIMIT)
    assert result.returncode == 0 and "sprocket-watch" not in result.stderr, result.stderr


def test_the_command_of_the_unit_records_what_moves(tmp_path):
    command = unit().replace("\\\n", " ").split("ExecStart=/usr/local/bin/sprocket ")[1].splitlines()[0]
    page = (ROOT / "docs/on-demand.md").read_text()
    described = next(block for block in re.findall("```yaml\n(.*?)```", page, re.S) if "record-when" in block)
    for folder in ["/var/lib/sprocket", "/run/sprocket"]:
        described = described.replace(folder, str(tmp_path))
    (tmp_path / "door.yaml").write_text(described)
    command = command.replace("/etc/sprocket/door.yaml", str(tmp_path / "door.yaml"))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(tmp_path / "notify"))
    listener.settimeout(LIMIT)
    moving = [*SCENE, "--source-set", "object=0.4", "--quiet"]
    with subprocess.Popen([SPROCKET, *shlex.split(command), *moving],
                          env={**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")}) as process:
        try:
            assert listener.recv(1000).startswith(b"READY=1\n")
            wait_for((tmp_path / "event-1.partial.mov").exists)
            client = Client(tmp_path / "control")
            client.wait(60)
            client.close()
            process.send_signal(signal.SIGTERM)
            assert process.wait(LIMIT) == 0
        finally:
            process.kill()
            listener.close()
    assert frame_count(tmp_path / "event-1.mov") > 0


@pytest.fixture(scope="module")
def slow_disk(tmp_path_factory):
    return preloaded("slow_disk.c", tmp_path_factory.mktemp("slow"))


def on_slow_disk(library, every, sync, write):
    """The environment in which one call in `every` takes so many milliseconds."""
    return {**os.environ, "LD_PRELOAD": str(library), "SLOW_DISK_EVERY": str(every),
            "SLOW_DISK_SYNC": str(sync), "SLOW_DISK_WRITE": str(write)}


def test_no_frame_is_lost_between_the_files_of_a_slow_disk(tmp_path, slow_disk):
    # SPROCKET_SLOW_SECONDS=600 for ten minutes.
    seconds = os.environ.get("SPROCKET_SLOW_SECONDS", "12")
    peaks = []
    for name, duration in ("short", "3s"), ("long", f"{seconds}s"):
        folder = tmp_path / name
        folder.mkdir()
        command = [SPROCKET, "run", *SCENE, "--duration", duration, "--movie", folder / "a-{n}.mov",
                   "--split", "100ms", "--summary", folder / "summary.json", "--quiet"]
        subprocess.run(list(map(str, command)), check=True, timeout=LIMIT + int(seconds),
                       env=on_slow_disk(slow_disk, 100, 2000, 100))
        summary = read_summary(folder / "summary.json")
        counts = fates(summary["sinks"]["movie"])
        assert counts["delivered"] > 0 and counts["failed"] == counts["unselected"] == 0, counts
        # 1,024 records are kept.
        records = summary["recordings"]
        for before, record in zip(records, records[1:]):
            assert before["end"] == record["begin"] and before["reason"] == "split"
        assert all(record["usable"] for record in records if record["frames"]["delivered"])
        assert len(list(folder.glob("*.partial.*"))) == 0
        peaks.append(summary["peak_resident_bytes"])
    assert peaks[1] < 1.3 * peaks[0]


def test_a_disk_that_cannot_keep_up_refuses_and_keeps_what_was_before(tmp_path, slow_disk):
    path = tmp_path / "control"
    command = [SPROCKET, "run", *SCENE, "--movie", tmp_path / "a-{n}.mov", "--on-demand",
               "--control-socket", path, "--summary", tmp_path / "summary.json", "--quiet"]
    with subprocess.Popen(list(map(str, command)), env=on_slow_disk(slow_disk, 1, 80, 0)) as process:
        try:
            wait_for(path.exists)
            client = Client(path)
            client.ask("record")
            answer = client.ask("next")
            while answer["ok"]:
                client.wait(1)
                answer = client.ask("next")
            assert "80 files are still being completed" in answer["error"]
            client.ask("stop")
            finish(client, process)
            assert process.returncode == 0
        finally:
            process.kill()
    records = read_summary(tmp_path / "summary.json")["recordings"]
    for before, record in zip(records, records[1:]):
        assert before["end"] == record["begin"]
    for record in records:
        if record["frames"]["delivered"]:
            assert record["usable"] and frame_count(record["path"]) == record["frames"]["delivered"]


def test_a_script_asks_at_its_frames(tmp_path):
    script = tmp_path / "script"
    script.write_text("\n".join([
        "# Two movies and photographs.", json.dumps({"request": "record", "at_frame": 10}),
        json.dumps({"request": "next", "at_frame": 30}), "",
        json.dumps({"request": "photo", "frames": 3, "at_s": 0.5}),
        json.dumps({"request": "stop", "at_frame": 50}),
        json.dumps({"request": "record", "path": str(tmp_path / "last.mkv"), "at_frame": 70})]))
    for name in "one", "two":
        folder = tmp_path / name
        folder.mkdir()
        sprocket("run", *SCENE, "--frames", "100", "--movie", folder / "a-{n}.mov", "--stills",
                 folder / "photos", "--on-demand", "--script", script, "--overwrite", "--summary",
                 folder / "summary.json")
        records = read_summary(folder / "summary.json")["recordings"]
        assert sorted((r["begin"], r["end"], r["sink"]) for r in records) == [
            (10, 30, "movie"), (30, 33, "stills"), (30, 50, "movie"), (70, 100, "movie")]
        for record in records:
            if record["sink"] == "movie":
                assert frame_count(record["path"]) == record["end"] - record["begin"]


@pytest.mark.parametrize("line, sentence", [
    ('{"request":"record"}', "line 2: `record` has no moment; a script has record"),
    ('{"request":"quit"}', "line 2: a script cannot have `quit`; it has record"),
    ('{"request":"control","name":"gain","value":2}', "line 2: a script cannot have `control`"),
    ('{"request":"stop","at_frame":5}', "line 2: no recording is under way"),
    ("x", "line 2: a request is a JSON object"),
])
def test_a_script_that_makes_no_sense_is_refused(tmp_path, line, sentence):
    script = tmp_path / "script"
    script.write_text("#\n" + line + "\n")
    result = sprocket("run", *SCENE, "--movie", tmp_path / "a.mov", "--on-demand", "--script", script,
                      check=False)
    assert result.returncode == 2 and sentence in one_sentence(result.errors)
    assert [path.name for path in tmp_path.iterdir()] == ["script"]


def test_what_waits_for_its_frame_is_cancelled(tmp_path):
    with asked_run(tmp_path) as (client, process):
        first = client.ask("record")["recording"]
        later = client.ask("next", path=str(tmp_path / "later.mov"), at_frame=1 << 40)
        assert later["recording"] == first
        change = client.ask("photo", frames=2, at_frame=1 << 40)
        assert not change["ok"], "this run takes no photographs"
        assert client.ask("cancel", id=later["id"]) == {"ok": True}
        again = client.ask("cancel", id=later["id"])
        assert not again["ok"] and "taken effect" in again["error"]
        # Another thread removes the file, so that a disk that hangs holds up no answer.
        wait_for(lambda: not (tmp_path / "later.partial.mov").exists(), process)
        # The name is free again.
        assert client.ask("next", path=str(tmp_path / "later.mov"))["ok"]
        client.wait(3)
        finish(client, process)
    records = read_summary(tmp_path / "summary.json")["recordings"]
    assert [record["path"].split("/")[-1] for record in records if record["bytes"]] == [
        "take-1.mov", "later.mov"]
    assert sum(frame_count(tmp_path / name) for name in ("take-1.mov", "later.mov")) == sum(
        record["frames"]["delivered"] for record in records)


def test_one_client_fills_no_port(tmp_path):
    with asked_run(tmp_path, "--stage", "meter") as (client, process):
        other = Client(tmp_path / "control")
        first = other.ask("record")["recording"]
        answers = [client.ask("set", stage="meter", settings={"mode": "spot"}, at_frame=1 << 62)
                   for _ in range(70)]
        assert sum(answer["ok"] for answer in answers) == 64
        assert "64 requests of yours" in answers[-1]["error"]
        # Others ask as before, and a stop is refused to nobody.
        assert other.ask("next")["ok"] and client.ask("stop", recording=first)["ok"]
        other.close()
        finish(client, process)


def test_a_name_whose_file_could_not_be_made_is_free(tmp_path):
    with asked_run(tmp_path, record="take.mov") as (client, process):
        missing = tmp_path / "missing" / "x.mov"
        first = client.ask("record")["recording"]
        assert not client.ask("next", path=str(missing))["ok"]
        missing.parent.mkdir()
        assert client.ask("next", path=str(missing))["ok"]
        client.wait(3)
        assert client.ask("stop", recording=first)["ok"]
        # A recording that never has a frame leaves its name.
        later = client.ask("record", path=str(tmp_path / "y.mov"), at_frame=1 << 40)["recording"]
        assert client.ask("stop", recording=later)["ok"]
        wait_for(lambda: client.ask("record", path=str(tmp_path / "y.mov"))["ok"])
        client.wait(3)
        finish(client, process)
    assert frame_count(missing) > 0 and frame_count(tmp_path / "y.mov") > 0


def test_a_hundred_thousand_files_cost_the_next_one_nothing(tmp_path):
    """The number of the next file was searched from 1 each time: most frames came too late."""
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(1, 100_001):
        (folder / f"take-{number}.mov").touch()
    with asked_run(tmp_path, record="files/take-{n}.mov") as (client, process):
        assert client.ask("record")["ok"]
        for _ in range(12):
            client.wait(5)
            assert client.ask("next")["ok"]
        client.wait(5)
        finish(client, process)
    assert process.returncode == 0
    summary = read_summary(tmp_path / "summary.json")
    paths = [record["path"] for record in summary["recordings"]]
    assert paths == [str(folder / f"take-{number}.mov") for number in range(100_001, 100_014)]
    # A slow machine may be late for one by itself.
    assert summary["sinks"]["movie"]["behind"] < 5, summary["sinks"]


def test_clients_that_wait_for_a_descriptor_slow_nothing(tmp_path):
    """A connection that cannot be accepted stays in the queue: nothing turns round meanwhile."""
    with asked_run(tmp_path) as (client, process):
        client.wait(5)
        most = max(int(name) for name in os.listdir(f"/proc/{process.pid}/fd"))
        limit = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (most + 2, limit[1]))
        others = [Client(tmp_path / "control") for _ in range(6)]
        others[0].ask("status")
        before = cpu_ticks(process, "control")
        # 120 frames take 2 s: 200 ticks for a thread that never rests.
        client.wait(120)
        assert cpu_ticks(process, "control") - before < 60
        others[0].close()
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, limit)
        for other in others[1:]:
            assert other.ask("status")["ok"]
            other.close()
        finish(client, process)
    assert process.returncode == 0


def cpu_ticks(process, name):
    """CPU time that the threads of this name have used, in clock ticks."""
    ticks = 0
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            fields = (task / "stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks
