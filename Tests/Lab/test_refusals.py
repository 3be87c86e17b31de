"""What a person runs into with a camera, each answered with one sentence that says what to do."""
import subprocess

import pytest

from conftest import LIMIT, LOOPBACK, METADATA, OUTPUT, Run, assert_ledger_is_the_drivers, control, held
from program import SPROCKET, one_sentence, sprocket


def refused(*arguments, status=2):
    result = sprocket("run", *arguments, "--frames", 3, check=False)
    assert result.returncode == status, result.errors
    assert result.stdout == b""
    return one_sentence(result.errors)


@pytest.mark.parametrize("name, status", [("/dev/video99", 1), ("nowhere", 1), ("/dev/null", 2)])
def test_a_device_that_is_not_there(name, status):
    sentence = refused("--source", f"camera:{name}", status=status)
    assert name in sentence
    assert "`devices`" in sentence or "vivid" in sentence


def test_a_device_that_somebody_else_uses(camera):
    with held(camera) as pid:
        sentence = refused("--source", f"camera:{camera}", status=1)
    assert camera in sentence and ("busy" in sentence or "in use" in sentence)
    assert "v4l2-ctl" in sentence or str(pid) in sentence
    sprocket("run", "--source", f"camera:{camera}", "--size", "320x180", "--frames", 3, "--quiet")


def as_another_user(*arguments, groups="--clear-groups"):
    """The program's sentence to a user without rights, or in the groups that udev gives devices to."""
    # Reading files is allowed, so that the program may lie in a folder that is private.
    command = ["setpriv", "--reuid", "65534", "--regid", "65534", groups, "--inh-caps",
               "+dac_read_search", "--ambient-caps", "+dac_read_search", SPROCKET, "run", *arguments,
               "--frames", "3"]
    result = subprocess.run(command, capture_output=True, timeout=LIMIT)
    assert result.returncode in (1, 2) and result.stdout == b""
    return one_sentence(result.stderr.decode())


@pytest.mark.costly
def test_a_device_without_permission(camera):
    sentence = as_another_user("--source", f"camera:{camera}")
    assert camera in sentence and "video" in sentence.replace(camera, "")  # The group to join.


@pytest.mark.costly
def test_another_user_is_told_what_to_do(camera):
    """Busy, gone, of the wrong kind, without a format: as a member of the group `video`."""
    def told(device):
        return as_another_user("--source", f"camera:{device}", groups="--groups=video")
    with held(camera):
        assert "in use by another program" in told(camera)
    assert "there is no camera `/dev/video99`; there are: vivid" in told("/dev/video99")
    for kind in (OUTPUT, METADATA):
        assert f"{kind} captures no video; `devices` lists what does" in told(kind)
    assert "feeds" in told(LOOPBACK)
    assert "320x180" in as_another_user("--source", f"camera:{camera}", "--size", "321x181",
                                        groups="--groups=video")


@pytest.mark.parametrize("arguments, says", [
    (["--size", "321x181"], "320x180"),
    (["--format", "MJPG"], "YUYV"),
    (["--format", "GREY", "--size", "64x48"], "640x480"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_what_the_device_does_not_offer(camera, arguments, says):
    assert says in refused("--source", f"camera:{camera}", *arguments)


def test_a_control_that_the_device_does_not_have(camera):
    assert "brightness" in refused("--source", f"camera:{camera}", "--control", "iris=3")
    assert "255" in refused("--source", f"camera:{camera}", "--control", "brightness=256")


def test_unplugged_while_it_runs_and_there_again_for_the_next(camera, tmp_path):
    run = Run(tmp_path, camera, "--size", "320x180", "--format", "GREY", "--checksum", "--dump",
              tmp_path / "dump.mcap", "--on-unplug", "stop")
    with run:
        run.wait_for_frames(20)
        control(camera, disconnect=1)  # vivid plugs itself in when nobody has it open any more.
        errors = run.end(status=1)
    assert camera in one_sentence(errors)
    assert_ledger_is_the_drivers(run)
    assert run.summary["produced"] >= 20
    assert (tmp_path / "dump.mcap").exists()
    with Run(tmp_path, camera, "--size", "320x180", "--frames", 3) as run:
        run.end()


def test_a_loopback_that_nobody_feeds():
    sentence = refused("--source", f"camera:{LOOPBACK}", status=1)
    assert LOOPBACK in sentence and "feeds" in sentence
