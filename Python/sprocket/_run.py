"""Starts the program, and yields its frames."""
from __future__ import annotations

import contextlib
import difflib
import json
import os
import socket
import tempfile
import time
from typing import (Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, cast,
                    overload)

from ._errors import Error, NotAllowed, RunError, Timeout, check_file
from ._frame import Batch, Frame
from ._memory import ENDED
from ._program import Child, Image, Tensor, option_arguments, pixel_settings, stage_arguments
from ._stream import Item, Stream

# Seconds that a run may take to complete its files, and to end where its share has ended before it.
_FILES_LIMIT, _LOSS_LIMIT = 300, 5
# Longest pause of a loop for which its run waits, in seconds: a day. Larger: a run that was forgotten lasts
# longer.
_PATIENCE = 86_400
# Seconds for which `run` waits for the first frame or an error. Larger: errors of slower sources come from
# `run` and not from the first step; sources that begin later hold up the caller for longer.
_FIRST_LOOK = 2.0
# Seconds that a step waits for its frame by default. Larger: a camera that hangs is noticed later.
TIMEOUT = 60.0

Source = Union[str, "os.PathLike[str]"]


def is_dump(path: str) -> bool:
    return path.endswith(".mcap")


def source_text(source: Source) -> str:
    """A path's kind of source by its name; a text as it is."""
    if isinstance(source, str):
        return source
    if not isinstance(source, os.PathLike):
        raise NotAllowed("a run has one source, a text or a path; for several files there is "
                         "sprocket.batch(paths)", 2)
    path = os.fspath(source)
    return f"replay:{path}" if is_dump(path) else f"file:{path}"


class Run(Stream[Item]):
    """A stream of the frames of a program that this process has started; made by `sprocket.run`.

    At the end of the run `summary` is there. An error of the program is raised as `RunError`. `close`, which
    the end of a `with` block and the end of the stream's life do, too, ends the program.
    """

    def __init__(self, arguments: Sequence[str], pixels: str, *, every: Optional[bool], batches: bool,
                 timeout: Optional[float] = None, descriptors: Sequence[int] = ()) -> None:
        self._summary: Optional[Dict[str, Any]] = None
        # When the program is ended if it has not ended by itself after its share has.
        self._last_moment: Optional[float] = None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            # Waits for a loop that pauses, as in a notebook.
            patience = "" if ",patience=" in pixels else f",patience={_PATIENCE}s"
            take = "" if every is None else f",take={'every' if every else 'latest'}"
            share = f"fd:{theirs.fileno()}{pixels}{take}{patience}"
            super().__init__(ours, "the run", every=every, batches=batches, timeout=timeout)
            self._child = Child(["run", *arguments, "--share", share, "--summary", "-", "--quiet"],
                                [theirs.fileno(), *descriptors])
        except BaseException:
            self._is_closed = True
            ours.close()
            raise
        finally:
            theirs.close()

    def __repr__(self) -> str:
        return f"<sprocket.Run of process {self.pid}: {self._counts()}>"

    @property
    def pid(self) -> int:
        """The program's process."""
        return self._child.pid

    @property
    def summary(self) -> Dict[str, Any]:
        """How a run that has ended or was closed went: the keys of `--summary`, which Sprocket's README
        lists."""
        summary = self._summary
        if summary is None:
            if not self._is_closed:
                raise RunError("the run goes on; its summary is there when it has ended, or was closed")
            summary = self._summary = self._child.summary
        return summary

    def _look(self) -> None:
        """Raises an error that comes before the first frame."""
        try:
            while self._memory is None and not self._at_end:
                self._receive(wait=True, deadline=time.monotonic() + _FIRST_LOOK)
        except Timeout:
            return
        except BaseException:
            self._finish()
            raise
        if self._memory is None:
            end = self._end(None)
            if not isinstance(end, StopIteration):
                self._finish()
                raise end

    def _end(self, deadline: Optional[float]) -> Exception:
        is_over = self._memory is not None and self._memory.state == ENDED
        # A run that is over completes its files; one that has lost its reader may go on for other sinks.
        limit = _FILES_LIMIT if is_over else _LOSS_LIMIT
        if self._last_moment is None:
            self._last_moment = time.monotonic() + limit
        end = self._last_moment if deadline is None else min(self._last_moment, deadline)
        code = self._child.wait(max(end - time.monotonic(), 0))
        if code:
            return self._child.error(code)
        if code is None and end != self._last_moment:
            return self._late()
        if code is None and is_over:
            return Error(f"the run has not completed its files within {limit} s of its last frame, and was "
                         "ended; files may be incomplete")
        if is_over or (self._memory is None and code == 0):
            return StopIteration()
        return super()._end(deadline)

    def _finish(self) -> None:
        if not self._is_closed:
            super()._finish()
            if self._is_own:
                self._child.end()


