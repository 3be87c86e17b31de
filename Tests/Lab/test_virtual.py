"""A virtual camera: other programs see in v4l2loopback what was sent, to the bit and in time, and come and
go."""
import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest

from conftest import LIMIT, LOOPBACK, control, wait_until
from program import SPROCKET, one_sentence, preloaded, read_allocations, read_lines, read_summary, sprocket
from recordings import whole_jpeg, without_exif

WIDTH, HEIGHT, RATE = 320, 240, 15
SIZES = {"YU12": WIDTH * HEIGHT * 3 // 2, "YUYV": WIDTH * HEIGHT * 2, "NV12": WIDTH * HEIGHT * 3 // 2}
GSTREAMER = {"YU12": "I420", "YUYV": "YUY2", "NV12": "NV12"}
# Frames that repeat, so that what arrives can be found among what was sent.
SCENE = ["--source", "scene", "--source-set", "cached=12", "--size", f"{WIDTH}x{HEIGHT}"]


@contextlib.contextmanager
def camera(folder, *arguments, settings="", rate=RATE):
    """A run that feeds the device until it is stopped; its control socket and summary are in `folder`."""
    command = [SPROCKET, "run", *map(str, [*SCENE, *arguments]), "--rate", str(rate), "--virtual",
               LOOPBACK + settings,
               "--summary", str(folder / "summary.json"), "--control-socket", str(folder / "run.socket"),
               "--overwrite", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: process.poll() is not None or current_format())
        assert process.poll() is None, process.stderr.read()
        yield process
    finally:
        process.kill()
        process.wait()


def current_format():
    """The format that readers see; none while nobody feeds the device."""
    said = subprocess.run(["v4l2-ctl", "-d", LOOPBACK, "--list-formats"], capture_output=True, text=True,
                          timeout=LIMIT).stdout
    return next((word for word in ("YU12", "YUYV", "NV12", "RGB3", "MJPG") if f"'{word}'" in said), None)


def stop(process, folder):
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, errors.decode()
    return read_summary(folder / "summary.json")


def status(folder):
    return json.loads(sprocket("ask", folder / "run.socket", "status").stdout)["status"]


def seen_consumers(folder):
    load = next(load for load in status(folder)["sink_loads"] if load["name"] == "virtual")
    return load["counts"]["consumers"]


def sent(pixels, rate):
    """The frames of the scene as `pixels`, each once: the planes that `--pipe y4m` gives, rearranged."""
    y4m = sprocket("run", *SCENE, "--rate", rate, "--frames", 24, "--format", pixels, "--pipe", "y4m",
                   "--quiet").stdout
    return {rearranged(planes, pixels) for planes in y4m.split(b"FRAME\n")[1:]}


def rearranged(planes, pixels):
    area = WIDTH * HEIGHT
    half = (len(planes) - area) // 2
    luma, blue, red = planes[:area], planes[area:area + half], planes[area + half:]
    frame = bytearray(len(planes))
    if pixels == "YUYV":
        frame[::2], frame[1::4], frame[3::4] = luma, blue, red
        return bytes(frame)
    if pixels == "NV12":
        frame[:area], frame[area::2], frame[area + 1::2] = luma, blue, red
        return bytes(frame)
    return planes


def by_ffmpeg(count, pixels):
    return subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "v4l2", "-i", LOOPBACK, "-frames:v", str(count), "-c", "copy", "-f",
         "rawvideo", "-"], capture_output=True, check=True, timeout=LIMIT).stdout


def by_gstreamer(count, pixels):
    result = subprocess.run(
        ["gst-launch-1.0", "-q", "v4l2src", f"device={LOOPBACK}", f"num-buffers={count}", "!",
         f"video/x-raw,format={GSTREAMER[pixels]},width={WIDTH},height={HEIGHT}", "!", "fdsink", "fd=1"],
        capture_output=True, timeout=LIMIT)
    assert result.returncode == 0, result.stderr
    return result.stdout


