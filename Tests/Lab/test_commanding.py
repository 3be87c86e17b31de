"""Controls, profiles, priority and the sensor's part, judged by v4l2-ctl."""
import json
import pathlib
import re
import subprocess

import pytest

from conftest import CAMERA, GRABBER, LIMIT, PLANES, Run, control, read_control, tool, wait_until
from program import SPROCKET, sprocket

# v4l2-ctl's types by ours.
KINDS = {"int": "number", "int64": "number", "bitmask": "number", "bool": "boolean", "menu": "menu",
         "intmenu": "menu", "button": "button", "str": "text"}


def listed(device):
    """What `v4l2-ctl --list-ctrls-menus` says: name -> type, keys, choices."""
    found, last = {}, None
    for line in tool("-d", device, "--list-ctrls-menus").splitlines():
        if match := re.match(r"\s+(\w+) 0x\w+ \((\w+) *\)\s*:(.*)", line):
            keys = dict(re.findall(r"(\w+)=('[^']*'|[^\s]+)", match[3].split("flags=")[0]))
            flags = match[3].split("flags=")[1] if "flags=" in match[3] else ""
            last = found[match[1]] = {"type": match[2], "keys": keys, "choices": {},
                                      "flags": [word.strip() for word in flags.split(",") if word.strip()]}
        elif last and (match := re.match(r"\s+(\d+): (.*?)(?: \(0x\w+\))?$", line)):
            last["choices"][int(match[1])] = match[2]
    return found


def ours(device):
    cameras = json.loads(sprocket("devices", device, "--json").stdout)
    assert [camera["node"] for camera in cameras] == [device]
    return {entry["name"]: entry for entry in cameras[0]["controls"]}


def spelled(text):
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


@pytest.mark.parametrize("device", [CAMERA, GRABBER])
def test_every_control_is_as_v4l2_ctl_lists_it(device):
    theirs, found = listed(device), ours(device)
    assert len(theirs) > 40 and found.keys() ^ theirs.keys() == set()
    seen = set()
    for name, entry in theirs.items():
        mine, keys = found[name], entry["keys"]
        kind = "array" if "dims" in entry["keys"] else KINDS.get(entry["type"], "array")
        seen.add(kind)
        assert mine["kind"] == kind, name
        # This v4l2-ctl has no word for V4L2_CTRL_FLAG_DYNAMIC_ARRAY.
        flags = ["dynamic-array" if flag == "0x00000800" else flag for flag in entry["flags"]]
        assert mine["flags"] == flags, name
        assert {choice["value"]: choice["name"] for choice in mine.get("choices") or []} \
            == {value: spelled(text) for value, text in entry["choices"].items()}, name
        for theirs_key, key in (("min", "minimum"), ("max", "maximum"), ("step", "step"),
                                ("default", "default"), ("value", "value")):
            if theirs_key not in keys or kind in ("button", "array"):
                continue
            if key == "value" and "volatile" in entry["flags"]:
                continue  # It changes from one look to the next.
            if kind == "text" and theirs_key == "value":
                assert keys["value"] == f"'{mine['text']}'", name
            elif key in mine and (kind != "text" or key != "default"):
                theirs_value = int(keys[theirs_key], 0)
                # v4l2-ctl shows the bits of a bitmask as a number with a sign, now and then.
                assert mine[key] == (theirs_value % 2**32 if entry["type"] == "bitmask" else theirs_value), \
                    (name, key)
            elif kind != "text":
                assert "write-only" in entry["flags"], (name, key)
        if kind == "array" and "dims" in keys:
            assert mine["dimensions"] == [int(size) for size in re.findall(r"\d+", keys["dims"])], name
    assert seen == {"number", "boolean", "menu", "button", "text", "array"} or device == GRABBER


def settable(device):
    """Values by v4l2-ctl that a profile has to restore."""
    return {name: entry["keys"]["value"] for name, entry in listed(device).items()
            if "value" in entry["keys"] and KINDS.get(entry["type"]) in ("number", "boolean", "menu")
            and "dims" not in entry["keys"]
            and not {"read-only", "volatile", "inactive", "write-only"} & set(entry["flags"])}


