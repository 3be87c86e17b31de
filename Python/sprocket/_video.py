"""Frames of a film by number."""
from __future__ import annotations

import functools
import io
import itertools
import operator
import os
import stat
import threading
import weakref
from collections.abc import Sequence as AbstractSequence
from dataclasses import replace
from typing import (IO, TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence,
                    Tuple, Union, overload)

import numpy as np
import numpy.typing as npt

from ._closing import Closing
from ._errors import DamagedFrame, Error, NoSuchFile, NoSuchItem, NotAllowed, opened
from ._frame import Batch, Frame
from ._layout import Layout
from ._program import Image, Tensor, pixel_settings, stage_arguments
from ._reader import LIST, RANGE, OtherOrder, Reader, Recipe, prepare, reader

if TYPE_CHECKING:
    _Sequence = AbstractSequence[Frame]
else:
    _Sequence = AbstractSequence

File = Union[str, "os.PathLike[str]", bytes, IO[bytes]]
# First bytes of a dump.
_MCAP = b"\x89MCAP"
# No film has more.
_MOST_FRAMES = 1 << 40
# Most numbers of a request.
_MOST_NUMBERS = 8192
_WITHOUT_END = (1 << 64) - 1
# Seconds that a step waits for its frame by default. A film of hours whose pictures have to be decoded to
# find their order takes minutes. Larger: a disk that hangs is noticed later.
_PATIENCE = 600.0
# Memory in bytes for frames that are read ahead of a loop that goes backwards. Larger: fewer pictures are
# decoded twice.
_BACKWARDS = 256 << 20
_MOST_BACKWARDS = 64
# Most films of this process that are read at a time; the program of the one that was used least recently is
# ended for another, and started again when it is used. Larger: more memory, and fewer films are opened twice.
_MOST_PROGRAMS = 16


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


