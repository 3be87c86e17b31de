"""No allocation per frame in Swift code or our own C, counted by caller, on every built-in chain.

What libraries allocate inside is measured, must be constant, and is printed (`pytest -rP`).
"""
import json
import os
import shutil
import subprocess

import pytest

from conftest import LIMIT, SPROCKET
from program import preloaded, read_allocations

FEW, MANY = 300, 1300  # The difference of two runs is 1,000 frames: no start-up in it.
# An allocation per frame would give 1 or more. Some allocations are per run: threads that start together may
# both make a type's metadata (two equal runs differ by up to 14 of 7,000 allocations, measured on a busy
# machine), a dump's chunk of 8 MB or 1 s takes up to three, and a live run waits longer on a busy machine.
PER_RUN = 0.05
TRIES = 3  # What comes with each frame comes in each of them.
# Libraries that are neither ours nor Swift's run-time, and may allocate a constant number of times.
FOREIGN = ("libturbojpeg", "libav", "libswscale", "libswresample", "libx264", "libdav1d", "libyuv",
           "libc.so", "libstdc++", "libzbar")


@pytest.fixture(scope="module")
def counter(tmp_path_factory):
    return preloaded("allocations.c", tmp_path_factory.mktemp("counter"))


def counted(counter, folder, arguments, frames, code=0):
    path = folder / "counts"
    # Stills of an earlier run are looked at, one by one.
    shutil.rmtree(folder / "stills", ignore_errors=True)
    environment = {**os.environ, "LD_PRELOAD": str(counter), "ALLOCATIONS": str(path)}
    command = [SPROCKET, *map(str, arguments), "--frames", str(frames), "--quiet", "--overwrite"]
    result = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, timeout=LIMIT)
    assert result.returncode == code
    return read_allocations(path)


def per_frame(counter, folder, arguments):
    """Allocations per frame by library; sinks write into `folder`. Of some tries the one with the least of
    ours."""
    found = []
    while len(found) < TRIES and not any(worst(each) < PER_RUN for each in found):
        found.append(one_try(counter, folder, arguments))
    return min(found, key=worst)


def worst(found):
    """Of our own code."""
    return max((abs(count) for name, count in found.items() if not name.startswith(FOREIGN)), default=0)


def one_try(counter, folder, arguments):
    few, many = (counted(counter, folder, arguments, frames) for frames in (FEW, MANY))
    found = {name: (many[name] - few[name]) / (MANY - FEW) for name in many}
    return {name: count for name, count in found.items() if count != 0}


def judge(found):
    print(found)
    assert worst(found) < PER_RUN, found


CHAINS = {
    "null": [],
    "latedrop": ["--stage", "latedrop"],
    "meter": ["--stage", "meter"],
    "zones": ["--stage", "meter:mode=zones,samples=1000"],
    "focus": ["--stage", "focus"],
    "motion": ["--stage", "motion"],
    "autofocus": ["--stage", "meter", "--auto-focus", "continuous"],
    "autoexposure": ["--auto-exposure", "continuous", "--source-set", "lightstep=2", "--source-set",
                     "lightat=1"],
    "codes": ["--stage", "codes:interval=0s,types=all"],
    "negate": ["--stage", "negate"],
    "overlay": ["--stage", "overlay"],
    "overlay, utc": ["--stage", "overlay:text={source} {frame} {time} {zone},zone=utc"],
    "repeatdrop": ["--stage", "repeatdrop"],
    "debayer": ["--format", "GRBG", "--stage", "debayer"],
    "debayer, all bits": ["--format", "pRCC", "--stage", "debayer:depth=source", "--stage", "meter"],
    "stabilize": ["--stage", "stabilize:mode=standard"],
    "stabilize, later frames": ["--stage", "stabilize:mode=cinematic"],
    "geometry": ["--stage", "crop:region=0.1/0.1/0.7/0.6", "--stage", "resize:size=200x200,mode=letterbox",
                 "--stage", "rotate:turn=180"],
    "all": ["--stage", "latedrop", "--stage", "meter", "--stage", "focus", "--stage", "stabilize",
            "--stage", "negate"],
}
FORMATS = ["MJPEG", "YUYV", "NV12", "I420", "GREY", "Y16", "RGB24"]


