"""What a person runs into: bad input, full disks, readers that go away, Ctrl-C."""
import contextlib
import glob
import functools
import json
import os
import re
import shlex
import signal
import subprocess
import termios
import time

import pytest

from program import (LIMIT, ROOT, SPROCKET, clip, one_sentence, read_lines, running, send_and_wait, signals,
                     sprocket, wait_for, wait_for_lines, wait_until_full)

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
    (["run", "--format", "RGGB", "--stage", "meter"], "put the stage debayer"),
    (["run", "--format", "pgaa"], "there is no `pgaa`"),
    (["run", "--size", "1280"], "such as 1280x720"),
    (["run", "--size", "4x4"], "16x16"),
    (["run", "--frames", "0"], "'--frames <n>': give a whole number, 1 or more, such as 300"),
    (["run", "--frames", "-3"], "'--frames <n>': give a whole number, 1 or more, such as 300"),
    (["run", "--rate", "fast"], "such as 30, 29.97 or 30000/1001"),
    (["run", "--rate", "0"], "such as 30, 29.97 or 30000/1001"),
    (["run", "--duration", "-1s"], "duration"),
    (["run", "--duration", "0s"], "above 0, such as 10s"),
    (["run", "--duration", "10"], "such as 500ms, 2s or 5m"),
    (["run", "--duration", "3sec"], "such as 500ms, 2s or 5m"),
    (["run", "--stage", "latedrop:budget=30"], "give 1ms to 60s"),
    (["run", "--source-set", "latefor=10"], "such as 500ms, 2s or 5m"),
    (["run", "--stills", "x", "--every", "1"], "such as 500ms, 2s or 5m"),
    (["run", "--quality", "101"], "1 to 100, such as 90"),
    (["run", "--quality", "50"], "--movie and --stills"),
    (["run", "clip.avi"], "--source file:PATH"),
    (["run", "--workers", "0"], "'--workers <n>': give a whole number, 1 to 64"),
    (["run", "--from", "1s"], "--source file:PATH or replay:PATH"),
    (["run", "--dump", "-"], "./-"),
    (["devices", "--json", "--save", "-"], "--json and --save - both"),
    (["run", "--reports", "-", "--summary", "-"], "two outputs write to standard output"),
    (["run", "--checksums", "/dev/stdout", "--pipe", "gray"], "(--checksums, --pipe)"),
    (["run", "--rate", "30", "--rate", "60"], "--rate is given twice, as 30 and as 60"),
    (["run", "--size=64x48", "--size", "32x32"], "--size is given twice, as 64x48 and as 32x32"),
    (["run", "--reports", "a", "--quiet", "--reports", "a"], "--reports is given twice"),
    (["run", "--auto-focus", "auto", "--auto-focus", "locked"], "--auto-focus is given twice"),
    (["run", "--wait", "sleep"], "sleep"),
    (["run", "--pipe", "rgbx"], "did you mean `rgb`?"),
    (["run", "--virtual", "/dev/null"], "/dev/null is no virtual camera"),
    (["run", "--virtual", "/etc/passwd"], "/etc/passwd is no virtual camera"),
    (["run", "--virtual", "/dev/null", "--format", "RGGB"], "add the stage debayer"),
    (["run", "--virtual", "/dev/null,format=H264"], "format=H264 is not allowed"),
    (["run", "--virtual", "/dev/null,format=NV12", "--size", "321x241"], "NV12 cannot be made"),
    (["run", "--virtual", "/dev/null,format=MJPG", "--stage", "negate"], "leave out stages"),
    (["run", "--virtual", ",format=NV12"], "needs more: give virtual:DEVICE"),
    (["run", "--sink", "virtual"], "virtual:DEVICE"),
    (["run", "--control", "iris=1"], "there is no control `iris`"),
    (["run", "--control", "gain=1e9"], "gain=1e9 is not allowed"),
    (["run", "--quiet", "--verbose"], "not both"),
    (["run", "--reports", "no/such/folder/x.jsonl"], "no/such/folder"),
    (["run", "--reports", "."], "director"),
    (["run", "--summary", "no/such/folder/x.json"], "no/such/folder"),
    (["run", "--nope"], "--nope"),
    (["fly"], "there is no command `fly`; there are: run, photo, ask, top, export, inspect, recover, bench, "
              "plot, devices, stages, check, schema, completions"),
    (["list"], "there is no command `list`; write sprocket devices"),
    (["--movie", "a.mov"], "Unknown option '--movie'; write sprocket run --movie"),
    (["help", "fly"], "there is no command `fly`"),
    (["help", "run", "recordng"], "`run` has no group or option `recordng`; did you mean `recording`? there "
                                  "are: source, stages, recording"),
    (["help", "run", "codc"], "`run` has no group or option `codc`; did you mean `--codec`?"),
    (["help", "export", "--scal"], "`export` has no option `--scal`; did you mean `--scale`?"),
    (["stages", "metr"], "metr"),
    (["run", "--stage", "metr"], "did you mean `meter`?"),
    (["run", "--stage", "focus:windw=0/0/1/1"], "did you mean `window`?"),
    (["run", "--source", "scen"], "did you mean `scene`?"),
    (["run", "--source-set", "shak=1"], "did you mean `shake`?"),
    (["run", "--control", "gian=1"], "did you mean `gain`?"),
    (["run", "--durration", "1s"], "Did you mean '--duration'?"),
    (["rnu"], "did you mean `run`?"),
    (["stages", "scen"], "did you mean `scene`?"),
    (["run", "--source", "/dev/video0"], "for a camera write camera:/dev/video0"),
    (["run", "--source", "camera=/dev/video0"], "for a camera write camera:/dev/video0"),
    (["run", "--source", "video2"], "for a camera write camera:/dev/video2"),
    (["run", "--source", "0"], "for a camera write camera:/dev/video0"),
    (["run", "--source", "scene,genlock=true"], "--source scene --source-set genlock=true"),
    (["run", "--source", "file:dump.mcap"], "use replay:dump.mcap"),
    (["run", "--movie", "x-{sourec}.mov"], "did you mean `{source}`? give a name; its places are "
                                           "{source}, {n}"),
    (["run", "--dump", "{n}.mcap"], "give a name; its places are {source}"),
    (["run", "--null", "--script", "nofile"], "--script nofile: it does not exist"),
    (["devices", "cam", "--controls", "nofile"], "nofile does not exist"),
    (["devices", "--save", "x.controls"], "devices NAME --save ..."),
    (["devices", "--controls", "x.controls"], "devices NAME --controls ..."),
    (["devices", "/dev/video0", "brightness=12"], "; write --control brightness=12"),
    (["ask", "S", "set", "meter", "mode=spot"], "write meter mode=spot as meter:mode=spot"),
    (["ask", "S", "control"], "ask S control NAME=VALUE"),
    (["ask", "S", "set"], "ask S set STAGE:KEY=VALUE"),
    (["ask", "/etc/passwd", "status"], "/etc/passwd is a plain file and no socket"),
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