class Video(Closing, _Numbered):
    """The frames of a film, or a dump, by number: `video[0]`, `video[-1]`, `video[10:20]`, `video[[3, 1]]`.

        video = sprocket.Video("clip.mp4")
        print(len(video), video.fps, video.duration)
        for frame in video[::30]:
            show(frame.image)

    - `path`: of a film or a dump, or the bytes of a film, or an open film.
    - `tensor`, `image`, `stages`, `size`: as `sprocket.run` has them. Stages that need all frames in order,
      as `stabilize`, are refused.
    - `stream`: of several films in a file the one, as ffprobe counts; by default that which is marked as
      default, or else the largest. Of a dump of several sources its name.
    - `upright`: false leaves pictures as they are stored, where the film says how they are turned. Alpha of
      such a film can be had only so.
    - `timeout`: seconds that a step waits for its frame, then `Timeout` is raised.

    Numbers count all frames of the film from 0, in the order in which they are shown. The picture of a number
    is the same, bit for bit, as in an iteration from the start. Those of a dump count the frames that came,
    whatever became of them. `len`, `times`, `at` and jumps need the index
    of the film: the first of them reads the file once, without decoding it; a film whose times do not tell
    the order of its pictures is decoded once. A jump decodes from the last key picture before its number;
    steps forward go on from where the last one was. A damaged frame raises `DamagedFrame`; loops leave it
    out, and count it in `missed` of the next one.

    A program of its own reads the film; it ends with `close`, with the `with` block, and with the `Video`.
    Threads may share it, and take turns; a `Video` for each is faster. It is pickled as what it was made of,
    and a forked process opens its own.
    """

    def __init__(self, path: File, *, stages: Union[str, Sequence[str]] = (), tensor: Optional[Tensor] = None,
                 image: Optional[Image] = None, stream: Union[int, str, None] = None, upright: bool = True,
                 timeout: Optional[float] = _PATIENCE) -> None:
        self._recipe = {"stages": stages, "tensor": tensor, "image": image, "stream": stream,
                        "upright": upright, "timeout": timeout}
        # Turning is the last stage. Its report is hidden: the user has not asked for it.
        arguments = [*stage_arguments(stages), *stage_arguments(["rotate:upright=true"] if upright else [])]
        if stream is not None:
            arguments += ["--source-set", f"stream={stream}"]
        self._how = Recipe(tuple(arguments), pixel_settings(tensor, image))
        self._timeout = timeout
        self._file, self._path, self._data = _opened(path)
        self._reader: Optional[Reader] = None
        # Counts the programs that have read the film.
        self._life = 0
        self._process_id = os.getpid()
        self._lock, self._lock_owner = threading.RLock(), os.getpid()
        self._is_closed = False
        self._layouts: Optional[Tuple[Layout, Layout]] = None
        self._used_at = 0
        self._has_spare = False
        self._times: Optional[npt.NDArray[np.int64]] = None
        # A loop of single steps forward, and the number that it gives next.
        self._course: Optional[Iterator[Frame]] = None
        self._ahead = -1
        self._last = -2
        # Frames that were read for a loop that goes backwards, by number.
        self._kept: Dict[int, Frame] = {}
        self._start()
        if stages or any(isinstance(pixels, Mapping) and set(pixels) - {"layout", "size"}
                         for pixels in (tensor, image)):
            # The first picture shows whether stages and settings suit the film.
            try:
                self._known
            except DamagedFrame:
                pass
            except BaseException:
                self.close()
                raise

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
                reader = self._used()
                self._kept.clear()
                self._course = None
                self._times = reader.times()
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
    def pid(self) -> int:
        """The process that reads the film; it changes with the program."""
        with self._turn():
            return self._used().run.pid

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
        if not 0 <= seconds < self.duration:
            raise NoSuchItem(f"{self!r} has no frame at {seconds:.9g} s; it lasts {self.duration:.9g} s")
        shown = np.maximum.accumulate(times)
        return self[int(np.searchsorted(shown, times[0] + round(seconds * 1e9), "right")) - 1]

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

    def __reduce__(self) -> Tuple[Any, ...]:
        if self._is_closed and self._file is not None:
            raise Error(f"{self!r} was closed, and cannot be pickled")
        return _made, (self._path if self._file is None else self._data(), self._recipe)

    def _start(self) -> Reader:
        path = self._path if self._file is None else f"/proc/self/fd/{self._file}"
        try:
            found = reader(self._how, path, self._file, repr(self), self._timeout)
        except BaseException:
            if self._life == 0:
                self._is_closed = True
                if self._file is not None:
                    os.close(self._file)
            raise
        self._reader = found
        self._process_id = os.getpid()
        # Loops that are under way ask again.
        self._life += 1
        with _running_lock:
            _running.add(self)
        _end_others(self)
        return found

    def _stop(self) -> None:
        self._kept.clear()
        self._course = None
        self._last = -2
        with _running_lock:
            _running.discard(self)
        found, self._reader = self._reader, None
        if found is not None:
            found.close()

    def _used(self) -> Reader:
        """The program, which a forked process starts anew."""
        if self._is_closed:
            raise Error(f"{self!r} was closed; open another")
        self._used_at = next(_clock)
        if self._reader is not None and (os.getpid() != self._process_id or self._reader.is_closed):
            self._stop()
        return self._reader or self._start()

    # Frames

    @property
    def _known(self) -> Layout:
        """The layout, which comes with the first frame."""
        with self._turn():
            reader = self._used()
            # The first frame alone is the cheapest; where it is damaged, the next one that is not.
            for numbers in [iter([0]), itertools.count()]:
                if reader.layout is None:
                    for frame in self._frames(numbers):
                        self._kept[frame.number] = frame
                        break
            if reader.layout is None:
                raise DamagedFrame(f"{self!r} has no frame that can be decoded")
            return reader.layout

    def _shown(self, layout: Layout) -> Layout:
        """Returns the layout without the report of the stage that this class has added."""
        if self._layouts is None or self._layouts[0] is not layout:
            is_own = self._recipe["upright"] and layout.reports
            self._layouts = layout, replace(layout, reports=layout.reports[:-1]) if is_own else layout
        return self._layouts[1]

    def _turn(self) -> threading.RLock:
        """The lock of the threads that share this video; a forked process has one of its own."""
        if os.getpid() != self._lock_owner:
            self._lock, self._lock_owner = threading.RLock(), os.getpid()
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
        raise NoSuchItem(f"{self!r} has {self._used().count} frames, and none of number {number}")

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
                yield from self._part(part, LIST, functools.partial(_rest_of, part), skips)
        elif isinstance(rest, range):
            yield from self._part(rest, RANGE, functools.partial(_range_of, rest), skips)
        else:
            first = next(rest)
            yield from self._part(itertools.count(first), RANGE,
                                  lambda place: (first + place, 1, _WITHOUT_END), skips)

    def _part(self, numbers: Any, kind: int, words: Any, skips: bool) -> Iterator[Frame]:
        """Frames of one request. `words(place)` is the request from its place on."""
        place, missed, request, base = 0, 0, (0, 0), 0
        is_endless = isinstance(numbers, itertools.count)
        first = next(numbers) if is_endless else 0
        count = None if is_endless else len(numbers)
        while count is None or place < count:
            with self._turn():
                reader = self._used()
                if request != (self._life, reader.id):
                    request, base = (self._life, reader.ask(kind, *words(place))), place
                try:
                    frame = reader.next(place - base)
                except OtherOrder:
                    self._times = None
                    raise
                if frame is None and reader.end == (reader.begin or 0) + place - base:
                    return
                if not self._has_spare:
                    self._has_spare = True
                    prepare(self._how)
            number = first + place if is_endless else numbers[place]
            place += 1
            if frame is None:
                if not skips:
                    raise DamagedFrame(f"frame {number} of {self!r} is damaged")
                missed += 1
                continue
            yield frame._renumbered(number, number, self._shown(frame.layout),
                                    {"corrupt": missed} if missed else {})
            missed = 0


