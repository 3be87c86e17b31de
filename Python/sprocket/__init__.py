"""Frames of cameras and files for NumPy, by Sprocket.

    import sprocket

    for frame in sprocket.run("file:clip.mov", tensor=(640, 640)):
        detect(frame.tensor)                # float32, 1 x 3 x 640 x 640, 0 to 1

    with sprocket.connect("cam") as frames: # sprocket run --share cam
        for frame in frames:                # the newest one
            show(frame.image)
"""
from ._batch import batch
from ._commands import devices, export, inspect
from ._connect import connect
from ._control import Control
from ._dump import Dump, DumpFrame
from ._errors import (DamagedFrame, Error, NoSuchFile, NoSuchItem, NoSuchShare, NotAllowed, NotPermitted,
                      ProgramNotFound, Refused, RunError, ShareRefused, Timeout, WriterGone)
from ._frame import Batch, Frame
from ._layout import Layout
from ._lens import undistort
from ._pairs import Pairs
from ._program import program
from ._run import Run, run
from ._sound import Sound, sound
from ._stream import Stream
from ._table import Table, reports
from ._video import Video, VideoPart
from ._writer import Writer

__version__ = "0.1.0"
__all__ = ["Batch", "Control", "DamagedFrame", "Dump", "DumpFrame", "Error", "Frame", "Layout", "NoSuchFile",
           "NoSuchItem", "NoSuchShare", "NotAllowed", "NotPermitted", "Pairs", "ProgramNotFound", "Refused",
           "Run", "RunError", "ShareRefused", "Sound", "Stream", "Table", "Timeout", "Video", "VideoPart",
           "Writer", "WriterGone", "batch", "connect", "devices", "export", "inspect", "program", "reports",
           "run", "sound", "undistort"]
