"""Frames of a film by number."""
from __future__ import annotations

import io
import itertools
import operator
import os
import select
import socket
import stat
import struct
import threading
import time
from collections.abc import Sequence as AbstractSequence
from types import TracebackType
from typing import (IO, TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Type,
                    Union, overload)

import numpy as np
import numpy.typing as npt

from ._errors import DamagedFrame, Error, NoSuchFile, NoSuchItem, Timeout, opened
from ._frame import Batch, Frame
from ._layout import Layout
from ._program import Image, Tensor, pixel_settings
from ._run import Run

if TYPE_CHECKING:
    _Sequence = AbstractSequence[Frame]
else:
    _Sequence = AbstractSequence

File = Union[str, "os.PathLike[str]", bytes, IO[bytes]]
# Kinds of requests and of answers, as docs/numbers.md has them.
_LIST, _RANGE, _TIMES = 1, 2, 3
_BEGINS, _LOST, _BEYOND, _HAS_TIMES, _CHANGED = 1, 2, 3, 4, 5
# No film has more.
_MOST_FRAMES = 1 << 40
# Most numbers of a request.
_MOST_NUMBERS = 8192
# Longest answer, in bytes.
_LONGEST = 1 << 17
_WITHOUT_END = (1 << 64) - 1
# Seconds that a step waits for its frame by default. A film of hours whose pictures have to be decoded to
# find their order takes minutes. Larger: a disk that hangs is noticed later.
_PATIENCE = 600.0
# Memory in bytes for frames that are read ahead of a loop that goes backwards. Larger: fewer pictures are
# decoded twice.
_BACKWARDS = 256 << 20
_MOST_BACKWARDS = 64


class _Numbered(_Sequence):
    """Frames of a video that are found by their places among `numbers`."""

    @property
    def numbers(self) -> Sequence[int]:
        """Numbers of the frames in the film."""
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: Union[slice, Iterable[int]]) -> VideoPart: ...
    def __getitem__(self, index: Union[int, slice, Iterable[int]]) -> Union[Frame, VideoPart]:
        given: Any = index
        if isinstance(index, slice):
            return self._part_of(self.numbers[index])
        if isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
            return self._part_of([self.numbers[place] for place in _places(given, len(self))])
        return self._single(_number(given))

    def _part_of(self, numbers: Sequence[int]) -> VideoPart:
        raise NotImplementedError

    def _single(self, number: int) -> Frame:
        raise NotImplementedError


class VideoPart(_Numbered):
    """Frames of some numbers of a `Video`, which are read when they are asked for; made by `video[10:100:5]`
    and `video[[3, 1, 4]]`."""

    def __init__(self, video: Video, numbers: Sequence[int]) -> None:
        self._video = video
        self._numbers = numbers

    @property
    def numbers(self) -> Sequence[int]:
        """Numbers of the frames in the film."""
        return self._numbers

    def _part_of(self, numbers: Sequence[int]) -> VideoPart:
        return VideoPart(self._video, numbers)

    def _single(self, number: int) -> Frame:
        return self._video[self.numbers[_place(number, len(self))]]

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return f"<sprocket.VideoPart of {len(self)} frames of {self._video!r}>"

    def __iter__(self) -> Iterator[Frame]:
        return self._video._frames(self.numbers)

    def batch(self) -> Batch:
        """All of them in one array; see `Video.batch`."""
        return self._video.batch(self.numbers)


