"""A base of all that holds programs, sockets or files."""
from __future__ import annotations

from types import TracebackType
from typing import Any, Optional, Type, TypeVar

_Self = TypeVar("_Self", bound="Closing")


class Closing:
    """Gives back what it holds by `close`, at the end of a `with` block, and when nobody uses it any more."""

    # False while it holds something.
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

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} is not pickled; open another in the other process")
