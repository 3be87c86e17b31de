"""Errors. All of them are `sprocket.Error`; their texts say what to do."""
from __future__ import annotations

import os
import re
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
        return type(self), (str(self), self.exit_code)


class NotAllowed(RunError, ValueError):
    """The program does not take what it was asked for: a setting, an option, a stage."""


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


class NotPermitted(Error, PermissionError):
    """The file may not be read."""


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
    except PermissionError:
        raise NotPermitted(f"{os.fspath(path)} may not be read; ask its owner") from None
    except OSError as error:
        raise Error(f"{os.fspath(path)} cannot be read: {error.strerror}") from None


def check_file(path: str) -> None:
    """Raises for a file that is not there or may not be read. The program knows patterns of names."""
    if path == "-" or any(mark in path for mark in "*?%["):
        return
    if not os.path.lexists(path):
        raise NoSuchFile(f"there is no file {path}; check the spelling")
    if os.path.exists(path) and not os.access(path, os.R_OK):
        raise NotPermitted(f"{path} may not be read; ask its owner")


def in_words_of_python(text: str) -> str:
    """An error of the program, with its options as the keywords of `run` that they come from."""
    text = re.sub(r" \(--[a-z-]+(, --[a-z-]+)*\)(?=$|;|\n)", "", text)
    text = re.sub(r"The value '(.*?)' is invalid for '--([a-z-]+)(?: <[^>]*>)?'",
                  r"--\2=\1 is not allowed", text)
    text = re.sub(r"Unknown option '(--[a-z-]+)'\. Did you mean '(--[a-z-]+)'\?",
                  r"run has no parameter `\1`; did you mean `\2`?", text)
    text = re.sub(r"Unknown option '(--[a-z-]+)'", r"run has no parameter `\1`", text)
    text = text.replace("the sink share has", "tensor, or image, has").replace("the sink share: ", "")
    return re.sub(r"(?<![\w/.-])--([a-z]+(?:-[a-z]+)*)",
                  lambda found: _KEYWORDS.get(found[1], found[1].replace("-", "_")), text)


# Keywords that are called otherwise than their options.
_KEYWORDS = {"stage": "stages", "from": "from_", "share": "tensor or image"}
