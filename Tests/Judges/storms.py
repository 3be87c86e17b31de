#!/usr/bin/env python3
"""Runs the program in storms, and judges each: random chains, sinks, faults, limits, descriptors, signals.

    storms.py SEEDS [--jobs 2] [--state FILE] [--show]    SEEDS: 17, or 1-200

A storm follows from its seed alone (weather.py). It is bad when the program is killed by a signal that was
not sent, or by one that it had time to take over; lives on 20 s after a second SIGINT; fails without a
sentence; or leaves a ledger that does not add up or is not what the scene did. SPROCKET names the program;
SPROCKET_THREAD and SPROCKET_ADDRESS name builds with sanitizers, which take a tenth of the seeds. --state
keeps which seeds of this program were good, and goes on there.
"""
import argparse
import concurrent.futures
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

from program import FATES, ROOT, SPROCKET, fates, read_lines
from weather import DUMP, MOVIE, storm

# Seconds that a run may live on after its second SIGINT.
LAST_WORDS = 20
# Seconds for a run that ends by itself, or that was interrupted once and is kept up by nothing. Larger than
# any machine needs: a run that takes as long hangs.
PATIENCE = 120
# Processor seconds in which no signal can be taken over: the loader and the run-times of Swift and of the
# sanitizers come before the program's first instruction. Measured: 0.03 without sanitizers.
LOADING, LOADING_SANITIZED = 0.15, 3.0
# Each ends a run. A program that has taken over one of them has taken over all.
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Fates that the scene causes; a frame with one of the faults is damaged.
CAUSED = {"missing", "corrupt", "startup"}
DAMAGE = {"corrupt", "truncate"}


@dataclasses.dataclass
class Outcome:
    """What was seen of a run."""
    status: int = 0
    errors: str = ""
    # Signals that the run could be killed by: sent while it was loading.
    early: set = dataclasses.field(default_factory=set)
    # Two SIGINT did not end it: its threads and what they wait for.
    stuck: str = ""
    seconds: float = 0
    is_interrupted: bool = False


class Program:
    """The build that a seed is run with."""

    def __init__(self, seed):
        kinds = {0: ["THREAD"], 10: ["ADDRESS", "THREAD"]}.get(seed % 20, [])
        given = [kind for kind in kinds if os.environ.get(f"SPROCKET_{kind}")]
        self.is_sanitized = bool(given)
        self.path = os.environ[f"SPROCKET_{given[0]}"] if given else SPROCKET
        self.loading = LOADING_SANITIZED if given else LOADING
        self.variables = [f"SPROCKET={SPROCKET}", *(f"SPROCKET_{kind}={self.path}" for kind in given[:1])]

    def environment(self):
        def options(suppressions):
            return f"suppressions={ROOT}/Tests/{suppressions}:print_suppressions=0:log_path=sanitizer"
        return {**os.environ, "TSAN_OPTIONS": options("races.supp"), "LSAN_OPTIONS": options("leaks.supp"),
                "ASAN_OPTIONS": "log_path=sanitizer",
                # Where memory is short, Swift's backtracer does not come to its end.
                "SWIFT_BACKTRACE": "enable=no"}


def full_pipe():
    """Both ends of a pipe that takes nothing more."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while os.write(writer, b"-" * 4096):
            pass
    except BlockingIOError:
        os.set_blocking(writer, True)
    return reader, writer


class Ends:
    """What the descriptors 1 and 2 of a run lead to, while it runs."""

    def __init__(self, weather):
        self.opened, self.errors = [], None
        self.is_silent = 2 in weather.ends
        self.shell = " ".join(f"{n}{'<' if n == 0 else '>'}&-" for n, end in weather.ends.items()
                              if end == "closed")
        self.out = self._open(weather.ends.get(1), lambda: os.open("/dev/null", os.O_WRONLY))
        self.err = self._open(weather.ends.get(2), self._errors)

    def _open(self, end, usual):
        if end in ("stuck", "gone"):
            reader, writer = full_pipe()
            if end == "gone":
                os.close(reader)
            else:
                self.opened.append(reader)
        else:
            writer = os.open("/dev/full", os.O_WRONLY) if end == "full" else usual()
        self.opened.append(writer)
        return writer

    def _errors(self):
        """A pipe, since a limit of files' sizes goes for a file; wide enough to be read at the end."""
        self.errors, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 1 << 20)
        os.set_blocking(self.errors, False)
        self.opened.append(self.errors)
        return writer

    def said(self):
        """All of standard error, or `None` where it leads to nobody."""
        parts = []
        try:
            while self.errors is not None:
                parts.append(os.read(self.errors, 1 << 20))
                if not parts[-1]:
                    break
        except BlockingIOError:
            pass  # Something that the run started still has it.
        return None if self.is_silent else b"".join(parts).decode(errors="replace")

    def close(self):
        for descriptor in self.opened:
            os.close(descriptor)


