"""A frame, and a batch of them."""
from __future__ import annotations

import struct
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Protocol, Type, TypeVar

import numpy as np
import numpy.typing as npt

from . import _geometry
from ._errors import Known, Overwritten
from ._layout import CLOCKS, FATES, Layout
from ._memory import Memory

MAGIC = b"SPRKFRM1"
_Self = TypeVar("_Self", bound="Pixels")


class Acknowledging(Protocol):
    def _acknowledge(self, ticket: int) -> None: ...


class Claim:
    """Which slot of shared memory a frame lies in, and whom to tell when it is done with.

    The stream is held weakly, so that a frame that is kept does not keep a run going.
    """

    __slots__ = ("every", "memory", "slot", "stream", "ticket")

    def __init__(self, memory: Memory, slot: int, ticket: int,
                 stream: Callable[[], Optional[Acknowledging]], *, every: bool) -> None:
        self.every = every
        self.memory = memory
        self.slot = slot
        self.ticket = ticket
        self.stream = stream

    def check(self) -> None:
        if not self.memory.holds(self.slot, self.ticket):
            if self.every:
                raise Overwritten("the frame was overwritten, because you kept it past the next step or its "
                                  "`with` block; keep frame.copy()")
            raise Overwritten("the frame was overwritten while it was read; copy it first (frame.copy()), "
                              "read it faster, or take every frame")


class Pixels:
    """What frames and batches have in common.

    `tensor` is a read-only view of shared memory, which nothing copied. A stream of the *latest* frames may
    be overtaken by its writer: use the frame in a `with` block, which raises `Overwritten` at its end if that
    happened, or take `copy()`. A stream of *every* frame keeps the memory until the next frame is asked for,
    or until the end of the `with` block.
    """

    layout: Layout
    missed: int
    tensor: npt.NDArray[Any]
    _claim: Optional[Claim]

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        claim = self._claim
        if claim is None:
            return
        try:
            if kind is None:
                claim.check()
        finally:
            stream = claim.stream()
            if stream is not None:
                stream._acknowledge(claim.ticket)

    def check(self) -> None:
        """Raises `Overwritten` if the memory holds a later frame by now."""
        if self._claim is not None:
            self._claim.check()

    def _copied(self) -> npt.NDArray[Any]:
        self.check()
        copied = self.tensor.copy()
        self.check()
        return copied


class Frame(Pixels):
    """A frame of a stream.

    `tensor` has the four axes of `layout.shape`: regions x channels x height x width in the order `nchw`,
    regions x height x width x channels in `nhwc`. Its type is uint8, float16 or float32; bfloat16 is seen as
    uint16. `missed` is how many frames this reader did not get since the frame before.
    """

    def __init__(self, layout: Layout, header: bytes, tensor: npt.NDArray[Any], missed: int,
                 claim: Optional[Claim]) -> None:
        self.layout = layout
        self.missed = missed
        self.tensor = tensor
        self._header = header
        self._claim = claim

    def __repr__(self) -> str:
        return f"<sprocket.Frame {self.number}: {self.tensor.dtype} {list(self.tensor.shape)}>"

    def copy(self) -> Frame:
        """The same frame in memory of its own, which can be written to, and kept. Raises `Overwritten`."""
        return Frame(self.layout, self._header, self._copied(), self.missed, None)

    @property
    def image(self) -> npt.NDArray[Any]:
        """A view of the first region as height x width x 3, or height x width where it is gray."""
        first = self.tensor[0]
        if self.layout.order == "nchw":
            first = np.moveaxis(first, 0, -1)
        image: npt.NDArray[Any] = first[..., 0] if first.shape[-1] == 1 else first
        return image

    def _value(self, kind: str, offset: int) -> Any:
        return struct.unpack_from("<" + kind, self._header, offset)[0]

    @property
    def number(self) -> int:
        """Among all frames that the source produced, from 0, those that are missing counted."""
        return int(self._value("Q", 24))

    @property
    def sequence(self) -> int:
        """The source's own number."""
        return int(self._value("Q", 32))

    @property
    def epoch(self) -> int:
        """Counts changes of format, replugs and jumps of the source."""
        return int(self._value("I", 40))

    @property
    def is_discontinuous(self) -> bool:
        """Whether nothing before can be compared with this frame."""
        return bool(self._value("I", 12) & 2)

    @property
    def captured_ns(self) -> int:
        """When light became this frame, in nanoseconds on `clock`."""
        return int(self._value("q", 48))

    @property
    def clock(self) -> str:
        """`monotonic` (as `time.monotonic_ns()`), `media` or `recorded`."""
        code = self._value("B", 44)
        return CLOCKS[code] if code < len(CLOCKS) else "unknown"

    @property
    def capture_point(self) -> str:
        """What `captured_ns` stands for: `unknown`, `start_of_exposure`, `end_of_frame` or `estimated`."""
        code = self._value("B", 45)
        points = ("unknown", "start_of_exposure", "end_of_frame", "estimated")
        return points[code] if code < len(points) else "unknown"

    @property
    def dequeued_ns(self) -> int:
        """When the source handed it over, as `time.monotonic_ns()`."""
        return int(self._value("q", 56))

    @property
    def processed_ns(self) -> int:
        """When it had passed the last stage, as `time.monotonic_ns()`."""
        return int(self._value("q", 64))

    @property
    def shared_ns(self) -> int:
        """When it was in shared memory, as `time.monotonic_ns()`."""
        return int(self._value("q", 72))

    @property
    def between(self) -> Dict[str, int]:
        """What became of the frames between the one that was shared before and this one: counts by fate."""
        counts = struct.unpack_from("<12I", self._header, 96)
        return {fate: count for fate, count in zip(FATES, counts) if count}

    @property
    def exposure_us(self) -> float:
        """Exposure in force, in microseconds; NaN where it is unknown. So are `gain` and `lens_position`."""
        return float(self._value("f", 144))

    @property
    def gain(self) -> float:
        """A factor."""
        return float(self._value("f", 148))

    @property
    def lens_position(self) -> float:
        """0 nearest to 1 furthest."""
        return float(self._value("f", 152))

    @property
    def reports(self) -> Dict[str, Dict[str, Any]]:
        """What stages found, by stage and field: `frame.reports["focus"]["score"]`. Stages that reported
        nothing are left out. `sprocket stages NAME` tells fields and units."""
        reported = self._value("Q", 336)
        return Known("report of stage", {
            report.plugin: report.value(self._header)
            for index, report in enumerate(self.layout.reports) if reported >> index & 1})

    def to_sensor(self, points: npt.ArrayLike, region: int = 0) -> npt.NDArray[np.float64]:
        """Where points of `tensor` lie in the sensor's picture, in pixels: an array of x and y, of the shape
        that was given (... x 2). Whole numbers are the middles of pixels. Undoes letterboxing, crops, turns,
        stabilization and undistortion."""
        matrices = np.frombuffer(self._header, "<f8", 18, 160).reshape(2, 3, 3)
        return _geometry.to_sensor(points, self.layout.regions[region], matrices[0], self.layout.lens,
                                   matrices[1])