@pytest.mark.parametrize("chain", CHAINS)
def test_no_chain_allocates_per_frame(chain, counter, tmp_path):
    sinks = ["--reports", tmp_path / "r.jsonl", "--checksum", "--pipe", "y4m"]
    scene = ["run", "--source", "scene", "--size", "160x120"]
    judge(per_frame(counter, tmp_path, [*scene, *CHAINS[chain], *sinks]))


def test_changed_settings_allocate_at_the_change_alone(counter, tmp_path):
    # All changes come before the frames that are counted.
    changes = [{"stage": "meter", "settings": {"mode": "spot", "point": "0.3/0.4"}},
               {"stage": "focus", "settings": {"window": 0.3}},
               {"stage": "stabilize", "settings": {"crop": 0.1}},
               {"stage": "latedrop", "settings": {"budget": "1s"}}]
    script = tmp_path / "script"
    script.write_text("\n".join(
        json.dumps({"request": "set", "at_frame": 10 * index, **change})
        for index, change in enumerate(changes)))
    judge(per_frame(counter, tmp_path, ["run", "--source", "scene", "--size", "160x120", *CHAINS["all"],
                                        "--script", script, "--null"]))


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_allocates_per_frame(name, counter, tmp_path):
    scene = ["run", "--source", "scene", "--size", "161x121", "--format", name]
    judge(per_frame(counter, tmp_path, [*scene, *CHAINS["all"], "--null"]))


@pytest.mark.parametrize("name", ["mjpeg", "mpeg4"])
def test_no_file_allocates_per_frame(name, counter, tmp_path):
    path = tmp_path / "clip.avi"
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=30", "-frames:v",
         "1400", "-c:v", name, "-pix_fmt", "yuvj420p" if name == "mjpeg" else "yuv420p", str(path)],
        check=True, timeout=LIMIT)
    judge(per_frame(counter, tmp_path,
                    ["run", "--source", f"file:{path}", *CHAINS["all"], "--checksum"]))


