"""Python's package with the program: runs, batches of clips, dumps, requests; and the wheel."""
import asyncio
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import time

import cv2
import numpy as np
import pytest

import sprocket as package
from program import LIMIT, ROOT, SPROCKET, clip, sprocket, wait_for
from remembered import answer
from shares import FAST
from test_install import SWIFT, apart

SCENE = {"size": "320x240"}


def is_running(process):
    try:
        return "Z" not in pathlib.Path(f"/proc/{process}/stat").read_text().split()[2]
    except FileNotFoundError:
        return False


def test_a_run_yields_every_frame_and_has_a_summary():
    with package.run("scene", stages=["meter"], tensor=(64, 48), frames=40, **SCENE) as frames:
        with pytest.raises(package.Error, match="goes on"):
            frames.summary
        found = [(frame.number, frame.reports["meter"]["mean"]) for frame in frames]
        assert all(mean > 0 for _, mean in found) and not is_running(frames.pid)
    assert [number for number, _ in found] == list(range(40)) and (frames.seen, frames.missed) == (40, 0)
    assert frames.summary["sinks"]["share"]["delivered"] == 40
    assert repr(frames) == f"<sprocket.Run of process {frames.pid}: 40 frames seen, 0 missed, closed>"


def test_the_last_batch_of_a_run_may_be_shorter():
    batches = [(len(batch), batch.tensor.shape) for batch in
               package.run("scene", tensor="64x48", frames=10, batch=4, **SCENE)]
    assert batches == [(4, (4, 3, 48, 64)), (4, (4, 3, 48, 64)), (2, (2, 3, 48, 64))]


def test_a_number_of_seconds_and_the_side_of_a_square_are_accepted():
    def shapes(**options):
        frames = package.run("scene", stages="meter", tensor={"size": 48, **options.pop("tensor")}, rate=30,
                             **options, **SCENE)
        return [(frame.tensor.shape, frame.tensor.dtype, list(frame.reports)) for frame in frames]
    found = shapes(tensor={"type": np.float16}, duration=0.5)
    other = shapes(tensor={"type": "f16"}, duration="500ms")
    # Live, half a second has 15 frames, or one more; fewer where the machine is slow.
    for frames in (found, other):
        assert 0 < len(frames) < 17
        assert all(frame == ((1, 3, 48, 48), np.float16, ["meter"]) for frame in frames)


@pytest.mark.parametrize("source, options, kind, sentence", [
    ("file:nowhere.mov", {}, FileNotFoundError, "no file nowhere.mov"),
    ("replay:nowhere.mcap", {}, FileNotFoundError, "no file nowhere.mcap"),
    (f"file:{__file__}", {}, package.RunError, "test_python.py"),
    ("scene", {"stages": ["focsu"]}, ValueError, "did you mean `focus`"),
    ("scene", {"stages": [("focus", {})]}, TypeError, "a stage is a text"),
    ("scene", {"tensor": {"sice": 3}}, ValueError, "did you mean `size`"),
    ("scene", {"duration": "3x"}, ValueError, "duration=3x is not allowed"),
    ("scene", {"from_": 10}, ValueError, "^from_ is for a recording"),
    ("scene", {"movie": "/nowhere/a.mov"}, package.RunError, "/nowhere does not exist"),
    ("scene", {"fraems": 3}, ValueError, "no parameter `fraems`; did you mean `frames`"),
    ("scene", {"stage_": "focus"}, ValueError, "did you mean `stages`"),
    ("scene", {"summary": "a.json"}, ValueError, "no parameter `summary`"),
    ("file:/dev/null/x--from--stage", {}, FileNotFoundError, "null/x--from--stage"),
    ("scene", {"every": 2}, ValueError, "every=2"), ("scene", {"timeout": -1}, ValueError, "timeout=-1")])