class Batch(Pixels):
    """Frames that lie behind each other.

    `tensor` has the axes of a frame's; the first counts frames x regions, frame by frame. The last batch of a
    run may have fewer frames. `missed` is how many frames this reader did not get since the batch before.
    """

    def __init__(self, layout: Layout, frames: List[Frame], tensor: npt.NDArray[Any], missed: int,
                 claim: Optional[Claim]) -> None:
        self.layout = layout
        self.frames = frames
        self.tensor = tensor
        self.missed = missed
        self._claim = claim

    def __len__(self) -> int:
        return len(self.frames)

    def __repr__(self) -> str:
        return f"<sprocket.Batch of {len(self)}: {self.tensor.dtype} {list(self.tensor.shape)}>"

    def copy(self) -> Batch:
        """The same batch in memory of its own, which can be written to, and kept. Raises `Overwritten`."""
        tensor = self._copied()
        regions = self.layout.shape[0]
        frames = [Frame(self.layout, frame._header, tensor[index * regions:(index + 1) * regions],
                        frame.missed, None)
                  for index, frame in enumerate(self.frames)]
        return Batch(self.layout, frames, tensor, self.missed, None)

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """`Frame.number` of each."""
        return np.array([frame.number for frame in self.frames], np.int64)

    @property
    def captured_ns(self) -> npt.NDArray[np.int64]:
        """`Frame.captured_ns` of each."""
        return np.array([frame.captured_ns for frame in self.frames], np.int64)

    @property
    def reports(self) -> Dict[str, Dict[str, npt.NDArray[Any]]]:
        """What stages found, by stage and field: arrays whose first axis counts frames. `reported` tells
        which frames have the report; the others have NaN, 0 or an empty word."""
        reports = [frame.reports for frame in self.frames]
        return Known("report of stage", {layout.plugin: Known(f"field of {layout.plugin}", {
            "reported": np.array([layout.plugin in report for report in reports]),
            **{field.name: _array(field, [
                report[layout.plugin][field.name] if layout.plugin in report else _nothing(field)
                for report in reports]) for field in layout.fields}}) for layout in self.layout.reports})


def _array(field: Any, values: List[Any]) -> npt.NDArray[Any]:
    if field.items is None:
        return np.array(values)
    lists = np.empty(len(values), object)
    for index, value in enumerate(values):
        lists[index] = value
    return lists


def _nothing(field: Any) -> Any:
    if field.items is not None:
        return []
    if field.words is not None:
        return ""
    nothing = np.full(field.count, np.nan if field.dtype.kind == "f" else 0, field.dtype)
    return nothing if field.count > 1 else nothing[0]