_running: weakref.WeakSet[Video] = weakref.WeakSet()
_running_lock = threading.Lock()
_clock = itertools.count(1)


def _renew_lock() -> None:
    """Another thread of the parent may have had it."""
    global _running_lock
    _running_lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


def _end_others(video: Video) -> None:
    """Ends programs of other films, least recently used first, where there are too many."""
    with _running_lock:
        others = sorted(_running, key=lambda other: other._used_at)
    # Two threads that open films at once may end a program more than needed.
    for other in others[:-_MOST_PROGRAMS]:
        # One that another thread uses goes on.
        if other is not video and other._lock.acquire(blocking=False):
            try:
                other._stop()
            finally:
                other._lock.release()


def _range_of(numbers: range, place: int) -> Tuple[int, int, int]:
    return numbers[place] if place < len(numbers) else 0, numbers.step, len(numbers) - place


def _rest_of(numbers: Sequence[int], place: int) -> Sequence[int]:
    return numbers[place:]


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
            if os.pread(raw.fileno(), len(_MCAP), 0) == _MCAP:
                raise NotAllowed("a dump is given as its path, and not as an open file", 2)
            descriptor = os.dup(raw.fileno())
            return descriptor, "", lambda: _contents(descriptor)
        if not hasattr(path, "read"):
            raise TypeError("a film is given as a path, its bytes, or an open file")
        data = path.read()
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError("the file was opened as text; open it in mode rb")
    if bytes(data[:len(_MCAP)]) == _MCAP:
        raise NotAllowed("a dump is given as its path, and not as its bytes", 2)
    descriptor = os.memfd_create("sprocket-film")
    with open(os.dup(descriptor), "wb") as file:
        file.write(data)
    return descriptor, "", lambda: _contents(descriptor)


def _contents(descriptor: int) -> bytes:
    with open(f"/proc/self/fd/{descriptor}", "rb") as file:
        return file.read()
