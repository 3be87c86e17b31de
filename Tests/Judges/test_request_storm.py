"""Requests at random to runs that write real movies and photographs: what each record says is in its file.

Beside the requests there are several sources, frames that are lost, sound, limits, disks that hang, readers
that pause or die, clients that leave, signals. SPROCKET_REQUEST_STORMS is the number of runs, by default 2,
or their seeds as FIRST-LAST; each makes some 20 files. SPROCKET_REQUEST_STORM_PROGRAM is another program, as
one with a sanitizer.
"""
import collections
import contextlib
import fcntl
import json
import os
import pathlib
import random
import re
import signal
import socket
import struct
import threading
import time

import pytest

from program import LIMIT, SPROCKET, fates, frame_count, preloaded, running, wait_for
from test_on_demand import SCENE, Client

FAULTY = [*SCENE[2:], "--source-set", "drop=0.02", "--source-set", "corrupt=0.02"]
PROGRAM = os.environ.get("SPROCKET_REQUEST_STORM_PROGRAM", SPROCKET)


def seeds():
    first, _, last = os.environ.get("SPROCKET_REQUEST_STORMS", "2").partition("-")
    return range(int(first), int(last) + 1) if last else range(int(first))


@pytest.fixture(scope="module")
def hanger(tmp_path_factory):
    return preloaded("hung_calls.c", tmp_path_factory.mktemp("hung"))


