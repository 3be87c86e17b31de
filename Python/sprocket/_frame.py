"""A frame, and a batch of them."""
from __future__ import annotations

import struct
import time
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Tuple

import numpy as np
import numpy.typing as npt

from . import _geometry
from ._errors import Known
from ._layout import CLOCKS, FATES, Layout, Totals

MAGIC = b"SPRKFRM1"


class Frame:
    """A frame of a stream. It is the caller's: later frames do not change it, and it can be written to.

    `tensor` has the four axes of `layout.shape`: regions x channels x height x width in the order `nchw`,
    regions x height x width x channels in `nhwc`. Its type is uint8, float16 or float32; bfloat16 is seen as
    uint16. `missed_by` tells what became of the frames since the one before that this reader did not get:
    counts by fate, as `summary` has them, and `unread` for those that were shared and not read.
    `np.asarray(frame)` is the tensor of a share of tensors, and the image of one of pictures.
    """

    def __init__(self, layout: Layout, header: bytes, tensor: npt.NDArray[Any],
                 missed_by: Optional[Mapping[str, int]] = None) -> None:
        self.layout = layout
        self.missed_by = missed_by or {}
        self.tensor = tensor
        self._header = header

    def __repr__(self) -> str:
        return f"<sprocket.Frame {self.number}: {self.tensor.dtype} {list(self.tensor.shape)}>"

    def __array__(self, dtype: Optional[npt.DTypeLike] = None, copy: Optional[bool] = None
                  ) -> npt.NDArray[Any]:
        found = self.tensor if self.layout.layout == "tensor" else self.image
        if copy is False and dtype is not None and found.dtype != dtype:
            raise ValueError(f"a frame of {found.dtype} cannot become {np.dtype(dtype)} without a copy")
        array: npt.NDArray[Any] = np.array(found, dtype) if copy else np.asarray(found, dtype)
        return array

    def __reduce__(self) -> NoReturn:
        raise TypeError("a frame is not pickled; send frame.tensor or frame.image, and what else you need of "
                        "it")

    def copy(self) -> Frame:
        """Returns the same frame in other memory."""
        return Frame(self.layout, self._header, self.tensor.copy(), self.missed_by)

    def _renumbered(self, number: int, sequence: int, layout: Optional[Layout] = None,
                    missed_by: Optional[Mapping[str, int]] = None) -> Frame:
        """Returns the frame with these numbers; it takes over the tensor."""
        header = bytearray(self._header)
        struct.pack_into("<QQ", header, 24, number, sequence)
        return Frame(layout or self.layout, bytes(header), self.tensor, missed_by)

    @property
    def image(self) -> npt.NDArray[Any]:
        """The first region of `tensor` as height x width x 3, height x width where it is gray, and height x
        width x 4 with alpha."""
        first = self.tensor[0]
        if self.layout.order == "nchw":
            first = np.moveaxis(first, 0, -1)
        image: npt.NDArray[Any] = first[..., 0] if first.shape[-1] == 1 else first
        return image

    @property
    def _totals(self) -> Totals:
        """What had become of all frames before this one, by fate."""
        return struct.unpack_from(f"<{len(FATES)}Q", self._header, self.layout.totals_at)

    def _value(self, kind: str, offset: int) -> Any:
        return struct.unpack_from("<" + kind, self._header, offset)[0]

    @property
    def missed(self) -> int:
        """How many frames this reader did not get since the one before, for whatever reason."""
        return sum(self.missed_by.values())

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
    def unix_ns(self) -> Optional[int]:
        """`captured_ns` as nanoseconds since 1970 (UTC), by what this machine's clock says now; `None` where
        the time is not this machine's, as that of a file is not."""
        if self.clock != "monotonic":
            return None
        return self.captured_ns + time.time_ns() - time.monotonic_ns()

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
        return _geometry.to_sensor(points, *self._way(region))

    def from_sensor(self, points: npt.ArrayLike, region: int = 0) -> npt.NDArray[np.float64]:
        """Where points of the sensor's picture lie in `tensor`: the inverse of `to_sensor`. They may lie
        outside; NaN where the lens bends no point of the picture to them."""
        return _geometry.from_sensor(points, *self._way(region))

    def _way(self, region: int) -> Tuple[Any, ...]:
        matrices = np.frombuffer(self._header, "<f8", 18, 160).reshape(2, 3, 3)
        return self.layout.regions[region], matrices[0], self.layout.lens, matrices[1]


class Batch:
    """Frames that lie behind each other. They are the caller's, and can be written to.

    `tensor` has the axes of a frame's; the first counts frames x regions, frame by frame. The last batch of a
    run may have fewer frames.
    """

    def __init__(self, layout: Layout, frames: List[Frame], tensor: npt.NDArray[Any]) -> None:
        self.layout = layout
        self.frames = frames
        self.tensor = tensor

    def __len__(self) -> int:
        return len(self.frames)

    def __repr__(self) -> str:
        return f"<sprocket.Batch of {len(self)}: {self.tensor.dtype} {list(self.tensor.shape)}>"

    @property
    def missed(self) -> int:
        """How many frames this reader did not get since the last one of the batch before."""
        return sum(frame.missed for frame in self.frames)

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