def by_opencv(count, pixels):
    """OpenCV as it is, without its conversion to BGR."""
    script = f"""
import sys, cv2
camera = cv2.VideoCapture("{LOOPBACK}", cv2.CAP_V4L2)
assert camera.isOpened()
assert (camera.get(cv2.CAP_PROP_FRAME_WIDTH), camera.get(cv2.CAP_PROP_FRAME_HEIGHT)) == ({WIDTH}, {HEIGHT})
camera.set(cv2.CAP_PROP_CONVERT_RGB, 0)
for _ in range({count}):
    found, frame = camera.read()
    assert found
    sys.stdout.buffer.write(frame.tobytes())
"""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, check=True,
                          timeout=LIMIT).stdout


def assert_sent(data, pixels, count, rate=RATE, torn=1):
    """A reader that is too slow may find a frame that is being overwritten: one at most."""
    size = SIZES[pixels]
    assert len(data) == count * size
    frames = [data[start:start + size] for start in range(0, len(data), size)]
    known = sent(pixels, rate)
    assert len(known) > 6
    strange = [index for index, frame in enumerate(frames) if frame not in known]
    assert len(strange) <= torn, strange
    assert len(set(frames)) > 2  # Not one picture all the time.


@pytest.mark.costly
@pytest.mark.parametrize("reader", [by_ffmpeg, by_gstreamer, by_opencv])
def test_other_programs_see_what_was_sent(reader, tmp_path):
    # If a reader falls behind by more than its four buffers, v4l2loopback returns a buffer that the reader
    # still holds, and GStreamer stops. At a low rate an emulated machine does not fall behind so far.
    with camera(tmp_path, "--format", "I420", rate=5) as process:
        assert current_format() == "YU12"
        data = reader(10, "YU12")
        summary = stop(process, tmp_path)
    assert_sent(data, "YU12", 10, rate=5)
    sink = summary["sinks"]["virtual"]
    # An emulated machine may pause for longer than eight frames take, or than the scene makes up for.
    lost = sink["overrun"] + sink["behind"] + sink["missing"]
    assert sink["delivered"] + lost == summary["produced"]
    assert sink["counts"] == {"copies": sink["delivered"], "consumers": 0}
    assert "YU12 320x240" in " ".join(summary["notes"])


@pytest.mark.parametrize("pixels", ["YUYV", "NV12"])
def test_each_format_keeps_its_bytes(pixels, tmp_path):
    with camera(tmp_path, "--format", pixels, settings=f",format={pixels}") as process:
        assert current_format() == pixels
        data = by_ffmpeg(8, pixels)
        stop(process, tmp_path)
    assert_sent(data, pixels, 8)