def test_errors_come_from_run_itself_and_in_words_of_python(source, options, kind, sentence):
    with pytest.raises(kind, match=sentence) as error:
        package.run(source, **options)
    assert not str(error.value).startswith("sprocket: ") and " --" not in str(error.value)


def test_a_size_is_a_pair():
    with package.run("scene", size=(320, 240), frames=1) as frames:
        assert next(frames).image.shape == (240, 320, 3)


def test_a_coroutine_gets_what_a_loop_gets(tmp_path):
    async def numbers(**options):
        with package.run("scene", image="gray", size=(64, 48), **options) as frames:
            return [frame.number async for frame in frames], frames.summary["produced"]

    async def last_of(frames):
        async for _ in frames:
            pass

    async def all_of_them():
        with package.run("scene", batch=4, image="gray", size=(64, 48), frames=10) as batches:
            assert [len(batch) async for batch in batches] == [4, 4, 2]
        with package.run("scene", image="gray", size=(64, 48), source_set=["pace=real"]) as frames:
            with pytest.raises(asyncio.TimeoutError):
                for _ in range(1000):
                    await asyncio.wait_for(anext(frames), 0.0001)
            frame = await anext(frames)
            assert frames.seen + frames.missed == frame.number + 1
        with pytest.raises(package.Error, match="start another"):
            aiter(frames)
        # Another task closes the stream that this one waits for.
        waiting = package.run("scene", image="gray", size=(64, 48), timeout=None,
                              source_set=["pace=real", "stall=1", "stallfor=600s"])
        task = asyncio.create_task(last_of(waiting))
        await asyncio.sleep(0.05)
        waiting.close()
        await asyncio.wait_for(task, LIMIT)
        return await asyncio.gather(numbers(frames=30, movie=tmp_path / "a.mov"), numbers(frames=20))
    assert asyncio.run(all_of_them()) == [(list(range(30)), 30), (list(range(20)), 20)]
    assert package.inspect(tmp_path / "a.mov")["tracks"][0]["count"] == 30


def test_an_interrupt_leaves_the_run_and_its_files_whole(tmp_path):
    """The stop button of a notebook interrupts the process group of Python."""
    script = f"""
import os, signal, sprocket
frames = sprocket.run("scene", size=(64, 48), image="gray", source_set=["pace=real"],
                      movie={str(tmp_path / "a.mov")!r})
try:
    for frame in frames:
        if frame.number >= 5:
            os.killpg(0, signal.SIGINT)
except KeyboardInterrupt:
    later = next(frames)
frames.close()
print(later.number, frames.summary["produced"])
"""
    result = subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, timeout=LIMIT,
                            text=True, capture_output=True, start_new_session=True,
                            env={**os.environ, "PYTHONPATH": str(ROOT / "Python")})
    later, produced = map(int, result.stdout.split())
    assert 5 < later < produced == package.inspect(tmp_path / "a.mov")["tracks"][0]["count"]


def test_everything_public_says_what_it_is():
    for name in package.__all__:
        value = getattr(package, name)
        assert value.__doc__, name
        for part, member in vars(value).items() if isinstance(value, type) else ():
            if not part.startswith("_") and (callable(member) or isinstance(member, property)):
                assert member.__doc__, f"{name}.{part}"


def test_a_run_that_is_left_early_ends_its_program_and_completes_its_files(tmp_path):
    for frame in (frames := package.run("scene", movie=tmp_path / "a.mov", source_set=["pace=real"],
                                        **SCENE)):
        if frame.number == 10:
            break
    process = frames.pid
    del frames
    assert not is_running(process) and (tmp_path / "a.mov").exists() and frame.image.mean() > 0


def test_a_program_that_is_killed_is_an_error():
    frames = package.run("scene", source_set=["pace=real"], **SCENE)
    next(frames)
    os.kill(frames.pid, signal.SIGKILL)
    with pytest.raises(package.RunError, match="ended by SIGKILL"):
        for _ in frames:
            pass
    with pytest.raises(package.Error, match="the run was closed, or has been read to its end"):
        list(frames)


