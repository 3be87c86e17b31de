"""Lines of `--reports` as columns."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Union

import numpy as np
import numpy.typing as npt

from ._errors import Error, Known, opened

# Keys of a line that are no reports of stages.
OWN_KEYS = frozenset(["number", "sequence", "epoch", "captured_ns", "clock", "fate", "stage", "latency_us",
                      "exposure_us", "gain", "lens", "events"])
# Whole numbers that a float64 would round, as nanoseconds.
_WHOLE_KEYS = frozenset(["number", "sequence", "epoch", "captured_ns"])


class Table(Mapping[str, npt.NDArray[Any]]):
    """Columns by name, one row per frame: `table["captured_ns"]`, `table["focus.score"]`.

    Numbers are float64, NaN where there is none, but `sequence`, `epoch` and `captured_ns` are int64. Where
    some rows have no such number, no word or no truth value, the column is a masked array. A field of several
    numbers is an array of rows x numbers. `events` are left out: `table.lines` has all as it was read.
    """

    def __init__(self, lines: Iterable[Mapping[str, Any]]) -> None:
        self.lines: List[Mapping[str, Any]] = list(lines)
        cells: Dict[str, Dict[int, Any]] = {}
        for row, line in enumerate(self.lines):
            for name, value in line.items():
                if isinstance(value, dict):
                    for field, part in value.items():
                        cells.setdefault(f"{name}.{field}", {})[row] = part
                elif name != "events":
                    cells.setdefault(name, {})[row] = value
        self._columns = Known("column", {
            name: _column(name, values, len(self.lines)) for name, values in cells.items()})

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<sprocket.Table of {len(self.lines)} frames: {', '.join(self._columns)}>"

    def to_pandas(self) -> Any:
        """As a `pandas.DataFrame`, indexed by row; needs pandas."""
        try:
            import pandas
        except ImportError:
            raise Error("to_pandas needs one more package: pip install pandas") from None
        return pandas.DataFrame({name: _series(pandas, column) for name, column in self._columns.items()})


def reports(path: Union[str, "os.PathLike[str]"]) -> Table:
    """The file that `sprocket run --reports PATH` wrote, one row per produced frame. A last line that is cut
    off, as while the run goes on, is left out."""
    with opened(path) as file:
        return Table(_parsed(os.fspath(path), number, line) for number, line in enumerate(file, 1)
                     if line.endswith(b"\n") or not line.startswith(b"{"))


def _parsed(path: str, number: int, line: bytes) -> Dict[str, Any]:
    try:
        keys = json.loads(line)
    except (ValueError, RecursionError):
        keys = None
    if not isinstance(keys, dict):
        raise Error(f"{path}:{number} is no line of --reports; give a file that `sprocket run "
                    "--reports` wrote")
    return keys


def _column(name: str, values: Dict[int, Any], count: int) -> npt.NDArray[Any]:
    present = {row: value for row, value in values.items() if value is not None}
    kinds = {type(value) for value in present.values()}
    if kinds == {list}:
        return _grid(present, count)
    if kinds <= {int, float} and name not in _WHOLE_KEYS:
        # A line has 1 for 1.0.
        column = np.full(count, np.nan)
    elif kinds == {int}:
        column = np.zeros(count, np.int64)
    elif kinds == {bool}:
        column = np.zeros(count, np.bool_)
    elif kinds == {str}:
        column = np.full(count, "", f"<U{max(len(value) for value in present.values()) or 1}")
    else:
        column = np.full(count, None, object)
    column[list(present)] = list(present.values())
    if len(present) == count or column.dtype.kind in "fO":
        return column
    mask = np.ones(count, np.bool_)
    mask[list(present)] = False
    return np.ma.MaskedArray(column, mask)


def _grid(present: Dict[int, List[Any]], count: int) -> npt.NDArray[Any]:
    """Rows of numbers as one array; lists of items, or of different lengths, as they are."""
    lengths = {len(value) for value in present.values()}
    if len(lengths) != 1 or any(isinstance(item, dict) for value in present.values() for item in value):
        column = np.full(count, None, object)
        for row, value in present.items():
            column[row] = value
        return column
    grid = np.full((count, lengths.pop()), np.nan)
    for row, value in present.items():
        grid[row] = [np.nan if number is None else number for number in value]
    return grid


def _series(pandas: Any, column: npt.NDArray[Any]) -> Any:
    if column.ndim > 1:
        return list(column)
    if isinstance(column, np.ma.MaskedArray):
        kinds = {"i": "Int64", "b": "boolean", "U": "string"}
        return pandas.array(column.tolist(), dtype=kinds[column.dtype.kind])
    return column