class Video(_Numbered):
    """The frames of a film by number: `video[0]`, `video[-1]`, `video[10:100:5]`, `video[[3, 1, 4]]`.

        video = sprocket.Video("clip.mp4")
        print(len(video), video.fps, video.duration)
        for frame in video[::30]:
            show(frame.image)

    - `path`: of a film, or its bytes, or an open file.
    - `tensor`, `image`, `stages`, `size`: as `sprocket.run` has them. Stages that need all frames in order,
      as `stabilize`, are refused.
    - `stream`: of several films in a file the one, as ffprobe counts; by default that which is marked as
      default, or else the largest.
    - `upright`: false leaves pictures as they are stored, where the film says how they are turned.
    - `timeout`: seconds that a step waits for its frame, then `Timeout` is raised.

    Numbers count all frames of the film from 0, in the order in which they are shown. The picture of a number
    is the same, bit for bit, as in an iteration from the start. `len`, `times`, `at` and jumps need the index
    of the film: the first of them reads the file once, without decoding it; a film whose times do not tell
    the order of its pictures is decoded once. A jump decodes from the last key picture before its number;
    steps forward go on from where the last one was. A damaged frame raises `DamagedFrame`; loops leave it
    out, and count it in `missed` of the next one.

    A program of its own reads the film; it ends with `close`, with the `with` block, and with the `Video`.
    Threads may share it, and take turns; a `Video` for each is faster. It is pickled as what it was made of,
    and a forked process opens its own.
    """

    def __init__(self, path: File, *, stages: Union[str, Sequence[str]] = (), tensor: Optional[Tensor] = None,
                 image: Optional[Image] = None, stream: Optional[int] = None, upright: bool = True,
                 timeout: Optional[float] = _PATIENCE) -> None:
        self._recipe = {"stages": stages, "tensor": tensor, "image": image, "stream": stream,
                        "upright": upright, "timeout": timeout}
        self._pixels = pixel_settings(tensor, image)
        self._arguments = [word for stage in ([stages] if isinstance(stages, str) else stages)
                           for word in ("--stage", stage)]
        if upright:
            self._arguments += ["--stage", "rotate:upright=true"]
        if stream is not None:
            self._arguments += ["--source-set", f"stream={stream}"]
        self._timeout = timeout
        self._file, self._path, self._data = _opened(path)
        self._run: Optional[Run[Frame]] = None
        self._process_id = os.getpid()
        self._lock = threading.RLock()
        self._is_closed = False
        self._times: Optional[npt.NDArray[np.int64]] = None
        self._id = 0
        # Of the last request, as places among all frames that the program has sent: its first frame, damaged
        # ones, and its end if it was for frames beyond that of the film, which has `_count` frames.
        self._begin: Optional[int] = None
        self._lost: List[int] = []
        self._end: Optional[int] = None
        self._count = 0
        # A loop of single steps forward, and the number that it gives next.
        self._course: Optional[Iterator[Frame]] = None
        self._ahead = -1
        self._last = -2
        # Frames that were read for a loop that goes backwards, by number.
        self._kept: Dict[int, Frame] = {}
        self._start()

    # Use

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        return f"<sprocket.Video {self._path or 'of bytes'}{', closed' if self._is_closed else ''}>"

    @property
    def numbers(self) -> Sequence[int]:
        """Numbers of all frames."""
        return range(len(self))

    def _part_of(self, numbers: Sequence[int]) -> VideoPart:
        return VideoPart(self, numbers)

    def _single(self, number: int) -> Frame:
        if not 0 <= number < _MOST_FRAMES or self._times is not None:
            number = _place(number, len(self))
        return self._one(number)

    def __iter__(self) -> Iterator[Frame]:
        return self._frames(itertools.count())

    def __reversed__(self) -> Iterator[Frame]:
        return self._frames(range(len(self) - 1, -1, -1))

    @property
    def times(self) -> npt.NDArray[np.int64]:
        """`captured_ns` of every frame, in nanoseconds: the times of the film, which need not begin at 0.
        Some films have times that go back."""
        with self._turn():
            if self._times is None:
                self._times = self._asked_times()
                self._times.flags.writeable = False
            return self._times

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the end of the latest one, which lasts as long as frames of this
        film mostly do (the median)."""
        times = self.times
        last = float(np.median(np.diff(times))) if len(times) > 1 else 1e9 / self.fps if self.fps else 0.0
        return (float(times.max() - times[0]) + last) / 1e9

    @property
    def fps(self) -> float:
        """Frames per second as the film says; 0 where it does not. Frames of some films come at times of
        their own: see `times`."""
        return self._known.rate

    @property
    def width(self) -> int:
        """Of the picture that comes out of the stages, in pixels."""
        return self._known.picture[0]

    @property
    def height(self) -> int:
        """Of the picture that comes out of the stages, in pixels."""
        return self._known.picture[1]

    def at(self, seconds: float) -> Frame:
        """The frame that is shown so many seconds after the first one."""
        times = self.times
        offset = round(seconds * 1e9)
        if not 0 <= offset < self.duration * 1e9:
            raise NoSuchItem(f"{self!r} has no frame at {seconds:.9g} s; it lasts {self.duration:.9g} s")
        shown = np.maximum.accumulate(times)
        return self[int(np.searchsorted(shown, times[0] + offset, "right")) - 1]

    def batch(self, indices: Iterable[int]) -> Batch:
        """Frames of these numbers in one array, in this order. Each group of pictures is decoded once."""
        numbers = _places(indices, len(self))
        if not numbers:
            raise ValueError("a batch has at least one frame; give its number")
        found: Dict[int, Frame] = {}
        for frame in self._frames(sorted(set(numbers)), skips=False):
            found[frame.number] = frame
        frames = [found[number] for number in numbers]
        shapes = {frame.tensor.shape: frame.number for frame in frames}
        if len(shapes) > 1:
            raise Error(f"{self!r} changes its size: frames {sorted(shapes.values())} have different ones; "
                        "give the tensor a size")
        return Batch(frames[0].layout, frames, np.concatenate([frame.tensor for frame in frames]))

    # Life

    def close(self) -> None:
        """Ends the program. Frames that were handed out stay as they are."""
        if not self._is_closed:
            self._is_closed = True
            self._stop()
            if self._file is not None:
                os.close(self._file)

    def __enter__(self) -> Video:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_is_closed", True):
            self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        if self._is_closed and self._file is not None:
            raise Error(f"{self!r} was closed, and cannot be pickled")
        return _made, (self._path if self._file is None else self._data(), self._recipe)

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            descriptors = [theirs.fileno()]
            path = self._path
            if self._file is not None:
                descriptors.append(self._file)
                path = f"/proc/self/fd/{self._file}"
            self._run = Run[Frame](
                ["--source", f"file:{path}", "--source-set", f"asked={theirs.fileno()}", *self._arguments],
                self._pixels, every=True, batches=False, timeout=self._timeout, descriptors=descriptors)
        except BaseException:
            self._is_closed = True
            ours.close()
            if self._file is not None:
                os.close(self._file)
            raise
        finally:
            theirs.close()
        self._asks = ours
        self._process_id = os.getpid()
        # Loops that are under way ask again.
        self._id += 1

    def _stop(self) -> None:
        self._kept.clear()
        self._course = None
        self._last = -2
        self._asks.close()
        if self._run is not None:
            self._run.close()

    def _used(self) -> Run[Frame]:
        """The run, which a forked process starts anew."""
        if self._is_closed or self._run is None:
            raise Error(f"{self!r} was closed; open another")
        if os.getpid() != self._process_id or self._run._is_closed:
            self._stop()
            self._start()
        return self._run

    # Frames

    @property
    def _known(self) -> Layout:
        """The layout, which comes with the first frame."""
        with self._turn():
            return self._layout_of(self._used())

    def _layout_of(self, run: Run[Frame]) -> Layout:
        if run.layout is None:
            for frame in self._frames(itertools.count()):
                self._kept[frame.number] = frame
                break
        if run.layout is None:
            raise DamagedFrame(f"{self!r} has no frame that can be decoded")
        return run.layout

    def _turn(self) -> threading.RLock:
        """The lock of the threads that share this video; a forked process has one of its own."""
        if os.getpid() != self._process_id:
            self._lock = threading.RLock()
        return self._lock

    def _one(self, number: int) -> Frame:
        with self._turn():
            return self._found(number)

    def _found(self, number: int) -> Frame:
        self._used()
        kept = self._kept.pop(number, None)
        if kept is not None:
            self._last = number
            return kept
        self._kept.clear()
        is_backwards = number == self._last - 1
        # What is raised ends the loop.
        course, self._course = self._course, None
        if course is not None and self._ahead == number:
            frames = course
        elif number == self._last + 1:
            frames = course = self._frames(itertools.count(number), skips=False)
        else:
            frames = self._frames(self._block(number) if is_backwards else [number], skips=is_backwards)
        self._last = number
        for frame in frames:
            if frame.number == number:
                if frames is course:
                    self._course, self._ahead = course, number + 1
                return frame
            self._kept[frame.number] = frame
        if is_backwards:
            raise DamagedFrame(f"frame {number} of {self!r} is damaged")
        raise NoSuchItem(f"{self!r} has {self._count} frames, and none of number {number}")

    def _block(self, number: int) -> range:
        """Numbers that are read together in a loop that goes backwards."""
        self._kept.clear()
        layout = self._known
        count = max(1, min(_MOST_BACKWARDS, _BACKWARDS // layout.payload_bytes))
        return range(max(0, number - count + 1), number + 1)

    def _frames(self, numbers: Iterable[int], skips: bool = True) -> Iterator[Frame]:
        """Frames of these numbers. Damaged ones are left out if `skips`, else raised. Another request may
        come between two of them."""
        if isinstance(numbers, range) and numbers.step < 0 and len(numbers) > 1:
            missed, size = 0, len(self._block(numbers[0]))
            for start in range(0, len(numbers), size):
                block = numbers[start:start + size]
                found = {frame.number: frame for frame in self._frames(block[::-1], skips)}
                for number in block:
                    if number in found:
                        frame = found.pop(number)
                        frame.missed_by = {"corrupt": missed} if missed else {}
                        missed = 0
                        yield frame
                    else:
                        missed += 1
            return
        rest = numbers if isinstance(numbers, (range, itertools.count)) else list(numbers)
        if isinstance(rest, list):
            for start in range(0, len(rest), _MOST_NUMBERS):
                part = rest[start:start + _MOST_NUMBERS]
                yield from self._part(part, _LIST, lambda place, part=part: part[place:], skips)
        elif isinstance(rest, range):
            yield from self._part(rest, _RANGE, lambda place: (
                (rest[place] if place < len(rest) else 0), rest.step, len(rest) - place), skips)
        else:
            first = next(rest)
            yield from self._part(itertools.count(first), _RANGE,
                                  lambda place: (first + place, 1, _WITHOUT_END), skips)

    def _part(self, numbers: Any, kind: int, words: Any, skips: bool) -> Iterator[Frame]:
        """Frames of one request. `words(place)` is the request from its place on."""
        place, missed, request = 0, 0, 0
        count = None if isinstance(numbers, itertools.count) else len(numbers)
        first = next(numbers) if count is None else 0
        base = 0
        while count is None or place < count:
            with self._turn():
                run = self._used()
                if request != self._id or request == 0:
                    request, base = self._ask(kind, *words(place)), place
                frame = self._next(run, place - base)
                if frame is None and self._end == (self._begin or 0) + place - base:
                    return
            number = first + place if count is None else numbers[place]
            place += 1
            if frame is None:
                if not skips:
                    raise DamagedFrame(f"frame {number} of {self!r} is damaged")
                missed += 1
                continue
            yield _numbered(frame, number, missed)
            missed = 0

    def _next(self, run: Run[Frame], place: int) -> Optional[Frame]:
        """The frame of a place in the request; `None` if it is damaged, or if the film has no such number,
        which sets `_end`."""
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        while True:
            self._receive()
            if self._begin is not None:
                run._least_sequence = self._begin
                if self._begin + place in self._lost:
                    self._lost.remove(self._begin + place)
                    return None
                if self._end is not None and self._begin + place >= self._end:
                    return None
            if run._has_frame():
                # All that is to be known of a frame is sent before it.
                self._receive()
                sequence, begin = run._rest[0].sequence, self._begin
                if begin is None or sequence < begin:
                    # It belongs to an earlier request. The program goes on to this one when it has room.
                    run._rest.popleft()
                elif sequence == begin + place:
                    return next(run)
                elif begin + place not in self._lost:
                    # A stage has dropped it.
                    return None
                continue
            self._wait(run, deadline)

    def _wait(self, run: Run[Frame], deadline: Optional[float]) -> None:
        """Waits for a packet of either socket."""
        limit = None if deadline is None else max(0, deadline - time.monotonic())
        if not _is_readable(limit, self._asks, run):
            raise Timeout(f"nothing came of {self!r} within {self._timeout:g} s")

    # Requests

    def _ask(self, kind: int, *words: int) -> int:
        self._id += 1
        self._begin, self._end = None, None
        self._lost.clear()
        layout = "<QQqqQ" if kind == _RANGE else f"<QQ{len(words)}Q"
        try:
            self._asks.send(struct.pack(layout, kind, self._id, *words), socket.MSG_NOSIGNAL)
        except OSError:
            raise self._gone() from None
        return self._id

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
            if kind == _CHANGED:
                self._times = None
                raise Error(f"the pictures of {self!r} have another order than their times tell; it has "
                            f"{count}, and numbers before this error may have meant others: ask again")
            if request != self._id:
                continue
            if kind == _BEGINS:
                self._begin = value
            elif kind == _LOST:
                self._lost.append(value)
            elif kind == _BEYOND:
                self._end, self._count = value, count
            elif kind == _HAS_TIMES:
                return value, packet[24:]
        return None

    def _gone(self) -> Exception:
        """Why the program ended."""
        try:
            for _ in self._used():
                pass
        except Error as error:
            return error
        return Error(f"{self!r} cannot be read any further")

    def _asked_times(self) -> npt.NDArray[np.int64]:
        run = self._used()
        self._kept.clear()
        self._course = None
        self._ask(_TIMES)
        parts: List[npt.NDArray[np.int64]] = []
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        total = None
        while total is None or sum(map(len, parts)) < total:
            answer = self._receive()
            if answer is not None:
                total = answer[0]
                parts.append(np.frombuffer(answer[1][8:], np.int64))
            elif run._has_frame():
                # It belongs to an earlier request. The program goes on to this one when it has room.
                run._rest.popleft()
            else:
                self._wait(run, deadline)
        return np.concatenate(parts)


def _is_readable(seconds: Optional[float], *sockets: Any) -> bool:
    """Whether one of them has something, or has ended; waits so long for it, without end for `None`."""
    poll = select.poll()
    for each in sockets:
        poll.register(each, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def _numbered(frame: Frame, number: int, damaged: int) -> Frame:
    """The frame with its number in the film, and the damaged ones before it."""
    header = bytearray(frame._header)
    struct.pack_into("<QQ", header, 24, number, number)
    return Frame(frame.layout, bytes(header), frame.tensor, {"corrupt": damaged} if damaged else {})


def _number(index: Any) -> int:
    if isinstance(index, (bool, np.bool_)):
        raise TypeError("a frame has a number; for a mask write video[np.flatnonzero(mask)]")
    return operator.index(index)


def _place(index: int, count: int) -> int:
    number = _number(index)
    if not -count <= number < count:
        raise NoSuchItem(f"there are {count} frames, and none of number {number}")
    return number % count


def _places(indices: Iterable[int], count: int) -> List[int]:
    return [_place(index, count) for index in indices]


def _made(path: File, recipe: Dict[str, Any]) -> Video:
    return Video(path, **recipe)


def _opened(path: File) -> Tuple[Optional[int], str, Any]:
    """A descriptor for what has no path, the path, and what returns all bytes."""
    if isinstance(path, (str, os.PathLike)):
        if str(path).startswith("file:") and not os.path.exists(path):
            raise NoSuchFile(f"there is no file {path}; give the path alone, without file:")
        with opened(path) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Error(f"{os.fspath(path)} is no file that can be read twice; read it with sprocket.run")
        return None, os.path.abspath(os.fspath(path)), None
    data: Any = path
    if not isinstance(path, (bytes, bytearray, memoryview)):
        raw = getattr(path, "raw", path)
        if isinstance(raw, io.FileIO) and stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
            descriptor = os.dup(raw.fileno())
            return descriptor, "", lambda: _contents(descriptor)
        if not hasattr(path, "read"):
            raise TypeError("a film is given as a path, its bytes, or an open file")
        data = path.read()
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError("the file was opened as text; open it in mode rb")
    descriptor = os.memfd_create("sprocket-film")
    with open(os.dup(descriptor), "wb") as file:
        file.write(data)
    return descriptor, "", lambda: _contents(descriptor)


def _contents(descriptor: int) -> bytes:
    with open(f"/proc/self/fd/{descriptor}", "rb") as file:
        return file.read()
