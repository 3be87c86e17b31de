"""Reads that sleep for ever, as on a network file system whose server is gone (stuck.c)."""
import os

from program import preloaded


def library(folder):
    """The preloaded library, compiled into a folder."""
    return preloaded("stuck.c", folder)


def environment(library, path, after, witness):
    """For a program whose reading of `path` sleeps once it has read `after` bytes of it; the file
    `witness` is there when it does."""
    return {**os.environ, "LD_PRELOAD": str(library), "STUCK_FILE": str(path),
            "STUCK_AFTER": str(after), "STUCK_WITNESS": str(witness)}