@pytest.mark.costly
def test_a_profile_gives_back_all_values(camera, tmp_path):
    control(camera, gain_automatic=0)
    control(camera, gain=37, brightness=11, contrast=222, saturation=3, hue=-9, menu=3, bitmask=5,
            boolean=0, integer_64_bits=77, test_pattern=4, horizontal_flip=1, integer_menu=2)
    before = settable(camera)
    profile = tmp_path / "profile"
    assert b"" == sprocket("devices", camera, "--save", profile).stderr
    lines = profile.read_text().splitlines()
    assert "# camera: vivid" in lines and "gain=37" in lines
    # v4l2-ctl takes its lines.
    values = [line.split("#")[0].strip() for line in lines if not line.startswith("#")]
    tool("-d", camera, "-c", ",".join(value for value in values if value.startswith(("gain=", "hue="))))
    control(camera, gain=90, brightness=200, contrast=1, saturation=127, hue=50, menu=1, bitmask=0, boolean=1,
            integer_64_bits=5, test_pattern=0, horizontal_flip=0, integer_menu=5)
    control(camera, gain_automatic=1)
    assert settable(camera) != before
    told = sprocket("devices", camera, "--controls", profile)
    assert told.returncode == 0 and b"gain=37" in told.stdout
    assert settable(camera) == before
    # With gain left to the driver, the automatic is kept and not its gain.
    control(camera, gain_automatic=1)
    assert sprocket("devices", camera, "--save", tmp_path / "automatic").returncode == 0
    text = (tmp_path / "automatic").read_text()
    assert "gain_automatic=1" in text and "\ngain=" not in text
    # A misspelt name is an error before anything is written.
    control(camera, brightness=99)
    told = sprocket("devices", camera, "--controls", profile, "--control", "brightnss=3",
                    check=False)
    assert told.returncode == 2 and read_control(camera, "brightness") == "99"
    # What is not there is told, and another model's profile is taken as far as it fits.
    (tmp_path / "other").write_text("# camera: Another\nbrightness=44\nzoom_absolute=3\ncontrast=9999\n")
    told = sprocket("devices", camera, "--controls", tmp_path / "other")
    assert told.returncode == 0 and read_control(camera, "brightness") == "44"
    for words in (b"those of Another", b"has no zoom_absolute", b"contrast=9999 is left out"):
        assert words in told.stderr


def test_a_run_begins_with_a_profile(camera, tmp_path):
    (tmp_path / "profile").write_text("gain=61\nbrightness=33\ngain_automatic=0\n")
    with Run(tmp_path, camera, "--format", "GREY", "--size", "320x180", "--frames", 5, "--null",
             "--controls", tmp_path / "profile", "--control", "brightness=34") as run:
        run.end()
    names = ("gain", "brightness", "gain_automatic")
    assert [read_control(camera, name) for name in names] == ["61", "34", "0"]


@pytest.mark.costly
def test_controls_of_a_device_that_streams(camera, tmp_path):
    """One batch, in any order; the run is told of what another program changes."""
    socket = tmp_path / "socket"
    with Run(tmp_path, camera, "--format", "GREY", "--size", "320x180", "--null", "--control-socket",
             socket) as run:
        run.wait_for_frames(5)
        watcher = subprocess.Popen([SPROCKET, "ask", socket, "events"], stdout=subprocess.PIPE)
        assert json.loads(watcher.stdout.readline())["ok"]
        told = sprocket("devices", camera, "--control", "gain=55", "--control", "gain_automatic=0")
        assert told.returncode == 0, told.stderr
        assert told.stdout.split() == [b"gain=55", b"gain_automatic=false"]
        status = wait_until(lambda: state(socket).get("gain") == 55 and state(socket))
        assert status["gain_automatic"] == 0
        control(camera, brightness=99)
        wait_until(lambda: state(socket)["brightness"] == 99)
        # Grabbed while frames come: refused, and nothing changes.
        asked = ask(socket, "control", "brightness=10", "enable_capture_scaler=0", "contrast=10")
        assert asked.returncode == 1 and b"enable_capture_scaler" in asked.stdout + asked.stderr
        assert b"none of the 3 controls was changed" in asked.stdout + asked.stderr
        assert read_control(camera, "brightness") == "99" and read_control(camera, "contrast") == "128"
        told = sprocket("devices", camera, "--control", "brightness=10", "--control",
                        "enable_capture_scaler=0", check=False)
        assert told.returncode == 1 and b"enable_capture_scaler" in told.stderr
        assert read_control(camera, "brightness") == "99"
        answer = json.loads(ask(socket, "control", "brightness=12", "contrast=13").stdout)
        assert answer["controls"] == {"brightness": 12, "contrast": 13}
        assert read_control(camera, "brightness") == "12" and read_control(camera, "contrast") == "13"
        run.stop()
    news = [json.loads(line) for line in watcher.communicate(timeout=LIMIT)[0].splitlines()]
    news = {(line["control"], line["value"]): line["frame"] for line in news if line["event"] == "control"}
    assert ("brightness", 99) in news and ("gain", 55) in news
    frame = run.reports[news["brightness", 99]]
    assert [event["value"] for event in frame["events"] if event["kind"] == "control_changed"] == [99]
    events = [event for line in run.reports for event in line.get("events", [])]
    changed = [event["value"] for event in events if event["kind"] == "control_changed"]
    assert 99 in changed and 55 in changed
    refused = [event for event in events if event["kind"] == "control_refused"]
    assert len(refused) == 3