class Weather:
    """What a seed draws for a run."""

    def __init__(self, seed, folder, hanger):
        self.chance = random.Random(seed)
        self.folder = folder
        self.files = folder / "files"
        self.files.mkdir()
        self.labels = ["a", "b"] if self.chance.random() < 0.2 else [""]
        self.hangs = self.chance.random() < 0.15
        self.is_limited = not self.hangs and self.chance.random() < 0.15
        self.pipe = os.open(self.made_pipe(), os.O_RDWR)
        fcntl.fcntl(self.pipe, fcntl.F_SETPIPE_SZ, 4096)
        self.hanger = hanger
        self.ids = []
        self.share_readers = []

    def made_pipe(self):
        os.mkfifo(self.folder / "pipe")
        return self.folder / "pipe"

    def control(self, place):
        """Path of the control socket for a client."""
        return self.folder / f"control{self.labels[place % len(self.labels)]}"

    def command(self):
        chance, folder = self.chance, self.folder
        several, label = len(self.labels) > 1, "{source}" if len(self.labels) > 1 else ""
        sources = [word for name in self.labels
                   for word in ("--source", f"{name}=scene" if name else "scene")]
        options = ["--stills", self.files / f"photos{label}", "--stage", "meter", "--signal", "--share",
                   folder / f"frames{label}", *(["--pair", "5ms"] if several else [])]
        for option in (["--pre-roll", "300ms"], ["--split", "400ms"], ["--microphone", "scene"],
                       ["--keep-free", "1M"], ["--longest", "2s"]):
            if chance.random() < 0.4:
                options += option
        # An event beside requests: both ask for recordings of one sink.
        if chance.random() < 0.2:
            options += ["--record-when", "meter.mean > 0.4", "--keep", "100ms"]
        words = [PROGRAM, "run", *sources, *FAULTY, "--movie", self.files / f"take{label}-{{n}}.mov",
                 "--on-demand", "--control-socket", folder / f"control{label}",
                 "--summary", folder / "summary.json", *options]
        if self.hangs:
            call = chance.choice(["statvfs", "open", "unlink", "rename", "fsync", "write"])
            settings = {"LD_PRELOAD": self.hanger, "HUNG_CALL": call, "HUNG_FOLDER": self.files,
                        "HUNG_SWITCH": folder / "switch", "HUNG_WITNESS": folder / "witness"}
            words = ["env", *(f"{key}={value}" for key, value in settings.items()), *words]
        if self.is_limited:
            limit = chance.choice(["--nofile=60", "--fsize=60000", "--nofile=40"])
            # ThreadSanitizer needs files of its own, which are longer.
            if PROGRAM != SPROCKET:
                limit = "--nofile=60"
            words = ["prlimit", limit, *words]
        return words

    def disturb(self, process):
        """Something that is no request."""
        kind = self.chance.choice(["pause", "photo", "switch", "read", "share", "share", "leave"])
        if kind == "pause":
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(self.chance.random() * 0.05)
            os.kill(process.pid, signal.SIGCONT)
        elif kind in ("photo", "switch"):
            os.kill(process.pid, signal.SIGUSR1 if kind == "photo" else signal.SIGUSR2)
        elif kind == "read":
            with contextlib.suppress(BlockingIOError):
                os.set_blocking(self.pipe, False)
                os.read(self.pipe, 1 << 16)
        elif kind == "share":
            self.share_readers.append(self.share_reader())
        elif self.share_readers:
            self.share_readers.pop().close()

    def share_reader(self):
        reader = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        reader.setblocking(False)
        with contextlib.suppress(OSError):
            reader.connect(str(self.folder / f"frames{self.chance.choice(self.labels)}"))
            reader.send(b"SPRKRDR1" + struct.pack("<Q", self.chance.randrange(2)))
        return reader

    def request(self, client):
        """A request, which may be refused."""
        chance = self.chance
        kind = chance.choice(["record"] * 4 + ["stop"] * 3 + ["next"] * 4 + ["photo"] * 2 + ["set"] * 2
                             + ["shape"] * 4 + ["cancel"] * 2)
        moment = {} if chance.random() < 0.7 else {"at_frame": client.frames() + chance.randrange(40)}
        if kind == "record":
            frames = {"frames": chance.randrange(1, 30)} if chance.random() < 0.4 else {}
            answer = client.ask("record", **frames, **moment)
        elif kind == "next":
            path = {"path": chance.choice([str(self.files / f"own-{chance.randrange(10**9)}.mkv"),
                                           "/nowhere/x.mov"])} if chance.random() < 0.3 else {}
            answer = client.ask("next", **path, **moment)
        elif kind == "stop":
            answer = client.ask("stop", **moment)
        elif kind == "photo":
            answer = client.ask("photo", frames=chance.randrange(1, 4), **moment)
        elif kind == "set":
            answer = client.ask("set", stage="meter", settings={"mode": chance.choice(["spot", "average"])})
        elif kind == "cancel":
            answer = client.ask("cancel", id=chance.choice(self.ids or [1]))
        else:
            answer = client.ask("reconfigure", **self.shape())
        if "id" in answer:
            self.ids.append(answer["id"])

    def shape(self):
        name = self.chance.randrange(10**9)
        return self.chance.choice([
            {"stages": ["meter"]}, {"stages": ["negate", "meter"]}, {"attach": ["null"]},
            {"detach": ["null"]}, {"size": self.chance.choice(["320x240", "400x300"])},
            {"detach": ["nobody"]}, {"attach": [f"reports:{self.folder}/{name}.jsonl"]},
            # Nobody reads it most of the time.
            {"attach": [f"reports:{self.folder}/pipe"]}, {"detach": ["reports"]}, {"detach": ["reports"]},
            {"attach": [f"dump:{self.files}/{name}.mcap"]}, {"detach": ["dump"]}])


@pytest.mark.parametrize("seed", seeds())
def test_what_each_record_says_is_in_its_file(tmp_path, seed, hanger, monkeypatch):
    monkeypatch.chdir(tmp_path)
    weather = Weather(seed, tmp_path, hanger)
    chance, controls = weather.chance, [weather.control(0), weather.control(1)]
    with running(weather.command()) as process:
        wait_for(lambda: all(control.exists() for control in controls), process)
        clients = [Client(control) for control in controls]
        try:
            for step in range(60):
                if weather.hangs and step == 40:
                    (tmp_path / "switch").touch()
                place = chance.randrange(2)
                if chance.random() < 0.05:
                    # Its answer finds nobody.
                    clients[place].socket.sendall(b'{"request":"record"}\n')
                    clients[place].close()
                    clients[place] = Client(controls[place])
                if chance.random() < 0.3:
                    weather.disturb(process)
                if not weather.hangs or step < 40 or chance.random() < 0.2:
                    asked(weather, clients[place])
                time.sleep(chance.random() * 0.05)
            end(weather, clients[:len(weather.labels)], process)
        finally:
            for client in clients:
                client.close()
            os.close(weather.pipe)
        errors = process.stderr.read().decode()
    summary = tmp_path / "summary.json"
    if weather.is_limited and not summary.exists():
        # It is longer than the limit of files.
        assert process.returncode == 1 and "summary" in errors
        return
    judge(weather, json.loads(summary.read_text()), process.returncode, errors)


