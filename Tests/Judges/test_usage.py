"""What a person runs into: bad input, full disks, readers that go away, Ctrl-C."""
import glob
import json
import os
import signal
import subprocess
import time

import pytest

from program import LIMIT, SPROCKET, clip, one_sentence, read_lines, running, sprocket

SCENE = ["--source", "scene"]

WRONG = [
    (["run", "--stage", "metr"], "there is no stage `metr`"),
    (["run", "--stage", "focus:size=3"], "has no setting `size`"),
    (["run", "--stage", "focus:point=2/0"], "point=2/0 is not allowed"),
    (["run", "--stage", "meter", "--stage", "meter"], "given twice"),
    (["run", "--stage", "meter:"], "KEY=VALUE"),
    (["run", "--stage", "meter:,"], "KEY=VALUE"),
    (["run", "--source", "cam"], "there is no source `cam`"),
    (["run", "--source", "clip.avi"], "for a file write file:clip.avi, or replay:clip.avi for a dump"),
    (["run", "--source", "file"], "file:PATH"),
    (["run", "--source", "scene:x"], "takes nothing behind a colon"),
    (["run", "--source-set", "pace"], "KEY=VALUE"),
    (["run", "--source-set", "pace=slow"], "pace=slow is not allowed"),
    (["run", "--source-set", "speed=1"], "has no setting"),
    (["run", "--source-set", "cached=10000", "--size", "8192x8192"], "give cached=9 or less"),
    (["run", "--source", "file:nowhere.avi"], "nowhere.avi"),
    (["run", "--source", "file:."], "folder"),
    (["run", "--format", "H264"], "H264"),
    (["run", "--format", "RGGB", "--stage", "meter"], "cannot be unpacked"),
    (["run", "--size", "1280"], "1280"),
    (["run", "--size", "4x4"], "16x16"),
    (["run", "--frames", "0"], "--frames"),
    (["run", "--duration", "-1s"], "duration"),
    (["run", "--duration", "10"], "duration"),
    (["run", "--workers", "0"], "--workers"),
    (["run", "--wait", "sleep"], "sleep"),
    (["run", "--pipe", "rgb"], "rgb"),
    (["run", "--control", "iris=1"], "there is no `iris`"),
    (["run", "--control", "gain=1e9"], "gain=1e9 is not allowed"),
    (["run", "--quiet", "--verbose"], "not both"),
    (["run", "--reports", "no/such/folder/x.jsonl"], "no/such/folder"),
    (["run", "--reports", "."], "director"),
    (["run", "--summary", "no/such/folder/x.json"], "no/such/folder"),
    (["run", "--nope"], "--nope"),
    (["fly"], "fly"),
    (["stages", "metr"], "metr"),
]


@pytest.mark.parametrize("arguments, says", WRONG, ids=lambda value: "" if isinstance(value, str)
                         else " ".join(value)[:40])
def test_a_wrong_request_is_one_sentence_and_exit_2(arguments, says, tmp_path):
    if arguments[0] == "run" and "--source" not in arguments:
        arguments = ["run", *SCENE, *arguments[1:]]  # Not the camera that this machine may have.
    result = sprocket(*arguments, check=False, cwd=tmp_path)
    assert result.returncode == 2, result.errors
    assert says in one_sentence(result.errors)
    assert result.stdout == b""


@pytest.mark.parametrize("content", [b"", b"just words\n" * 50, b"\x00" * 4096],
                         ids=["empty", "words", "zeros"])
def test_a_file_that_is_no_video_is_one_sentence(content, tmp_path):
    path = tmp_path / "clip.avi"
    path.write_bytes(content)
    result = sprocket("run", "--source", f"file:{path}", check=False)
    assert result.returncode == 2
    assert "clip.avi" in one_sentence(result.errors)


