"""What a share says of its memory: the JSON text that `docs/share.md` describes, checked."""
from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from ._errors import Known, ShareRefused

HEADER_BYTES = 384
CLOCKS = ("monotonic", "media", "recorded")
# What may become of a frame that does not reach a reader; the first one was shared, and not read.
FATES = ("unread", "missing", "corrupt", "startup", "overrun", "late", "rejected", "behind", "skipped",
         "unselected", "failed", "flushed")
Totals = Tuple[int, ...]

# NumPy has no bfloat16: its bits are the upper half of a float32's.
_TYPES = {"u8": "<u1", "f16": "<f2", "f32": "<f4", "bf16": "<u2", "u16": "<u2"}
_FIELD_TYPES = ("f8", "f4", "i8", "u4", "u1")
_TEXTS = ("text", "binary")
# Most slots, and most bytes of memory, that are believed. Larger: a share that lies can reserve more
# addresses.
_MOST_SLOTS = 1024
_MOST_BYTES = 1 << 40


@dataclass(frozen=True)
class Field:
    """A field of a stage's report."""

    name: str
    unit: str
    offset: int
    kind: str
    dtype: npt.DTypeLike
    count: int
    words: Optional[Tuple[str, ...]]
    items: Optional[Items] = None
    """Of a list; `count` is then the most items."""


@dataclass(frozen=True)
class Items:
    """How the items of a list lie in a report."""

    stride: int
    count_at: int
    texts_at: int
    texts_bytes: int
    fields: Tuple[Field, ...]


@dataclass(frozen=True)
class ReportLayout:
    """Where a stage's report lies behind a frame's header."""

    plugin: str
    offset: int
    fields: Tuple[Field, ...]

    def value(self, header: bytes) -> Dict[str, Any]:
        """Values by the field's name: numbers, words, arrays where a field has several numbers, and lists of
        such where it has several items. Of an item's text, `None` or a string, and `None` or bytes."""
        return Known(f"field of {self.plugin}",
                     {field.name: _value(header, field, self.offset, self.offset) for field in self.fields})


def _value(header: bytes, field: Field, at: int, report: int, items: Optional[Items] = None) -> Any:
    """The value of a field of what begins at `at`, which is the report at `report` or an item of it."""
    place = at + field.offset
    if field.items is not None:
        count = min(int.from_bytes(header[report + field.items.count_at:][:4], "little"), field.count)
        return [{part.name: _value(header, part, place + index * field.items.stride, report, field.items)
                 for part in field.items.fields} for index in range(count)]
    numbers = np.frombuffer(header, field.dtype, field.count, place)
    if field.kind in _TEXTS:
        return _text(header, field, int(numbers[0]["start"]), int(numbers[0]["count"]), report, items)
    if field.words is not None:
        index = int(numbers[0])
        return field.words[index] if index < len(field.words) else ""
    return numbers[0].item() if field.count == 1 else numbers


def _text(header: bytes, field: Field, start: int, count: int, report: int, items: Optional[Items]) -> Any:
    if items is None:
        return None
    texts = header[report + items.texts_at:report + items.texts_at + items.texts_bytes]
    found = texts[start:start + count]
    try:
        text = found.decode()
        return text if field.kind == "text" else None
    except UnicodeDecodeError:
        return None if field.kind == "text" else found