def test_a_virtual_camera_that_is_not_there_is_told(tmp_path):
    result = sprocket("run", *SCENE, "--virtual", "/dev/video4095", check=False, cwd=tmp_path)
    assert result.returncode == 1
    assert "sudo modprobe v4l2loopback exclusive_caps=1" in one_sentence(result.errors)


def test_a_letter_is_not_near_another(tmp_path):
    result = sprocket("run", "--source", "l=scene", "--control", "x.gain=3", check=False, cwd=tmp_path)
    assert result.returncode == 2 and "there are: l, named so" in one_sentence(result.errors)
    assert "did you mean" not in result.errors


def test_a_movie_is_no_dump(tmp_path):
    (tmp_path / "movie.mov").write_bytes(b"\0" * 4096)
    result = sprocket("run", "--source", "replay:movie.mov", check=False, cwd=tmp_path)
    assert result.returncode == 2
    assert "a movie or picture is played by the source file" in one_sentence(result.errors)


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
    (["--source-set", "truth=x", "--reports", "x"], ["--source-set", "--reports"]),
]


@pytest.mark.parametrize("options, named", SAME, ids=lambda value: " ".join(value))
def test_a_file_that_two_options_name_is_refused(options, named, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "good").write_text("precious\n")
    (tmp_path / "link").symlink_to("good")
    source = [] if "--source" in options else [*SCENE, "--size", "64x48"]
    result = sprocket("run", *source, *options, "--overwrite", check=False, cwd=tmp_path)
    assert result.returncode == 2
    sentence = one_sentence(result.errors)
    assert all(option in sentence for option in named)
    assert "same file" in sentence or "is read and cannot be replaced" in sentence
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


@pytest.mark.parametrize("options", [["--size", "64X48"], ["--rate", "30fps"], ["--rate", "30FPS"],
                                     ["--source-set", "shake=1", "--source-set", "drop=0"]],
                         ids=" ".join)
def test_what_is_beyond_doubt_is_taken(options):
    sprocket("run", *SCENE, "--frames", "3", "--quiet", *options)


