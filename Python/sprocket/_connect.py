"""Connects to a share by its name."""
from __future__ import annotations

import os
import socket
import stat
import time
from typing import List, Literal, Optional, Union, overload

from ._errors import NoSuchShare
from ._frame import Batch, Frame
from ._run import TIMEOUT
from ._stream import Stream

# Seconds between two looks at whether a share is there. Larger: fewer looks, a later start.
_TICK = 0.02


@overload
def connect(name: str, *, every: bool = ..., batches: Literal[False] = ..., timeout: Optional[float] = ...,
            wait: float = ...) -> Stream[Frame]: ...
@overload
def connect(name: str, *, every: bool = ..., batches: Literal[True], timeout: Optional[float] = ...,
            wait: float = ...) -> Stream[Batch]: ...
def connect(name: str, *, every: bool = False, batches: bool = False, timeout: Optional[float] = TIMEOUT,
            wait: float = 0) -> Union[Stream[Frame], Stream[Batch]]:
    """Frames of the program that was started with `sprocket run --share NAME`.

    By default each step of the loop gives the newest frame, as soon as there is one, and `frame.missed` tells
    how many came in between. With `every` no frame is left out: a source that can wait, as a file, waits for
    this reader; a live one does not, and `missed` counts what came while this reader held all memory. With
    `batches` the stream has a `Batch` for each slot of a share that was started with `batch=N`.

    `name` is the path of a socket if it has a `/`. A share that is not there is waited for `wait` seconds,
    then `NoSuchShare` is raised, and says why the last attempts failed. `timeout` limits how many seconds a
    step waits for its frame (`Timeout`); `None` waits without end.
    """
    if "/" in name:
        _check(name)
    end = time.monotonic() + wait
    while True:
        reasons = []
        for path in _paths(name):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            # A writer that is stuck accepts nobody.
            connection.settimeout(max(end - time.monotonic(), _LEAST_WAIT))
            try:
                connection.connect(path)
            except OSError as error:
                connection.close()
                reasons.append(f"{path}: {error.strerror or error}")
                continue
            connection.settimeout(None)
            if batches:
                return Stream[Batch](connection, f"share {name}", every=every, batches=True, timeout=timeout)
            return Stream[Frame](connection, f"share {name}", every=every, batches=False, timeout=timeout)
        if time.monotonic() >= end:
            why = f" ({', '.join(reasons)})" if reasons else ""
            raise NoSuchShare(f"no share is called {name}{why}; start one with: sprocket run --share {name}")
        time.sleep(_TICK)


def _check(path: str) -> None:
    """Raises `NoSuchShare` for a path that no share will have."""
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise NoSuchShare(f"no share is called {path}: the path of a socket has {_LONGEST_PATH} bytes at "
                          "most; give a shorter one")
    if os.path.isfile(path):
        raise NoSuchShare(f"no share is called {path}: it is a file; give the path that the run was given "
                          "with --share")


# Longest path of a socket, in bytes: what `sockaddr_un` holds.
_LONGEST_PATH = 107
# Seconds for one attempt to connect, at the least.
_LEAST_WAIT = 1.0


def _paths(name: str) -> List[str]:
    """Where the share's socket may be; folders that others can write to are not looked into."""
    if "/" in name:
        return [name]
    session = os.environ.get("XDG_RUNTIME_DIR", "")
    folders = [f"{session}/sprocket"] if session.startswith("/") else []
    folders.append(f"/tmp/sprocket-{os.geteuid()}")
    return [f"{folder}/{name}" for folder in folders if _is_own(folder)]


def _is_own(folder: str) -> bool:
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022
