"""Mistakes of a program's author: each ends the program with its sentence, in a release build too. What Swift
itself ends a program by names at least stage, frame and thread.

docs/traps.md lists the mistakes and their sentences; Tests/Traps makes them.
"""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess

import pytest

from program import LIMIT, ROOT, SPROCKET

TRAPS = os.environ.get("TRAPS", str(pathlib.Path(SPROCKET).resolve().parent / "SprocketTraps"))
ROW = re.compile(r"^\| `(\w+)` \| (.*) \|$", re.MULTILINE)
PAGE = (ROOT / "docs/traps.md").read_text()
TABLE = dict(ROW.findall(PAGE))
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


# Swift's own report of a crash would follow the sentence.
PLAIN = {**os.environ, "SWIFT_BACKTRACE": "enable=no"}


def make(mistake, errors=subprocess.PIPE):
    return subprocess.run([TRAPS, mistake], stderr=errors, text=True, timeout=LIMIT, env=PLAIN,
                          preexec_fn=no_core)


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def test_the_page_lists_what_the_program_makes():
    known = subprocess.run([TRAPS], capture_output=True, text=True, timeout=LIMIT).stdout
    assert len(TABLE) == len(ROW.findall(PAGE)) and list(TABLE) == known.split()


@pytest.mark.parametrize("mistake", TABLE)
def test_a_mistake_is_told_before_the_program_stops(mistake):
    result = make(mistake)
    assert result.stderr == TABLE[mistake] + "\n"
    assert result.returncode == -signal.SIGABRT


# Path inside the toolchain; a statically linked program does not find it by itself.
REPORTER = next(iter(pathlib.Path(shutil.which("swift") or "/usr/bin/swift").resolve().parents[1]
                     .glob("libexec/swift/linux/swift-backtrace")), None)


@pytest.mark.skipif(not REPORTER, reason="the toolchain has no swift-backtrace")
@pytest.mark.parametrize("mistake", ["luma", "size"])
def test_swifts_report_of_a_crash_follows_and_ends(mistake):
    """It reads the program's memory from a thread that has the signals of the one that crashed."""
    environment = {**os.environ, "SWIFT_BACKTRACE": f"enable=yes,color=no,swift-backtrace={REPORTER}"}
    result = subprocess.run([TRAPS, mistake], capture_output=True, text=True, timeout=LIMIT, env=environment,
                            preexec_fn=no_core)
    assert result.stderr.startswith(TABLE[mistake] + "\n")
    assert "Program crashed" in result.stderr and "failed to suspend" not in result.stderr
    assert result.returncode == -signal.SIGABRT


def test_each_sentence_in_the_code_is_on_the_page():
    """Its longest part that is the same each time."""
    count = 0
    for path in [*(ROOT / "Sources").rglob("*.swift"), *(ROOT / "Plugins").rglob("*.swift")]:
        text = path.read_text()
        for found in re.finditer(r"\b(?:contract|contractBroken)\(", text):
            if text[:found.start()].endswith("func "):
                continue
            call = text[found.start():found.start() + balanced(text[found.start():])]
            parts = [part for literal in TEXT.findall(literals(call))
                     for part in re.split(r"\0", literal)]
            longest = max(parts, key=len, default="").strip()
            if "sentence" in call and not longest:
                continue  # `contract` itself, which hands it on.
            assert len(longest) > 12 and longest in PAGE, (path, call)
            count += 1
    assert count >= 30


def literals(call):
    """The call with what is interpolated replaced by a zero byte."""
    out, index = "", 0
    while index < len(call):
        if call.startswith("\\(", index):
            index += balanced(call[index:])
            out += "\0"
        else:
            out += call[index]
            index += 1
    return out


def balanced(text):
    """How long a call, or an interpolation, is that `text` begins with."""
    depth = 0
    for index, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == ")" and depth == 0:
            return index + 1
    return len(text)


def test_the_vocabulary_of_stages_has_no_silent_trap():
    """`precondition` and its like say nothing in a release build."""
    silent = re.compile(r"\b(precondition|preconditionFailure|fatalError|assert)\(")
    for path in (ROOT / "Sources/SprocketCore").rglob("*.swift"):
        assert not silent.search(path.read_text()), path


def test_a_standard_error_that_nobody_reads_keeps_no_program_from_stopping():
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, bytes(4096))
    except BlockingIOError:
        os.set_blocking(writing, True)
    assert make("luma", errors=writing).returncode == -signal.SIGABRT
    os.close(reading)
    os.close(writing)


# What Swift and C themselves end a program by: no code of ours says anything there. `reportTraps` does.

