"""Sound of files as arrays."""
from __future__ import annotations

import os
import struct
import tempfile
from typing import Any, NamedTuple, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from ._commands import export, inspect
from ._errors import Error

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE


class Sound(NamedTuple):
    """Samples of a file's sound."""

    samples: npt.NDArray[np.float32]
    """Samples x channels, -1 to 1; a film's own numbers, and those of PCM divided by 2^(bits - 1)."""
    rate: int
    """Samples per second."""


def sound(path: Union[str, "os.PathLike[str]"], *, from_: Optional[float] = None,
          to: Optional[float] = None, stream: Optional[int] = None) -> Sound:
    """The sound of a film, a dump, or a file of sound, from and to a time in seconds.

        samples, rate = sprocket.sound("clip.mp4", from_=10, to=12)

    Times count from the first frame of a film, or from the first sample where there are no pictures: sample
    `n` is heard at `from_ + n / rate`. Where the sound begins later there is silence. `stream` is the one of
    several, as ffprobe counts. All of it is decoded into memory; of long files take parts.
    """
    tracks = inspect(path)["tracks"]
    pictures, sounds = ([track["start_s"] for track in tracks if track["kind"] == kind
                         and isinstance(track.get("start_s"), (int, float))] for kind in ("video", "audio"))
    # The sound's beginning after that of the pictures, below 0 where it begins before them.
    late = sounds[0] - pictures[0] if sounds and pictures else 0.0
    start = from_ or 0.0
    # `export` begins with the first picture only if it is told a time.
    begin = None if start <= late else start or "1ns"
    with tempfile.TemporaryDirectory(prefix="sprocket-") as folder:
        target = os.path.join(folder, "sound.wav")
        export(path, target, from_=begin, to=to, stream=stream, quiet=True)
        with open(target, "rb") as file:
            samples, rate = _read(file.read())
    if begin is None and late > start:
        silence = np.zeros((round((late - start) * rate), samples.shape[1]), np.float32)
        samples = np.concatenate([silence, samples])
    if to is not None:
        samples = samples[:max(0, round((to - start) * rate))]
    return Sound(samples, rate)


def _read(data: bytes) -> Sound:
    """Reads a WAV, also one of more than 4 GB (RF64)."""
    at, size64 = 12, 0
    kind, channels, rate, bits = 0, 0, 0, 0
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        at += 8
        if name == b"ds64":
            size64 = struct.unpack_from("<Q", data, at + 8)[0]
        elif name == b"fmt ":
            kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", data, at)
            if kind == _EXTENSIBLE:
                kind = struct.unpack_from("<H", data, at + 24)[0]
        elif name == b"data":
            size = size64 if size == 0xFFFFFFFF and size64 else size
            found = _samples(memoryview(data)[at:at + size], kind, bits)
            return Sound(found.reshape(-1, channels), rate)
        at += size + (size & 1)
    raise Error("the sound has no samples")


def _samples(data: memoryview, kind: int, bits: int) -> npt.NDArray[np.float32]:
    form: Tuple[int, int] = (kind, bits)
    if form == (_FLOAT, 32):
        return np.frombuffer(data, "<f4").copy()
    if form == (_PCM, 16):
        return _divided(np.frombuffer(data, "<i2"), 1 << 15)
    if form == (_PCM, 32):
        return _divided(np.frombuffer(data, "<i4"), 1 << 31)
    if form == (_PCM, 24):
        parts = np.frombuffer(data, np.uint8).reshape(-1, 3).astype(np.int32)
        whole = parts[:, 0] << 8 | parts[:, 1] << 16 | parts[:, 2] << 24
        return _divided(whole, 1 << 31)
    raise Error(f"samples of {bits} bits and kind {kind} are not read")


def _divided(whole: npt.NDArray[Any], by: int) -> npt.NDArray[np.float32]:
    found: npt.NDArray[np.float32] = whole.astype(np.float32)
    found *= np.float32(1 / by)
    return found
