"""What ends with its `with` block, and with its life."""
from __future__ import annotations

from types import TracebackType
from typing import Optional, Type, TypeVar

_Self = TypeVar("_Self", bound="Closing")


class Closing:
    """`close` is called at the end of a `with` block, and for what nobody uses any more."""

    # Subclasses set it to false when they hold something, and to true when they have given it back.
    _is_closed = True

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        if not self._is_closed:
            self.close()