@pytest.mark.costly
def test_consumers_come_and_go(tmp_path):
    # At a rate at which even an emulated machine has time for each frame.
    with camera(tmp_path, "--format", "I420", rate=5) as process:
        assert seen_consumers(tmp_path) == 0
        for _ in range(2):
            reader = subprocess.Popen(["v4l2-ctl", "-d", LOOPBACK, "--stream-mmap=4", "--stream-count=1000"],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_until(lambda: seen_consumers(tmp_path) == 1)
            second = subprocess.Popen(
                ["ffmpeg", "-v", "error", "-f", "v4l2", "-i", LOOPBACK, "-f", "null", "-"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_until(lambda: seen_consumers(tmp_path) >= 2)
            for program in (reader, second):
                program.kill()
                program.wait()
            wait_until(lambda: seen_consumers(tmp_path) == 0)
        # A reader asked for fewer buffers than there are: what is sent is still what arrives.
        data = by_ffmpeg(6, "YU12")
        summary = stop(process, tmp_path)
    assert_sent(data, "YU12", 6, rate=5)
    sink = summary["sinks"]["virtual"]
    assert sink["delivered"] == summary["produced"] > 30
    assert sink["counts"]["copies"] == sink["delivered"]


@pytest.mark.costly
def test_a_frame_is_there_before_the_next_one(tmp_path):
    # The emulated machine stands still for a tenth of a second when a program starts.
    rate = 5
    with camera(tmp_path, "--format", "I420", "--duration", "40s", rate=rate) as process:
        reader = subprocess.Popen(["v4l2-ctl", "-d", LOOPBACK, "--stream-mmap=4", "--stream-count=400"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, errors = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, errors.decode()
        reader.kill()
        reader.wait()
    sink = read_summary(tmp_path / "summary.json")["sinks"]["virtual"]
    print("latency", sink["latency_us"])
    assert sink["latency_us"]["count"] > 150
    assert sink["latency_us"]["p99"] < 1e6 / rate


def test_times_are_those_of_capture(tmp_path):
    """v4l2-ctl prints the time of each frame: CLOCK_MONOTONIC, spaced as the scene's frames."""
    with camera(tmp_path, "--format", "I420", "--reports", tmp_path / "reports.jsonl") as process:
        said = subprocess.run(
            ["v4l2-ctl", "-d", LOOPBACK, "--stream-mmap=4", "--stream-count=8", "--verbose"],
            capture_output=True, text=True, timeout=LIMIT)
        stop(process, tmp_path)
    words = (said.stdout + said.stderr).replace(",", " ").split()
    times = {round(float(words[place + 1]) * 1e6) for place, word in enumerate(words) if word == "ts:"}
    captured = {line["captured_ns"] // 1000 for line in read_lines(tmp_path / "reports.jsonl")}
    # v4l2loopback 0.12 gives the frames in its buffers the moment at which a reader asks for buffers.
    others = times - captured
    assert len(times & captured) >= 5 and (not others or max(others) - min(others) < 1000)


@pytest.mark.costly
def test_what_cannot_be_written_to_is_refused(tmp_path):
    """vivid's camera is no output; a device that Sprocket writes to is busy."""
    refused = sprocket("run", *SCENE, "--frames", 5, "--virtual", "/dev/video0", check=False)
    assert refused.returncode != 0 and "is no virtual camera" in one_sentence(refused.errors)
    with camera(tmp_path, "--format", "I420") as process:
        busy = sprocket("run", *SCENE, "--frames", 5, "--virtual", LOOPBACK, check=False)
        assert busy.returncode != 0 and "another program writes to" in one_sentence(busy.errors)
        own = sprocket("run", "--source", f"camera:{LOOPBACK}", "--frames", 5, "--virtual", LOOPBACK,
                       check=False)
        assert own.returncode != 0
        stop(process, tmp_path)
    # Released: the next run may have another format.
    with camera(tmp_path, "--format", "YUYV"):
        assert current_format() == "YUYV"


def test_the_camera_of_a_run_is_not_its_virtual_camera():
    feed = subprocess.Popen(
        ["ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", f"testsrc2=size={WIDTH}x{HEIGHT}:rate=10", "-t",
         "60", "-pix_fmt", "yuv420p", "-f", "v4l2", LOOPBACK], stdin=subprocess.DEVNULL)
    try:
        wait_until(current_format)
        own = sprocket("run", "--source", f"camera:{LOOPBACK}", "--frames", 5, "--virtual", LOOPBACK,
                       check=False)
        assert own.returncode != 0 and "is the camera of this run" in one_sentence(own.errors)
    finally:
        feed.kill()
        feed.wait()


@pytest.mark.costly
def test_a_format_that_is_held_is_adapted_to_or_told_of(tmp_path):
    """keep_format holds what the device was set to last."""
    with camera(tmp_path, "--format", "YUYV") as process:
        control(LOOPBACK, keep_format=1)
        stop(process, tmp_path)
    try:
        # Another format of the same size is converted.
        with camera(tmp_path, "--format", "I420") as process:
            assert current_format() == "YUYV"
            data = by_ffmpeg(4, "YUYV")
            stop(process, tmp_path)
        size = WIDTH * HEIGHT
        lumas = {frame[:size] for frame in sent("YU12", RATE)}
        frames = [data[start:start + 2 * size] for start in range(0, len(data), 2 * size)]
        assert len(frames) == 4 and sum(frame[::2] in lumas for frame in frames) >= 3
        # Another size is not.
        refused = sprocket("run", "--source", "scene", "--size", "640x480", "--frames", 5, "--virtual",
                           LOOPBACK, check=False)
        sentence = one_sentence(refused.errors)
        assert refused.returncode != 0 and "YUYV 320x240" in sentence
        assert "add the stage resize:size=320x240,mode=letterbox" in sentence and "--stage" in sentence
        asked = sprocket("run", "--source", "scene", "--size", "640x480", "--frames", 5, "--stage",
                         f"resize:size={WIDTH}x{HEIGHT}", "--virtual", LOOPBACK, "--quiet")
        assert asked.returncode == 0
    finally:
        control(LOOPBACK, keep_format=0)


@pytest.mark.costly
def test_a_crash_releases_the_device(tmp_path):
    with camera(tmp_path, "--format", "I420") as process:
        process.kill()
        process.wait()
    with camera(tmp_path, "--format", "YUYV"):
        assert current_format() == "YUYV"


@pytest.mark.costly
def test_no_frame_allocates_memory(tmp_path):
    """As Tests/Judges/test_allocations.py has it: the difference of two runs is 1,000 frames."""
    counter = preloaded("allocations.c", tmp_path)
    counts = []
    for frames in (100, 1100):
        path = tmp_path / f"counts-{frames}"
        command = [SPROCKET, "run", *SCENE, "--format", "YUYV", "--source-set", "pace=fast", "--frames",
                   frames, "--virtual", LOOPBACK, "--quiet"]
        subprocess.run(list(map(str, command)), check=True, timeout=LIMIT,
                       env={**os.environ, "LD_PRELOAD": str(counter), "ALLOCATIONS": str(path)})
        counts.append(read_allocations(path))
    found = {name: (counts[1][name] - counts[0][name]) / 1000 for name in counts[1]}
    print({name: count for name, count in found.items() if count})
    assert abs(found["sprocket"]) < 0.05


@pytest.mark.costly
def test_jpegs_are_passed_on(tmp_path):
    """A chain that changes nothing hands on the camera's own JPEGs, if it is asked to."""
    with camera(tmp_path, "--format", "MJPG", settings=",format=mjpg") as process:
        assert current_format() == "MJPG"
        data = by_ffmpeg(4, "MJPG")
        stop(process, tmp_path)
    images = [b"\xff\xd8\xff" + part for part in data.split(b"\xff\xd8\xff")[1:]]
    assert len(images) == 4
    folder = tmp_path / "stills"
    sprocket("run", *SCENE, "--rate", RATE, "--format", "MJPG", "--frames", 12, "--stills", folder, "--quiet")
    known = {whole_jpeg(without_exif(path.read_bytes())) for path in folder.iterdir()}
    assert sum(whole_jpeg(image) in known for image in images) >= 3


@pytest.mark.costly
def test_a_reconfigured_size_follows(tmp_path):
    """Without readers the device is set anew; while one holds the format the sink ends with a sentence."""
    with camera(tmp_path, "--format", "I420") as process:
        sprocket("ask", tmp_path / "run.socket", "reconfigure", "size=160x120")
        wait_until(lambda: "160/120" in subprocess.run(
            ["v4l2-ctl", "-d", LOOPBACK, "-V"], capture_output=True, text=True).stdout.replace(" ", ""))
        reader = subprocess.Popen(["v4l2-ctl", "-d", LOOPBACK, "--stream-mmap=4", "--stream-count=1000"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: seen_consumers(tmp_path) == 1)
            sprocket("ask", tmp_path / "run.socket", "reconfigure", "size=320x240")
            _, errors = process.communicate(timeout=LIMIT)
        finally:
            reader.kill()
            reader.wait()
    sentence = one_sentence(errors.decode())
    assert process.returncode != 0 and "YU12 160x120" in sentence and "resize:size=160x120" in sentence