def test_a_program_calls_itself_as_it_was_called(tmp_path):
    """A program with stages of one's own is the same program by another name."""
    own = tmp_path / "vignette"
    own.symlink_to(SPROCKET)
    def ask(*arguments):
        return subprocess.run([own, *arguments], capture_output=True, timeout=LIMIT)
    assert ask("run", "--stage", "x").stderr.startswith(b"vignette: there is no stage")
    for page in ask("--help").stdout, ask("run", "--help").stdout, ask("help", "stages").stdout:
        assert b"USAGE: vignette" in page and b"sprocket" not in page
    version = ask("--version").stdout
    assert version == sprocket("--version").stdout and version.startswith(b"Sprocket 0.")


def told(*arguments):
    return sprocket(*arguments).stdout.decode()


@functools.cache
def declared():
    """The options that each command declares."""
    root = json.loads(told("--experimental-dump-help"))["command"]
    return {command["commandName"]: [
        f"--{argument['names'][0]['name']}" for argument in command["arguments"]
        if argument["shouldDisplay"] and argument["kind"] != "positional"
        and argument["names"][0]["name"] not in ("h", "version")]
        for command in root["subcommands"] if command["commandName"] != "help"}


def options(page):
    return re.findall(r"^  (--[a-z-]+)", page, re.MULTILINE)


def test_the_help_of_each_command_is_a_page():
    for page in told("--help"), *(told(command, "--help") for command in declared()):
        lines = page.splitlines()
        assert len(lines) <= 45 and max(map(len, lines)) <= 80, page
    assert all(f"\n  {command} " in told() for command in declared())
    for command, names in declared().items():
        assert told("help", command) == told(command, "--help") == told(command, "-h")
        for page in re.findall(r"`sprocket (help [^`A-Z]*)`", told(command, "--help")):
            assert told(*page.split()), page
        assert sorted(options(told("help", command, "all"))) == sorted(names), command


def test_the_help_of_a_run_begins_with_what_is_needed_first():
    page = told("run", "--help")
    sentence, _, usage = page.splitlines()[:3]
    assert sentence.endswith(".") and usage == "USAGE: sprocket run <options>"
    wanted = ["--source", "--size", "--stage", "--movie", "--stills", "--frames", "--duration"]
    assert [name for name in options(page) if name in wanted] == wanted


