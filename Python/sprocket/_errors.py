"""Errors. All of them are `sprocket.Error`; their texts say what to do."""
from __future__ import annotations

import os
from typing import BinaryIO, Dict, Mapping, Tuple, Type, TypeVar, Union

Value = TypeVar("Value")


class Error(Exception):
    """What went wrong, in one sentence."""


class RunError(Error):
    """The program ended with an error; the text is the program's own.

    `exit_code` is 1 when something failed, 2 when it was asked for in a wrong way, and negative when a signal
    ended the program.
    """

    def __init__(self, text: str, exit_code: int = 1) -> None:
        super().__init__(text)
        self.exit_code = exit_code

    def __reduce__(self) -> Tuple[Type[RunError], Tuple[str, int]]:
        return RunError, (str(self), self.exit_code)


class ProgramNotFound(Error):
    """There is no program `sprocket`."""


class NoSuchShare(Error):
    """No running program has a share of this name."""


class ShareRefused(Error):
    """The share does not accept this reader, or sent what no share sends."""


class WriterGone(Error):
    """The share ended although its run did not."""


class Timeout(Error, TimeoutError):
    """No frame came within the time that was given. The next frame can be waited for again."""


class Refused(Error):
    """The run refused a request; the text is the program's own."""


class NoSuchItem(Error, KeyError, IndexError):
    """There is no frame, column, stage or field of this number or name."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class DamagedFrame(Error, ValueError):
    """The frame of this number cannot be decoded, or the film says that it is damaged."""


class NoSuchFile(Error, FileNotFoundError):
    """There is no file at this path."""


class Known(Dict[str, Value]):
    """A dictionary that raises `NoSuchItem`, which says what is there, for another name."""

    def __init__(self, what: str, values: Mapping[str, Value]) -> None:
        super().__init__(values)
        self._what = what

    def __missing__(self, name: str) -> Value:
        raise NoSuchItem(f"there is no {self._what} {name}; there are: {', '.join(self) or 'none'}")


def opened(path: Union[str, "os.PathLike[str]"]) -> BinaryIO:
    """The file, to be read."""
    try:
        # A pipe that nobody writes to is not waited for.
        return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
    except FileNotFoundError:
        raise NoSuchFile(f"there is no file {os.fspath(path)}") from None
    except OSError as error:
        raise Error(f"{os.fspath(path)} cannot be read: {error.strerror}") from None
