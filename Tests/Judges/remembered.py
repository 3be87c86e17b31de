"""What other programs said of files and pictures, remembered: the same bytes have the same answer.

remembered.json holds each answer with a digest of the bytes that were judged and of the code that judges.
Other bytes or other code are judged, which takes time and changes nothing else; a warning says so.

SPROCKET_JUDGE_ANEW=1      judges all, and fails where the answer is another one
SPROCKET_JUDGE_ANEW=write  judges all, and writes the answers down
"""
import fcntl
import functools
import hashlib
import inspect
import json
import os
import pathlib
import warnings

FILE = pathlib.Path(__file__).with_name("remembered.json")
ANEW = os.environ.get("SPROCKET_JUDGE_ANEW", "")
# By how much an answer may differ that another processor's arithmetic gave, as a share and absolutely.
NEAR = 0.005


@functools.cache
def digest_of_file(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(judged, judges):
    """Of files by their content, of bytes, and of the source of modules and functions."""
    whole = hashlib.sha256()
    for one in judged:
        whole.update(one if isinstance(one, bytes) else digest_of_file(one).encode())
    for judge in judges:
        whole.update(inspect.getsource(judge).encode())
    return whole.hexdigest()[:16]


def answer(question, judged, judges, ask):
    """What `ask()` gives, which JSON can hold. `question` is a name among all answers; `judged` are the paths
    or bytes that the answer depends on, `judges` the modules and functions."""
    print_of = digest(judged, judges)
    known = read().get(question)
    is_known = known is not None and known["digest"] == print_of
    if is_known and not ANEW:
        return known["answer"]
    found = ask()
    if ANEW == "write":
        write(question, {"digest": print_of, "answer": found})
    elif is_known:
        assert is_near(found, known["answer"]), f"{question}: {found}, and {FILE.name} has {known['answer']}"
    else:
        warnings.warn(f"{question}: not remembered; SPROCKET_JUDGE_ANEW=write remembers it", stacklevel=2)
    return found


def is_near(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(is_near(one[key], other[key]) for key in one)
    if isinstance(one, float):
        return abs(one - other) <= NEAR * max(1, abs(one))
    return one == other


def read():
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def write(question, entry):
    """A line for each question, in order, so that a change shows in a diff."""
    folder = os.open(FILE.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # Lanes of judges run at the same time.
        lines = (f"{json.dumps(key)}: {json.dumps(value)}"
                 for key, value in sorted({**read(), question: entry}.items()))
        fresh = FILE.with_suffix(".new")
        fresh.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        fresh.replace(FILE)
    finally:
        os.close(folder)
