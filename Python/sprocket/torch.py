"""Frames for PyTorch: `sprocket.torch.FrameDataset` in a `torch.utils.data.DataLoader`. Needs torch to be
used, not to be imported."""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Optional, Sequence

from ._errors import Error
from ._frame import Frame
from ._program import Image, Tensor
from ._run import Source, run

if TYPE_CHECKING:
    _Base = object
else:
    try:
        from torch.utils.data import IterableDataset as _Base
    except ImportError:
        _Base = object


class FrameDataset(_Base):
    """Tensors of the frames of files, one file after the other; a loader's workers divide the files among
    them.

        data = FrameDataset(["file:a.mov", "file:b.mov"], tensor=(224, 224))
        for tensors in DataLoader(data, batch_size=16, num_workers=2):
            ...

    By default an item is the frame's tensor of regions x channels x height x width without its first axis
    where that is 1. `transform` is called with each `Frame` instead, and its result is the item. The
    other arguments are those of `sprocket.run`.
    """

    def __init__(self, sources: Iterable[Source], *, transform: Optional[Callable[[Frame], Any]] = None,
                 stages: Sequence[str] = (), tensor: Optional[Tensor] = None, image: Optional[Image] = None,
                 **options: Any) -> None:
        super().__init__()
        self._sources = list(sources)
        self._transform = transform or tensor_of
        self._options = {"stages": stages, "tensor": tensor, "image": image, **options}

    def __iter__(self) -> Iterator[Any]:
        try:
            from torch.utils.data import get_worker_info
        except ImportError:
            raise Error("FrameDataset needs one more package: pip install torch") from None
        worker = get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for source in self._sources[first::step]:
            with run(source, **self._options) as frames:
                for frame in frames:
                    yield self._transform(frame)


def tensor_of(frame: Frame) -> Any:
    """A `torch.Tensor` of the frame, in the same memory. bfloat16 is one in torch, too."""
    # A plain `import torch` here is this module for tools that check types.
    torch: Any = import_module("torch")
    array = frame.tensor
    tensor = torch.from_dlpack(array[0] if array.shape[0] == 1 else array)
    return tensor.view(torch.bfloat16) if frame.layout.type == "bf16" else tensor
