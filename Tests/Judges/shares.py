"""Runs that share their frames."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile

import sprocket
from program import LIMIT, SPROCKET, wait_for

FAST = ["--source", "scene", "--size", "320x240"]


class Shared:
    """A run with `--share`, which is ended at the latest with the block. `name` is its path for readers."""

    def __init__(self, folder, arguments, pixels):
        self.name = str(folder / "frames")
        self.summary_path = folder / "summary.json"
        self.process = subprocess.Popen(
            [SPROCKET, "run", *map(str, arguments), "--share", self.name + pixels, "--summary",
             self.summary_path, "--overwrite", "--quiet"], stderr=subprocess.PIPE)

    def connect(self, **options):
        return sprocket.connect(self.name, **{"wait": LIMIT, "timeout": LIMIT, **options})

    def wait_for_socket(self):
        wait_for(lambda: os.path.exists(self.name), self.process, pause=0.01)

    def end(self):
        """Lets it come to its end; the summary of the run."""
        assert self.process.wait(LIMIT) == 0, self.process.stderr.read()
        return json.loads(self.summary_path.read_text())

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.end()

    def memory(self):
        """Bytes of its own that are resident: shared memory is not among them."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("RssAnon:")[1].split()[0]) * 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


@contextlib.contextmanager
def shared(*arguments, pixels=":tensor,size=64x48"):
    # A path of a socket is short.
    with tempfile.TemporaryDirectory() as folder:
        run = Shared(pathlib.Path(folder), arguments, pixels)
        try:
            yield run
        finally:
            run.process.kill()
            run.process.wait()
            run.process.stderr.close()


def delivered(summary):
    return summary["sinks"]["share"]["delivered"]


def accounted(frames):
    """Frames until now by what a reader counts: those before it came, those that it got, and those that it
    missed."""
    return sum(frames._start) + frames.seen + frames.missed