@pytest.mark.parametrize("pace", ["real", "fast"])
def test_who_keeps_a_frame_for_long_is_disconnected_only_where_frames_wait(pace):
    image = {"layout": "gray", "patience": "1s"}
    with package.run("scene", image=image, every=True, source_set=[f"pace={pace}"], **SCENE) as frames:
        next(frames)
        time.sleep(2.5)
        if pace == "real":
            assert [next(frames).number for _ in range(3)] == [1, 2, 3]
        else:
            with pytest.raises(package.ShareRefused, match="did not acknowledge a frame within 1s"):
                for _ in frames:
                    pass


def test_a_step_waits_for_the_end_of_a_run_no_longer_than_it_is_told(monkeypatch):
    frames = package.run("scene", frames=3, image="rgb", timeout=LIMIT, **SCENE)
    assert [next(frames).number for _ in range(3)] == [0, 1, 2]
    # Its files are incomplete for as long as this program does not end.
    process, frames._child._process = frames._child._process, subprocess.Popen(["sleep", str(LIMIT)])
    frames.timeout = 0.2
    try:
        for _ in range(2):
            with pytest.raises(package.Timeout, match="within 0.2 s"):
                next(frames)
        monkeypatch.setattr(frames, "_last_moment", time.monotonic())
        with pytest.raises(package.Error, match="has not completed its files within 300 s"):
            next(frames)
        assert next(frames, None) is None and frames.seen == 3
    finally:
        process.wait(LIMIT)


def test_a_run_that_is_stopped_by_sigterm_ends_its_readers_loops(tmp_path):
    path = str(tmp_path / "cam")
    writer = subprocess.Popen([SPROCKET, "run", "--source", "scene", "--source-set", "pace=real", "--share",
                               path, "--quiet"])
    with package.connect(path, wait=LIMIT) as others:
        next(others)
        writer.terminate()
        assert all(frame.number > 0 for frame in others) and writer.wait(LIMIT) == 0
    with package.run("scene", source_set=["pace=real"], **SCENE) as frames:
        next(frames)
        os.kill(frames.pid, signal.SIGTERM)
        assert all(frame.number > 0 for frame in frames) and frames.summary["produced"] > 0


@pytest.mark.parametrize("ending", ["raise SystemExit", "os.kill(os.getpid(), 9)", "1 / 0", "os._exit(3)"])
def test_a_program_ends_when_python_does(tmp_path, ending):
    script = (f"import os, sys\nsys.path.insert(0, {str(ROOT / 'Python')!r})\nimport sprocket\n"
              f"frames = sprocket.run('scene', movie={str(tmp_path / 'a.mov')!r}, source_set=['pace=real'])\n"
              f"next(frames)\nprint(frames.pid, flush=True)\n{ending}\n")
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LIMIT)
    process = int(result.stdout)
    wait_for(lambda: not is_running(process))
    wait_for((tmp_path / "a.mov").exists)


def count(frames):
    digest = 0
    for frame in frames:
        digest = (digest * 31 + int(frame.tensor.sum(dtype=np.uint64))) % (1 << 61)
    return frames.seen, digest


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    for number in range(4):
        sprocket("run", *FAST, "--frames", 30 + number, "--source-set", f"seed={number}", "--movie",
                 folder / f"{number}.mov", "--quiet")
    return sorted(folder.iterdir())


def test_a_batch_gives_what_single_runs_give(clips):
    image = {"layout": "rgb", "size": "64x48"}
    single = [(path, count(package.run(path, image=image))) for path in clips]
    assert [counts[0] for _, counts in single] == [30, 31, 32, 33]
    assert list(package.batch(clips, count, image=image)) == single
    several = {path: [] for path in clips}
    for path, frame in package.batch(map(str, clips), image=image):
        several[pathlib.Path(path)].append((frame.number, int(frame.tensor.sum(dtype=np.uint64))))
    alone = list(package.batch(clips[0], count, image=image))
    assert alone == single[:1] and list(package.batch(str(clips[0]), count, image=image))[0][1] == alone[0][1]
    for path, (seen, digest) in single:
        sums = several[path]
        assert [number for number, _ in sums] == list(range(seen))
        found = 0
        for _, part in sums:
            found = (found * 31 + part) % (1 << 61)
        assert found == digest