def test_the_examples_of_the_help_do_what_they_say(tmp_path):
    examples = re.findall(r"^  sprocket (run .*)", told("run", "--help"), re.MULTILINE)
    assert len(examples) == 3
    for example in examples:
        scene = "" if "--source" in example else " --source scene"  # Not the camera of this machine.
        sprocket(*(example.replace("10s", "1s") + scene).split(), cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clip.mov", "shots"]


def test_each_option_of_a_run_is_in_one_group_and_has_a_page():
    page = told("run", "--help")
    groups = re.findall(r"^  ([a-z]+) ", page[page.index("GROUPS"):], re.MULTILINE)
    assert groups.pop() == "all"
    found = [name for group in groups for name in options(told("help", "run", group))]
    assert sorted(found) == sorted(declared()["run"])
    for name in found:
        assert options(told("help", "run", name)) == [name]
        assert options(page).count(name) <= 1


def foreign_words():
    text = (ROOT / "Sources/SprocketCommandLine/ForeignWords.swift").read_text()
    return re.findall(r"^    ([a-z ]+): (.+) => (.+)$", text, re.MULTILINE)


def typed_option(word):
    return f"-{word}" if len(word) == 1 or ":" in word else f"--{word}"


def test_words_of_other_programs_are_answered():
    for commands, words, answer in foreign_words():
        for command in commands.split():
            for word in words.split():
                given = [word] if command == "sprocket" else [command, "a", "b", typed_option(word)]
                if command == "run":
                    del given[1:3]
                refused = sprocket(*given, check=False)
                own = "" if command != "sprocket" and answer.startswith("--") else "sprocket "
                assert refused.returncode == 2
                assert one_sentence(refused.errors).endswith(f"; write {own}{answer}"), given
    for given, answer in [(["run", "--FPS", "9"], "--rate 30"), (["run", "-pix_fmt", "x"], "--format YUYV"),
                          (["--list-cameras"], "sprocket devices")]:
        refused = sprocket(*given, check=False)
        assert one_sentence(refused.errors).endswith(f"; write {answer}"), given


def test_what_is_said_instead_of_words_of_other_programs_is_right(tmp_path):
    footage(tmp_path, "in.mov", "-c:v", "mjpeg", "-c:a", "pcm_s16le")
    for commands, _, answer in foreign_words():
        written, *note = re.split(", | [|] ", answer, maxsplit=1)
        for command in commands.split():
            line = shlex.split(written)
            if command != "sprocket" and written.startswith("--"):
                line = [command, *(["in.mov", "out.mp4"] if command == "export" else []), *line]
            for name in re.findall("--[a-z-]+", " ".join(note)):
                assert name in declared()[line[0]], answer
            if line[0] == "run":
                scene = [] if "--source" in line else SCENE
                sprocket(*line, *scene, "--print-pipeline", cwd=tmp_path)
            elif line[0] == "export":
                sprocket(*line, *([] if "--overwrite" in line else ["--overwrite"]), cwd=tmp_path)
            elif line[0] != "--version":
                assert set(re.findall("--[a-z-]+", written)) <= set(declared()[line[0]]), answer


ODD = "a\x1b[31m\n\t\x7f\u009b2J\u202egpj\u2028é.mkv"


def test_a_photograph_of_each_source_has_a_name_by_its_label(tmp_path):
    several = ["--source", "a=scene", "--source", "b=scene", "--size", "64x48"]
    said = [one_sentence(sprocket("photo", name, *several, check=False, cwd=tmp_path).errors)
            for name in ("g.jpg", "g-{source}.jpg")]
    # Each sentence leads on to what works.
    assert "put {source} into its name" in said[0] and "put {source} into the folder's name" in said[1]
    sprocket("photo", "{source}/g.jpg", *several, cwd=tmp_path)
    sprocket("photo", "g-{source}.jpg", "--source", "c=scene", "--size", "64x48", cwd=tmp_path)
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.jpg"))
    assert found == ["a/g.jpg", "b/g.jpg", "g-c.jpg"]


def test_files_are_offered_where_standard_output_is_a_choice():
    def offered(word):
        return sprocket("---complete", "run", "--movie", word).stdout.decode().splitlines()
    # A shell inserts the one choice that it is given.
    assert offered("") == ["", "*"] and offered("-") == ["", "- ", "*"]
    assert offered("a") == ["", "*"]


def test_names_cannot_command_a_terminal(tmp_path):
    def shown(errors):
        assert "é.mkv" in errors
        assert not [letter for letter in errors if letter in ODD[:-5] and not letter.isprintable()
                    and letter != "\n"]
    refused = [["--source", f"file:{ODD}"], ["--stage", ODD], ["--source", ODD], ["--size", ODD],
               ["--reports", f"{ODD}/x"], ["--source-set", f"{ODD}=1"], [f"--{ODD}"]]
    for options in refused:
        scene = [] if "--source" in options else SCENE
        result = sprocket("run", *scene, *options, check=False, cwd=tmp_path)
        assert result.returncode == 2
        shown(one_sentence(result.errors))
    sprocket("run", *SCENE, "--size", "64x48", "--frames", "3", "--movie", ODD, cwd=tmp_path)
    said = sprocket("run", "--source", f"file:{ODD}", "--summary", "s.json", cwd=tmp_path)
    shown(said.errors)
    assert json.loads((tmp_path / "s.json").read_text())["source"]["name"] == ODD


def test_the_table_has_straight_columns(tmp_path):
    said = sprocket("run", *SCENE, "--size", "64x48", "--frames", "3", "--dump", tmp_path / "d", "--checksum")
    lines = said.errors.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("sink "))
    table = lines[first:first + 4]
    assert [line.split()[0] for line in table] == ["sink", "dump", "dump-fates", "checksum"]
    assert len({len(line) for line in table}) == 1, table


def test_a_pipe_may_wait_for_its_reader(tmp_path):
    pipe = tmp_path / "p"
    os.mkfifo(pipe)
    with running([SPROCKET, "run", *SCENE, "--size", "64x48", "--frames", "3", "--reports", pipe,
                  "--quiet"]) as process:
        assert len(read_lines(pipe)) == 3
        assert process.wait(LIMIT) == 0


def test_a_name_that_is_no_text_is_refused(tmp_path):
    result = subprocess.run([os.fsencode(SPROCKET), b"run", b"--frames", b"3", b"--reports", b"r\xff"],
                            capture_output=True, cwd=tmp_path, timeout=LIMIT)
    assert result.returncode == 2
    assert "UTF-8" in one_sentence(result.stderr.decode())
    assert os.listdir(tmp_path) == []


def test_a_summary_that_cannot_be_written_hides_no_other_error(tmp_path):
    result = sprocket("run", *SCENE, "--size", "64x48", "--frames", "3", "--reports", "/dev/full",
                      "--summary", "/dev/full", check=False, cwd=tmp_path)
    assert result.returncode == 1
    said = [line for line in result.errors.splitlines() if "writing to /dev/full failed" in line]
    assert len(said) == 2 and any(line.startswith("sprocket: reports: ") for line in said)


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
        assert process.wait(LIMIT) == 0
        assert process.stderr.read() == b""
    ledger = json.loads(summary.read_text())
    assert sum(v for v in ledger["sinks"]["pipe"].values() if isinstance(v, int)) \
        == ledger["produced"]


