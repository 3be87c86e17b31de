"""The reader's side of a share, as `docs/share.md` describes it."""
from __future__ import annotations

import array
import asyncio
import functools
import os
import select
import socket
import struct
import time
from collections import deque
from typing import Any, Callable, Deque, Dict, Generic, Iterator, List, Optional, Tuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from ._closing import Closing
from ._errors import Error, ShareRefused, Timeout, WriterGone
from ._frame import MAGIC, Batch, Frame
from ._layout import FATES, Layout, Totals
from ._memory import ENDED, FAILED, Memory

Item = TypeVar("Item", Frame, Batch)
_Self = TypeVar("_Self", bound="Stream[Any]")
# Where it lies (another layout may come behind it), slot, frames in it, ticket.
Notice = Tuple[Memory, int, int, int]
_HELLO, _ACKNOWLEDGEMENT, _HOLD, _RELEASE = b"SPRKRDR1", b"SPRKACK1", b"SPRKHLD1", b"SPRKREL1"
# Longest packet, which is a layout: no socket of packets sends more at once.
_LONGEST = 1 << 18
# Most packets that are looked at together; a socket holds fewer.
_MOST_PACKETS = 4096


class Stream(Closing, Generic[Item], Iterator[Item]):
    """Frames of a share, one after the other; made by `sprocket.connect` and `sprocket.run`.

        with sprocket.connect("cam") as frames:
            for frame in frames:
                detect(frame.tensor)

    `seen` and `missed` count: after `close`, and after the end, their sum is the number of frames that the
    source produced since this reader connected, and `missed_by` has the same counts as the run's ledger.
    Frames are copied when they are handed out, into memory that is used again when the frame is dropped; the
    writer then goes on. `async for` yields the same. One thread at a time may use a stream. A process that is
    forked cannot: it has the frames that it was forked with, and the stream stays the parent's. A loop over a
    stream that was closed or has ended raises `Error`.
    """

    def __init__(self, connection: socket.socket, name: str, *, every: Optional[bool], batches: bool,
                 timeout: Optional[float] = None) -> None:
        self.every = every
        self.timeout = timeout
        self.seen = 0
        self._socket = connection
        self._name = name
        self._batches = batches
        self._buffer = memoryview(bytearray(_LONGEST))
        self._memory: Optional[Memory] = None
        self._last_ticket = 0
        # Frames whose sequence is lower are left out.
        self._least_sequence = 0
        # Count of shared frames behind the newest notice.
        self._noticed = 0
        # Whether this step gives a view, and places that views keep.
        self._wants_view = False
        self._views = 0
        # The loop of each coroutine that waits, and a function that wakes it when the stream is closed, by
        # descriptor.
        self._wakers: Dict[int, Tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = {}
        # What had become of all frames, by fate, when this reader came, and behind what was handed out.
        self._start: Totals = ()
        self._last: Totals = ()
        self._process_id = os.getpid()
        self._rest: Deque[Frame] = deque()
        self._at_end = False
        self._is_closed = False
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        self._send(struct.pack("<8sQ", _HELLO, 2 if every is None else int(every)))

    # Use

    @property
    def layout(self) -> Optional[Layout]:
        """What the newest frames are; `None` before the first one."""
        return None if self._memory is None else self._memory.layout

    @property
    def missed(self) -> int:
        """Frames so far that this reader did not get, for whatever reason."""
        return sum(self._last) - sum(self._start) - self.seen

    @property
    def missed_by(self) -> Dict[str, int]:
        """What became of them: counts by fate, and `unread` for those that were shared and not read."""
        return _causes(self._start, self._last, self.seen)

    def fileno(self) -> int:
        """For `select` and `poll`: readable when there is something to be read."""
        return self._socket.fileno()

    def __iter__(self: _Self) -> _Self:
        if self._is_closed:
            raise Error(self._over())
        return self

    def _over(self) -> str:
        return f"{self._name} was closed, or has been read to its end; start another"

    def __repr__(self) -> str:
        return f"<sprocket.Stream of {self._name}: {self._counts()}>"

    def _counts(self) -> str:
        return f"{self.seen} frames seen, {self.missed} missed" + (", closed" if self._is_closed else "")

    def close(self) -> None:
        """Disconnects. Frames that were handed out stay as they are."""
        if self._is_closed:
            return
        try:
            # What another layout, which was not looked at, says.
            for _ in range(_MOST_PACKETS if self._is_own else 0):
                if self._at_end or self._receive(wait=False, deadline=None) is None:
                    break
        except ShareRefused:
            pass
        self._finish()

    @property
    def _is_own(self) -> bool:
        """Whether this process opened the stream, and was not forked since."""
        return os.getpid() == self._process_id

    def _finish(self) -> None:
        if self._is_closed:
            return
        while self._wakers:
            loop, closed = self._wakers.popitem()[1]
            try:
                is_here = asyncio.get_running_loop() is loop
            except RuntimeError:
                is_here = False
            if is_here:
                closed()
            elif not loop.is_closed():
                loop.call_soon_threadsafe(closed)
        self._is_closed = True
        self._rest.clear()
        if self._memory is not None and self._is_own:
            self._last = tuple(map(max, self._last, self._memory.totals))
        self._socket.close()

    def __next__(self) -> Item:
        item = self._step(wait=True)
        assert item is not None
        return item

    def _step(self, wait: bool) -> Optional[Item]:
        """The next item; without `wait`, `None` if it is not there, or if there is none any more."""
        try:
            return cast(Optional[Item], self._next_batch(wait) if self._batches else self._next_frame(wait))
        except Timeout:
            raise
        except (Error, StopIteration):
            self._finish()
            raise

    def view(self) -> Item:
        """Returns the next frame or batch, as a step of the loop does, but without a copy: its arrays lie in
        the memory that the program writes to, and cannot be written to.

        The program leaves that place alone until no array that was made of it is left. Of a run that takes
        every frame, half of the places less one can be kept so (3 of 8). Beyond that, for readers of the
        newest frame, and of a share that others may read (`connect`), arrays are copies, which can be told by
        `tensor.flags.writeable`. Saves 0.5 to 1 ms for RGB of 1920x1080."""
        self._wants_view = True
        try:
            return next(self)
        finally:
            self._wants_view = False

    def __aiter__(self: _Self) -> _Self:
        if self._is_closed:
            raise Error(self._over())
        return self

    async def __anext__(self) -> Item:
        loop = asyncio.get_running_loop()
        while True:
            if self._is_closed:
                raise StopAsyncIteration(self._over())
            item = None if self._at_end else self._step(wait=False)
            if item is not None:
                return item
            if self._at_end:
                # The program may take its time to complete files.
                last = await loop.run_in_executor(None, next, self, None)
                if last is None:
                    raise StopAsyncIteration
                return last
            await self._readable(loop)

    async def _readable(self, loop: asyncio.AbstractEventLoop) -> None:
        readable: asyncio.Future[None] = loop.create_future()
        descriptor = self._socket.fileno()

        def wake() -> None:
            if not readable.done():
                readable.set_result(None)

        def closed() -> None:
            loop.remove_reader(descriptor)
            wake()

        loop.add_reader(descriptor, wake)
        self._wakers[descriptor] = (loop, closed)
        try:
            await asyncio.wait_for(readable, self.timeout)
        except asyncio.TimeoutError:
            raise self._late() from None
        finally:
            if self._wakers.pop(descriptor, None) is not None:
                loop.remove_reader(descriptor)

    # Frames

    def _next_frame(self, wait: bool) -> Optional[Frame]:
        if not self._rest:
            self._rest.extend(self._next_frames(wait)[0])
        return self._handed_out(self._rest.popleft()) if self._rest else None

    def _has_frame(self) -> bool:
        """Whether a step would not wait."""
        if not self._rest:
            self._rest.extend(self._next_frames(wait=False)[0])
        return bool(self._rest)

    def _handed_out(self, frame: Frame) -> Frame:
        """Counts the frame, and what is missing before it."""
        before: Totals = frame._totals
        # A reader may connect while a batch is filled: what was lost in it is counted once.
        frame.missed_by = _causes(self._last, before)
        self._last = tuple(map(max, self._last, (before[0] + 1, *before[1:])))
        self.seen += 1
        return frame

    def _next_batch(self, wait: bool) -> Optional[Batch]:
        frames, pixels = self._next_frames(wait)
        if not frames:
            return None
        layout = frames[0].layout
        for frame in frames:
            self._handed_out(frame)
        return Batch(layout, frames, pixels.reshape(-1, *layout.shape[1:]))

    def _next_frames(self, wait: bool = True) -> Tuple[List[Frame], npt.NDArray[Any]]:
        """Copies the next slot's frames and their pixels; without `wait`, none if no frame is there."""
        if self._is_closed:
            raise StopIteration(self._over())
        if not self._is_own:
            raise Error(f"{self._name} belongs to the process that opened it; open it in this one")
        deadline = None if self.timeout is None else time.monotonic() + self.timeout
        while True:
            notice = self._next_notice(deadline, wait)
            if notice is None:
                return [], np.empty(0)
            memory, slot, count, ticket = notice
            headers = [memory.header(slot, index) for index in range(count)]
            pixels = None
            if not self._is_left_out(headers):
                pixels = self._kept(memory, slot, count, ticket) if self._can_view(memory) else None
                if pixels is None:
                    pixels = memory.copied(slot, count)
            if memory.holds(slot, ticket):
                if any(header[:8] != MAGIC for header in headers):
                    raise self._lie("a frame's header does not begin as one does")
                if self.every:
                    self._send(struct.pack("<8sQ", _ACKNOWLEDGEMENT, ticket))
                if pixels is None:
                    continue
                return [Frame(memory.layout, header, pixels[index])
                        for index, header in enumerate(headers)], pixels
            # Tries again with the next frame: the writer has overtaken a reader of the latest.
            if self.every:
                # A writer that gave this reader up has said why.
                while not self._at_end and self._receive(wait=False, deadline=None) is not None:
                    pass
                raise self._lie("a frame was overwritten before it was acknowledged")

    def _can_view(self, memory: Memory) -> bool:
        layout = memory.layout
        return bool(self._wants_view and self.every and layout.holds
                    and self._views < layout.slots // 2 - 1)

    def _kept(self, memory: Memory, slot: int, count: int, ticket: int) -> npt.NDArray[Any]:
        self._send(struct.pack("<8sQ", _HOLD, ticket))
        self._views += 1
        return memory.view(slot, count, functools.partial(self._release, ticket))

    def _release(self, ticket: int) -> None:
        self._views -= 1
        if not self._is_closed and self._is_own:
            self._send(struct.pack("<8sQ", _RELEASE, ticket))

    def _is_left_out(self, headers: List[bytes]) -> bool:
        return self._least_sequence > 0 and all(
            struct.unpack_from("<Q", header, 32)[0] < self._least_sequence for header in headers)

    # Packets

    def _next_notice(self, deadline: Optional[float], wait: bool) -> Optional[Notice]:
        """The next one with `every`, else the newest one; without `wait`, `None` if there is none."""
        notice: Optional[Notice] = None
        for _ in range(_MOST_PACKETS):
            if self._at_end or (notice is not None and self.every):
                break
            packet = self._receive(wait=wait and notice is None, deadline=deadline)
            if packet is None:
                break
            notice = packet or notice
        if notice is not None or not wait:
            return notice
        raise self._end(deadline)

    def _late(self) -> Timeout:
        limit = "the time allowed" if self.timeout is None else f"{self.timeout:g} s"
        return Timeout(f"no frame came from {self._name} within {limit}")

    def _end(self, deadline: Optional[float]) -> Exception:
        """Why there is no frame any more; a `Timeout` where that is not known before `deadline`."""
        if self._memory is None:
            return WriterGone(f"{self._name} ended before it had a frame for this reader: its run ended, or "
                              "its program died; start it again")
        if self._memory.state == ENDED:
            return StopIteration()
        if self._memory.state == FAILED:
            return WriterGone(f"{self._name} ended before its run did: no reader of every frame was left; "
                              "start it again, or give it take=latest")
        held = ("; it may also have disconnected this reader, which held frames for longer than `patience`"
                if self.every else "")
        return WriterGone(f"{self._name} ended before its run did: its program died{held}; start it again")

    def _receive(self, wait: bool, deadline: Optional[float]) -> Any:
        """A notice; () after a layout and at the end, which sets `_at_end`; `None` if nothing is there."""
        size, descriptor = self._packet(wait, deadline)
        try:
            if size is None:
                return None
            if size == 0:
                self._at_end = True
                return ()
            if size != 32 or self._buffer[0] == ord("{"):
                self._set_layout(bytes(self._buffer[:size]), descriptor)
                return ()
            return self._notice(struct.unpack_from("<IIQQ", self._buffer))
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _packet(self, wait: bool, deadline: Optional[float]) -> Tuple[Optional[int], int]:
        if wait and deadline is not None:
            remaining = max(deadline - time.monotonic(), 0)
            if not self._poll.poll(remaining * 1000):
                raise self._late()
        flags = socket.MSG_CMSG_CLOEXEC | (0 if wait else socket.MSG_DONTWAIT)
        for _ in range(2):
            try:
                size, ancillary, result, _ = self._socket.recvmsg_into(
                    [self._buffer], socket.CMSG_LEN(4), flags)
                break
            except BlockingIOError:
                return None, -1
            except ConnectionResetError:
                # The writer died and had not read all acknowledgements; what it sent is still there.
                continue
            except OSError:
                return 0, -1
        else:
            return 0, -1
        descriptor = -1
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS and len(data) >= 4:
                descriptor = array.array("i", data[:4])[0]
        if result & socket.MSG_TRUNC:
            if descriptor >= 0:
                os.close(descriptor)
            raise self._lie("a packet is too long")
        return size, descriptor

    def _set_layout(self, packet: bytes, descriptor: int) -> None:
        if packet[:1] != b"{":
            raise self._lie(f"a packet of {len(packet)} bytes is neither a layout nor a notice")
        layout = Layout.parse(packet)
        if descriptor < 0:
            raise self._lie("a layout came without its memory")
        memory = Memory(layout, descriptor)
        if self._memory is None:
            self._start = self._last = layout.totals
            self._noticed = layout.shared
            if self.every is None:
                self.every = layout.every
        elif layout.shared < self._noticed:
            raise self._lie("the count of shared frames fell")
        self._memory = memory

    def _notice(self, notice: Tuple[int, int, int, int]) -> Notice:
        slot, frames, ticket, shared = notice
        if self._memory is None:
            raise self._lie("a notice came before the layout")
        layout = self._memory.layout
        if slot >= layout.slots or not 1 <= frames <= layout.batch:
            raise self._lie("a notice names what the layout does not have")
        if ticket <= self._last_ticket or shared - frames < self._noticed:
            raise self._lie("a notice goes back")
        self._last_ticket, self._noticed = ticket, shared
        return self._memory, slot, frames, ticket

    def _lie(self, what: str) -> ShareRefused:
        return ShareRefused(f"{self._name} sent what no share sends: {what}; is it of another version?")

    def _send(self, packet: bytes) -> None:
        try:
            self._socket.send(packet, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except BlockingIOError:
            raise self._lie("it does not read acknowledgements") from None
        except OSError:
            pass  # The other end has gone; receiving tells.


def _causes(before: Totals, after: Totals, seen: int = 0) -> Dict[str, int]:
    """What became of the frames between two counts of all; `seen` of them were handed out."""
    counts = [max(end - start, 0) for start, end in zip(before, after)]
    return {fate: count - (0 if index else seen) for index, (fate, count) in enumerate(zip(FATES, counts))
            if count > (0 if index else seen)}