def test_a_clip_that_fails_ends_the_batch_with_its_sentence(clips):
    for function in ((), (count,)):
        with pytest.raises(package.NoSuchFile, match="no file nowhere.mov"):
            list(package.batch([clips[0], "nowhere.mov"], *function))


def lingers_behind_the_first(frames):
    if sum(1 for _ in frames) > 30:
        folder = pathlib.Path(os.environ["SPROCKET_TEST_FOLDER"])
        (folder / str(os.getpid())).touch()
        time.sleep(LIMIT)
        (folder / "finished").touch()


@pytest.mark.parametrize("other", ["nowhere.mov", None])
def test_a_batch_that_fails_or_is_left_does_not_wait_for_its_other_files(clips, tmp_path, monkeypatch, other):
    monkeypatch.setenv("SPROCKET_TEST_FOLDER", str(tmp_path))
    # One that fails is behind one that lingers.
    batch = package.batch([clips[1], other] if other else clips[:2], lingers_behind_the_first, processes=2)
    if other:
        with pytest.raises(package.NoSuchFile, match="no file nowhere.mov"):
            next(batch)
    else:
        next(batch)
        batch.close()
    workers = [int(path.name) for path in tmp_path.iterdir() if path.name != "finished"]
    wait_for(lambda: not any(map(is_running, workers)))
    assert not (tmp_path / "finished").exists()


def test_a_dump_has_pictures_bytes_and_reports_by_number_and_time(tmp_path):
    path = tmp_path / "take.mcap"
    sprocket("run", *FAST, "--frames", 40, "--stage", "focus", "--source-set", "drop=0.1", "--source-set",
             "corrupt=0.1", "--dump", path, "--reports", tmp_path / "reports.jsonl", "--quiet")
    table = package.reports(tmp_path / "reports.jsonl")
    with package.Dump(path) as dump:
        assert [frame.number for frame in dump] == list(range(40)) and dump.ledger["produced"] == 40
        np.testing.assert_array_equal(dump.table["focus.score"], table["focus.score"])
        fates = {frame.fate for frame in dump}
        assert fates == {"delivered", "missing", "corrupt"}
        delivered = [frame for frame in dump if frame.fate == "delivered"]
        for frame in (delivered[0], delivered[7], delivered[-1]):
            assert dump.at(frame.captured_ns) is frame is dump.at(frame.captured_ns + 1)
            assert dump.number(frame.number) is frame
            expected = cv2.imdecode(np.frombuffer(frame.data, np.uint8), cv2.IMREAD_COLOR)[..., ::-1]
            assert np.abs(expected.astype(int) - frame.image).mean() < 1
            assert frame.reports["focus"]["score"] == table["focus.score"][frame.number]
            assert frame.session["format"] == "MJPG"
        lost = next(frame for frame in dump if frame.fate == "missing")
        assert lost.data is None and lost.captured_ns is None
        with pytest.raises(package.Error, match=f"frame {lost.number} of .* has no picture: it is missing"):
            lost.image
        played = [(recorded, frame.sequence) for recorded, frame in dump.play(image="gray")]
        assert [recorded for recorded, _ in played] == delivered
        with pytest.raises(KeyError, match="no frame 99") as error:
            dump.number(99)
        assert isinstance(error.value, package.Error)
        for index in (40, -41):
            with pytest.raises(IndexError, match=f"has 40 frames; there is no frame .{index}") as error:
                dump[index]
            assert isinstance(error.value, package.Error)
        with pytest.raises(package.NoSuchItem, match=f"first one came at {delivered[0].captured_ns} ns"):
            dump.at(dump[0].captured_ns - 1)
        with pytest.raises(package.NoSuchItem, match="no report of stage meter; there are: .*focus"):
            delivered[0].reports["meter"]
        assert repr(dump) == f"<sprocket.Dump {path}: 40 frames>"
    with pytest.raises(package.Error, match="closed"):
        delivered[0].data
    (tmp_path / "cut.mcap").write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(package.Error, match="sprocket recover"):
        package.Dump(tmp_path / "cut.mcap")