def test_what_a_reader_that_goes_away_has_not_read_is_flushed(tmp_path):
    summary = tmp_path / "summary.json"
    command = [SPROCKET, "run", *SCENE, "--reports", "-", "--source-set", "pace=fast", "--size", "64x48",
               "--quiet", "--summary", str(summary)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(LIMIT) == 0
        assert process.stderr.read() == b""
    ledger = json.loads(summary.read_text())
    told = ledger["sinks"]["reports"]
    assert told["failed"] == 0 and told["flushed"] > 0
    assert told["flushed"] + told["delivered"] == ledger["produced"]


@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_live_run_cleanly(number, tmp_path):
    reports, summary = tmp_path / "reports.jsonl", tmp_path / "summary.json"
    command = [SPROCKET, "run", *SCENE, "--size", "320x240", "--rate", "60", "--stage", "meter",
               "--reports", str(reports), "--summary", str(summary)]
    partial = tmp_path / "reports.partial.jsonl"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_for_lines(partial, process, 21)
        process.send_signal(number)
        assert process.wait(LIMIT) == 0
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
        wait_until_full(reader)
        send_and_wait(process, signal.SIGINT)
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) in (0, 1)
    os.close(reader)


@pytest.mark.skipif(bool(glob.glob("/dev/video*")), reason="this machine has a camera")
def test_without_a_camera_that_is_said(tmp_path):
    said = sprocket("devices")
    assert said.stdout.startswith(b"there is no camera") and said.errors == ""
    found = json.loads(sprocket("devices", "--json").stdout)
    assert not [device for device in found if device["kind"] == "camera"]
    for source in ([], ["--source", "camera"], ["--source", "camera:webcam"]):
        movie = tmp_path / "take.mov"
        refused = sprocket("run", *source, "--movie", movie, "--frames", 3, "--quiet", check=False)
        assert refused.returncode == 1 and not movie.exists()
        assert "there is no camera" in one_sentence(refused.errors)
    for command in (["run"], ["run", "--share", "s"], ["run", "--pipe", "y4m"], ["run", "--null"]):
        refused = sprocket(*command, "--frames", 3, check=False)
        assert refused.returncode == 1 and not refused.stdout
        assert "there is no camera" in one_sentence(refused.errors)


@pytest.mark.skipif(os.path.exists("/dev/snd"), reason="this machine has a sound card")
def test_without_a_microphone_that_is_said():
    said = sprocket("devices")
    assert said.stdout.endswith(b"there is no microphone\n") and said.errors == ""
    found = json.loads(sprocket("devices", "--json").stdout)
    assert not [device for device in found if device["kind"] == "microphone"]


def test_stages_and_sources_can_be_inspected():
    text = sprocket("stages").stdout.decode()
    for name in ("debayer", "focus", "latedrop", "meter", "negate", "scene", "file", "camera[:NAME]"):
        assert name in text
    assert "window" in sprocket("stages", "focus").stdout.decode()
    assert "shake" in sprocket("stages", "scene").stdout.decode()
    assert "use: --sink movie:PATH\n" in sprocket("stages", "movie").stdout.decode()
    assert "use: --source camera[:NAME]\n" in sprocket("stages", "camera").stdout.decode()
    everything = json.loads(sprocket("stages", "--json").stdout)
    assert {entry["kind"] for entry in everything} == {"stage", "source", "sink", "microphone", "audio stage"}
    assert "use: --microphone scene\n" in sprocket("stages", "scene").stdout.decode()
    assert "use: --audio-stage gain\n" in sprocket("stages", "gain").stdout.decode()
    movie, = json.loads(sprocket("stages", "movie", "--json").stdout)
    assert movie["argument"] == "PATH" and movie in everything
    assert movie["settings"][1:2] == [{
        "name": "quality", "text": "of JPEG that is encoded; auto: 90", "unit": "",
        "allowed": "1 to 100, or auto", "default": "auto", "live": False}]
    assert movie["argument_optional"] is False
    stabilize, = json.loads(sprocket("stages", "stabilize", "--json").stdout)
    assert stabilize["settings"][0]["choices"] == ["off", "standard", "cinematic", "auto"]
    focus = next(entry for entry in everything if entry["name"] == "focus")
    assert focus["parallel"] and "score" in [field["name"] for field in focus["reports"]]


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
    reports = tmp_path / "reports.jsonl"
    command = [SPROCKET, "run", "--source", f"file:{path}", "--source-set", "pace=real", "--summary",
               str(summary), "--reports", str(reports), "--quiet"]
    with subprocess.Popen(command) as process:
        # Meanwhile libavcodec's threads are at work.
        wait_for_lines(tmp_path / "reports.partial.jsonl", process, 21)
        process.send_signal(number)
        assert process.wait(LIMIT) == 0
    assert json.loads(summary.read_text())["produced"] > 20


