"""Many clips, on all cores."""
from __future__ import annotations

import os
import pickle
import select
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from typing import (Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, TypeVar,
                    Union, overload)

from ._errors import Error
from ._frame import Frame
from ._program import Image, Tensor
from ._run import Run, Source, started

Result = TypeVar("Result")
Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Iterable[Path]]


@overload
def batch(paths: Paths, *, stages: Sequence[str] = ..., tensor: Optional[Tensor] = ...,
          image: Optional[Image] = ..., processes: Optional[int] = ..., **options: Any
          ) -> Iterator[Tuple[Path, Frame]]: ...
@overload
def batch(paths: Paths, function: Callable[[Run[Frame]], Result], *, stages: Sequence[str] = ...,
          tensor: Optional[Tensor] = ..., image: Optional[Image] = ..., processes: Optional[int] = ...,
          **options: Any) -> Iterator[Tuple[Path, Result]]: ...
def batch(paths: Paths, function: Optional[Callable[[Run[Frame]], Any]] = None, *,
          stages: Sequence[str] = (), tensor: Optional[Tensor] = None, image: Optional[Image] = None,
          processes: Optional[int] = None, **options: Any) -> Iterator[Tuple[Path, Any]]:
    """Runs the program over files, as many at a time as there are processors, or `processes`.

    Yields `(path, frame)`: frames of one file in order, frames of several files in between as they come. With
    a `function`, yields `(path, function(frames))` in the order of `paths`; the function is called with the
    `Run` of each file, in a process of its own, and has to be one that `pickle` can name: `def` at the top of
    a module. All else is as in `run`. An error of one file (`RunError`) ends all at once, and so does leaving
    the loop.

    Results are those of single runs.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if function is not None:
        _check_name(function)
    count = max(min(processes or len(os.sched_getaffinity(0)), len(given)), 1)
    # Threads that no other file keeps busy.
    options.setdefault("workers", max(len(os.sched_getaffinity(0)) // count, 1))
    keys: Dict[str, Any] = {"stages": stages, "tensor": tensor, "image": image, **options}
    return _frames(given, count, keys) if function is None else _results(given, count, function, keys)


def _check_name(function: Callable[[Run[Frame]], Any]) -> None:
    try:
        pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        raise Error("the function is called in other processes, which find it by its name; `def` it at the "
                    "top of a module, no lambda and no function in a function") from None


def _source(path: Path) -> str:
    text = os.fspath(path)
    if text.startswith(("file:", "replay:")):
        return text
    return f"replay:{text}" if text.endswith(".mcap") else f"file:{text}"


def _results(paths: List[Path], count: int, function: Callable[[Run[Frame]], Any], keys: Dict[str, Any]
             ) -> Iterator[Tuple[Path, Any]]:
    pool = ProcessPoolExecutor(count)
    try:
        jobs = [pool.submit(_call, function, _source(path), keys) for path in paths]
        waiting = set(jobs)
        for path, job in zip(paths, jobs):
            while job in waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for ended in done:
                    ended.result()
            yield path, job.result()
    except BaseException:
        # Also where the loop is left. Programs end with the processes that started them.
        for process in list(pool._processes.values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _call(function: Callable[[Run[Frame]], Any], source: Source, keys: Dict[str, Any]) -> Any:
    with started(source, keys) as frames:
        return function(frames)


def _frames(paths: List[Path], count: int, keys: Dict[str, Any]) -> Iterator[Tuple[Path, Frame]]:
    waiting = iter(paths)
    running: Dict[int, Tuple[Path, Run[Frame]]] = {}
    poll = select.poll()

    def start(number: int) -> None:
        for path in islice(waiting, number):
            frames = started(_source(path), keys)
            running[frames.fileno()] = (path, frames)
            poll.register(frames.fileno(), select.POLLIN)

    try:
        start(count)
        while running:
            for descriptor, _ in poll.poll():
                path, frames = running[descriptor]
                frame = next(frames, None)
                if frame is not None:
                    yield path, frame
                else:
                    poll.unregister(descriptor)
                    del running[descriptor]
                    start(1)
    finally:
        for _, frames in running.values():
            frames.close()