def test_a_run_is_asked_and_what_it_refuses_is_told(tmp_path):
    options = {"movie": tmp_path / "take-{n}.mov", "on_demand": True, "control_socket": tmp_path / "c",
               "stills": tmp_path / "photos", "source_set": ["pace=real"], "rate": 60, **SCENE}
    with package.run("scene", stages=["meter"], every=False, **options) as frames:
        next(frames)
        with package.Control(tmp_path / "c") as control, package.Control(tmp_path / "c") as watcher:
            events = watcher.events()
            recording = control.record(frames=5)
            assert control.photo(2) == recording + 1
            control.set("meter", mode="spot")
            # Events of before the loop over them are there, too.
            wait_for(lambda: {recording, recording + 1} <= {
                record["recording"] for record in control.recordings()})
            seen = set()
            while not seen >= {("ended", recording), ("ended", recording + 1), ("settings", None)}:
                event = next(events)
                seen.add((event["event"], event.get("file", {}).get("recording")))
            assert control.status()["width"] == 320 and len(control.recordings()) >= 1
            with pytest.raises(package.Refused, match="no stage"):
                control.set("focus", window=0.3)
            with pytest.raises(package.Refused):
                control.control("nothing", 3)
            assert control.controls(gain=2, exposure=4000) == {"gain": 2, "exposure": 4000}
            with pytest.raises(package.Refused, match="exposure=-1 is not allowed"):
                control.controls(gain=3, exposure=-1)
            assert control.status()["controls"]["gain"] == 2
            control.quit()
        for _ in frames:
            pass
        with pytest.raises(package.Error, match="no run answers at"):
            package.Control(tmp_path / "c", wait=0)
    assert len(list((tmp_path / "photos").iterdir())) == 2
    recordings = {record["recording"]: record for record in frames.summary["recordings"]}
    assert recordings[recording]["frames"]["delivered"] == 5


def snippet(heading):
    """The first one under this heading of the package's README."""
    text = (ROOT / "Python/README.md").read_text().split(f"## {heading}\n")[1]
    return text.split("```python\n")[1].split("```")[0]


def test_the_readmes_lines_that_ask_a_run_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = snippet("Ask a run")
    assert '"camera"' in lines
    shown = []
    exec(lines.replace('"camera"', '"scene"'), {"sprocket": package, "show": shown.append})
    assert len(shown) > 0 and len(list(tmp_path.glob("take-*.mov"))) == 1
    assert len(list((tmp_path / "photos").iterdir())) == 3


def test_the_readmes_lines_that_ask_a_run_say_why_there_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(package.NoSuchFile, match="no file nowhere.mov"):
        exec(snippet("Ask a run").replace('"camera"', '"file:nowhere.mov"'), {"sprocket": package})


def test_a_program_that_sends_what_no_run_sends_is_told(tmp_path):
    import socket
    import threading
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "c"))
    listener.listen()

    def answer():
        for reply in (b"[1]\n", b"{" * 10000 + b"\n", b""):
            connection = listener.accept()[0]
            connection.recv(1000)
            connection.sendall(reply)
            connection.close()

    thread = threading.Thread(target=answer)
    thread.start()
    for sentence in ("what no run sends", "what no run sends", "has ended"):
        with package.Control(tmp_path / "c") as control, pytest.raises(package.Error, match=sentence):
            control.status()
    thread.join()
    listener.close()


