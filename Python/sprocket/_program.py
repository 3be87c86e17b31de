"""The program `sprocket`: where it is, its command lines, and its life as a child of this process."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._errors import Error, NotAllowed, ProgramNotFound, RunError, in_words_of_python

# Seconds within which a program that was asked to end has to. It drains for 10 s, and leaves what is stuck 4
# s later.
_PATIENCE = 20.0
# Longest part of its errors that is kept, in bytes.
_LONGEST_ERROR = 1 << 16

# NumPy's and PyTorch's names of what a share calls otherwise.
_TYPES = {"uint8": "u8", "float16": "f16", "float32": "f32", "bfloat16": "bf16", "uint16": "u16"}
# Options whose numbers are seconds, and those that are a width and a height.
_DURATIONS = frozenset(["--duration", "--from", "--keep", "--pre-roll", "--to"])
_SIZES = frozenset(["--size", "--scale"])

Size = Union[str, int, Tuple[int, int]]
Tensor = Union[Size, Mapping[str, Any]]
Image = Union[str, Mapping[str, Any]]


def program() -> str:
    """The path of the program: what the environment variable SPROCKET names, that of this package's wheel, or
    that in PATH."""
    named = os.environ.get("SPROCKET")
    if named:
        return named
    for folder in list(Path(__file__).resolve().parents)[1:5]:
        if (folder / "libexec/sprocket/sprocket").is_file() and (folder / "bin/sprocket").is_file():
            return str(folder / "bin/sprocket")
    found = shutil.which("sprocket")
    if found is None:
        raise ProgramNotFound("there is no program sprocket; install the wheel that `make wheel` makes, or "
                              "set the environment variable SPROCKET to its path")
    return found


def option_arguments(options: Mapping[str, Any]) -> List[str]:
    """`duration=3, source_set=["shake=0"], overwrite=True` as the command line has them."""
    arguments: List[str] = []
    for name, value in options.items():
        option = "--" + name.strip("_").replace("_", "-")
        if value is True:
            arguments.append(option)
        elif option in _DURATIONS and isinstance(value, (int, float)) and value is not False:
            arguments += [option, f"{value}s"]
        elif option in _SIZES and isinstance(value, tuple) and len(value) == 2:
            arguments += [option, f"{value[0]}x{value[1]}"]
        elif isinstance(value, (list, tuple)):
            for one in value:
                arguments += [option, str(one)]
        elif value is not None and value is not False:
            arguments += [option, str(value)]
    return arguments


def pixel_settings(tensor: Optional[Tensor], image: Optional[Image]) -> str:
    """What follows the name of a share: `:tensor,size=640x640`."""
    if tensor is not None and image is not None:
        raise NotAllowed("give tensor or image, not both", 2)
    settings: Mapping[str, Any]
    if tensor is not None:
        layout, settings = "tensor", tensor if isinstance(tensor, Mapping) else {"size": tensor}
    elif isinstance(image, Mapping):
        layout, settings = str(image.get("layout", "rgb")), {k: v for k, v in image.items() if k != "layout"}
    else:
        layout, settings = image or "rgb", {}
    return ":" + ",".join([layout, *(f"{name}={_text(name, value)}" for name, value in settings.items())])


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if name == "type":
        # float16, numpy.float16, numpy.dtype("float16") or torch.float16.
        kind = str(getattr(value, "__name__", value)).rpartition(".")[2]
        return _TYPES.get(kind, kind)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if name == "size" and isinstance(value, (int, np.integer)):
        value = (value, value)
    if isinstance(value, str) or not isinstance(value, Sequence):
        return str(value)
    if name == "regions":
        return "+".join(_text("region", region) for region in value)
    return ("x" if name == "size" else "/").join(str(part) for part in value)


def stage_arguments(stages: Union[str, Sequence[str]]) -> List[str]:
    """Returns the options of the command line for several stages, or for one."""
    arguments: List[str] = []
    for stage in [stages] if isinstance(stages, str) else stages:
        if not isinstance(stage, str):
            raise TypeError('a stage is a text, as "focus" or "stabilize:mode=standard", and not '
                            f"{stage!r}")
        arguments += ["--stage", stage]
    return arguments


class Child:
    """The program while it runs. It ends when this process does, however that ends."""

    def __init__(self, arguments: Sequence[str], descriptors: Sequence[int]) -> None:
        path = shutil.which(program())
        if path is None:
            raise ProgramNotFound(f"{program()} cannot be started; install it again, or set the environment "
                                  "variable SPROCKET to its path")
        command = [path, *arguments]
        self._prefix = os.path.basename(path) + ": "
        # The kernel sends SIGTERM when the thread that started the program ends; so the thread is one that
        # stays.
        guard = shutil.which("setpriv")
        self._output: IO[bytes] = tempfile.TemporaryFile()
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        self._owner = os.getpid()
        # The program's output and errors, read when it has ended.
        self._written: Optional[Tuple[str, str]] = None
        if guard is not None:
            command = [guard, "--pdeathsig", "TERM", *command]
        try:
            self._process: subprocess.Popen[bytes] = _starter().submit(
                subprocess.Popen, command, stdin=subprocess.DEVNULL, stdout=self._output,
                stderr=self._errors, pass_fds=descriptors, start_new_session=True).result()
        except BaseException:
            self._output.close()
            self._errors.close()
            raise

    def __del__(self) -> None:
        # A process that was forked leaves the program to its parent.
        if os.getpid() != getattr(self, "_owner", os.getpid()):
            self._output.close()
            self._errors.close()
            self._process.returncode = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self, limit: Optional[float]) -> Optional[int]:
        """The exit code, negative where a signal ended the program; `None` if it runs on for so many
        seconds. Without a limit it is waited for."""
        try:
            code = self._process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        if self._written is None:
            self._written = _read(self._output), _read(self._errors)
        return code

    def end(self) -> int:
        """Asks the program to end, and waits until it has."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
        code = self.wait(None)
        assert code is not None
        return code

    def finish(self, limit: float) -> None:
        """Waits until the program has ended by itself, and raises its error. After `limit` seconds it is
        ended, which is an error, too."""
        code = self.wait(limit)
        is_late = code is None
        code = self.end() if code is None else code
        if code:
            raise self.error(code)
        if is_late:
            raise Error(f"the run has not completed its files within {limit:g} s of its last frame, and was "
                        "ended; files may be incomplete")

    @property
    def summary(self) -> Dict[str, Any]:
        """The summary that was printed; empty before the program's end, or if it was cut off."""
        try:
            found: Dict[str, Any] = json.loads(self.output) if self.output.strip() else {}
        except ValueError:
            return {}  # The program was ended while it wrote.
        return found

    @property
    def output(self) -> str:
        """The program's standard output; empty until it has ended."""
        return self._written[0] if self._written else ""

    def error(self, code: int) -> RunError:
        """What the program said, without its name before it."""
        lines = [line[len(self._prefix):] if line.startswith(self._prefix) else line
                 for line in (self._written or ("", ""))[1][-_LONGEST_ERROR:].splitlines()
                 if line.strip()]
        if not lines and code < 0:
            lines = [f"the program was ended by {signal.Signals(-code).name}"]
        kind = NotAllowed if code == 2 else RunError
        text = in_words_of_python("\n".join(lines))
        return kind(text or f"the program ended with exit code {code}", code)


def _read(file: IO[bytes]) -> str:
    with file:
        file.seek(0)
        return file.read().decode(errors="replace")


_thread: Optional[ThreadPoolExecutor] = None


def _starter() -> ThreadPoolExecutor:
    global _thread
    if _thread is None:
        _thread = ThreadPoolExecutor(1, "sprocket")
    return _thread


def _forget_thread() -> None:
    """It is not there in a process that was forked."""
    global _thread
    _thread = None


os.register_at_fork(after_in_child=_forget_thread)
