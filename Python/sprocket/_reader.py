"""A program that reads a film, and is asked for its frames by number, as `docs/numbers.md` describes it."""
from __future__ import annotations

import atexit
import os
import select
import socket
import struct
import threading
import time
from typing import Any, List, NamedTuple, Optional, Tuple

import numpy as np
import numpy.typing as npt

from ._errors import Error, Timeout
from ._frame import Frame
from ._layout import Layout
from ._run import Run, is_dump

# Kinds of requests and of answers.
LIST, RANGE, _TIMES, _FILE = 1, 2, 3, 4
_BEGINS, _LOST, _BEYOND, _HAS_TIMES, _CHANGED, _OPENED = 1, 2, 3, 4, 5, 6
# Longest answer, in bytes.
_LONGEST = 1 << 17
# Places for frames in shared memory. Larger: the program reads further ahead, and each open film takes more
# memory.
_SLOTS = 3


class Recipe(NamedTuple):
    """The options of the program that make a film into frames."""

    arguments: Tuple[str, ...]
    pixels: str


class Reader:
    """A program that reads one film. The first request that is not for its first frame alone decides how far
    it reads ahead; each request replaces the one before."""

    def __init__(self, recipe: Recipe, path: Optional[str], descriptor: Optional[int] = None) -> None:
        """Starts the program, which waits for `open` if it is given no path. A `descriptor` stays the
        caller's."""
        self.recipe = recipe
        self.name = ""
        self.timeout: Optional[float] = None
        # Changes with each request, and with the program.
        self.id = 0
        # The request's first frame, as its place among all frames that the program has sent; places of
        # damaged frames; and its end, if it was for frames beyond the end of the film, which has `count`.
        self.begin: Optional[int] = None
        self._lost: List[int] = []
        self.end: Optional[int] = None
        self.count = 0
        self._is_open = False
        source = f"replay:{path}" if path and is_dump(path) else f"file:{path or '-'}"
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.run = Run[Frame](
                ["--source", source, "--source-set", f"asked={theirs.fileno()}",
                 *recipe.arguments], f"{recipe.pixels},slots={_SLOTS}", every=True, batches=False,
                descriptors=[theirs.fileno()] + ([] if descriptor is None else [descriptor]))
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._asks = ours

    def open(self, path: str) -> None:
        """Names the film to a program that was started without a path."""
        text = os.fsencode(path)
        self._send(struct.pack("<QQ", _FILE, 0) + text.ljust(len(text) + 8 & ~7, b"\0"))

    def wait(self) -> None:
        """Waits until the film is open; raises why it is not."""
        deadline = self._deadline()
        while not self._is_open:
            self._receive()
            if not self._is_open:
                self._wait(deadline, self._asks)

    def close(self) -> None:
        self._asks.close()
        self.run.close()

    @property
    def is_closed(self) -> bool:
        return self.run._is_closed

    @property
    def layout(self) -> Optional[Layout]:
        return self.run.layout

    def ask(self, kind: int, *words: int) -> int:
        """Returns the number of the request."""
        self.id += 1
        self.begin, self.end = None, None
        self._lost.clear()
        layout = "<QQqqQ" if kind == RANGE else f"<QQ{len(words)}Q"
        self._send(struct.pack(layout, kind, self.id, *words))
        return self.id

    def next(self, place: int) -> Optional[Frame]:
        """The frame of a place in the request; `None` if it is damaged, or if the film has no such number,
        which sets `end`."""
        deadline = self._deadline()
        run = self.run
        while True:
            self._receive()
            if self.begin is not None:
                run._least_sequence = self.begin
                if self.begin + place in self._lost:
                    self._lost.remove(self.begin + place)
                    return None
                if self.end is not None and self.begin + place >= self.end:
                    return None
            if run._has_frame():
                # All that is to be known of a frame is sent before it.
                self._receive()
                sequence, begin = run._rest[0].sequence, self.begin
                if begin is None or sequence < begin:
                    # It belongs to an earlier request. The program goes on to this one when it has room.
                    run._rest.popleft()
                elif sequence == begin + place:
                    return next(run)
                elif begin + place not in self._lost:
                    # A stage has dropped it.
                    return None
                continue
            self._wait(deadline, self._asks, run)

    def times(self) -> npt.NDArray[np.int64]:
        """Times of all frames, in nanoseconds."""
        self.ask(_TIMES)
        parts: List[npt.NDArray[np.int64]] = []
        deadline = self._deadline()
        total = None
        while total is None or sum(map(len, parts)) < total:
            answer = self._receive()
            if answer is not None:
                total = answer[0]
                parts.append(np.frombuffer(answer[1][8:], np.int64))
            elif self.run._has_frame():
                # It belongs to an earlier request. The program goes on to this one when it has room.
                self.run._rest.popleft()
            else:
                self._wait(deadline, self._asks, self.run)
        return np.concatenate(parts)

    # Packets

    def _send(self, packet: bytes) -> None:
        try:
            self._asks.send(packet, socket.MSG_NOSIGNAL)
        except OSError:
            raise self._gone() from None

    def _receive(self) -> Optional[Tuple[int, memoryview]]:
        """Takes in all answers that are there, up to one that has times, which is returned."""
        while _is_readable(0, self._asks):
            try:
                packet = memoryview(self._asks.recv(_LONGEST))
            except OSError:
                raise self._gone() from None
            if len(packet) < 32:
                raise self._gone()
            kind, request, value, count = struct.unpack_from("<QQQQ", packet)
            if kind == _OPENED:
                self._is_open = True
            elif kind == _CHANGED:
                raise OtherOrder(f"the pictures of {self.name} have another order than their times tell; it "
                                 f"has {count}, and numbers before this error may have meant others: ask "
                                 "again")
            if request != self.id:
                continue
            if kind == _BEGINS:
                self.begin = value
            elif kind == _LOST:
                self._lost.append(value)
            elif kind == _BEYOND:
                self.end, self.count = value, count
            elif kind == _HAS_TIMES:
                return value, packet[24:]
        return None

    def _deadline(self) -> Optional[float]:
        return None if self.timeout is None else time.monotonic() + self.timeout

    def _wait(self, deadline: Optional[float], *sockets: Any) -> None:
        """Waits for a packet of one of the sockets."""
        limit = None if deadline is None else max(0, deadline - time.monotonic())
        if not _is_readable(limit, *sockets):
            raise Timeout(f"nothing came of {self.name} within {self.timeout:g} s")

    def _gone(self) -> Exception:
        """Why the program ended."""
        try:
            for _ in self.run:
                pass
        except Error as error:
            return error
        return Error(f"{self.name} cannot be read any further")