LOOP = """
import sprocket
tensor = {"size": (320, 320), "mean": 0.5, "std": 0.5}
with sprocket.run("scene", stages=["focus"], tensor=tensor, frames=20) as frames:
    levels = [(frame.number, float(frame.tensor.mean()), frame.reports["focus"]["score"]) for frame in frames]
assert len(levels) == 20 and frames.missed == 0, levels
print(sprocket.program(), sprocket.__version__)
"""


@pytest.fixture(scope="module")
def wheel_file():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    made = subprocess.run(["make", "--silent", "--directory", ROOT, "--assume-old=release",
                           f"SPROCKET={SPROCKET}",
                           "wheel"], capture_output=True, text=True, timeout=LIMIT, env=environment)
    assert made.returncode == 0, made.stderr
    return ROOT / made.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(wheel_file, tmp_path_factory):
    """A fresh environment into which the wheel was installed."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=LIMIT)
    subprocess.run([folder / "bin/pip", "install", "--quiet", "--disable-pip-version-check", wheel_file],
                   check=True, timeout=LIMIT)
    return folder


def test_the_tag_of_the_wheel_is_true_and_it_fits_into_an_index(wheel_file, wheel):
    def overall_tag():
        shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", "--json", wheel_file], check=True,
                               capture_output=True, text=True, timeout=LIMIT).stdout
        return json.loads(shown)["overall_tag"]

    # What it looks at, which takes it a quarter of a minute: what each file needs, and of which versions.
    files = [path.relative_to(wheel) for path in sorted(wheel.glob("libexec/sprocket/lib/*"))]
    listed = subprocess.run(["readelf", "--wide", "--dynamic", "--version-info", "bin/sprocket",
                             "libexec/sprocket/sprocket", *files], cwd=wheel, check=True, capture_output=True,
                            text=True, timeout=LIMIT).stdout
    needs = re.findall(r"File: \S+|Name: \S+|\((?:NEEDED|RPATH|RUNPATH)\).*", listed)
    assert len(files) > 100 and len(needs) > 1000
    tag = answer("wheel auditwheel", ["\n".join(needs).encode()], [], overall_tag)
    # On Ubuntu 22.04, too: its glibc is 2.35.
    assert wheel_file.stem.split("-")[-1] == tag and int(tag.split("_")[2]) <= 35
    assert wheel_file.stat().st_size < 95_000_000 and wheel_file.name.startswith("sprocket_frames-")


def test_the_wheel_is_all_that_a_loop_over_tensors_needs(wheel):
    result = apart('mount -t tmpfs none "$1"; exec env -i PATH=/usr/bin:/bin "$2" -c "$3"', SWIFT,
                   wheel / "bin/python", LOOP)
    assert (result.returncode, result.stderr) == (0, "")
    version = sprocket("--version").stdout.decode().split()[1]
    assert result.stdout.split() == [str(wheel / "bin/sprocket"), version]
    manual = wheel / "share/man/man1/sprocket.1"
    assert manual.exists() and (wheel / "share/bash-completion/completions/sprocket").exists()


def test_the_first_lines_of_the_packages_readme_work(wheel):
    first = (ROOT / "Python/README.md").read_text().split("```python\n")[1].split("```")[0]
    result = subprocess.run([wheel / "bin/python", "-c", first], capture_output=True, text=True,
                            timeout=LIMIT, env={"PATH": "/usr/bin:/bin"})
    assert (result.returncode, result.stderr) == (0, "")
    assert [int(line.split()[0]) for line in result.stdout.splitlines()] == list(range(60))


def test_the_wheels_program_uses_no_library_of_the_machine_but_the_compilers(wheel, tmp_path):
    script = """
        import pathlib, sys, sprocket
        frames = sprocket.run("file:" + sys.argv[1], stages=["codes"], tensor=64, movie=sys.argv[2],
                              codec="h264")
        next(frames)
        print(pathlib.Path(f"/proc/{frames.pid}/maps").read_text())
        frames.close()"""
    # The machine's are offered first.
    listed = subprocess.run(["ldd", SPROCKET], check=True, capture_output=True, text=True).stdout.split()
    offered = pathlib.Path(listed[listed.index("libyuv.so.0") + 2]).parent
    result = subprocess.run([wheel / "bin/python", "-c", textwrap.dedent(script), clip("generic/box.mp4"),
                             tmp_path / "a.mp4"], capture_output=True, text=True, timeout=LIMIT,
                            env={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(offered)})
    assert (result.returncode, result.stderr) == (0, "")
    mapped = {pathlib.Path(line.split(maxsplit=5)[5]) for line in result.stdout.splitlines() if ".so" in line}
    own = {path.name for path in mapped if path.parent == wheel / "libexec/sprocket/lib"}
    assert {"libavcodec.so.59", "libx264.so.164", "libyuv.so.0", "libzbar.so.0"} <= own
    assert {path.name.split(".so")[0] for path in mapped if path.name not in own} == {
        "ld-linux-x86-64", "libc", "libm", "libpthread", "libresolv", "libgcc_s", "libstdc++"}


def test_the_wheel_is_taken_away_whole(wheel):
    subprocess.run([wheel / "bin/pip", "uninstall", "--yes", "--quiet", "sprocket-frames"], check=True,
                   timeout=LIMIT)
    assert [path for path in wheel.rglob("*") if "sprocket" in path.relative_to(wheel).as_posix()
            and path.is_file()] == []


def test_commands_that_are_no_runs(tmp_path):
    package.export(clip("generic/carphone_pristine.mp4"), tmp_path / "small.mp4", scale="88x72", to=1)
    found = package.inspect(tmp_path / "small.mp4")
    assert [(track["width"], track["height"]) for track in found["tracks"] if "width" in track] == [(88, 72)]
    assert isinstance(package.devices(), list)
    with pytest.raises(FileNotFoundError):
        package.inspect(tmp_path / "nowhere.mp4")
    with pytest.raises(package.RunError, match="small.mp4"):
        package.export(clip("generic/carphone_pristine.mp4"), tmp_path / "small.mp4")


def test_a_run_is_described_by_a_dict_or_a_file(tmp_path):
    described = {"source": {"kind": "scene", "size": "64x48", "seed": 3}, "stages": ["meter"], "frames": 4,
                 "outputs": {"reports": str(tmp_path / "r.jsonl")}}
    with package.run(pipeline=described) as run:
        frames = list(run)
    assert len(frames) == 4 and frames[0].reports["meter"]
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 4
    (tmp_path / "p.json").write_text(json.dumps({"source": "scene", "frames": 3}))
    with package.run(pipeline=tmp_path / "p.json", frames=2) as run:
        assert len(list(run)) == 2
    with package.run("scene", pipeline={"source": "none", "frames": 2}, size=(64, 48)) as run:
        assert [frame.image.shape for frame in run] == [(48, 64, 3)] * 2


def test_a_run_has_the_description_of_an_equal_session(tmp_path):
    """A Swift test holds a session's against the same file (DescriptionTests.swift)."""
    with package.run("scene", size=(640, 480), rate=30, stages=["meter:mode=spot"]) as run:
        next(iter(run))
    assert run.summary["pipeline"] == json.loads((ROOT / "Tests/Judges/equal_run.json").read_text())


def test_what_is_wrong_in_a_description_is_raised():
    with pytest.raises(package.NotAllowed, match="stages.metr: there is no stage `metr`; did you mean"):
        package.run(pipeline={"source": "scene", "stages": ["metr"]})
    with pytest.raises(package.NotAllowed, match="pipeline= is not what a file could have"):
        package.run(pipeline={"source": object()})