def test_codes_in_view_are_allocated_by_their_library_alone(counter, tmp_path):
    code, path = tmp_path / "code.png", tmp_path / "clip.avi"
    subprocess.run(["qrencode", "-s", "4", "-o", str(code), "allocations"], check=True, timeout=LIMIT)
    subprocess.run(["ffmpeg", "-v", "error", "-loop", "1", "-i", str(code), "-vf", "pad=160:120:-1:-1:white",
                    "-frames:v", "1400", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", str(path)],
                   check=True, timeout=LIMIT)
    found = per_frame(counter, tmp_path, ["run", "--source", f"file:{path}", "--stage", "codes:interval=0s",
                                          "--reports", tmp_path / "r.jsonl"])
    assert '"text":"allocations"' in (tmp_path / "r.jsonl").read_text()
    judge(found)


@pytest.mark.alone
@pytest.mark.parametrize("wait", ["park", "spin-park"])
def test_no_live_run_allocates_per_frame(wait, counter, tmp_path):
    scene = ["run", "--source", "scene", "--size", "64x48", "--rate", "600", "--source-set",
             "pace=real", "--source-set", "cached=60", "--wait", wait]
    judge(per_frame(counter, tmp_path, [*scene, *CHAINS["all"], "--null"]))


@pytest.mark.parametrize("name", ["MJPEG", "YUYV", "I420"])
def test_no_dump_allocates_per_frame(name, counter, tmp_path):
    scene = ["run", "--source", "scene", "--size", "160x120", "--format", name]
    judge(per_frame(counter, tmp_path, [*scene, *CHAINS["all"], "--dump", tmp_path / "a.mcap"]))


@pytest.mark.parametrize("name", ["MJPEG", "I420"])
def test_no_replay_allocates_per_frame(name, counter, tmp_path):
    path = tmp_path / "a.mcap"
    subprocess.run([SPROCKET, "run", "--source", "scene", "--size", "160x120", "--format", name, "--frames",
                    str(MANY + 100), "--dump", str(path), "--quiet"], check=True, timeout=LIMIT)
    judge(per_frame(counter, tmp_path,
                    ["run", "--source", f"replay:{path}", *CHAINS["all"], "--checksum"]))


@pytest.mark.parametrize("stage", [[], ["--stage", "negate", "--stage", "meter", "--movie-reports"]],
                         ids=["own", "encoded with reports"])
@pytest.mark.parametrize("container", ["mov", "mp4", "mkv"])
def test_no_movie_allocates_per_frame(container, stage, counter, tmp_path):
    scene = ["run", "--source", "scene", "--size", "160x120", "--format", "MJPG"]
    judge(per_frame(counter, tmp_path, [*scene, *stage, "--movie", tmp_path / f"m.{container}"]))


@pytest.mark.parametrize("name", ["MJPG", "YUYV", "Y16", "RGB24"])
def test_no_still_allocates_per_frame(name, counter, tmp_path):
    scene = ["run", "--source", "scene", "--size", "161x121", "--format", name]
    judge(per_frame(counter, tmp_path, [*scene, "--stills", tmp_path / "stills"]))


@pytest.mark.parametrize("name, ending", [("MJPG", "jpg"), ("YUYV", "png"), ("Y16", "png"), ("RGB24", "tif"),
                                          ("GRBG", "dng"), ("pRCC", "dng")])
def test_no_still_of_any_kind_allocates_per_frame(name, ending, counter, tmp_path):
    scene = ["run", "--source", "scene", "--size", "161x121", "--format", name]
    judge(per_frame(counter, tmp_path, [*scene, "--stills", tmp_path / "stills" / ("{time}-{n}." + ending)]))


@pytest.mark.parametrize("name", ["MJPG", "YUYV"])
def test_no_sharpest_still_allocates_per_frame(name, counter, tmp_path):
    scene = ["run", "--source", "scene", "--size", "161x121", "--format", name]
    judge(per_frame(counter, tmp_path, [*scene, "--stills", tmp_path / "stills", "--stills-sharpest",
                                        "300ms"]))


@pytest.mark.parametrize("name", ["MJPG", "YUYV"])
def test_no_still_that_is_kept_for_a_request_allocates_per_frame(name, counter, tmp_path):
    scene = ["run", "--source", "scene", "--size", "161x121", "--format", name]
    judge(per_frame(counter, tmp_path, [*scene, "--stills", tmp_path / "stills", "--on-demand", "--pre-roll",
                                        "2s"]))


def test_frames_that_need_tables_allocate_nothing(counter, tmp_path):
    one, path = tmp_path / "one.jpg", tmp_path / "clip.avi"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x120", "-frames:v",
                    "1", "-c:v", "mjpeg", "-huffman", "default", "-pix_fmt", "yuvj420p", str(one)],
                   check=True, timeout=LIMIT)
    data = one.read_bytes()
    start = data.index(b"\xff\xc4")
    length = int.from_bytes(data[start + 2: start + 4], "big") + 2
    bare = data[:start] + data[start + length:]
    assert b"\xff\xc4" not in bare
    (tmp_path / "bare.mjpeg").write_bytes(bare * 1400)
    subprocess.run(["ffmpeg", "-v", "error", "-f", "mjpeg", "-i", str(tmp_path / "bare.mjpeg"), "-c",
                    "copy", str(path)], check=True, timeout=LIMIT)
    judge(per_frame(counter, tmp_path, ["run", "--source", f"file:{path}", "--movie",
                                        tmp_path / "m.mov", "--stills", tmp_path / "stills"]))
