"""Mistakes of a program's author: each ends the program with its sentence, in a release build too.

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
