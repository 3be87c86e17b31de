"""A camera whose run changes while it goes on: other sinks, another format, another device."""
import json

import pytest

from conftest import GRABBER, PLANES, Run, assert_ledger_is_the_drivers, wait_until
from program import sprocket
from test_refusals import held

SMALL = ["--format", "GREY", "--size", "320x180", "--rate", "60"]


def ask(folder, *words, check=True):
    """The answer to a request by the control socket."""
    result = sprocket("ask", folder / "control", *words, check=False)
    answer = json.loads(result.stdout)
    assert not check or answer["ok"], answer
    return answer


def begin(folder, device, *arguments):
    run = Run(folder, device, *SMALL, "--control-socket", folder / "control", *arguments)
    wait_until(lambda: (folder / "control").exists() or run.process.poll() is not None)
    return run


def wait_for_more_frames(folder, count):
    def produced():
        return ask(folder, "status")["status"]["produced"]
    end = produced() + count
    wait_until(lambda: produced() >= end)


@pytest.mark.costly
def test_sinks_come_and_go_and_the_drivers_count_goes_on(camera, tmp_path):
    with begin(tmp_path, camera) as run:
        for index in range(4):
            run.wait_for_frames(20 * (index + 1))
            ask(tmp_path, "reconfigure", f"attach=dump:part-{index}.mcap")
            run.wait_for_frames(20 * (index + 1) + 10)
            ask(tmp_path, "reconfigure", "detach=dump")
        run.stop()
    # Each frame that the driver handed out, and each that it dropped meanwhile, is in the reports.
    assert_ledger_is_the_drivers(run)
    summary = run.summary
    assert summary["epochs"] == 1 and summary["errors"] == []
    assert [line["name"] for line in summary["detached"]] == ["dump", "dump-fates"] * 4


@pytest.mark.costly
def test_another_format_of_the_device_and_one_that_it_does_not_have(camera, tmp_path):
    with begin(tmp_path, camera) as run:
        wait_for_more_frames(tmp_path, 10)
        ask(tmp_path, "reconfigure", "size=640x360", "rate=30")
        wait_for_more_frames(tmp_path, 10)
        answer = ask(tmp_path, "reconfigure", "size=321x181", check=False)
        assert not answer["ok"] and "321x181" in answer["error"], answer
        # The format from before is back.
        wait_for_more_frames(tmp_path, 10)
        status = ask(tmp_path, "status")["status"]
        assert (status["width"], status["height"], status["epochs"]) == (640, 360, 3)
        run.stop()
    summary = run.summary
    assert summary["errors"] == [] and summary["epochs"] == 3
    ends = {}
    for line in run.reports:
        ends.setdefault(line["epoch"], []).append(line["fate"])
    assert set(ends) == {0, 1, 2}
    for fates in ends.values():
        assert fates.count("delivered") >= 5, ends


@pytest.mark.costly
def test_a_device_that_somebody_else_uses_is_refused_and_the_run_goes_on(camera, tmp_path):
    with begin(tmp_path, camera) as run:
        run.wait_for_frames(10)
        with held(PLANES):
            answer = ask(tmp_path, "reconfigure", f"source=camera:{PLANES}", check=False)
        assert not answer["ok"] and PLANES in answer["error"], answer
        run.wait_for_frames(30)
        run.stop()
    assert_ledger_is_the_drivers(run)
    assert run.summary["epochs"] == 1 and run.summary["errors"] == []


@pytest.mark.costly
def test_another_device(camera, grabber, tmp_path):
    with begin(tmp_path, camera) as run:
        wait_for_more_frames(tmp_path, 10)
        ask(tmp_path, "reconfigure", f"source=camera:{GRABBER}")
        wait_for_more_frames(tmp_path, 5)
        ask(tmp_path, "reconfigure", f"source=camera:{camera}", "size=320x180")
        wait_for_more_frames(tmp_path, 5)
        run.stop()
    assert run.summary["errors"] == [] and run.summary["epochs"] == 3