@pytest.mark.costly
def test_a_batch_is_one_call_of_the_driver(camera):
    """By the kernel's own log of calls; of an automatic control and what it decides over there are two."""
    debug = pathlib.Path("/sys/class/video4linux/video0/dev_debug")

    def calls(*controls):
        subprocess.run(["dmesg", "--clear"], check=True)
        debug.write_text("3")
        try:
            sprocket("devices", camera, *(word for control in controls for word in ("--control", control)))
        finally:
            debug.write_text("0")
        log = subprocess.run(["dmesg"], capture_output=True, check=True).stdout.decode()
        return [int(count) for count in re.findall(r"VIDIOC_S_EXT_CTRLS: .*?count=(\d+)", log)]

    assert calls("brightness=1", "contrast=2", "saturation=3") == [3]
    assert calls("gain=5", "brightness=4", "gain_automatic=0") == [1, 2]
    assert [read_control(camera, name) for name in ("gain", "brightness", "contrast")] == ["5", "4", "2"]


def ask(socket, *arguments):
    return subprocess.run([SPROCKET, "ask", socket, *arguments], capture_output=True, timeout=LIMIT)


def state(socket):
    return json.loads(ask(socket, "status").stdout)["status"]["controls"]


@pytest.mark.costly
def test_others_are_kept_out_and_keep_out(camera, tmp_path):
    with Run(tmp_path, camera, "--format", "GREY", "--size", "320x180", "--null", "--source-set",
             "priority=record") as run:
        run.wait_for_frames(3)
        result = subprocess.run(["v4l2-ctl", "-d", camera, "-c", "brightness=5"], capture_output=True,
                                timeout=LIMIT)
        assert b"busy" in result.stdout + result.stderr
        assert read_control(camera, "brightness") == "128"
        told = sprocket("devices", camera, "--control", "brightness=5", check=False)
        assert told.returncode == 1 and b"has a higher priority" in told.stderr
        run.stop()
    other = subprocess.Popen(["v4l2-ctl", "-d", camera, "--set-priority=3", "--sleep=600"])
    try:
        wait_until(lambda: "3" in tool("-d", camera, "--get-priority"))
        told = sprocket("run", "--source", f"camera:{camera}", "--frames", "3", "--null", check=False)
        assert told.returncode == 1
        assert b"v4l2-ctl (process " in told.stderr and b"has a higher priority" in told.stderr
    finally:
        other.kill()
        other.wait()


def crop(device):
    text = tool("-d", device, "--get-selection=target=crop")
    return tuple(int(re.search(rf"{key} (\d+)", text)[1]) for key in ("Left", "Top", "Width", "Height"))


@pytest.mark.costly
def test_a_part_of_the_sensor(grabber, tmp_path):
    whole = crop(grabber)
    size = f"{whole[2]}x{whole[3]}"
    with Run(tmp_path, grabber, "--size", size, "--frames", 3, "--null", "--source-set",
             "sensorcrop=64/32/640/360") as run:
        run.wait_for_frames(2)
        assert crop(grabber) == (64, 32, 640, 360)
        run.end()
    told = sprocket("run", "--source", f"camera:{grabber}", "--frames", "1", "--null", "--source-set",
                    "sensorcrop=64/32/64000/360", check=False)
    assert told.returncode == 2 and b"is not on the sensor" in told.stderr
    with Run(tmp_path, grabber, "--size", size, "--frames", 1, "--null", "--source-set",
             "sensorcrop=all") as run:
        run.end()
    assert crop(grabber) == whole
    # vivid's webcams cannot.
    told = sprocket("run", "--source", f"camera:{CAMERA}", "--frames", "1", "--null", "--source-set",
                    "sensorcrop=all", check=False)
    assert told.returncode == 2 and b"cannot choose a part of its sensor" in told.stderr


def test_capabilities_are_said_with_their_reason():
    camera = json.loads(sprocket("devices", PLANES, "--json").stdout)[0]
    assert {name: entry["supported"] for name, entry in camera["capabilities"].items()} \
        == {"torch": False, "flash": False, "hdr": False}
    assert all(entry["reason"] for entry in camera["capabilities"].values())