def asked(weather, client):
    """Who asks for a file on a disk that hangs for ever has no answer, and does not wait for it."""
    if not (weather.folder / "switch").exists():
        return weather.request(client)
    client.socket.settimeout(0.2)
    with contextlib.suppress(TimeoutError, OSError, AttributeError, TypeError, ValueError):
        weather.request(client)
    client.socket.settimeout(LIMIT)


def end(weather, clients, process):
    """Ends the run in one of its ways; within a bound, whatever hangs."""
    way = weather.chance.choice(["quit", "SIGINT", "SIGTERM"])
    # Who pauses in front of the pipe goes on.
    os.set_blocking(weather.pipe, True)
    reader = threading.Thread(target=drain, args=(os.dup(weather.pipe), process), daemon=True)
    reader.start()
    if weather.hangs:
        for _ in range(2):
            os.kill(process.pid, signal.SIGINT)
    elif way == "quit":
        for client in clients:
            assert client.ask("quit")["ok"]
    else:
        os.kill(process.pid, signal.Signals[way])
    process.wait(LIMIT)


def drain(descriptor, process):
    os.set_blocking(descriptor, False)
    while process.poll() is None:
        with contextlib.suppress(BlockingIOError):
            os.read(descriptor, 1 << 16)
        time.sleep(0.01)
    os.close(descriptor)


def judge(weather, summary, code, errors):
    assert code in (0, 1), (code, errors)
    sources = list(summary["sources"].values()) if len(weather.labels) > 1 else [summary]
    is_calm = not weather.hangs and not weather.is_limited
    if is_calm:
        # A reader may pause at the very moment of a change.
        told = [text for source in sources for text in source["errors"]]
        assert all("took no frame while the run waited for it" in text for text in told), errors
        assert code == bool(told), errors
        assert not [path for path in weather.files.rglob("*") if ".partial" in path.name]
    for source in sources:
        judge_source(source, is_calm)
    if not is_calm:
        return
    records = [record for source in sources for record in source["recordings"]
               if record["frames"]["delivered"]]
    stills = sum(record["frames"]["delivered"] for record in records if record["sink"] == "stills")
    assert len(list(weather.files.glob("photos*/*.jpg"))) == stills
    movies = [record["path"] for record in records if record["sink"] == "movie"]
    on_disk = [str(path) for path in weather.files.iterdir() if re.search(r"\.(mov|mkv)$", path.name)]
    assert sorted(movies) == sorted(on_disk)
    print(len(movies), "movies")


def judge_source(summary, is_calm):
    """Judges what a source's summary says of its frames and files."""
    produced = summary["produced"]
    lines = [*summary["sinks"].items(), *((line["name"], line) for line in summary.get("detached", []))]
    for name, line in lines:
        seen = line.get("detached_at", produced) - line.get("attached_at", 0)
        assert sum(line[fate] for fate in fates(line)) == seen, (name, line)
    frames, covered = collections.Counter(), set()
    for record in summary["recordings"]:
        count = record["frames"]["delivered"]
        frames[record["sink"]] += count
        assert record["usable"] or not count or not is_calm
        if record["sink"] != "movie" or not count or not record["usable"]:
            continue
        path = pathlib.Path(record["path"])
        if "error" in record and not is_calm:
            # On a disk that hangs a file may have more than the run knew at its end, and not have its name.
            found = path if path.exists() else path.with_suffix(f".partial{path.suffix}")
            assert frame_count(found) >= count, record
        else:
            assert frame_count(path) == count, record
        numbers = range(record["begin"], record["end"])
        assert sum(record["frames"].values()) == len(numbers), record
        # No frame is in two files.
        assert covered.isdisjoint(numbers), record
        covered.update(numbers)
    for name, count in frames.items():
        assert not is_calm or summary["sinks"][name]["delivered"] == count