@overload
def run(source: Optional[Source] = ..., *, stages: Sequence[str] = ..., tensor: Optional[Tensor] = ...,
        image: Optional[Image] = ..., batch: None = ..., every: Optional[bool] = ...,
        timeout: Optional[float] = ..., **options: Any) -> Run[Frame]: ...
@overload
def run(source: Optional[Source] = ..., *, stages: Sequence[str] = ..., tensor: Optional[Tensor] = ...,
        image: Optional[Image] = ..., batch: int, every: Optional[bool] = ...,
        timeout: Optional[float] = ..., **options: Any) -> Run[Batch]: ...
def run(source: Optional[Source] = None, *, stages: Sequence[str] = (), tensor: Optional[Tensor] = None,
        image: Optional[Image] = None, batch: Optional[int] = None, every: Optional[bool] = None,
        timeout: Optional[float] = TIMEOUT, **options: Any) -> Union[Run[Frame], Run[Batch]]:
    """Starts the program, and yields the frames of its run.

        for frame in sprocket.run("file:clip.mov", stages=["stabilize"], tensor=(640, 640)):
            detect(frame.tensor)

    - `source`: as `--source` has it (`camera`, `camera:NAME`, `file:PATH`, `replay:PATH`, `scene`), or a
      `Path`. `None` is the first camera, or what `pipeline` says.
    - `stages`: `["focus", "stabilize:mode=standard,crop=0.1"]`, or one; `sprocket stages` lists them.
    - `tensor`: its size, (width, height) or the side of a square, or its settings as `sprocket stages share`
      lists them: `{"size": (640, 480), "type": "f16", "mean": (0.485, 0.456, 0.406), "std": 0.225}`.
    - `image`: `"rgb"` (the default), `"bgr"`, `"gray"`, `"rgba"`, or settings with `layout` among them.
    - `batch`: the run yields a `Batch` of so many frames at a time.
    - `every`: by default a source that can wait, as a file, waits for this process, so that no frame is left
      out, and of a live one (a camera) each step gives the newest frame. True keeps up to four frames of a
      live source for a loop that is slow for a moment; one that stays slow gets frames that are four of its
      own steps old, and misses others. False gives the newest frame of any source.
    - `timeout`: seconds that a step waits for its frame, or for the end of the run after the last one; then
      `Timeout` is raised, and the next step waits on. `None` waits without end.
    - All else is an option of `sprocket run`: `frames=300`, `duration=3` (seconds, or `"500ms"`),
      `size=(640, 480)` of a camera, `from_=10`, `movie="take.mov"`, `source_set=["shake=0"]`,
      `overwrite=True`.
    - `pipeline`: the description of the run: the path of a file (docs/pipelines.md), or a `dict` as the file
      would have it. The other parameters win over it.

    Frames are the caller's: `list(run)` keeps them all. Errors of the program are raised as `RunError`, and
    as `NotAllowed` (a `ValueError`) where it does not take what it is asked for: by this function, if they
    come before the first frame and within 2 s. The program is in a process group of its own: an interrupt
    (Ctrl-C, or the stop button of a notebook) is raised in the loop, and the run goes on until it is closed.
    """
    return _started(source, stages, tensor, image, batch, every, timeout, options, looks=True)


