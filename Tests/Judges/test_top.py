"""`sprocket top`: which runs it finds, what it shows of them, and that none of them can hold it up."""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import stat
import struct
import subprocess
import termios
import time

import pytest

from program import LIMIT, SPROCKET, one_sentence, running, sprocket, wait_for

SCENE = ["--source", "scene", "--size", "320x240", "--rate", "60", "--quiet"]


@pytest.fixture
def session(tmp_path, monkeypatch):
    """A folder of the session, in which runs have their entries."""
    folder = tmp_path / "session"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


def entries(session):
    folder = session / "sprocket-runs"
    return {os.readlink(path): path for path in folder.iterdir()} if folder.exists() else {}


@contextlib.contextmanager
def watched_run(session, path, *arguments):
    """A run with a control socket, which `top` can find."""
    command = [SPROCKET, "run", *SCENE, "--control-socket", path, *arguments]
    with running(command) as process:
        wait_for(lambda: str(path) in entries(session))
        yield process


def end(process):
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT) == 0


def top(*arguments, check=True):
    """What `top --json` prints, by socket."""
    lines = sprocket("top", "--json", *arguments, check=check).stdout.decode().splitlines()
    return {run["socket"]: run for run in map(json.loads, lines)}


def test_runs_are_found_without_naming_them(tmp_path, session):
    front, back = tmp_path / "front-door.sock", tmp_path / "back"
    with watched_run(session, front, "--stage", "meter") as one, watched_run(session, back) as two:
        assert stat.S_IMODE((session / "sprocket-runs").stat().st_mode) == 0o700
        found = top()
        # The machine may have other runs of this user.
        assert {str(front), str(back)} <= found.keys()
        assert [found[str(path)]["pid"] for path in (front, back)] == [one.pid, two.pid]
        assert [found[str(path)]["name"] for path in (front, back)] == ["front-door", "back"]
        table = sprocket("top").stdout.decode()
        for process in (one, two):
            assert f"PID {process.pid}  " in table
        assert "\x1b" not in table
        end(one)
        end(two)
        # A run takes its entry with it.
        assert entries(session) == {}


def test_figures_agree_with_status(tmp_path, session):
    path = tmp_path / "control"
    with watched_run(session, path, "--stage", "meter", "--checksum") as process:
        def status():
            return json.loads(sprocket("ask", path, "status").stdout)["status"]
        before, shown, after = status(), top(path)[str(path)], status()
        end(process)
    assert before["pid"] == shown["pid"] == process.pid and before["program"] == "sprocket"
    assert shown["interval_s"] > 0.9
    assert before["produced"] <= shown["produced"] <= after["produced"]
    # The interval of `top` lies within that of the two answers.
    came = shown["frames_per_s"] * shown["interval_s"]
    assert 0 < came < after["produced"] - before["produced"] + 0.5
    for status in (before, shown, after):
        assert 0 <= status["ring"]["used"] + status["ring"]["free"] <= status["ring"]["depth"]
    names = [[step["name"] for step in lane["steps"]] for lane in shown["lanes"]]
    assert names == [[step["name"] for step in lane["steps"]] for lane in before["lanes"]]
    assert {"unpack", "meter", "pack"} == {name for lane in names for name in lane}
    for index, lane in enumerate(shown["lanes"]):
        for number, step in enumerate(lane["steps"]):
            first, last = (status["lanes"][index]["steps"][number] for status in (before, after))
            assert first["frames"] <= step["frames"] <= last["frames"]
            assert first["work_s"] < last["work_s"] and first["cpu_frames"] <= last["cpu_frames"]
            assert 0 < step["work_ms"] <= 1000 * (last["work_s"] - first["work_s"])
        assert 0 <= lane["busy"] < 1.1 and lane["behind"] <= shown["ring"]["depth"]
    sink, = (sink for sink in shown["sinks"] if sink["name"] == "checksum")
    assert sink["frames"]["delivered"] <= shown["produced"] and sink["wait_ms"] > 0
    # The account does not claim more than was produced.
    for status in (before, after):
        for counts in status["sinks"].values():
            assert sum(counts.values()) <= status["produced"]


