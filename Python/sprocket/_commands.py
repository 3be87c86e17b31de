"""Commands of the program that are no runs."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Sequence, Union

from ._errors import NoSuchFile, check_file
from ._program import Child, option_arguments

Path = Union[str, "os.PathLike[str]"]


def inspect(path: Path) -> Dict[str, Any]:
    """What is in a movie, a picture, a file of sound, or a dump: the keys of `sprocket inspect --json`, which
    Sprocket's docs/movies.md lists. Reads the whole file, and decodes nothing."""
    if not os.path.exists(path):
        raise NoSuchFile(f"there is no file {os.fspath(path)}")
    found: List[Dict[str, Any]] = json.loads(_output(["inspect", "--json", os.fspath(path)]))
    return found[0]


def devices() -> List[Dict[str, Any]]:
    """Cameras and microphones that are there: the entries of `sprocket devices --json`, which Sprocket's
    docs/cameras.md lists."""
    found: List[Dict[str, Any]] = json.loads(_output(["devices", "--json"]))
    return found


def export(source: Union[Path, Sequence[Path]], target: Path, /, **options: Any) -> None:
    """Converts a movie, a dump or pictures, as `sprocket export` does: `scale="640x480"`, `from_=10`,
    `codec="h264"`, `overwrite=True`. Returns when the file is complete."""
    sources = [source] if isinstance(source, (str, os.PathLike)) else source
    for each in sources:
        check_file(os.fspath(each))
    _output(["export", *option_arguments(options), *[os.fspath(path) for path in [*sources, target]]])


def _output(arguments: Sequence[str]) -> str:
    """What a command prints. Its errors are raised."""
    child = Child(arguments, [])
    try:
        code = child.wait(None)
    finally:
        child.end()
    if code:
        raise child.error(code)
    return child.output