def test_a_file_without_permission_is_one_sentence(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path = tmp_path / "clip.avi"
    path.write_bytes(b"x")
    path.chmod(0)
    assert sprocket("run", "--source", f"file:{path}", check=False).returncode == 2


@pytest.mark.parametrize("name, kept", [("generic/box.mp4", 0.6), ("generic/vtest.avi", 0.5)])
def test_a_truncated_file_gives_what_it_has_or_one_sentence(name, kept, tmp_path):
    data = clip(name).read_bytes()
    path = tmp_path / name.split("/")[1]
    path.write_bytes(data[: int(len(data) * kept)])
    summary = tmp_path / "summary.json"
    result = sprocket("run", "--source", f"file:{path}", "--stage", "meter", "--quiet",
                      "--summary", summary, check=False)
    if result.returncode == 0:
        ledger = json.loads(summary.read_text())
        counts = ledger["sinks"]["null"]
        assert counts["delivered"] > 0
        assert counts["delivered"] + counts["corrupt"] == ledger["produced"]
    else:
        one_sentence(result.errors)


def test_an_existing_file_is_kept_unless_overwrite_is_given(tmp_path):
    path = tmp_path / "reports.jsonl"
    path.write_text("precious\n")
    arguments = ["run", *SCENE, "--frames", "3", "--reports", path, "--quiet"]
    result = sprocket(*arguments, check=False)
    assert result.returncode == 2
    assert "--overwrite" in one_sentence(result.errors)
    assert path.read_text() == "precious\n"
    sprocket(*arguments, "--overwrite")
    assert len(read_lines(path)) == 3


REFUSED = [
    ["--source", "file:nowhere.avi"],
    ["--stage", "metr"],
    ["--stage", "focus:point=2/0"],
    ["--control", "gain=1e9"],
    ["--size", "4x4"],
    ["--checksums", "no/such/folder/c"],
]


@pytest.mark.parametrize("wrong", REFUSED, ids=" ".join)
def test_a_start_that_fails_leaves_all_as_it_was(wrong, tmp_path):
    good = tmp_path / "good.json"
    good.write_text("precious\n")
    for summary, reports in [("good.json", "a.jsonl"), ("a.json", "good.json")]:
        result = sprocket("run", *SCENE, "--size", "64x48", *wrong, "--summary", summary, "--reports",
                          reports, "--overwrite", check=False, cwd=tmp_path)
        assert result.returncode == 2
        one_sentence(result.errors)
        assert os.listdir(tmp_path) == ["good.json"]
        assert good.read_text() == "precious\n"


def test_overwritten_files_hold_nothing_of_what_they_were(tmp_path):
    names = ["reports", "checksums", "summary"]
    for name in names:
        (tmp_path / name).write_text("precious\n" * 100_000)
    options = [part for name in names for part in (f"--{name}", tmp_path / name)]
    sprocket("run", *SCENE, "--frames", "3", "--size", "64x48", "--quiet", "--overwrite", *options)
    assert len(read_lines(tmp_path / "reports")) == 3
    assert len((tmp_path / "checksums").read_text().splitlines()) == 3
    assert json.loads((tmp_path / "summary").read_text())["produced"] == 3


SAME = [
    (["--reports", "x", "--checksums", "x"], ["--reports", "--checksums"]),
    (["--reports", "x", "--summary", "./x"], ["--reports", "--summary"]),
    (["--checksums", "folder/../good", "--summary", "link"], ["--checksums", "--summary"]),
    (["--source", "file:good", "--reports", "good"], ["--source", "--reports"]),
    (["--source-set", "truth=x", "--reports", "x"], ["--source-set truth", "--reports"]),
]


@pytest.mark.parametrize("options, named", SAME, ids=lambda value: " ".join(value))
def test_a_file_that_two_options_name_is_refused(options, named, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "good").write_text("precious\n")
    (tmp_path / "link").symlink_to("good")
    result = sprocket("run", *SCENE, "--size", "64x48", *options, "--overwrite", check=False, cwd=tmp_path)
    assert result.returncode == 2
    sentence = one_sentence(result.errors)
    assert all(option in sentence for option in named) and "same file" in sentence
    assert (tmp_path / "good").read_text() == "precious\n"
    assert not (tmp_path / "x").exists()


MEETING = [
    ["--source", "file:clip.partial.mov", "--movie", "clip.mov"],
    ["--source", "file:other", "--movie", "clip.mov"],  # A hard link of the partial file.
    ["--source", "replay:clip.partial.mov", "--dump", "clip.mov"],
    ["--reports", "clip.partial.mov", "--movie", "clip.mov"],
    ["--movie", "clip.mov", "--reports", "clip.partial.mov"],
    ["--source", "file:clip-2.mov", "--movie", "clip.mov"],
    ["--source", "file:sf/still-00000002.jpg", "--stills", "sf"],
    ["--source", "file:link", "--stills", "sf/../sf"],
    ["--summary", "sf/still-00000002.jpg", "--stills", "sf"],
]


@pytest.mark.parametrize("options", MEETING, ids=" ".join)
def test_a_file_that_an_option_would_make_on_the_way_is_refused(options, tmp_path):
    (tmp_path / "sf").mkdir()
    files = [tmp_path / name for name in ("clip.partial.mov", "clip-2.mov", "sf/still-00000002.jpg")]
    for file in files:
        file.write_text("precious\n")
    (tmp_path / "other").hardlink_to(files[0])
    (tmp_path / "link").symlink_to("sf/still-00000002.jpg")
    result = sprocket("run", *options, "--frames", "3", "--overwrite", check=False, cwd=tmp_path)
    assert result.returncode == 2
    assert options[1].split(":")[-1] in one_sentence(result.errors)
    assert [file.read_text() for file in files] == ["precious\n"] * 3


PIPES = [["--movie", "p.mov"], ["--dump", "p"], ["--reports", "p"], ["--checksums", "p"],
         ["--summary", "p"], ["--stills", "p"], ["--source", "file:p"], ["--source", "replay:p"],
         ["--movie", "q.mov"]]


@pytest.mark.parametrize("options", PIPES, ids=" ".join)
def test_a_pipe_at_whose_other_end_nobody_is_is_refused(options, tmp_path):
    for name in ("p", "p.mov", "q.partial.mov"):
        os.mkfifo(tmp_path / name)
    scene = [] if "--source" in options else SCENE
    result = sprocket("run", *scene, "--size", "64x48", "--frames", "3", *options, check=False,
                      cwd=tmp_path)
    assert result.returncode == 2
    assert "pipe" in one_sentence(result.errors)


def test_a_pipe_may_wait_for_its_reader(tmp_path):
    pipe = tmp_path / "p"
    os.mkfifo(pipe)
    with running([SPROCKET, "run", *SCENE, "--size", "64x48", "--frames", "3", "--reports", pipe,
                  "--quiet"]) as process:
        assert len(read_lines(pipe)) == 3
        assert process.wait(60) == 0


def test_a_name_that_is_no_text_is_refused(tmp_path):
    result = subprocess.run([os.fsencode(SPROCKET), b"run", b"--frames", b"3", b"--reports", b"r\xff"],
                            capture_output=True, cwd=tmp_path, timeout=60)
    assert result.returncode == 2
    assert "UTF-8" in one_sentence(result.stderr.decode())
    assert os.listdir(tmp_path) == []


def test_a_summary_that_cannot_be_written_hides_no_other_error(tmp_path):
    result = sprocket("run", *SCENE, "--size", "64x48", "--frames", "3", "--reports", "/dev/full",
                      "--summary", "/dev/full", check=False, cwd=tmp_path)
    assert result.returncode == 1
    said = [line for line in result.errors.splitlines() if line.startswith("sprocket: writing")]
    assert len(said) == 2


def test_an_earlier_movies_other_files_are_told(tmp_path):
    (tmp_path / "m-2.mov").write_text("old")
    result = sprocket("run", *SCENE, "--size", "64x48", "--frames", "3", "--movie", "m.mov",
                      "--overwrite", cwd=tmp_path)
    assert "m-2.mov" in result.errors


def test_a_device_may_be_named_twice():
    sprocket("run", *SCENE, "--frames", "3", "--size", "64x48", "--quiet", "--reports", "/dev/null",
             "--checksums", "/dev/null")


def test_a_full_disk_fails_that_sink_alone(tmp_path):
    summary = tmp_path / "summary.json"
    result = sprocket("run", *SCENE, "--frames", "400", "--size", "64x48", "--stage", "meter", "--reports",
                      "/dev/full", "--checksum", "--summary", summary, "--quiet", check=False)
    assert result.returncode == 1
    assert "/dev/full" in one_sentence(result.errors)
    sinks = json.loads(summary.read_text())["sinks"]
    assert sinks["checksum"]["delivered"] == 400
    assert sinks["reports"]["failed"] > 0
    assert sinks["reports"]["failed"] + sinks["reports"]["delivered"] == 400


def test_a_reader_that_goes_away_ends_the_run_cleanly(tmp_path):
    summary = tmp_path / "summary.json"
    command = [SPROCKET, "run", *SCENE, "--pipe", "y4m", "--source-set", "pace=fast", "--size", "320x240",
               "--quiet", "--summary", str(summary)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(500_000)
        process.stdout.close()
        assert process.wait(20) == 0
        assert process.stderr.read() == b""
    ledger = json.loads(summary.read_text())
    assert sum(v for v in ledger["sinks"]["pipe"].values() if isinstance(v, int)) \
        == ledger["produced"]


@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_live_run_cleanly(number, tmp_path):
    reports, summary = tmp_path / "reports.jsonl", tmp_path / "summary.json"
    command = [SPROCKET, "run", *SCENE, "--size", "320x240", "--rate", "60", "--stage", "meter",
               "--reports", str(reports), "--summary", str(summary)]
    partial = tmp_path / "reports.partial.jsonl"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        # A machine that is busy may take seconds to begin.
        limit = time.monotonic() + 20
        while not (partial.exists() and partial.stat().st_size) and time.monotonic() < limit:
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(number)
        assert process.wait(20) == 0
        errors = process.stderr.read().decode()
    ledger = json.loads(summary.read_text())
    assert ledger["produced"] > 20
    assert len(read_lines(reports)) == ledger["produced"]
    assert f"produced {ledger['produced']} frames" in errors


def test_a_second_signal_ends_it_at_once():
    # Nobody reads: the pipe fills and its sink cannot go on.
    reader, writer = os.pipe()
    command = [SPROCKET, "run", *SCENE, "--pipe", "y4m", "--quiet"]
    with subprocess.Popen(command, stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) in (0, 1)
    os.close(reader)


@pytest.mark.skipif(bool(glob.glob("/dev/video*")), reason="this machine has a camera")
def test_without_a_camera_that_is_said():
    said = sprocket("devices")
    assert said.stdout.startswith(b"there is no camera") and said.errors == ""
    assert json.loads(sprocket("devices", "--json").stdout) == []
    for name in ("camera", "camera:webcam"):
        refused = sprocket("run", "--source", name, check=False)
        assert refused.returncode == 2
        assert "there is no camera" in one_sentence(refused.errors)


def test_stages_and_sources_can_be_inspected():
    text = sprocket("stages").stdout.decode()
    for name in ("focus", "latedrop", "meter", "negate", "scene", "file", "camera[:NAME]"):
        assert name in text
    assert "window" in sprocket("stages", "focus").stdout.decode()
    assert "shake" in sprocket("stages", "scene").stdout.decode()


@pytest.mark.alone
def test_late_frames_are_dropped_live_and_accounted_for(tmp_path):
    summary = tmp_path / "summary.json"
    sprocket("run", *SCENE, "--size", "320x240", "--rate", "50", "--duration", "2s", "--stage",
             "latedrop:budget=30ms", "--source-set", "late=0.3", "--source-set", "latefor=60ms",
             "--summary", summary, "--quiet")
    ledger = json.loads(summary.read_text())
    assert ledger["sinks"]["null"]["late"] > 0
    assert ledger["stages"]["latedrop"]["late"] == ledger["sinks"]["null"]["late"]


@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_does_not_reach_the_threads_of_libraries(number, tmp_path):
    path, summary = clip("stabilization/max-heromode.mp4"), tmp_path / "summary.json"
    command = [SPROCKET, "run", "--source", f"file:{path}", "--source-set", "pace=real", "--summary",
               str(summary), "--quiet"]
    with subprocess.Popen(command) as process:
        time.sleep(2)
        process.send_signal(number)
        assert process.wait(20) == 0
    assert json.loads(summary.read_text())["produced"] > 20


def test_a_reader_that_pauses_loses_nothing_offline():
    command = [SPROCKET, "run", "--source", "scene", "--size", "640x480", "--frames", "12", "--pipe",
               "gray", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        first = process.stdout.read(1_500_000)
        time.sleep(13)
        rest = process.stdout.read()
        assert process.wait(20) == 0
    assert len(first) + len(rest) == 12 * 640 * 480


def test_what_only_a_buffer_had_is_not_delivered(tmp_path):
    summary = tmp_path / "summary.json"
    sprocket("run", *SCENE, "--size", "64x48", "--frames", 300, "--stage", "meter", "--reports", "/dev/full",
             "--summary", summary, "--quiet", check=False)
    ledger = json.loads(summary.read_text())
    assert ledger["sinks"]["reports"]["delivered"] == 0
    assert ledger["sinks"]["reports"]["failed"] == ledger["produced"] > 0