def _started(source: Optional[Source], stages: Sequence[str], tensor: Optional[Tensor],
             image: Optional[Image], batch: Optional[int], every: Optional[bool], timeout: Optional[float],
             options: Mapping[str, Any], *, looks: bool) -> Union[Run[Frame], Run[Batch]]:
    """Without `looks`, all errors come from the first step."""
    if every not in (None, True, False):
        raise NotAllowed(f"every={every!r} is not allowed: give True, False, or None", 2)
    if timeout is not None and not timeout >= 0:
        raise NotAllowed(f"timeout={timeout!r} is not allowed: give seconds, or None", 2)
    pixels = pixel_settings(tensor, image)
    started: Union[Run[Frame], Run[Batch]]
    with _described(options) as (options, descriptors):
        arguments = run_arguments(source, stages, options)
        kind, colon, path = source_text(source or "").partition(":")
        if kind in ("file", "replay") and colon:
            check_file(path)
        if batch is None:
            started = Run[Frame](arguments, pixels, every=every, batches=False, timeout=timeout,
                                 descriptors=descriptors)
        else:
            started = Run[Batch](arguments, f"{pixels},batch={batch}", every=every, batches=True,
                                 timeout=timeout, descriptors=descriptors)
    if looks:
        started._look()
    return started


def started(source: Source, keys: Mapping[str, Any]) -> Run[Frame]:
    """A run that does not wait for its first frame; `keys` are parameters of `run`."""
    own = {"stages": (), "tensor": None, "image": None, "every": None, "timeout": TIMEOUT}
    parameters = {name: keys.get(name, value) for name, value in own.items()}
    options = {name: value for name, value in keys.items() if name not in own}
    return cast(Run[Frame], _started(source, batch=None, options=options, looks=False, **parameters))


# Parameters of `run` that the program has no option for, and the options that look like one of them.
_PARAMETERS = ("source", "stages", "tensor", "image", "batch", "every", "timeout")
_OPTIONS = ("stage",)
# Options of the program that `run` itself gives.
_OWN = {"share": "frames come to this process; give tensor= or image=",
        "summary": "it is there as `summary` when the run has ended", "quiet": "the program prints nothing"}


def _check_names(options: Mapping[str, Any]) -> None:
    """Refuses a misspelled parameter, which the program would take for an option."""
    for name in options:
        if name in _OWN:
            raise NotAllowed(f"run has no parameter `{name}`: {_OWN[name]}", 2)
        # 0.8 lets one letter of five be wrong. Lower: options are taken for misspelled parameters.
        near = difflib.get_close_matches(name, _PARAMETERS, 1, 0.8)
        if near and name not in _OPTIONS:
            raise NotAllowed(f"run has no parameter `{name}`; did you mean `{near[0]}`?", 2)


@contextlib.contextmanager
def _described(options: Mapping[str, Any]) -> Iterator[Tuple[Mapping[str, Any], Sequence[int]]]:
    """The options with a description that is no file as a descriptor, which the program is given."""
    described = options.get("pipeline")
    if not isinstance(described, Mapping):
        yield options, ()
        return
    try:
        text = json.dumps(described)
    except (TypeError, ValueError) as error:
        raise NotAllowed(f"pipeline= is not what a file could have: {error}", 2) from None
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        yield {**options, "pipeline": f"/dev/fd/{file.fileno()}"}, [file.fileno()]


def run_arguments(source: Optional[Source], stages: Sequence[str], options: Mapping[str, Any]) -> List[str]:
    _check_names(options)
    is_described = source is None and ("pipeline" in options or "like" in options)
    arguments = [] if is_described else ["--source", source_text(source or "camera")]
    return [*arguments, *stage_arguments(stages), *option_arguments(options)]
