"""Lenses that were calibrated in this process."""
from __future__ import annotations

import atexit
import itertools
import json
import os
import shutil
import tempfile
from typing import Any, Optional, Tuple

import numpy as np
import numpy.typing as npt

_folder: Optional[str] = None
_numbers = itertools.count(1)


def undistort(camera_matrix: npt.ArrayLike, distortion: npt.ArrayLike, size: Tuple[int, int], *,
              fisheye: bool = False, alpha: float = -1) -> str:
    """The stage that straightens what a calibrated lens bends, for `stages=`.

        _, matrix, distortion, _, _ = cv2.calibrateCamera(...)
        sprocket.run("camera", stages=[sprocket.undistort(matrix, distortion, (1920, 1080))])

    - `camera_matrix`: 3 x 3, in pixels of pictures of `size`, (width, height).
    - `distortion`: 4, 5, 8, 12 or 14 numbers in OpenCV's order; of a fisheye 4.
    - `alpha`: as `sprocket stages undistort` has it: below 0 the camera matrix stays as it is.

    The calibration is in a file until this process ends.
    """
    matrix = np.asarray(camera_matrix, np.float64)
    numbers = np.asarray(distortion, np.float64).ravel()
    if matrix.shape != (3, 3):
        raise ValueError(f"a camera matrix is 3 x 3; this one has the shape {matrix.shape}")
    if len(numbers) not in ((4,) if fisheye else (4, 5, 8, 12, 14)):
        raise ValueError(f"a lens has {'4' if fisheye else '4, 5, 8, 12 or 14'} numbers of distortion, and "
                         f"not {len(numbers)}")
    global _folder
    if _folder is None:
        _folder = tempfile.mkdtemp(prefix="sprocket-")
        atexit.register(_remove, _folder, os.getpid())
    path = os.path.join(_folder, f"lens-{os.getpid()}-{next(_numbers)}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"image_width": int(size[0]), "image_height": int(size[1]),
                   "camera_matrix": _matrix(matrix), "distortion_coefficients": _matrix(numbers[None])}, file)
    return f"undistort:calibration={path},model={'fisheye' if fisheye else 'pinhole'},alpha={alpha:g}"


def _remove(folder: str, process_id: int) -> None:
    """A process that was forked leaves its parent's files."""
    if os.getpid() == process_id:
        shutil.rmtree(folder, ignore_errors=True)


def _matrix(values: npt.NDArray[np.float64]) -> Any:
    """Returns a matrix in the format of OpenCV's FileStorage."""
    return {"type_id": "opencv-matrix", "rows": values.shape[0], "cols": values.shape[1], "dt": "d",
            "data": values.ravel().tolist()}