OWN = str(pathlib.Path(SPROCKET).with_name("SprocketOwn"))
# By the stage's way to end the program. A trap of Swift is an undefined instruction on x86_64, a breakpoint
# on aarch64.
TRAP = signal.SIGILL if os.uname().machine == "x86_64" else signal.SIGTRAP
SIGNALS = {"index": TRAP, "precondition": TRAP, "overflow": TRAP, "division": TRAP, "optional": TRAP,
           "null": signal.SIGSEGV, "stack": signal.SIGSEGV, "abort": signal.SIGABRT,
           "bus": signal.SIGBUS, "float": signal.SIGFPE}
MEANINGS = {"null": "memory that is not there", "stack": "its stack is used up",
            "abort": "a library found an error", "bus": "memory without a file",
            "float": "a division by zero"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The program as `make install` leaves one: without symbols."""
    path = tmp_path_factory.mktemp("installed") / "own"
    subprocess.run(["strip", "-o", path, OWN], check=True, timeout=LIMIT)
    return path


def trapped(program, stage, source=("--source", "ramp:9"), environment=PLAIN, errors=subprocess.PIPE):
    command = [program, "run", *source, "--sink", "null", "--quiet", "--stage", stage]
    return subprocess.run(command, stderr=errors, text=True, timeout=LIMIT, env=environment,
                          preexec_fn=no_core)


@pytest.mark.parametrize("way", SIGNALS)
def test_a_trap_names_stage_frame_thread_and_source(way, installed):
    result = trapped(installed, f"trap:way={way},at=3")
    name = SIGNALS[way].name
    assert result.stderr.startswith(f"stage `trap`, frame 3: ends the program by {name}: ")
    assert MEANINGS.get(way, "an index out of range, an overflow, an unwrapped nil") in result.stderr
    assert result.stderr.endswith(" (thread `trap`, source `ramp`)\n") and result.stderr.count("\n") == 1
    assert result.returncode == -SIGNALS[way]


def test_a_trap_before_the_first_frame_names_its_stage(installed):
    result = trapped(installed, "trap:at=-1")
    assert result.stderr.startswith("stage `trap`: ends the program by ") and result.returncode == -TRAP


def test_a_trap_of_one_of_several_sources_names_it(installed):
    sources = ("--source", "left=ramp:3", "--source", "right=ramp:9")
    result = trapped(installed, "trap:at=7", sources)
    assert "stage `trap`, frame 7: " in result.stderr and "source `right`)" in result.stderr
    assert result.returncode == -TRAP


def test_a_signal_that_somebody_sends_ends_the_program_without_a_word(installed):
    command = [installed, "run", "--source", "scene", "--size", "64x48", "--null", "--quiet"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=PLAIN, preexec_fn=no_core)
    wait_for_handlers(process.pid)
    process.send_signal(signal.SIGSEGV)
    assert process.communicate(timeout=LIMIT)[1] == "" and process.returncode == -signal.SIGSEGV


def caught(process):
    """The signals that a process handles."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    mask = int(re.search(r"SigCgt:\t(\w+)", status)[1], 16)
    return {number for number in set(SIGNALS.values()) if mask >> (number - 1) & 1}


def wait_for_handlers(process):
    while caught(process) != set(SIGNALS.values()):
        pass


def test_a_library_takes_no_signal_of_its_program():
    """SprocketSessionCost imports the library. When it has a thread for its source, it has made a run."""
    command = [pathlib.Path(SPROCKET).with_name("SprocketSessionCost"), "latency", "engine", str(LIMIT)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=PLAIN)
    try:
        tasks = pathlib.Path(f"/proc/{process.pid}/task")
        while "source" not in {(task / "comm").read_text().strip() for task in tasks.iterdir()}:
            assert process.poll() is None
        assert caught(process.pid) == set()
    finally:
        process.kill()
        process.communicate(timeout=LIMIT)


@pytest.mark.skipif(not REPORTER, reason="the toolchain has no swift-backtrace")
@pytest.mark.parametrize("way", ["index", "null"])
def test_a_handler_that_was_there_gets_the_signal_afterwards(way):
    environment = {**os.environ, "SWIFT_BACKTRACE": f"enable=yes,color=no,swift-backtrace={REPORTER}"}
    result = trapped(OWN, f"trap:way={way},at=3", environment=environment)
    assert result.stderr.startswith("stage `trap`, frame 3: ends the program by ")
    assert "Program crashed" in result.stderr
    assert result.returncode == -SIGNALS[way]


def test_a_trap_waits_for_no_reader_of_standard_error(installed):
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, bytes(4096))
    except BlockingIOError:
        os.set_blocking(writing, True)
    assert trapped(installed, "trap:at=3", errors=writing).returncode == -TRAP
    os.close(reading)
    os.close(writing)
