"""Asks a run while it goes on, through its control socket (`docs/on-demand.md`)."""
from __future__ import annotations

import json
import os
import socket
import time
from typing import Any, Dict, Iterator, List, Optional, Sequence, Union

from ._closing import Closing
from ._errors import Error, Refused

# Seconds within which a run answers. A change of its shape waits until all sinks have written their frames.
_PATIENCE = 60.0
# Longest answer that is read, in bytes. Larger: a program that is no run can make this one use more memory.
_LONGEST = 1 << 26
# Seconds between two looks at whether a run is there. Larger: fewer looks, a later start.
_TICK = 0.02


class Control(Closing):
    """A run that was started with `--control-socket PATH`.

        with sprocket.Control("demo/control") as control:
            control.record("take.mov")
            control.set("meter", mode="spot")

    What the run refuses is raised as `Refused`, in its own words. Requests for recordings and settings take
    `at_frame`, the number of the first frame that they are about, or `at_s`, seconds since the source's first
    frame; by default they hold from the next frame.

    A run that has just been started is waited for `wait` seconds, then `Error` is raised.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], *, wait: float = 5) -> None:
        self._path = os.fspath(path)
        self._socket = self._connected(wait)
        self._lines = self._socket.makefile("rb")
        self._is_closed = False

    def _connected(self, wait: float) -> socket.socket:
        end = time.monotonic() + wait
        while True:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(_PATIENCE)
            try:
                connection.connect(self._path)
                return connection
            except OSError as error:
                connection.close()
                reason = error.strerror or str(error)
            if time.monotonic() >= end:
                raise Error(f"no run answers at {self._path} ({reason}); start one with: sprocket run "
                            f"--control-socket {self._path}; if one was started, next(frames) says why it "
                            "ended")
            time.sleep(_TICK)

    def close(self) -> None:
        """Disconnects; the run goes on."""
        self._is_closed = True
        self._lines.close()
        self._socket.close()

    def ask(self, request: str, **keys: Any) -> Dict[str, Any]:
        """Any request of the protocol, and the whole answer. Keys that are `None` are left out."""
        line = {"request": request, **{name: value for name, value in keys.items() if value is not None}}
        try:
            self._socket.sendall(json.dumps(line).encode() + b"\n")
        except OSError:
            raise self._gone() from None
        answer = self._line()
        if answer is None:
            raise self._gone()
        if not answer.get("ok"):
            raise Refused(str(answer.get("error", "the run refused the request")))
        return answer

    def _gone(self) -> Error:
        return Error(f"the run at {self._path} has ended")

    def _line(self) -> Optional[Dict[str, Any]]:
        try:
            text = self._lines.readline(_LONGEST)
            answer = json.loads(text) if text.endswith(b"\n") else None
        except socket.timeout:
            raise Error(f"the run at {self._path} does not answer; end it, and start it again") from None
        except OSError:
            return None
        except (ValueError, RecursionError):
            answer = ()
        if answer is not None and not isinstance(answer, dict):
            raise Error(f"{self._path} sent what no run sends; give the path of a run's control socket")
        return answer

    def record(self, path: Optional[str] = None, *, frames: Optional[int] = None, sink: Optional[str] = None,
               at_frame: Optional[int] = None, at_s: Optional[float] = None) -> int:
        """Starts a recording; its number."""
        return int(self.ask("record", path=path, frames=frames, sink=sink, at_frame=at_frame,
                            at_s=at_s)["recording"])

    def photo(self, frames: int = 1, *, ago_s: Optional[float] = None, moment: Optional[str] = None,
              at_frame: Optional[int] = None, at_s: Optional[float] = None) -> int:
        """Takes photographs; the number of their recording. `ago_s` and `moment` ("nearest", "after" or
        "before") choose a frame by its time, from a run whose stills have a pre-roll."""
        return int(self.ask("photo", frames=frames, ago_s=ago_s, moment=moment, at_frame=at_frame,
                            at_s=at_s)["recording"])

    def stop(self, recording: Optional[int] = None, *, at_frame: Optional[int] = None,
             at_s: Optional[float] = None) -> None:
        """Ends a recording, by default the latest."""
        self.ask("stop", recording=recording, at_frame=at_frame, at_s=at_s)

    def pause(self, recording: Optional[int] = None, *, at_frame: Optional[int] = None,
              at_s: Optional[float] = None) -> None:
        """Leaves frames and sound of a recording out until `resume`; its file has no gap."""
        self.ask("pause", recording=recording, at_frame=at_frame, at_s=at_s)

    def resume(self, recording: Optional[int] = None, *, at_frame: Optional[int] = None,
               at_s: Optional[float] = None) -> None:
        """Goes on with a recording that is paused."""
        self.ask("resume", recording=recording, at_frame=at_frame, at_s=at_s)

    def next(self, recording: Optional[int] = None, *, path: Optional[str] = None,
             at_frame: Optional[int] = None,
             at_s: Optional[float] = None) -> None:
        """Continues a recording in its next file."""
        self.ask("next", recording=recording, path=path, at_frame=at_frame, at_s=at_s)

    def set(self, stage: str, *, at_frame: Optional[int] = None, at_s: Optional[float] = None,
            **settings: Any) -> None:
        """Changes live settings of a stage: `set("focus", window=0.3)`."""
        self.ask("set", stage=stage, settings=settings, at_frame=at_frame, at_s=at_s)

    def control(self, name: str, value: Union[int, float, str]) -> None:
        """Writes a control of the source, as `--control` does."""
        self.ask("control", name=name, value=value)

    def controls(self, **values: Union[int, float, str]) -> Dict[str, float]:
        """Writes several controls of the source, all or none: `controls(auto_exposure="manual_mode",
        exposure_time_absolute=100)`. Returns what it made of them. If it refuses one, the error names it."""
        made: Dict[str, float] = self.ask("control", controls=values).get("controls", {})
        return made

    def reconfigure(self, *, stages: Optional[Sequence[str]] = None, attach: Optional[Sequence[str]] = None,
                    detach: Optional[Sequence[str]] = None, **keys: Any) -> None:
        """Changes the run itself, all or nothing; returns when the change holds. `keys`: `source`,
        `source_settings`, `format`, `size`, `rate`; or `pipeline` alone, a dict of all that it is to be."""
        self.ask("reconfigure", **keys, **{name: list(value) for name, value in (
            ("stages", stages), ("attach", attach), ("detach", detach)) if value is not None})

    def status(self) -> Dict[str, Any]:
        """The state of the run; `docs/on-demand.md` lists the keys."""
        status: Dict[str, Any] = self.ask("status")["status"]
        return status

    def recordings(self) -> List[Dict[str, Any]]:
        """The records of the latest files."""
        records: List[Dict[str, Any]] = self.ask("recordings")["recordings"]
        return records

    def events(self) -> Iterator[Dict[str, Any]]:
        """What happens from this call on, until the run ends. Use a `Control` of its own for it, and read:
        the run keeps 1 MB for a loop that begins later, and ends the connection of one that leaves more
        unread, so that its last event is not `end`."""
        self.ask("events")
        self._socket.settimeout(None)
        return iter(self._line, None)

    def quit(self) -> None:
        """Ends the run."""
        self.ask("quit")