class OtherOrder(Error):
    """Numbers mean other pictures from now on."""


def _is_readable(seconds: Optional[float], *sockets: Any) -> bool:
    """Whether one of them has something, or has ended; waits so long for it, without end for `None`."""
    poll = select.poll()
    for each in sockets:
        poll.register(each, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


# A program that waits for the next film, which begins sooner by the time that starting one takes.
_spare: Optional[Reader] = None
_spare_lock = threading.Lock()


def reader(recipe: Recipe, path: str, descriptor: Optional[int], name: str,
           timeout: Optional[float]) -> Reader:
    """A program that has opened the film. A `descriptor` is that of a film without a path of its own."""
    spare = _take_spare(recipe) if descriptor is None and not is_dump(path) else None
    if spare is not None:
        try:
            return _opened(spare, path, name, timeout)
        except Timeout:
            raise
        except Error:
            pass  # It may have died while it waited; a new one says what is wrong with the film.
    return _opened(Reader(recipe, path, descriptor), None, name, timeout)


def _opened(found: Reader, path: Optional[str], name: str, timeout: Optional[float]) -> Reader:
    """Waits until the film is open. `path` is told to a program that was started without one."""
    found.name, found.timeout, found.run.timeout = name, timeout, timeout
    try:
        if path is not None:
            found.open(path)
        found.wait()
    except BaseException:
        found.close()
        raise
    return found


def prepare(recipe: Recipe) -> None:
    """Starts a program for the next film of the same recipe, and does not wait for it."""
    threading.Thread(target=_prepare, args=[recipe], name="sprocket", daemon=True).start()


def _prepare(recipe: Recipe) -> None:
    global _spare
    with _spare_lock:
        if _spare is not None and _spare.recipe == recipe:
            return
        try:
            found = Reader(recipe, None)
        except (Error, OSError, RuntimeError):
            return  # The next film starts its own, and says why it cannot.
        _spare, found = found, _spare
    if found is not None:
        found.close()


def _take_spare(recipe: Recipe) -> Optional[Reader]:
    global _spare
    with _spare_lock:
        if _spare is None or _spare.recipe != recipe:
            return None
        found, _spare = _spare, None
        return found


def _end_spare() -> None:
    global _spare
    with _spare_lock:
        found, _spare = _spare, None
    if found is not None:
        found.close()


def _forget_spare() -> None:
    """It is the parent's in a process that was forked."""
    global _spare, _spare_lock
    _spare_lock = threading.Lock()
    found, _spare = _spare, None
    if found is not None:
        found.close()


atexit.register(_end_spare)
os.register_at_fork(after_in_child=_forget_spare)
