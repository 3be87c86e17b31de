"""Arrays of this process as movies, stills and dumps."""
from __future__ import annotations

import atexit
import fcntl
import os
import select
import struct
import time
import warnings
import weakref
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from ._closing import Closing
from ._errors import Error, NotAllowed, Timeout
from ._frame import MAGIC, Frame
from ._layout import CLOCKS, HEADER_BYTES
from ._program import Child, option_arguments

# Endings of stills, and of movies.
_STILLS = (".jpg", ".jpeg", ".png", ".tif", ".tiff", ".dng")
_MOVIES = (".mov", ".mp4", ".mkv", ".m4v")
# Seconds for which a frame waits until the program takes it, and for which files are completed.
_PATIENCE = 300.0
# Bytes of the pipe, where the system allows as many.
_PIPE_BYTES = 1 << 20
_SET_PIPE_SIZE = 1031
# Latest time, in nanoseconds.
_LATEST = (1 << 63) - 1


class Writer(Closing):
    """Makes a movie, stills or a dump of arrays.

        with sprocket.Writer("out.mp4", fps=30, codec="h264") as writer:
            for image in images:                        # height x width x 3, uint8, RGB
                writer.write(image)

    - `path`: a movie by its ending (`.mov`, `.mp4`, `.mkv`), a dump (`.mcap`), or stills, where it is a
      folder or ends as a picture does, with the number where `{n}` is: `"shots/{n}.png"`.
    - `fps`: frame `n` is at `n / fps` seconds. Without it each frame is given its time. Of a movie whose
      frames are given times it says what encoders plan with. A movie begins at 0: its times count from the
      first frame, a dump's are as given.
    - `channels`: `"rgb"` or `"bgr"`, the order in arrays of three channels.
    - All else is an option of `sprocket run`, as `codec="h264"`, `quality=90`, `stage="resize:size=640x480"`,
      `overwrite=True`.

    Every frame is written, in order; `write` waits while the program is busy. The file is complete when
    `close`, or the end of the `with` block, has returned; an error of the program is raised there, or by the
    next `write`. `summary` then has the ledger, and its notes are warnings: of H.264, which holds even sizes,
    that an odd one lost its last column. A block that an exception ends leaves a movie of the frames
    before it. One thread at a time may use a writer; a process that is forked leaves it to its parent.
    Movies hold YUV, mostly 4:2:0: every bit of RGB is kept by a dump, and by stills of PNG.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], *, fps: Optional[float] = None,
                 channels: str = "rgb", **options: Any) -> None:
        if channels not in ("rgb", "bgr"):
            raise NotAllowed(f'channels={channels!r} is not allowed: give "rgb" or "bgr"', 2)
        if fps is not None and not 0 < fps <= 1e6:
            raise NotAllowed(f"fps={fps!r} is not allowed: give frames per second", 2)
        self._fps = fps
        self._channels = 0 if channels == "rgb" else 1
        self._path = os.fspath(path)
        # A picture file alone has one frame.
        self._is_single = _option(self._path) == "--stills" and "{" not in self._path \
            and bool(os.path.splitext(self._path)[1])
        self._is_movie = _option(self._path) == "--movie"
        self._shape: Optional[Tuple[int, ...]] = None
        self._number = 0
        self._last: Optional[int] = None
        self._summary: Dict[str, Any] = {}
        self._process_id = os.getpid()
        # Bytes that were not sent yet.
        self._rest: List[memoryview] = []
        rate = [] if fps is None else ["--rate", f"{fps:.12g}"]
        theirs, self._pipe = os.pipe()
        try:
            try:
                os.set_blocking(self._pipe, False)
                _enlarge(self._pipe)
                self._child = Child(
                    ["run", "--source", f"pipe:{theirs}", *rate, _option(self._path), self._path,
                     *option_arguments(options), *(["--frames", "1"] if self._is_single else []),
                     "--summary", "-", "--quiet"], [theirs])
            finally:
                os.close(theirs)
        except BaseException:
            os.close(self._pipe)
            raise
        self._is_closed = False
        _open.add(self)

    def __repr__(self) -> str:
        return f"<sprocket.Writer of {self._path}: {self._number} frames{', closed' * self._is_closed}>"

    @property
    def summary(self) -> Dict[str, Any]:
        """The keys of `--summary`, after `close`: how many frames each file has, and what became of
        others."""
        return self._summary

    def write(self, image: Union[npt.ArrayLike, Frame], *, seconds: Optional[float] = None,
              captured_ns: Optional[int] = None) -> None:
        """Writes a frame: an array of height x width x 3 or of height x width, of uint8, or of uint16 for a
        dump and stills, or a `Frame`, which brings its own time. Its time is given in seconds or
        nanoseconds, later than the frame's before, unless the writer has `fps`."""
        if self._is_closed or os.getpid() != self._process_id:
            raise Error(f"{self!r} takes no more frames; open another")
        if self._is_single and self._number:
            raise ValueError(f"{self._path} is one picture; name several as with {{n}}: \"shots/{{n}}.png\"")
        clock = CLOCKS.index("media")
        if isinstance(image, Frame):
            if captured_ns is None and seconds is None and self._fps is None:
                captured_ns = image.captured_ns
                clock = max(0, CLOCKS.index(image.clock))
            channels = 1 if image.layout.channels == "bgr" else 0
            array = np.asarray(image.image)
        else:
            channels, array = self._channels, np.asarray(image)
        if array.ndim == 3 and array.shape[2] == 1:
            array = array[:, :, 0]
        kind = _kind(array)
        if array.ndim == 2:
            channels = 2
        if self._is_movie and self._shape not in (None, array.shape):
            raise ValueError(f"the frames of a movie have one size; this one is {_size(array.shape)}, and "
                             f"the first was {_size(self._shape or ())}")
        if self._is_movie and kind != 0:
            raise ValueError("a movie holds 8 bits; divide uint16 by 257, or write a dump or stills")
        self._shape = array.shape
        at = self._time(seconds, captured_ns)
        if kind == 4 and channels == 1:
            channels, array = 0, array[..., ::-1]
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        height, width = array.shape[:2]
        header = bytearray(HEADER_BYTES)
        struct.pack_into("<8sIIQQQ", header, 0, MAGIC, HEADER_BYTES, 0, array.nbytes, self._number,
                         self._number)
        struct.pack_into("<BBBBq", header, 44, clock, 0, kind, channels, at)
        struct.pack_into("<4I", header, 80, 1, height, width, 1 if array.ndim == 2 else 3)
        self._flush()
        self._number += 1
        self._last = at
        self._rest = [memoryview(header), array.data.cast("B")]
        self._flush()

    def close(self) -> None:
        """Completes the file, and raises what went wrong."""
        if self._is_closed:
            return
        if os.getpid() != self._process_id:
            # The file is the parent's.
            self._is_closed = True
            self._close_pipe()
            return
        try:
            header = bytearray(HEADER_BYTES)
            struct.pack_into("<8sIIQQ", header, 0, MAGIC, HEADER_BYTES, 1, 0, self._number)
            if self._number and not self._is_single:
                self._rest.append(memoryview(header))
            self._flush()
        except BaseException:
            self._give_up()
            raise
        self._is_closed = True
        self._close_pipe()
        if self._number == 0:
            self._child.end()
            raise Error(f"{self!r} was given no frame, and has made no file")
        self._child.finish(_PATIENCE)
        self._summary = self._child.summary
        for note in self._summary["notes"]:
            warnings.warn(note, stacklevel=2)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self.close()
        else:
            # Python raises the error that ended the block, and not one of closing.
            self.__del__()

    def __del__(self) -> None:
        try:
            super().__del__()
        except (Error, OSError, ValueError):
            pass

    def _time(self, seconds: Optional[float], captured_ns: Optional[int]) -> int:
        if seconds is not None and captured_ns is not None:
            raise TypeError("give seconds or captured_ns, not both")
        if captured_ns is not None:
            at = int(captured_ns)
        elif seconds is not None:
            at = round(seconds * 1e9)
        elif self._fps is not None:
            at = round(self._number * 1e9 / self._fps)
        else:
            raise TypeError("this frame has no time: give the writer fps=, or the frame seconds= or "
                            "captured_ns=")
        if self._last is not None and at <= self._last:
            raise ValueError(f"a frame at {at} ns comes behind one at {self._last} ns; times have to rise")
        if not -_LATEST <= at <= _LATEST:
            raise ValueError(f"a frame at {at} ns is beyond all clocks; give nanoseconds of 64 bits")
        return at

    def _flush(self) -> None:
        """Sends what waits. What an interrupt or a timeout leaves is sent first by the next call."""
        deadline = time.monotonic() + _PATIENCE
        try:
            while self._rest:
                self._send_some(deadline)
        except BaseException:
            # The caller's array may change before the next call.
            self._rest = [memoryview(bytes(part)) for part in self._rest]
            raise

    def _send_some(self, deadline: float) -> None:
        part = self._rest[0]
        try:
            part = part[os.write(self._pipe, part):]
        except BlockingIOError:
            poll = select.poll()
            poll.register(self._pipe, select.POLLOUT)
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise Timeout(f"the program has not taken a frame of {self!r} within {_PATIENCE:g} s"
                              ) from None
        except BrokenPipeError:
            raise self._gone() from None
        self._rest[:1] = [part] if len(part) else []

    def _gone(self) -> Exception:
        """Why the program has ended before the last frame."""
        code = self._give_up()
        return self._child.error(code) if code else Error(f"the program of {self!r} has ended early")

    def _give_up(self) -> int:
        """Ends the program; returns its exit code."""
        self._is_closed = True
        self._close_pipe()
        return self._child.end()

    def _close_pipe(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


_open: weakref.WeakSet[Writer] = weakref.WeakSet()


def _close_all() -> None:
    """Completes files while Python still works."""
    for writer in list(_open):
        writer.__del__()


atexit.register(_close_all)


def _enlarge(pipe: int) -> None:
    try:
        fcntl.fcntl(pipe, _SET_PIPE_SIZE, _PIPE_BYTES)
    except OSError:
        pass  # It has 64 KB.


def _option(path: str) -> str:
    ending = os.path.splitext(path)[1].lower()
    if ending in _MOVIES:
        return "--movie"
    if ending == ".mcap":
        return "--dump"
    if ending in _STILLS or not ending or os.path.isdir(path):
        return "--stills"
    raise NotAllowed(f"{path} has an ending that no file is made of; give one of "
                     f"{', '.join([*_MOVIES, '.mcap', *_STILLS])}, or a folder for stills", 2)


def _size(shape: Tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "no axes"


def _kind(array: npt.NDArray[Any]) -> int:
    """Returns the header's code for the numbers of a frame. Raises for arrays that are no frame."""
    kinds = {np.dtype(np.uint8): 0, np.dtype(np.uint16): 4}
    kind = kinds.get(array.dtype.newbyteorder("="))
    is_picture = array.ndim == 2 or array.ndim == 3 and array.shape[2] == 3
    if kind is not None and is_picture and array.size:
        return kind
    if array.ndim == 3 and array.shape[2] == 4:
        raise ValueError("files are written without alpha; give image[..., :3]")
    raise ValueError("a frame is an array of height x width x 3, or of height x width, of uint8 or uint16; "
                     f"this one is {array.dtype} of {_size(array.shape)}")
