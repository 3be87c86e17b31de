"""Reads dumps (`docs/dump.md`): what a source delivered, and what became of each frame."""
from __future__ import annotations

import bisect
import json
import os
import threading
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union, overload

import numpy as np
import numpy.typing as npt

from ._closing import Closing
from ._errors import DamagedFrame, Error, Known, NoSuchItem, opened
from ._frame import Frame
from ._program import Image, Tensor
from ._run import run
from ._table import OWN_KEYS, Table
from ._video import Video

_RECORDS = ("session", "source", "fate", "ledger")


class _Contents(Closing):
    """The open file of a dump, and programs that show its pictures. The dump and its frames refer to it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.file = opened(path)
        self._is_closed = False
        self.reader: Any = None
        # Begins all topics of the chosen source: its name and `/`, or nothing in a dump of one source.
        self.prefix = ""
        # Records of sessions, by epoch.
        self.sessions: Dict[int, Dict[str, Any]] = {}
        # The pictures by number, for each way in which they were asked for.
        self._shown: Dict[str, Video] = {}
        self._lock = threading.Lock()

    def close(self) -> None:
        self._is_closed = True
        self.file.close()
        while self._shown:
            self._shown.popitem()[1].close()

    def decoded(self, wanted: DumpFrame, image: Optional[Image], tensor: Optional[Tensor]) -> Frame:
        none = f"frame {wanted.number} of {self.path} has no picture"
        if wanted.source is None or wanted.fate == "corrupt":
            raise Error(f"{none}: it is {wanted.fate}")
        how = f"{image} {tensor}"
        with self._lock:
            if self._is_closed:
                raise Error(f"{self.path} was closed; open it again to see pictures")
            if how not in self._shown:
                self._shown[how] = Video(self.path, image=image, tensor=tensor, upright=False,
                                         stream=self.prefix[:-1] or None)
            shown = self._shown[how]
        # The clock of a source may go back, so several frames may have this time.
        found = np.flatnonzero(shown.times == wanted.captured_ns)
        if not len(found):
            raise Error(f"{none}: its bytes are not in the file")
        earlier = found[:np.searchsorted(found, wanted._place, "right")]
        try:
            frame = shown[int(earlier[-1] if len(earlier) else found[0])]
        except DamagedFrame:
            raise Error(f"{none}: it is damaged") from None
        return frame._renumbered(wanted.number, wanted.sequence)

    def data(self, source: Dict[str, Any]) -> Optional[bytes]:
        """The bytes of a frame, by its record."""
        time = max(source["captured_ns"], 0)
        low = source["sequence"] & 0xFFFFFFFF
        if self._is_closed:
            raise Error(f"{self.path} was closed; open it again to read bytes")
        images = self.reader.iter_messages(topics=[f"{self.prefix}image"], starting_at=time,
                                           ending_before=time + 1)
        for schema, _, message in images:
            if message.sequence == low:
                is_raw = schema is not None and schema.name == "foxglove.RawImage"
                return _protobuf_bytes(message.data, 6 if is_raw else 2)
        return None


class DumpFrame:
    """A produced frame of a dump: its records, its bytes, and its picture when it is asked for.

    `captured_ns` is `None` for a frame that never came. `fate` is the one at the chain's end, `stage` the one
    that dropped it.
    """

    def __init__(self, contents: _Contents, fate: Dict[str, Any], source: Optional[Dict[str, Any]],
                 place: int) -> None:
        self._contents = contents
        # Counts the frames before it that came.
        self._place = place
        self.source = source
        self.fate_record = fate
        self.number = int(fate["number"])
        self.sequence = int(fate["sequence"])
        self.epoch = int(fate["epoch"])
        self.captured_ns: Optional[int] = fate["captured_ns"]
        self.clock: Optional[str] = fate["clock"]
        self.fate = str(fate["fate"])
        self.stage: Optional[str] = fate.get("stage")

    def __repr__(self) -> str:
        return f"<sprocket.DumpFrame {self.number}: {self.fate}>"

    @property
    def reports(self) -> Dict[str, Dict[str, Any]]:
        """What stages found, by stage and field."""
        return Known("report of stage", {
            name: Known(f"field of {name}", value) for name, value in self.fate_record.items()
            if name not in OWN_KEYS and isinstance(value, dict)})

    @property
    def session(self) -> Dict[str, Any]:
        """The record of its epoch: format, size, colour, controls."""
        return self._contents.sessions[self.epoch]

    @property
    def data(self) -> Optional[bytes]:
        """The bytes that the source delivered, as its format has them: a JPEG, or planes one behind the
        other. `None` where the dump has none."""
        return None if self.source is None else self._contents.data(self.source)

    @property
    def image(self) -> npt.NDArray[Any]:
        """The picture as height x width x 3, RGB of 8 bits; `decoded` has others. The first one starts a
        program, which takes some 50 ms and ends with the dump."""
        return self.decoded().image

    def decoded(self, *, image: Optional[Image] = None, tensor: Optional[Tensor] = None) -> Frame:
        """The picture as `sprocket.run` makes it: of 16 bits with `image={"layout": "rgb", "type":
        "uint16"}`. Each way in which pictures are asked for has a program."""
        return self._contents.decoded(self, image, tensor)


class Dump(Closing, Sequence[DumpFrame]):
    """The frames of a dump, in the order of their numbers.

        dump = sprocket.Dump("take.mcap")
        dump[17].image                     # by its place; dump.number(17) by its number
        dump.at(dump[0].captured_ns + 1_500_000_000).reports   # by time
        dump.table["focus.score"]          # of all frames

    Needs one more package: `pip install mcap`. Records are read when the dump is opened,
    bytes when they are asked for. Of a dump of several sources `stream` chooses one: `Dump(path, "front")`.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], stream: Optional[str] = None) -> None:
        try:
            from mcap.exceptions import McapError
            from mcap.reader import make_reader
        except ImportError:
            raise Error("reading dumps needs one more package: pip install mcap") from None
        self.path = os.fspath(path)
        self._contents = _Contents(self.path)
        self._is_closed = False
        self.stream = stream
        # Records of sessions, by epoch.
        self.sessions = self._contents.sessions
        # What became of all frames for each sink; `None` where the run did not end.
        self.ledger: Optional[Dict[str, Any]] = None
        fates: Dict[int, Dict[str, Any]] = {}
        sources: Dict[int, Dict[str, Any]] = {}
        try:
            reader = self._contents.reader = make_reader(self._contents.file, validate_crcs=True)
            prefix = self._contents.prefix = self._chosen(stream)
            topics = {prefix + name: name for name in _RECORDS}
            for _, channel, message in reader.iter_messages(topics=list(topics), log_time_order=False):
                record = json.loads(message.data)
                topic = topics[channel.topic]
                if topic == "session":
                    self.sessions[record["epoch"]] = record
                elif topic == "ledger":
                    self.ledger = record
                else:
                    (fates if topic == "fate" else sources)[record["number"]] = record
        except (McapError, ValueError, KeyError, TypeError) as error:
            self.close()
            raise Error(f"{self.path} cannot be read as a dump ({error}); if it was cut off, copy what is "
                        f"whole: sprocket recover {self.path} whole.mcap") from None
        places = {number: place for place, number in enumerate(sorted(sources))}
        self._frames = [DumpFrame(self._contents, fates[number], sources.get(number), places.get(number, -1))
                        for number in sorted(fates)]
        self._numbers = [frame.number for frame in self._frames]
        arrived = [frame for frame in self._frames if frame.captured_ns is not None]
        # By time; a later epoch may begin earlier.
        self._arrived = sorted(arrived, key=lambda frame: frame.captured_ns or 0)
        self._times = [frame.captured_ns or 0 for frame in self._arrived]
        self.table = Table(frame.fate_record for frame in self._frames)

    def _chosen(self, stream: Optional[str]) -> str:
        """What stands before the topics of the source. Raises `Error` where it must be chosen."""
        summary = self._contents.reader.get_summary()
        topics = [channel.topic for channel in summary.channels.values()] if summary else []
        names = sorted(topic[:-len("/session")] for topic in topics if topic.endswith("/session"))
        if stream is None and len(names) < 2:
            return f"{names[0]}/" if names else ""
        if stream in names:
            return f"{stream}/"
        known = f"it has {', '.join(names)}" if names else "it is of one source, without a name"
        wanted = "choose one of its sources" if stream is None else f"it has no source {stream!r}"
        self.close()
        raise Error(f"{self.path}: {wanted}; {known}")

    def close(self) -> None:
        """What was read stays; bytes and pictures cannot be asked for any more."""
        self._is_closed = True
        self._contents.close()

    def __del__(self) -> None:
        pass  # Frames may outlive the dump and still show pictures; `_Contents` closes the file after them.

    def __len__(self) -> int:
        return len(self._frames)

    @overload
    def __getitem__(self, index: int) -> DumpFrame: ...
    @overload
    def __getitem__(self, index: slice) -> List[DumpFrame]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[DumpFrame, List[DumpFrame]]:
        try:
            return self._frames[index]
        except IndexError:
            raise NoSuchItem(f"{self.path} has {len(self)} frames; there is no frame [{index}]") from None

    def __repr__(self) -> str:
        return f"<sprocket.Dump {self.path}: {len(self)} frames>"

    def number(self, number: int) -> DumpFrame:
        """The frame with this running number; raises `NoSuchItem`."""
        place = bisect.bisect_left(self._numbers, number)
        if place == len(self._numbers) or self._numbers[place] != number:
            raise NoSuchItem(f"{self.path} has no frame {number}")
        return self._frames[place]

    def at(self, captured_ns: int) -> DumpFrame:
        """The newest frame that was captured at this time of its `clock` or before; raises `NoSuchItem`
        before the first one. 2 s after the start: `dump.at(dump[0].captured_ns + 2_000_000_000)`."""
        place = bisect.bisect_right(self._times, captured_ns)
        if place == 0:
            raise NoSuchItem(f"{self.path} has no frame at {captured_ns} ns or before; its first one came at "
                           f"{self._times[0] if self._times else None} ns")
        return self._arrived[place - 1]

    def play(self, *, stages: Sequence[str] = (), tensor: Optional[Tensor] = None,
             image: Optional[Image] = None,
             **options: Any) -> Iterator[Tuple[DumpFrame, Frame]]:
        """Plays the dump as `sprocket.run` does, and yields each frame that has a picture with what the dump
        has of it."""
        if self._contents.prefix:
            options["source_set"] = [*options.get("source_set", []), f"stream={self._contents.prefix[:-1]}"]
        with run(f"replay:{self.path}", stages=stages, tensor=tensor, image=image, **options) as frames:
            known = {(frame.captured_ns, frame.sequence): frame for frame in self._arrived}
            for frame in frames:
                found = known.get((frame.captured_ns, frame.sequence))
                if found is not None:
                    yield found, frame


def _protobuf_bytes(message: bytes, number: int) -> bytes:
    """The field of that number, which holds bytes: `data` is 2 in foxglove.CompressedImage, 6 in RawImage."""
    found = b""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            _, at = _varint(message, at)
        elif kind == 2:
            length, at = _varint(message, at)
            if key >> 3 == number:
                found = message[at:at + length]
            at += length
        else:
            at += {1: 8, 5: 4}.get(kind, len(message))
    return found


def _varint(message: bytes, at: int) -> Tuple[int, int]:
    value = shift = 0
    while at < len(message):
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            break
    return value, at