@dataclass(frozen=True)
class Layout:
    """What frames of a share are, until the next layout comes.

    `shape` has the four axes of one frame, whose first counts regions. `regions` holds, for each region,
    scale x, scale y, shift x and shift y from its pixels to those of `picture`, (width, height).
    """

    source: str
    live: bool
    every: bool
    holds: bool
    clock: str
    rate: float
    epoch: int
    shared: int
    totals: Totals
    totals_at: int
    memory_bytes: int
    slots: int
    slots_at: int
    slot_bytes: int
    frames_at: int
    frame_stride: int
    payload_at: int
    payload_bytes: int
    batch: int
    layout: str
    channels: str
    type: str
    order: str
    shape: Tuple[int, int, int, int]
    picture: Tuple[int, int]
    decoded_at: int
    regions: Tuple[Tuple[float, float, float, float], ...]
    lens: Optional[Mapping[str, Any]]
    reports: Tuple[ReportLayout, ...]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of pixels; bfloat16 is seen as uint16."""
        return np.dtype(_TYPES[self.type])

    @classmethod
    def parse(cls, packet: bytes) -> Layout:
        """Checks all that offsets are made of, so that nothing beyond the memory is ever read."""
        try:
            return _parsed(json.loads(packet))
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
            reason = f"{type(error).__name__}: {error}"[:200]
            raise ShareRefused(
                f"the share's layout cannot be used ({reason}); is it of a newer version?") from None


def _parsed(keys: Mapping[str, Any]) -> Layout:
    if "error" in keys:
        raise ShareRefused(str(keys["error"])[:500])
    _whole(keys["version"], 1, 1, "version")
    batch = _whole(keys["batch"], 1, 1 << 16, "batch")
    shape = tuple(_whole(axis, 1, 1 << 24, "shape") for axis in _several(keys["shape"], 4, 4))
    itemsize = np.dtype(_TYPES[keys["type"]]).itemsize
    payload = _whole(keys["payload_bytes"], 1, _MOST_BYTES, "payload_bytes")
    _check(payload == shape[0] * shape[1] * shape[2] * shape[3] * itemsize,
           "payload_bytes is not the shape's")
    frames_at = _whole(keys["frames_at"], 16, _MOST_BYTES, "frames_at")
    stride = _whole(keys["frame_stride"], HEADER_BYTES, 1 << 24, "frame_stride")
    totals_at = _whole(keys["totals_at"], HEADER_BYTES, stride - 8 * len(FATES), "totals_at")
    totals = _several(keys["totals"], len(FATES), len(FATES))
    payload_at = _whole(keys["payload_at"], frames_at + batch * stride, _MOST_BYTES, "payload_at")
    slot_bytes = _whole(keys["slot_bytes"], payload_at + batch * payload, _MOST_BYTES, "slot_bytes")
    slots = _whole(keys["slots"], 1, _MOST_SLOTS, "slots")
    slots_at = _whole(keys["slots_at"], 80 + 8 * len(FATES), _MOST_BYTES, "slots_at")
    memory = _whole(keys["memory_bytes"], slots_at + slots * slot_bytes, _MOST_BYTES, "memory_bytes")
    for offset in (slots_at, slot_bytes, frames_at, stride, payload_at):
        _check(offset % 8 == 0, "an offset is no multiple of 8")
    _check(keys["order"] in ("nchw", "nhwc"), "order")
    channels = shape[1] if keys["order"] == "nchw" else shape[3]
    _check(channels == {"gray": 1, "rgba": 4}.get(keys["channels"], 3), "shape does not have the channels")
    _check(len(keys["regions"]) == shape[0], "regions is not the shape's")
    width, height = _several(keys["picture"], 2, 2)
    lens = keys["lens"]
    if lens is not None:
        _check(lens["model"] in ("pinhole", "fisheye"), "lens.model")
        lens = {"model": lens["model"], "camera": _floats(lens["camera"], 4),
                "undistorted": _floats(lens["undistorted"], 4), "distortion": _floats(lens["distortion"], 14)}
    return Layout(
        source=str(keys["source"]), live=bool(keys["live"]), every=bool(keys["every"]),
        holds=bool(keys.get("holds")), clock=str(keys["clock"]),
        rate=float(keys["rate"]), epoch=_whole(keys["epoch"], 0, 1 << 32, "epoch"),
        shared=_whole(keys["shared"], 0, 1 << 63, "shared"),
        totals=tuple(_whole(count, 0, 1 << 63, "totals") for count in totals), totals_at=totals_at,
        memory_bytes=memory, slots=slots, slots_at=slots_at,
        slot_bytes=slot_bytes, frames_at=frames_at, frame_stride=stride, payload_at=payload_at,
        payload_bytes=payload, batch=batch, layout=str(keys["layout"]), channels=str(keys["channels"]),
        type=keys["type"], order=keys["order"], shape=(shape[0], shape[1], shape[2], shape[3]),
        picture=(_whole(width, 1, 1 << 24, "picture"), _whole(height, 1, 1 << 24, "picture")),
        decoded_at=_whole(keys["decoded_at"], 1, 8, "decoded_at"),
        regions=tuple(_region(region) for region in keys["regions"]), lens=lens,
        reports=tuple(_report(report, stride) for report in _several(keys["reports"], 0, 64)))


def _report(keys: Mapping[str, Any], stride: int) -> ReportLayout:
    offset = _whole(keys["offset"], HEADER_BYTES, stride, "offset")
    fields = tuple(_field(field, stride - offset) for field in keys["fields"])
    return ReportLayout(str(keys["plugin"]), offset, fields)


def _field(keys: Mapping[str, Any], room: int, is_item: bool = False) -> Field:
    """`room` is how many bytes there are from what has the field on."""
    kind, items = str(keys["type"]), None
    place = _whole(keys["offset"], 0, room, "offset")
    if kind == "list":
        _check(not is_item, "a list within a list")
        count = _whole(keys["count"], 1, room, "count")
        step = _whole(keys["stride"], 1, room, "stride")
        _check(place + count * step <= room, "a list lies beyond its frame")
        items = Items(
            step, _whole(keys["count_at"], 0, room - 4, "count_at"),
            _whole(keys["texts_at"], 0, room, "texts_at"),
            _whole(keys["texts_bytes"], 0, room, "texts_bytes"),
            tuple(_field(field, step, is_item=True) for field in keys["fields"]))
        _check(items.texts_at + items.texts_bytes <= room, "texts lie beyond their frame")
        return Field(str(keys["name"]), str(keys["unit"]), place, kind, np.dtype("<u1"), count, None, items)
    _check(kind in _FIELD_TYPES or is_item and kind in _TEXTS, "type of a field")
    dtype = np.dtype([("start", "<u4"), ("count", "<u4")] if kind in _TEXTS else "<" + kind)
    count = _whole(keys["count"], 1, room, "count")
    _check(place + count * dtype.itemsize <= room, "a report lies beyond its frame")
    words = None if keys["words"] is None else tuple(str(word) for word in keys["words"])
    return Field(str(keys["name"]), str(keys["unit"]), place, kind, dtype, count, words)


def _region(values: Sequence[Any]) -> Tuple[float, float, float, float]:
    a, b, c, d = _floats(values, 4)
    return (a, b, c, d)


def _floats(values: Sequence[Any], count: int) -> List[float]:
    return [float(value) for value in _several(values, count, count)]


def _several(values: Any, least: int, most: int) -> Sequence[Any]:
    _check(isinstance(values, list) and least <= len(values) <= most, "a list has a wrong length")
    return values  # type: ignore[no-any-return]


def _whole(value: Any, least: int, most: int, name: str) -> int:
    _check(type(value) is int and least <= value <= most, f"{name} is {str(value)[:40]}")
    return value  # type: ignore[no-any-return]


def _check(holds: bool, text: str) -> None:
    if not holds:
        raise ValueError(text)