def command(weather, program, shell):
    words = [program.path, *weather.arguments]
    if weather.limits:
        words = ["prlimit", *(f"--{name}={value}" for name, value in weather.limits.items()), *words]
    return ["sh", "-c", f'exec "$@" {shell}', "sh", *words] if shell else words


def processor_seconds(pid):
    """What the process has used, in all its threads; 0 where it is gone."""
    used = 0
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            used += int(pathlib.Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
    except (OSError, IndexError):
        pass
    return used / 1e9


def signal_masks(pid, *names):
    """Masks of signals of the process, as /proc calls them; empty where it is gone."""
    try:
        lines = dict(line.split(":", 1) for line in
                     pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
    except OSError:
        return []
    return [int(lines.get(name, "0"), 16) for name in names]


def has_taken_over(pid, program):
    """Whether the program, no longer the shell before it, blocks or handles a signal that ends it; or is
    gone."""
    try:
        if os.readlink(f"/proc/{pid}/exe") != program:
            return False
    except OSError:
        return True
    return any(mask >> (number - 1) & 1 for mask in signal_masks(pid, "SigBlk", "SigCgt")
               for number in STOPS)


def is_pending(pid, number):
    """Whether the process has not looked at the signal: another one would be lost in it."""
    return any(mask >> (number - 1) & 1 for mask in signal_masks(pid, "SigPnd", "ShdPnd"))


def thread_count(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 0


def threads(pid):
    """Name and place in the kernel of each thread."""
    found = []
    for task in sorted(pathlib.Path(f"/proc/{pid}/task").glob("*")):
        try:
            found.append(f"{(task / 'comm').read_text().strip()}: {(task / 'wchan').read_text()}, "
                         f"system call {(task / 'syscall').read_text().split()[0]}")
        except (OSError, IndexError):
            pass
    return "; ".join(found)


def wait(process, seconds):
    try:
        process.wait(max(seconds, 0))
        return True
    except subprocess.TimeoutExpired:
        return False


def lead(process, weather, program, loading):
    """Sends what the storm sends, and ends what does not end by itself."""
    outcome, begun = Outcome(), time.monotonic()

    def send(name):
        number = getattr(signal, name)
        # One thread alone: the engine has not started.
        if (not has_taken_over(process.pid, program) and processor_seconds(process.pid) < loading
                and (loading == LOADING_SANITIZED or thread_count(process.pid) < 2)):
            outcome.early.add(number)
        process.send_signal(number)
        outcome.is_interrupted = True

    for moment, name in weather.signals:
        if wait(process, begun + moment - time.monotonic()):
            break
        send(name)
    is_kept_up = "stuck" in weather.ends.values()
    # On a busy machine the loader alone takes longer than a storm.
    while not (has_taken_over(process.pid, program) or wait(process, 0.01)):
        if time.monotonic() - begun > LAST_WORDS:
            break
    if not wait(process, PATIENCE if weather.is_finite and not is_kept_up else weather.end):
        send("SIGINT")
        # What is stuck needs the second; all else has to end without, if it is given the time.
        is_twice = is_kept_up or weather.seed % 2 == 0
        if not wait(process, weather.patience if is_twice else PATIENCE):
            asked = time.monotonic()
            while (is_pending(process.pid, signal.SIGINT) and not wait(process, 0.01)
                   and time.monotonic() - asked < LAST_WORDS):
                pass
            send("SIGINT")
            if not is_twice:
                outcome.stuck = f"one SIGINT did not end it in {PATIENCE} s: {threads(process.pid)}"
            if not wait(process, LAST_WORDS):
                outcome.stuck = f"alive {LAST_WORDS} s after a second SIGINT: {threads(process.pid)}"
    process.kill()
    outcome.status = process.wait()
    outcome.seconds = time.monotonic() - begun
    return outcome


def run(seed, folder):
    """Runs a storm in `folder`, which is empty; returns the storm, its command and what was seen."""
    program = Program(seed)
    weather = storm(seed, program.is_sanitized)
    ends = Ends(weather)
    options = {}
    if "nproc" in weather.limits and os.getuid() == 0:
        # Root has no such limit, and another user's processes would count: a user that has only this one.
        options = {"user": 200_000 + seed, "extra_groups": []}
        os.chown(folder, options["user"], -1)
    words = command(weather, program, ends.shell)
    try:
        process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=ends.out,
                                   stderr=ends.err, env=program.environment(), **options)
        try:
            outcome = lead(process, weather, os.path.realpath(program.path), program.loading)
        finally:
            process.kill()
            process.wait()
        outcome.errors = ends.said()
    finally:
        ends.close()
    return weather, program, words, outcome


def faults(weather, program, outcome, folder):
    """What is bad about a run, as sentences."""
    for report in folder.glob("sanitizer*"):
        yield f"a sanitizer reports: {report.read_text()[:3000]}"
    if outcome.stuck:
        yield outcome.stuck
    elif outcome.status < 0 and -outcome.status not in outcome.early:
        yield f"killed by {signal.Signals(-outcome.status).name}"
    if outcome.status > 0 and outcome.errors is not None:
        lines = outcome.errors.strip().splitlines()
        name = f"{pathlib.Path(program.path).name}: "
        # Where memory is too short for the loader, it is the loader that says so.
        if not any(line.startswith(name) or (outcome.status == 127 and "shared librar" in line)
                   for line in lines):
            yield f"exit {outcome.status} without a sentence"
    summary = folder / "summary.json"
    if summary.exists() and summary.stat().st_size > 0:
        yield from ledger_faults(weather, outcome, json.loads(summary.read_text()), folder)
    elif outcome.status == 0:
        yield "exit 0 without a summary"
    if outcome.status == 0:
        partial = sorted(path.name for path in folder.glob("**/*partial*"))
        if partial:
            yield f"exit 0, and {partial} are left"


def ledger_faults(weather, outcome, summary, folder):
    produced = summary["produced"]
    for name, sink in summary["sinks"].items():
        if sum(fates(sink).values()) != produced:
            yield f"{name} accounts for {sum(fates(sink).values())} of {produced} frames"
    stills = summary["sinks"].get("stills")
    if outcome.status == 0 and stills and len(list((folder / "stills").glob("*"))) != stills["delivered"]:
        yield "there are not as many stills as were delivered"
    reports, truth = folder / "reports.jsonl", folder / "truth.jsonl"
    if outcome.status != 0 or not reports.exists():
        return
    lines = read_lines(reports)
    if len(lines) != produced:
        yield f"{len(lines)} reports of {produced} frames"
    places = [(line["epoch"], line["sequence"]) for line in lines]
    if places != sorted(set(places)):
        yield "reports are not in the order of the frames"
    unknown = {line["fate"] for line in lines} - set(FATES)
    if unknown:
        yield f"fates {unknown}"
    if weather.is_scene and truth.exists():
        yield from truth_faults(weather, outcome, summary, lines, read_lines(truth))


def caused(truth):
    """The fate that the scene causes, if any."""
    if "lost" in truth["faults"]:
        return "missing"
    if DAMAGE & set(truth["faults"]):
        return "corrupt"
    return "startup" if truth["startup"] else None


def truth_faults(weather, outcome, summary, lines, truths):
    by_name = {(truth["epoch"], truth["sequence"]): truth for truth in truths}
    # A run that is interrupted gives up what is under way, and latedrop drops what comes late.
    free = {"flushed"} if outcome.is_interrupted else set()
    if "--duration" in weather.arguments:
        free = {"flushed"}
    # A sink that the machine gives no time to is lapped.
    if not weather.is_finite:
        free |= {"late", "overrun", "behind"}
    if any("latedrop" in word for word in weather.arguments):
        free |= {"late"}
    counts = dict.fromkeys(CAUSED, 0)
    for line in lines:
        truth = by_name.get((line["epoch"], line["sequence"]))
        if truth is None:
            yield f"the scene knows nothing of {line}"
            return
        fate = caused(truth)
        if fate:
            counts[fate] += 1
        if line["fate"] not in ({fate} if fate else free | {"delivered"}) | (free & {"flushed", "overrun"}):
            yield f"the scene made {fate or 'a good frame'} of {line}"
            return
    for name, sink in summary["sinks"].items():
        if name == "dump" or sink["failed"] or sink["flushed"] or sink["overrun"] or sink["behind"]:
            continue  # A dump keeps what is damaged; of the others it is not known what they would have got.
        found = {fate: sink[fate] for fate in CAUSED}
        if found != counts:
            yield f"{name} counts {found}, the scene made {counts}"


def take_signals():
    """Lets the runs be ended by signals that a shell's background, or nohup, has this program ignore."""
    for number in STOPS:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def judge(seed, inputs, is_shown=False):
    """Runs a storm and returns what is bad about it, with the command that repeats it; or `None`."""
    with tempfile.TemporaryDirectory(prefix="storm-", dir=inputs) as name:
        folder = pathlib.Path(name)
        weather, program, words, outcome = run(seed, folder)
        try:
            found = list(faults(weather, program, outcome, folder))
        except (ValueError, KeyError) as error:
            found = [f"what it left cannot be read: {error!r}"]
    if is_shown:
        print(" ".join(words), weather, outcome, sep="\n")
    if not found:
        return None
    this = f"{os.path.relpath(sys.executable)} {os.path.relpath(__file__)}"
    return "\n".join([
        f"seed {seed}: {'; '.join(found)}", f"  {' '.join(program.variables)} {this} {seed} --show",
        f"  {' '.join(words)}",
        f"  limits {weather.limits}, descriptors {weather.ends}, signals {weather.signals}; exit "
        f"{outcome.status} after {outcome.seconds:.2f} s", *(f"  | {line}" for line in
                                                            (outcome.errors or "").splitlines()[-12:])])


def make_inputs(folder):
    """A short movie and dump, with damage in the dump, for the storms that read files."""
    subprocess.run([SPROCKET, "run", "--source", "scene", "--size", "96x64", "--frames", "40",
                    "--source-set", "corrupt=0.1", "--source-set", "drop=0.1", "--source-set",
                    "formatchange=0.03", "--movie", folder / MOVIE, "--dump", folder / DUMP, "--quiet"],
                   check=True, timeout=PATIENCE)
    os.chmod(folder, 0o755)


def good_seeds(state, key):
    if not (state and state.exists()):
        return set()
    return {line["seed"] for line in read_lines(state) if line["program"] == key and line["is_good"]}


def programs():
    """What tells this program and these storms from others."""
    digest = hashlib.sha256()
    for path in [SPROCKET, *filter(None, map(os.environ.get, ("SPROCKET_THREAD", "SPROCKET_ADDRESS"))),
                 __file__, pathlib.Path(__file__).with_name("weather.py")]:
        digest.update(pathlib.Path(path).read_bytes())
    return digest.hexdigest()[:16]


def bad_storms(seeds, jobs=2, state=None, is_shown=False):
    """Runs storms, `jobs` at a time, and yields what is bad about each that is; resumes from `state`."""
    take_signals()
    key = programs() if state else None
    done = good_seeds(state, key)
    lock = threading.Lock()

    def one(seed):
        text = judge(seed, folder, is_shown)
        if state:
            with lock, open(state, "a") as file:
                print(json.dumps({"program": key, "seed": seed, "is_good": text is None}), file=file)
        return text

    with tempfile.TemporaryDirectory(prefix="storms-") as name:
        folder = pathlib.Path(name)
        make_inputs(folder)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            running = [pool.submit(one, seed) for seed in seeds if seed not in done]
            for future in concurrent.futures.as_completed(running):
                if future.result():
                    yield future.result()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seeds", help="one, or first-last")
    parser.add_argument("--jobs", type=int, default=2, help="storms at a time")
    parser.add_argument("--state", type=pathlib.Path, help="file of seeds that were good")
    parser.add_argument("--show", action="store_true", help="print each command and what came of it")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    if options.state:
        options.state.parent.mkdir(parents=True, exist_ok=True)
    begun, count = time.monotonic(), 0
    for text in bad_storms(seeds, options.jobs, options.state, options.show):
        count += 1
        print(text, flush=True)
    print(f"{len(seeds)} storms, {count} bad, {time.monotonic() - begun:.0f} s")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
