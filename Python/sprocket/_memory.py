"""The memory in which a share's frames lie, mapped to be read, and that of frames that are handed out."""
from __future__ import annotations

import fcntl
import mmap
import os
from typing import Any, Callable, List, Tuple

import numpy as np
import numpy.typing as npt

from ._errors import ShareRefused
from ._layout import FATES, Layout, Totals

MAGIC = b"SPRKSHM1"
ENDED, FAILED = 2, 4
# Of <linux/fcntl.h>; `fcntl.F_GET_SEALS` is there only where Python was built with a header that has it.
_GET_SEALS, _SEAL_SHRINK = 1034, 2


class Pool:
    """Memory for pixels that are handed out, in pieces of one size.

    A piece is used again when no array that was made of it is left: the kernel clears memory that is new to a
    process, and that costs more than the copy into it.
    """

    # Most pieces that are kept for later frames. Larger: a loop that kept many frames at once holds more
    # memory afterwards.
    MOST = 4

    def __init__(self, size: int) -> None:
        self._size = size
        self._free: List[npt.NDArray[np.uint8]] = []

    def array(self, shape: Tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """Returns an array of the caller's, whose numbers are not set."""
        try:
            piece = self._free.pop()
        except IndexError:
            piece = np.empty(self._size, np.uint8)
        return np.asarray(_Loan(self._free, piece, shape, dtype))


class _Loan:
    """Owns a piece of a pool. Arrays that are made of it keep it; it gives the piece back when it dies."""

    def __init__(self, free: List[npt.NDArray[np.uint8]], piece: npt.NDArray[np.uint8],
                 shape: Tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._free = free
        self._piece = piece
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str,
                                    "data": (piece.ctypes.data, False)}

    def __del__(self) -> None:
        if len(self._free) < Pool.MOST:
            self._free.append(self._piece)


class _View:
    """Keeps a slot until no array that was made of it is left."""

    def __init__(self, pixels: npt.NDArray[Any], release: Callable[[], None]) -> None:
        self._pixels = pixels
        self._release = release
        self.__array_interface__ = {**pixels.__array_interface__, "data": (pixels.ctypes.data, True)}

    def __del__(self) -> None:
        self._release()


class Memory:
    """Maps the memory of a layout, for as long as a stream reads it."""

    def __init__(self, layout: Layout, descriptor: int) -> None:
        self.layout = layout
        # Memory that could be cut off would end this process by SIGBUS.
        try:
            sealed = fcntl.fcntl(descriptor, _GET_SEALS) & _SEAL_SHRINK
        except OSError:
            sealed = 0
        if not sealed:
            raise ShareRefused("the share's memory is not sealed against shrinking; only Sprocket's own is "
                               "read")
        if os.fstat(descriptor).st_size < layout.memory_bytes:
            raise ShareRefused("the share's memory is smaller than its layout says")
        try:
            mapped = mmap.mmap(descriptor, layout.memory_bytes, mmap.MAP_SHARED, mmap.PROT_READ)
        except (OSError, ValueError, OverflowError) as error:
            megabytes = layout.memory_bytes >> 20
            raise ShareRefused(f"cannot map {megabytes} MB of shared memory: {error}; ask for smaller "
                               "tensors") from None
        if mapped[:8] != MAGIC:
            raise ShareRefused("the share's memory does not begin as one does")
        self._bytes = memoryview(mapped)
        # Aligned 64-bit words, each of which is read at once.
        self._words = self._bytes[:layout.memory_bytes & ~7].cast("Q")
        shape: Tuple[int, ...] = (layout.batch, *layout.shape)
        self._pixels: List[npt.NDArray[Any]] = [
            np.ndarray(shape, layout.dtype, mapped, self._slot_at(slot) + layout.payload_at)
            for slot in range(layout.slots)]
        self._pool = Pool(layout.batch * layout.payload_bytes)

    def _slot_at(self, slot: int) -> int:
        return self.layout.slots_at + slot * self.layout.slot_bytes

    @property
    def totals(self) -> Totals:
        """What has become of all frames so far, by fate."""
        return tuple(self._words[10:10 + len(FATES)])

    @property
    def state(self) -> int:
        return self._words[9]

    def holds(self, slot: int, ticket: int) -> bool:
        """Whether the slot still has what the notice of this ticket was about."""
        at = self._slot_at(slot) >> 3
        return self._words[at + 1] == ticket and self._words[at] == ticket

    def copied(self, slot: int, count: int) -> npt.NDArray[Any]:
        """Copies the pixels of a slot's first frames into an array of the caller's: frames x regions x ..."""
        pixels = self._pool.array((count, *self.layout.shape), self.layout.dtype)
        np.copyto(pixels, self._pixels[slot][:count])
        return pixels

    def view(self, slot: int, count: int, release: Callable[[], None]) -> npt.NDArray[Any]:
        """The pixels of a slot's first frames where they are, to be read only. `release` is called when no
        array that was made of them is left."""
        return np.asarray(_View(self._pixels[slot][:count], release))

    def header(self, slot: int, index: int) -> bytes:
        """A copy of a frame's header, with its reports."""
        at = self._slot_at(slot) + self.layout.frames_at + index * self.layout.frame_stride
        return bytes(self._bytes[at:at + self.layout.frame_stride])
