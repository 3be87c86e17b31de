"""A disk that hangs for ever: the run goes on, answers, and ends when it is told to."""
import os
import signal

import pytest

from program import LIMIT, SPROCKET, preloaded, running, wait_for
from test_on_demand import SCENE, Client


@pytest.fixture(scope="module")
def hanger(tmp_path_factory):
    return preloaded("hung_calls.c", tmp_path_factory.mktemp("hung"))


@pytest.mark.parametrize("call", ["statvfs", "open", "unlink", "rename", "fsync"])
def test_a_disk_that_hangs_silences_nobody_and_keeps_no_run(call, hanger, tmp_path):
    folder, switch, witness = tmp_path / "files", tmp_path / "switch", tmp_path / "witness"
    folder.mkdir()
    settings = {"LD_PRELOAD": hanger, "HUNG_CALL": call, "HUNG_FOLDER": folder, "HUNG_SWITCH": switch,
                "HUNG_WITNESS": witness}
    control = tmp_path / "control"
    command = ["env", *(f"{key}={value}" for key, value in settings.items()), SPROCKET, "run", *SCENE,
               "--movie", folder / "take-{n}.mov", "--on-demand", "--signal", "--keep-free", "1M",
               "--control-socket", control, "--reports", tmp_path / "lines"]
    with running(command) as process:
        wait_for(control.exists)
        hung, other = Client(control), Client(control)
        assert hung.ask("record")["ok"]
        other.wait(5)
        switch.touch()
        # A client makes a file, a signal another; each may wait for the disk, and nobody waits for them.
        hung.socket.sendall(b'{"request":"next"}\n')
        os.kill(process.pid, signal.SIGUSR2)
        if call == "unlink":
            # Only what is empty is removed.
            later = other.ask("record", at_frame=9_000_000)
            assert other.ask("cancel", id=later["id"])["ok"]
        third = Client(control)
        third.wait(20)
        wait_for(witness.exists, process)
        assert third.ask("status")["ok"]
        for _ in range(2):
            os.kill(process.pid, signal.SIGINT)
        process.wait(LIMIT)
        assert process.returncode > 0 or call in ("statvfs", "unlink")
        for client in (hung, other, third):
            client.close()
    # The other sink has a line for each of its frames, up to the end.
    assert len((tmp_path / "lines").read_bytes().splitlines()) > 25