def test_a_stalled_run_does_not_hold_up_the_others(tmp_path, session):
    stalled, well = tmp_path / "stalled", tmp_path / "well"
    with watched_run(session, stalled) as one, watched_run(session, well) as two:
        one.send_signal(signal.SIGSTOP)
        found = top()
        assert "does not answer" in found[str(stalled)]["error"]
        assert found[str(well)]["frames_per_s"] > 0
        table = sprocket("top", "--once").stdout.decode()
        assert f"{stalled}  no answer for" in table and f"PID {two.pid}" in table
        # Who names a run wants that one.
        silent = sprocket("top", stalled, well, check=False)
        assert silent.returncode == 1 and "does not answer" in one_sentence(silent.errors)
        assert f"PID {two.pid}" in silent.stdout.decode()
        one.send_signal(signal.SIGCONT)
        wait_for(lambda: "pid" in top(stalled, check=False)[str(stalled)])
        end(one)
        end(two)


def test_a_run_whose_queue_is_full_does_not_hold_it_up(tmp_path, session):
    path = tmp_path / "control"
    with watched_run(session, path) as process, contextlib.ExitStack() as clients:
        process.send_signal(signal.SIGSTOP)
        with contextlib.suppress(BlockingIOError):
            for _ in range(1000):
                client = clients.enter_context(socket.socket(socket.AF_UNIX))
                client.setblocking(False)
                client.connect(str(path))
        silent = sprocket("top", path, check=False)
        assert silent.returncode == 1 and "does not answer" in one_sentence(silent.errors)
        process.kill()


def test_entries_of_runs_that_were_killed_are_removed(tmp_path, session):
    killed, well = tmp_path / "killed", tmp_path / "well"
    with watched_run(session, killed) as one, watched_run(session, well) as two:
        one.kill()
        one.wait()
        gone = session / "sprocket-runs" / "1-2"
        gone.symlink_to(tmp_path / "nowhere")
        assert killed.exists() and str(killed) in entries(session)
        found = top()
        assert str(well) in found and str(killed) not in found
        assert set(entries(session)) == {str(well)}
        end(two)


def test_the_next_run_removes_entries_of_runs_that_were_killed(tmp_path, session):
    killed, well = tmp_path / "killed", tmp_path / "well"
    with watched_run(session, killed) as one:
        one.kill()
        one.wait()
    assert set(entries(session)) == {str(killed)}
    with watched_run(session, well) as two:
        wait_for(lambda: set(entries(session)) == {str(well)}, two)
        end(two)


def test_what_is_no_entry_is_left_alone(tmp_path, session):
    with watched_run(session, tmp_path / "control") as process:
        folder = session / "sprocket-runs"
        (folder / "notes").write_text("mine")
        (folder / "3-4").write_text("mine")
        (folder / "link").symlink_to("/nowhere")
        assert str(tmp_path / "control") in top()
        assert {"notes", "3-4", "link"} <= {path.name for path in folder.iterdir()}
        end(process)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, session, mode):
    path, folder = tmp_path / "control", session / "sprocket-runs"
    folder.mkdir()
    with running([SPROCKET, "run", *SCENE, "--control-socket", path]) as process:
        wait_for(path.exists)
        wait_for(lambda: top(path, check=False).get(str(path)))
        end(process)
    folder.chmod(mode)
    server = socket.socket(socket.AF_UNIX)
    with contextlib.closing(server):
        server.bind(str(path))
        server.settimeout(LIMIT)
        server.listen()
        status = path.stat()
        entry = folder / f"{status.st_dev}-{status.st_ino}"
        entry.symlink_to(path)
        assert str(path) not in top(check=False)
        assert entry.is_symlink()


