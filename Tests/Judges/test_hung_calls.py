"""A disk that hangs for ever: the run goes on, answers, and ends when it is told to."""
import os
import signal

import pytest

from program import LIMIT, SPROCKET, fates, preloaded, read_summary, running, wait_for
from test_on_demand import SCENE, Client


@pytest.fixture(scope="module")
def hanger(tmp_path_factory):
    return preloaded("hung_calls.c", tmp_path_factory.mktemp("hung"))


@pytest.mark.parametrize("call", ["statvfs", "open", "unlink", "rename", "fsync", "write"])
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
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(process.pid, number)
        process.wait(LIMIT)
        assert process.returncode > 0 or call in ("statvfs", "unlink")
        for client in (hung, other, third):
            client.close()
    # The other sink has a line for each of its frames, up to the end.
    assert len((tmp_path / "lines").read_bytes().splitlines()) > 25


def test_a_disk_that_hangs_under_a_dump_costs_the_others_no_frame(hanger, tmp_path):
    """A change beside the dump is refused, and the dump can be removed: the run goes on without it."""
    folder, switch = tmp_path / "files", tmp_path / "switch"
    folder.mkdir()
    settings = {"LD_PRELOAD": hanger, "HUNG_CALL": "write", "HUNG_FOLDER": folder, "HUNG_SWITCH": switch,
                "HUNG_WITNESS": tmp_path / "witness"}
    control = tmp_path / "control"
    command = ["env", *(f"{key}={value}" for key, value in settings.items()), SPROCKET, "run", *SCENE,
               "--dump", folder / "dump.mcap", "--control-socket", control, "--reports", tmp_path / "lines",
               "--summary", tmp_path / "summary.json"]
    with running(command) as process:
        wait_for(control.exists)
        client = Client(control)
        client.wait(20)
        switch.touch()
        wait_for((tmp_path / "witness").exists, process)
        client.wait(60)
        refused = client.ask("reconfigure", attach=["null"])
        assert not refused["ok"] and "dump has taken no frame for 2 s" in refused["error"]
        assert client.ask("reconfigure", detach=["dump"])["ok"]
        client.wait(20)
        assert client.ask("reconfigure", attach=["null"])["ok"]
        client.wait(20)
        for _ in range(2):
            os.kill(process.pid, signal.SIGINT)
        process.wait(LIMIT)
        client.close()
    assert process.returncode == 1
    summary = read_summary(tmp_path / "summary.json")
    assert "the sink `dump` did not finish" in str(summary["errors"])
    line = summary["sinks"]["reports"]
    everything = sum(line[fate] for fate in fates(line))
    assert everything == len((tmp_path / "lines").read_bytes().splitlines()) > 150
    # A slow machine may be late for one by itself.
    assert everything - line["delivered"] < 10, line