def test_a_reader_that_pauses_loses_nothing_offline():
    command = [SPROCKET, "run", "--source", "scene", "--size", "640x480", "--frames", "12", "--pipe",
               "gray", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        first = process.stdout.read(1_500_000)
        time.sleep(13)
        rest = process.stdout.read()
        assert process.wait(LIMIT) == 0
    assert len(first) + len(rest) == 12 * 640 * 480


def test_what_only_a_buffer_had_is_not_delivered(tmp_path):
    summary = tmp_path / "summary.json"
    sprocket("run", *SCENE, "--size", "64x48", "--frames", 300, "--stage", "meter", "--reports", "/dev/full",
             "--summary", summary, "--quiet", check=False)
    ledger = json.loads(summary.read_text())
    assert ledger["sinks"]["reports"]["delivered"] == 0
    assert ledger["sinks"]["reports"]["failed"] == ledger["produced"] > 0


def looks_at_signals(process):
    """Waits until the program has blocked its signals, which it does before anything else."""
    wait_for(lambda: signal.SIGINT in signals(process, "SigBlk"), process, pause=0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("after", [0, 0.05])
def test_a_signal_at_the_very_start_ends_with_a_word(number, after):
    with running([SPROCKET, "run", *SCENE, "--size", "1280x720"]) as process:
        looks_at_signals(process)
        time.sleep(after)
        process.send_signal(number)
        said = process.stderr.read().decode()
        code = process.wait(LIMIT)
    # It may have begun by then.
    assert code == (1 if "before the run began" in said else 0), said
    assert "stopp" in said


def resident_bytes(process):
    with open(f"/proc/{process.pid}/status") as file:
        return next((int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS")), 0)


def test_opening_that_takes_long_is_stopped(tmp_path):
    command = [SPROCKET, "run", *SCENE, "--size", "3840x2160", "--source-set", "cached=80", "--reports", "r",
               "--summary", "s", "--movie", "m.mov"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        looks_at_signals(process)
        # It draws the pictures that it keeps, of which there are hundreds of megabytes.
        wait_for(lambda: resident_bytes(process) > 100_000_000, process)
        for _ in range(2):
            send_and_wait(process, signal.SIGINT)
        said = process.stderr.read().decode()
        assert process.wait(LIMIT) == 1
    assert "stopped" in said.splitlines()[-1]
    assert os.listdir(tmp_path) == []


def test_a_hangup_that_is_ignored_stays_ignored(tmp_path):
    """As under nohup."""
    summary = tmp_path / "s"
    command = [SPROCKET, "run", *SCENE, "--size", "64x48", "--frames", "60", "--source-set", "pace=real",
               "--summary", str(summary), "--quiet"]
    ignore = functools.partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
    with subprocess.Popen(command, preexec_fn=ignore) as process:
        looks_at_signals(process)
        for _ in range(5):
            send_and_wait(process, signal.SIGHUP)
        assert process.wait(LIMIT) == 0
    assert json.loads(summary.read_text())["produced"] == 60


@contextlib.contextmanager
def full_pipe():
    """The end that a program writes to, of a pipe that takes nothing more, and the other end."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 4096)
    os.set_blocking(writer, True)
    try:
        yield writer, reader
    finally:
        os.close(writer)
        os.close(reader)


@contextlib.contextmanager
def stopped_terminal():
    """A terminal after Ctrl-S, and the other end."""
    reader, writer = os.openpty()
    termios.tcflow(writer, termios.TCOOFF)
    try:
        yield writer, reader
    finally:
        os.close(writer)
        os.close(reader)


@pytest.mark.parametrize("blocked", [full_pipe, stopped_terminal])
@pytest.mark.parametrize("is_asked", [0, 1])
def test_a_blocked_standard_error_holds_nothing_up(blocked, is_asked, tmp_path):
    summary = tmp_path / "s"
    command = [SPROCKET, "run", *SCENE, "--size", "64x48", "--summary", str(summary), "--verbose",
               *(["--reports", str(tmp_path / "r.jsonl")] if is_asked else ["--frames", "300"])]
    with blocked() as (writer, _), subprocess.Popen(command, stderr=writer) as process:
        if is_asked:
            # Two seconds, long enough for several lines of progress.
            wait_for_lines(tmp_path / "r.partial.jsonl", process, 60)
            process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 0
    assert json.loads(summary.read_text())["produced"] > 0


def test_two_signals_end_a_run_whose_summary_nobody_takes(tmp_path):
    command = [SPROCKET, "run", *SCENE, "--size", "64x48", "--summary", "-", "--reports",
               str(tmp_path / "r.jsonl")]
    with full_pipe() as (writer, _), \
            subprocess.Popen(command, stdout=writer, stderr=subprocess.PIPE) as process:
        wait_for_lines(tmp_path / "r.partial.jsonl", process, 1)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT) == 1
        assert "before the summary was written" in process.stderr.read().decode()


def test_what_was_said_while_standard_error_was_blocked_comes_later():
    command = [SPROCKET, "run", *SCENE, "--size", "64x48", "--frames", "30", "--checksum"]
    said = b""

    def read():
        nonlocal said
        with contextlib.suppress(BlockingIOError):
            said += os.read(reader, 65536)
        return process.poll() is not None

    with full_pipe() as (writer, reader), subprocess.Popen(command, stderr=writer) as process:
        time.sleep(1)  # It has something to say meanwhile, or not yet: both are right.
        os.set_blocking(reader, False)
        wait_for(read, pause=0.01)
        read()
        assert process.returncode == 0
    lines = said.lstrip(b"x").decode().splitlines()
    assert lines[0].startswith("scene: ") and lines[-1].startswith("checksum ")


def test_a_reader_of_a_list_may_stop_or_stall():
    with subprocess.Popen([SPROCKET, "stages"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(1)
        process.stdout.close()
        assert process.wait(LIMIT) == 0 and process.stderr.read() == b""
    for arguments in ["stages"], ["run", "--help"], ["devices"]:
        with full_pipe() as (writer, _), \
                subprocess.Popen([SPROCKET, *arguments], stdout=writer, stderr=subprocess.PIPE) as process:
            looks_at_signals(process)
            process.send_signal(signal.SIGINT)
            assert process.wait(LIMIT) == 1
            assert "stopped" in one_sentence(process.stderr.read().decode())
    with open("/dev/full", "w") as full:
        result = subprocess.run([SPROCKET, "stages"], stdout=full, stderr=subprocess.PIPE, timeout=LIMIT)
    assert result.returncode == 1 and "No space left" in one_sentence(result.stderr.decode())


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)], ids=str)
def test_closed_descriptors_are_not_written_into(closed, tmp_path):
    def close():
        for descriptor in closed:
            os.close(descriptor)

    def run(*options):
        # Pipes for what stays open: what comes there must be what belongs there.
        return subprocess.run([SPROCKET, "run", *SCENE, "--size", "64x48", "--frames", "3", *options],
                              preexec_fn=close, capture_output=True, cwd=tmp_path, timeout=LIMIT)
    result = run("--reports", "r", "--summary", "s", "--dump", "d.mcap", "--movie", "m.mov", "--stills", "sf")
    assert result.returncode == 0 and result.stdout == b""
    assert [line["fate"] for line in read_lines(tmp_path / "r")] == ["delivered"] * 3
    assert json.loads((tmp_path / "s").read_text())["produced"] == 3
    assert (2 in closed) == (result.stderr == b"")
    for options in ["--pipe", "y4m"], ["--summary", "-"], ["--reports", "-"], ["--checksums", "/dev/stdout"]:
        result = run(*options)
        assert result.returncode == (2 if 1 in closed else 0), options
        if closed == (1,):
            assert "closed" in one_sentence(result.stderr.decode())


def test_a_list_says_that_standard_output_is_closed():
    result = subprocess.run([SPROCKET, "stages"], preexec_fn=lambda: os.close(1), stderr=subprocess.PIPE,
                            timeout=LIMIT)
    assert result.returncode == 1 and "closed" in one_sentence(result.stderr.decode())


def test_a_dash_is_standard_output(tmp_path):
    run = ["run", *SCENE, "--size", "64x48", "--frames", "3", "--quiet"]
    lines = sprocket(*run, "--reports", "-", cwd=tmp_path).stdout.decode().splitlines()
    assert [json.loads(line)["sequence"] for line in lines] == [0, 1, 2]
    assert json.loads(sprocket(*run, "--summary", "-", cwd=tmp_path).stdout)["produced"] == 3
    assert len(sprocket(*run, "--checksums", "-", cwd=tmp_path).stdout.splitlines()) == 3
    assert os.listdir(tmp_path) == []


def timed_digests(tmp_path, *arguments):
    """Sequence, time and digest of each frame."""
    sprocket("run", *arguments, "--reports", "r", "--checksums", "c", "--summary", "s", "--overwrite",
             "--quiet", cwd=tmp_path)
    digests = dict(line.split() for line in (tmp_path / "c").read_text().splitlines())
    return [(line["sequence"], line["captured_ns"], digests[str(line["sequence"])])
            for line in read_lines(tmp_path / "r")]


def footage(tmp_path, name, *options):
    """Ten seconds at 25 frames per second, with sound."""
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=10",
                    "-f", "lavfi", "-i", "sine=duration=10", *options, name], check=True, cwd=tmp_path)
    return f"file:{tmp_path / name}"


H264 = ["-c:v", "libx264", "-preset", "fast", "-g", "40", "-bf", "3"]
FOOTAGE = [("a.mp4", H264), ("open.mp4", [*H264, "-x264-params", "open-gop=1"]), ("a.mkv", H264),
           ("a.ts", H264), ("refresh.mp4", [*H264, "-x264-params", "intra-refresh=1"]), ("a.h264", H264),
           ("a.avi", ["-c:v", "mpeg4", "-bf", "2", "-g", "30"]), ("mj.avi", ["-c:v", "mjpeg"]),
           ("a.mjpeg", ["-c:v", "mjpeg"]), ("a.swf", ["-c:v", "flv1", "-an"]),
           ("mpeg2.ts", ["-c:v", "mpeg2video", "-bf", "2", "-g", "15"])]


@pytest.mark.parametrize("name, options", FOOTAGE, ids=lambda value: value if isinstance(value, str) else "")
def test_a_part_of_a_file_is_what_lies_there(name, options, tmp_path):
    source = ["--source", footage(tmp_path, name, *options)]
    whole = timed_digests(tmp_path, *source)
    first = whole[0][1]
    # On a frame, between two, and close to the end.
    for begin, length in [(4000, 1000), (5110, 400), (9700, 5000)]:
        part = timed_digests(tmp_path, *source, "--from", f"{begin}ms", "--duration", f"{length}ms")
        wanted = [frame for frame in whole if frame[1] >= first + begin * 10**6]
        wanted = [frame for frame in wanted if frame[1] < wanted[0][1] + length * 10**6]
        assert wanted and [frame[1:] for frame in part] == [frame[1:] for frame in wanted]
        assert [frame[0] for frame in part] == list(range(len(wanted)))
    refused = sprocket("run", *source, "--from", "1h", check=False)
    assert refused.returncode == 2 and "no frame at 3600s or later" in one_sentence(refused.errors)


def test_a_duration_is_that_of_the_frames_where_they_wait(tmp_path):
    scene = [*SCENE, "--size", "64x48", "--rate", "50", "--source-set", "pace=fast"]
    sprocket("run", *scene, "--duration", "3s", "--dump", "d", "--summary", "s", "--quiet", cwd=tmp_path)
    assert json.loads((tmp_path / "s").read_text())["produced"] == 150
    replay = ["--source", f"replay:{tmp_path / 'd'}"]
    whole = timed_digests(tmp_path, *replay)
    part = timed_digests(tmp_path, *replay, "--from", "990ms", "--duration", "1s")
    assert part == whole[50:100]


def test_sound_that_is_left_out_is_told(tmp_path):
    for options, notes in [([], 1), (["-an"], 0)]:
        source = footage(tmp_path, "a.mkv", *options, "-y")
        said = sprocket("run", "--source", source, "--duration", "1s", "--summary", "s", "--overwrite",
                        cwd=tmp_path)
        told = json.loads((tmp_path / "s").read_text())["notes"]
        assert len([note for note in told if "sound" in note]) == notes
        assert said.errors.count("the sound of") == notes


def test_a_second_of_a_camera_has_no_frame_of_the_next(tmp_path):
    reports = tmp_path / "reports.jsonl"
    sprocket("run", *SCENE, "--source-set", "pace=real", "--rate", "25", "--duration", "1s", "--reports",
             reports, "--quiet")
    times = [line["captured_ns"] for line in read_lines(reports) if line["fate"] == "delivered"]
    assert 10 <= len(times) <= 25 and times[-1] - times[0] < 1e9


def test_the_status_line_tells_of_a_camera_that_gives_nothing():
    """The scene is unplugged for a minute. Off a terminal a line comes each five seconds."""
    with running([SPROCKET, "run", "--source", "scene", "--size", "160x120", "--source-set", "pace=real",
                  "--source-set", "unplug=1", "--source-set", "unplugfor=60s", "--null"]) as process:
        lines = iter(lambda: process.stderr.readline().decode(), "")
        silent = next(line for line in lines if "no frame for" in line)
        assert re.search(r"frames/s, no frame for [0-9]+ s", silent), silent