def test_sockets_of_other_users_are_not_asked(tmp_path, session):
    """A listener that changes its user after an entry was made is connected to, but not asked."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with open_folder() as name:
        path, folder = os.path.join(name, "theirs"), session / "sprocket-runs"
        folder.mkdir(mode=0o700)
        code = ("import socket, sys, os\nserver = socket.socket(socket.AF_UNIX)\n"
                f"server.bind({path!r})\nos.setuid(12345)\nserver.listen()\nprint(flush=True)\n"
                "client = server.accept()[0]\nprint(repr(client.recv(100)), flush=True)\n")
        with subprocess.Popen(["python3", "-c", code], stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            status = os.stat(path)
            (folder / f"{status.st_dev}-{status.st_ino}").symlink_to(path)
            assert path not in top(check=False)
            assert process.stdout.readline() == "b''\n"


def open_folder():
    import tempfile  # Other users cannot enter pytest's folders.
    folder = tempfile.TemporaryDirectory(dir="/tmp")
    os.chmod(folder.name, 0o777)
    return folder


def test_nothing_to_show_is_one_sentence(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can become a user without runs")
    with open_folder() as name:
        nothing = subprocess.run(
            [os.path.realpath(SPROCKET), "top"], capture_output=True, timeout=LIMIT, user=12345,
            env={**os.environ, "XDG_RUNTIME_DIR": name})
    assert nothing.returncode == 1 and nothing.stdout == b""
    assert "no run of yours has a control socket" in one_sentence(nothing.stderr.decode())


@pytest.mark.parametrize("arguments, code, sentence", [
    (["/nowhere/control"], 1, "no run listens on /nowhere/control"),
    ([""], 2, "no path of a socket"), (["x" * 200], 2, "no path of a socket"),
    (["--frob"], 2, "Unknown option '--frob'"), (["--once=1"], 2, "--once"),
    (["/etc/passwd"], 2, "/etc/passwd"),
])
def test_what_cannot_be_shown_is_refused_in_one_sentence(arguments, code, sentence):
    refused = sprocket("top", *arguments, check=False)
    assert refused.returncode == code and sentence in one_sentence(refused.errors)


@pytest.mark.parametrize("answer", [
    b"hello\n", b"{}\n", b'{"ok":true,"status":{}}\n', b'{"ok":false,"error":"no"}\n', b"\xff\xfe\n", b"\n",
])
def test_a_program_that_is_no_run_is_told_in_one_sentence(tmp_path, answer):
    path = tmp_path / "other"
    server = socket.socket(socket.AF_UNIX)
    with contextlib.closing(server):
        server.bind(str(path))
        server.settimeout(LIMIT)
        server.listen()
        command = subprocess.Popen([SPROCKET, "top", path], stderr=subprocess.PIPE, text=True,
                                   stdout=subprocess.DEVNULL)
        client = server.accept()[0]
        client.sendall(answer)
        errors = command.communicate(timeout=LIMIT)[1]
        client.close()
    assert command.returncode == 1 and "does not answer as a run" in one_sentence(errors)


def test_a_run_that_ends_meanwhile_ends_top(tmp_path, session):
    path = tmp_path / "control"
    with watched_run(session, path) as process:
        command = subprocess.Popen([SPROCKET, "top", path], stderr=subprocess.PIPE, text=True,
                                   stdout=subprocess.DEVNULL)
        time.sleep(0.4)
        process.kill()
        errors = command.communicate(timeout=LIMIT)[1]
    assert command.returncode == 1
    assert re.search("has ended|no run listens|does not listen", one_sentence(errors))


def proc_status(pid):
    with open(f"/proc/{pid}/status") as file:
        return file.read()


class Terminal:
    """A terminal of a certain size, and `top` in it."""

    def __init__(self, *arguments, columns=120, rows=40):
        self.shown = b""
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            time.sleep(0.1)
            os.execv(SPROCKET, [SPROCKET, "top", *map(str, arguments)])
        self.resize(columns, rows)
        self.settings = termios.tcgetattr(self.terminal)

    def resize(self, columns, rows):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        if select.select([self.terminal], [], [], 0.05)[0]:
            self.shown += os.read(self.terminal, 65536)

    @property
    def screen(self):
        """The lines of the latest whole screen."""
        screens = re.findall(rb"\x1b\[H(.*?)\x1b\[J", self.shown, re.DOTALL)
        text = screens[-1].decode().replace("\x1b[K", "") if screens else ""
        return re.split("\r+\n", text)

    def until(self, condition):
        end = time.monotonic() + LIMIT
        while not condition():
            assert time.monotonic() < end, self.shown.decode(errors="replace")
            self.read()

    def shows(self, text):
        return any(text in line for line in self.screen)

    def press(self, keys):
        os.write(self.terminal, keys)

    def end(self, keys):
        """Ends it, and returns its exit code."""
        self.press(keys)
        # The terminal ends with the program.
        with pytest.raises(OSError):
            self.until(lambda: False)
        code = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        self.child = None
        assert self.shown.count(b"\x1b[?1049h") == 1
        # The first screen, the cursor and the wrapping of lines are back.
        assert self.shown.endswith(b"\x1b[?7h\x1b[?25h\x1b[?1049l")
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.child is not None:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
        os.close(self.terminal)


@pytest.mark.parametrize("keys", [b"q", b"\x03"])
def test_a_terminal_shows_a_table_that_changes(tmp_path, session, keys):
    path = tmp_path / "control"
    with watched_run(session, path, "--stage", "meter") as process, Terminal(path) as terminal:
        terminal.until(lambda: terminal.shows(f"PID {process.pid}"))
        # Ctrl-Z is ignored: it would leave the second screen on.
        ignored = int(re.search(r"SigIgn:\s+(\w+)", proc_status(terminal.child))[1], 16)
        assert ignored >> (signal.SIGTSTP - 1) & 1
        before = terminal.screen
        terminal.until(lambda: terminal.screen != before)
        assert terminal.shows("1 run") and terminal.shows("unpack+meter")
        assert all(len(line) <= 120 for line in terminal.screen)
        terminal.resize(30, 40)
        terminal.until(lambda: all(len(line) <= 30 for line in terminal.screen))
        terminal.resize(80, 4)
        terminal.until(lambda: len(terminal.screen) == 4)
        assert "more lines" in terminal.screen[-1]
        assert terminal.end(keys) == 0
        end(process)


def test_a_terminal_shows_runs_that_come_stall_and_go(tmp_path, session):
    first, second = tmp_path / "first", tmp_path / "second"
    with watched_run(session, first) as one, Terminal(columns=200, rows=500) as terminal:
        terminal.until(lambda: terminal.shows(f"PID {one.pid}"))
        with watched_run(session, second) as two:
            terminal.until(lambda: terminal.shows(f"PID {two.pid}"))
            one.send_signal(signal.SIGSTOP)
            terminal.until(lambda: terminal.shows(f"{first}  no answer for"))
            # The other one goes on, and keys are taken.
            clock = [line for line in terminal.screen if f"PID {two.pid}" in line]
            terminal.until(lambda: [line for line in terminal.screen if f"PID {two.pid}" in line]
                           != clock)
            one.send_signal(signal.SIGCONT)
            terminal.until(lambda: not terminal.shows("no answer for"))
            two.kill()
            terminal.until(lambda: not terminal.shows(f"PID {two.pid}"))
        assert terminal.end(b"q") == 0
        end(one)


def test_names_cannot_command_the_terminal(tmp_path, session):
    path = tmp_path / "a\x1b[31mb\u202e"
    with watched_run(session, path) as process:
        table = sprocket("top", path).stdout.decode()
        assert "a\\u{1B}[31mb\\u{202E}" in table and "\x1b" not in table
        with Terminal(path) as terminal:
            terminal.until(lambda: terminal.shows("a\\u{1B}[31mb"))
            assert b"\x1b[31m" not in terminal.shown
            assert terminal.end(b"q") == 0
        end(process)


def test_a_recording_is_shown(tmp_path, session):
    path = tmp_path / "control"
    movie = ["--movie", tmp_path / "take-{n}.mov", "--on-demand"]
    with watched_run(session, path, *movie) as process:
        assert json.loads(sprocket("ask", path, "record").stdout)["ok"]
        wait_for(lambda: "recording take-1.mov 00:0" in sprocket("top", path).stdout.decode())
        recording, = top(path)[str(path)]["recording"]
        assert recording["path"] == str(tmp_path / "take-1.mov")
        end(process)
