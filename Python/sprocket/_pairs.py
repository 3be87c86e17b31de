"""Frames of several sources that were captured together."""
from __future__ import annotations

import os
import shutil
import tempfile
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ._closing import Closing
from ._connect import connect
from ._errors import Error, NoSuchShare, NotAllowed
from ._frame import Frame
from ._program import Child, Image, Tensor, option_arguments, pixel_settings, stage_arguments
from ._run import TIMEOUT, Source, source_text
from ._stream import Stream

# Seconds within which all sources have to be there. Larger: a camera that is slow to open is waited for.
_OPENING = 30.0
# Seconds that a run may take to complete its files.
_FILES_LIMIT = 300.0
# Seconds for which frames behind the last pair are counted. Larger: a source without end is ended later.
_DRAIN = 5.0
# Seconds after which a source that is asked for its share is looked at again.
_LOOK = 0.2


class Pairs(Closing, Iterator[Tuple[Frame, ...]]):
    """Frames of several sources in one run, each of the first with the nearest of every other one.

        with sprocket.Pairs({"left": "camera:A", "right": "camera:B"}, within=0.005, image="gray") as pairs:
            for left, right in pairs:
                depth(left.image, right.image, right.captured_ns - left.captured_ns)

    - `sources`: by label, two or more; the order of the frames is theirs.
    - `within`: seconds that a pair may be apart. Half of a frame's period at most: with more, a frame whose
      partner was lost is paired with the next one.
    - All else is as in `sprocket.run`; `{source}` in paths stands for the label: `movie="{source}.mov"`.

    Times are those of the sources: of films those in their files, which need not begin at 0. The loop ends
    when one source has. Frames without a partner are left out, and counted in `alone`, by
    label. Times of different clocks, a film's and a camera's, cannot be paired. A loop that is slower than
    live sources misses frames of each, and gets fewer pairs.
    """

    def __init__(self, sources: Mapping[str, Source], *, within: float, stages: Sequence[str] = (),
                 tensor: Optional[Tensor] = None, image: Optional[Image] = None,
                 timeout: Optional[float] = TIMEOUT, **options: Any) -> None:
        self._streams: List[Stream[Frame]] = []
        self._child: Optional[Child] = None
        self._process_id = os.getpid()
        self._summary: Dict[str, Any] = {}
        if len(sources) < 2:
            raise NotAllowed("pairs need two sources; of one, take sprocket.run", 2)
        if not within >= 0:
            raise NotAllowed(f"within={within!r} is not allowed: give seconds", 2)
        self.labels: Tuple[str, ...] = tuple(sources)
        """Labels of the sources, in the order of the frames."""
        self.alone: Dict[str, int] = dict.fromkeys(sources, 0)
        """Frames so far without a partner."""
        self._within = round(within * 1e9)
        # Frames that were read and may still find a partner, the oldest first, by source.
        self._waiting: List[List[Frame]] = [[] for _ in sources]
        self._ended = [False] * len(sources)
        self._is_closed = False
        self._folder = tempfile.mkdtemp(prefix="sprocket-")
        arguments = ["run"]
        for label, source in sources.items():
            arguments += ["--source", f"{label}={source_text(source)}"]
        arguments += [*stage_arguments(stages), *option_arguments(options), "--share",
                      f"{self._folder}/{{source}}{pixel_settings(tensor, image)},take=every", "--summary",
                      "-", "--quiet"]
        try:
            self._child = Child(arguments, [])
            for label in sources:
                self._streams.append(self._connected(f"{self._folder}/{label}", timeout))
        except BaseException:
            self.close()
            raise

    def _connected(self, path: str, timeout: Optional[float]) -> Stream[Frame]:
        assert self._child is not None
        for _ in range(round(_OPENING / _LOOK)):
            try:
                return connect(path, every=True, timeout=timeout, wait=_LOOK)
            except NoSuchShare:
                code = self._child.wait(0)
                if code is not None:
                    raise self._child.error(code) from None
        raise Error(f"a source did not open within {_OPENING:g} s")

    def __iter__(self) -> Pairs:
        return self

    def __next__(self) -> Tuple[Frame, ...]:
        while True:
            first = self._read(0)
            if first is None:
                self._end()
                raise StopIteration
            partners = [self._nearest(index, first) for index in range(1, len(self._streams))]
            if any(self._ended[index] and not self._waiting[index] for index in range(1, len(self._streams))):
                self._end()
                raise StopIteration
            self._waiting[0].pop(0)
            found = [partner for partner in partners if partner is not None]
            if len(found) == len(partners):
                for index, partner in enumerate(found, 1):
                    self._waiting[index].remove(partner)
                return (first, *found)
            self.alone[self.labels[0]] += 1

    def _read(self, index: int, place: int = 0) -> Optional[Frame]:
        """The frame at a place among those that wait; `None` behind the last one."""
        waiting = self._waiting[index]
        while len(waiting) <= place and not self._ended[index]:
            frame = next(self._streams[index], None)
            if frame is None:
                self._ended[index] = True
            else:
                waiting.append(frame)
        return waiting[place] if len(waiting) > place else None

    def _nearest(self, index: int, first: Frame) -> Optional[Frame]:
        """The frame of a source that is nearest to one of the first source, if it is near enough. Those that
        no later frame of the first source can be nearer to are alone."""
        moment = first.captured_ns
        while (frame := self._read(index)) is not None:
            if frame.clock != first.clock:
                raise Error(f"times of {self.labels[0]} ({first.clock}) and {self.labels[index]} "
                            f"({frame.clock}) are of different clocks, and cannot be paired")
            if frame.captured_ns < moment:
                following = self._read(index, 1)
                is_next_nearer = (following is not None
                                  and abs(following.captured_ns - moment) <= moment - frame.captured_ns)
                if is_next_nearer or moment - frame.captured_ns > self._within:
                    self._leave(index)
                    continue
            return frame if abs(frame.captured_ns - moment) <= self._within else None
        return None

    def _leave(self, index: int) -> None:
        self._waiting[index].pop(0)
        self.alone[self.labels[index]] += 1

    def _end(self) -> None:
        """One source has ended: there are no more pairs. Ends the run, and raises what went wrong."""
        deadline = time.monotonic() + _DRAIN
        for index, waiting in enumerate(self._waiting):
            # The rest of a film is counted. A live source has no end, and is not read further.
            layout = self._streams[index].layout
            while layout is not None and not layout.live and self._read(index) is not None:
                self._leave(index)
                if time.monotonic() > deadline:
                    break
            self.alone[self.labels[index]] += len(waiting)
            waiting.clear()
        child = self._child
        assert child is not None
        # A program that is to end waits for readers that are still there.
        for stream in self._streams:
            stream.close()
        try:
            if not all(self._ended):
                child.end()
            child.finish(_FILES_LIMIT)
        finally:
            self.close()

    @property
    def summary(self) -> Dict[str, Any]:
        """How the run went, when it has ended: the keys of `--summary`, as docs/several.md has them."""
        return self._summary

    @property
    def streams(self) -> Dict[str, Stream[Frame]]:
        """The stream of each source by its label, with its `seen`, `missed` and `missed_by`."""
        return dict(zip(self.labels, self._streams))

    def close(self) -> None:
        """Ends the run. Frames that were handed out stay as they are."""
        for stream in self._streams:
            stream.close()
        if os.getpid() != self._process_id:
            return  # The run is the parent's.
        self._is_closed = True
        child, self._child = self._child, None
        if child is not None:
            child.end()
            self._summary = child.summary
        shutil.rmtree(self._folder, ignore_errors=True)
