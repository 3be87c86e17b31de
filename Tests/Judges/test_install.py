"""What `make install` leaves: it runs without Swift, says what a machine lacks, and has a manual."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import shells
from program import HIDE, LIMIT, ROOT, SPROCKET, apart, read_lines

FILES = ["bin/sprocket", "libexec/sprocket/sprocket", "libexec/sprocket/sprocket-plot",
         "share/bash-completion/completions/sprocket",
         "share/fish/vendor_completions.d/sprocket.fish", "share/man/man1/sprocket.1",
         "share/zsh/site-functions/_sprocket"]


def make(target, prefix, *variables, code=0):
    """Of the program under test: nothing is built again, also where the judges' own make has --keep-going."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    result = subprocess.run(
        ["make", "--silent", "--directory", ROOT, "--assume-old=release", f"SPROCKET={SPROCKET}", target,
         f"PREFIX={prefix}", *variables], capture_output=True, text=True, timeout=LIMIT, env=environment)
    assert result.returncode == code, result.stderr
    return result


def test_a_prefix_that_is_no_full_path_is_refused(tmp_path):
    refused = make("install", "opt", code=2)
    assert refused.returncode != 0 and "give PREFIX as a full path" in refused.stderr
    assert not (ROOT / "opt").exists()


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install") / "a prefix"
    make("install", folder)
    return folder


def run(command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=LIMIT, **options)


def test_what_is_installed_is_taken_away_and_nothing_else(tmp_path):
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/other").touch()
    make("install", "/usr", f"DESTDIR={tmp_path}")
    found = files(tmp_path / "usr")
    documents = [name for name in found if name.startswith("share/doc/sprocket/")]
    assert [name for name in found if name not in documents] == sorted([*FILES, "bin/other"])
    assert {"README.md", "LICENSE", "docs/stills.md", "Plugins/Codes/README.md"} <= {
        name.removeprefix("share/doc/sprocket/") for name in documents}
    assert files(tmp_path) == [f"usr/{file}" for file in found]
    make("uninstall", "/usr", f"DESTDIR={tmp_path}")
    assert files(tmp_path) == ["usr/bin/other"]
    assert not [*(tmp_path / "usr").glob("*/sprocket"), *(tmp_path / "usr").glob("*/*/sprocket")]
    make("uninstall", "/usr", f"DESTDIR={tmp_path}")


def test_it_is_stripped_and_needs_no_library_of_swift(prefix):
    program = prefix / "libexec/sprocket/sprocket"
    needed = run(["ldd", program]).stdout
    assert "libturbojpeg" in needed and "swift" not in needed and "Foundation" not in needed
    assert run(["nm", program]).stdout == ""
    # With symbols it has 50 MB, 4 MB of both by the server of its page.
    assert program.stat().st_size < 32_000_000


# The folder of the toolchain. It is hidden, with everything in it.
SWIFT = pathlib.Path(shutil.which("swift") or "/usr/bin/swift").resolve().parents[1]


def test_it_records_without_swift_in_an_empty_environment(prefix, tmp_path):
    result = apart(
        'mount -t tmpfs none "$1"; cd "$3"; exec env -i "$2" run --source scene --duration 1s --movie a.mov '
        "--stage meter --reports a.jsonl --quiet", SWIFT, prefix / "bin/sprocket", tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    delivered = [line for line in read_lines(tmp_path / "a.jsonl") if line["fate"] == "delivered"]
    assert len(delivered) > 5 and all("meter" in line for line in delivered)
    count = run(["ffprobe", "-v", "error", "-count_packets", "-show_entries", "stream=nb_read_packets", "-of",
                 "csv=p=0", tmp_path / "a.mov"])
    assert int(count.stdout) > 5


def test_its_name_signals_and_exit_codes_are_the_programs(prefix, tmp_path):
    (tmp_path / "capture").symlink_to(prefix / "bin/sprocket")
    result = run([tmp_path / "capture", "fly"])
    assert result.returncode == 2 and result.stderr.startswith("capture: there is no command `fly`")
    # The launcher must replace itself by the program (execv): one process, and limits apply to the program.
    with subprocess.Popen([tmp_path / "capture", "run", "--source", "scene", "--pipe", "gray", "--quiet"],
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.read(1)
        assert os.readlink(f"/proc/{process.pid}/exe") == str(prefix / "libexec/sprocket/sprocket")
        process.terminate()
        process.stdout.close()
        assert process.wait(LIMIT) in (0, 1)


THREE = ["run", "--source", "scene", "--frames", "3"]


def test_missing_libraries_are_named_with_their_packages(prefix, tmp_path):
    listed = run(["ldd", prefix / "libexec/sprocket/sprocket"]).stdout.split()
    folder = pathlib.Path(listed[listed.index("libyuv.so.0") + 2]).parent
    result = apart(HIDE, folder, tmp_path, prefix / "bin/sprocket",
                   "libyuv.so libturbojpeg.so", *THREE)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    names, packages = result.stderr.split("; ")
    assert names.startswith("sprocket: not installed here, and needed: ")
    assert {"libyuv.so.0", "libturbojpeg.so.0"} == set(names.rpartition(": ")[2].split(", "))
    assert "apt-get install" in packages and {"libyuv0", "libturbojpeg0"} <= set(packages.split())


def test_libraries_may_lie_elsewhere(prefix, tmp_path):
    listed = run(["ldd", prefix / "libexec/sprocket/sprocket"]).stdout.split()
    library = pathlib.Path(listed[listed.index("libyuv.so.0") + 2])
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(library, tmp_path / "elsewhere/libyuv.so.0")
    script = HIDE.replace('exec "$program"', 'exec env LD_LIBRARY_PATH="$folder/elsewhere" "$program"')
    result = apart(script, library.parent, tmp_path, prefix / "bin/sprocket", "libyuv.so",
                   *THREE)
    assert result.returncode == 0, result.stderr


def test_a_processor_that_it_was_not_built_for_is_told(prefix, tmp_path):
    if os.environ.get("CPU") == "" or "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip("it is built for every processor")
    older = run(["qemu-x86_64", "-cpu", "Nehalem", prefix / "bin/sprocket", "--version"])
    assert older.returncode == 1 and len(older.stderr.splitlines()) == 1
    assert older.stderr.startswith("sprocket: built for processors with AVX2")
    newer = run(["qemu-x86_64", "-cpu", "Haswell", prefix / "bin/sprocket", "--version"])
    assert newer.returncode == 0 and newer.stdout.startswith("Sprocket ")


def test_a_program_for_every_processor_asks_for_none(tmp_path):
    make("install", tmp_path, "CPU=")
    result = run(["qemu-x86_64", "-cpu", "qemu64", tmp_path / "bin/sprocket", "--version"])
    assert result.returncode == 0, result.stderr


# Typed text, the completed text after Tab, and some of the offered words.
TYPED = [
    ("sprocket dev", "sprocket devices ", []),
    ("sprocket run --stage st", "sprocket run --stage stabilize", []),
    ("sprocket run --stage stabilize:mo", "sprocket run --stage stabilize:mode=", []),
    ("sprocket run --stage stabilize:mode=sta", "sprocket run --stage stabilize:mode=standard ", []),
    ("sprocket run --stage stabilize:mode=standard,cr",
     "sprocket run --stage stabilize:mode=standard,crop=", []),
    ("sprocket run --stage=meter:mode=sp", "sprocket run --stage=meter:mode=spot ", []),
    ("sprocket run --stage ", "sprocket run --stage ", ["focus", "meter", "stabilize"]),
    ("sprocket run --stage focus:", "sprocket run --stage focus:", ["measure=", "point=", "window="]),
    ("sprocket run --source sc", "sprocket run --source scene ", []),
    ("sprocket run --source scene --source-set pac", "sprocket run --source scene --source-set pace=", []),
    ("sprocket run --source file:cl", "sprocket run --source file:clip\\ 1.mov ", []),
    ("sprocket run --sink mo", "sprocket run --sink movie:", []),
    ("sprocket run --sink movie:a.mov,q", "sprocket run --sink movie:a.mov,quality=", []),
    ("sprocket run --movie cl", "sprocket run --movie clip\\ 1.mov ", []),
    ("sprocket run --auto-focus con", "sprocket run --auto-focus continuous ", []),
    ("sprocket run --format YUY", "sprocket run --format YUYV ", []),
    ("sprocket stages lat", "sprocket stages latedrop ", []),
    ("sprocket help run rec", "sprocket help run recording ", []),
    ("sprocket export a.mov b.mov --rotate 9", "sprocket export a.mov b.mov --rotate 90 ", []),
    ("sprocket inspect cl", "sprocket inspect clip\\ 1.mov ", []),
    ("sprocket recover cl", "sprocket recover clip\\ 1.mov ", []),
    ("sprocket export cl", "sprocket export clip\\ 1.mov ", []),
    ("sprocket export a.mov cl", "sprocket export a.mov clip\\ 1.mov ", []),
    ("sprocket plot cl", "sprocket plot clip\\ 1.mov ", []),
    ("sprocket ask s ", "sprocket ask s ", ["record", "reconfigure", "recordings"]),
    ("sprocket ask s set met", "sprocket ask s set meter", []),
    ("sprocket ask s set meter:mo", "sprocket ask s set meter:mode=", []),
    ("sprocket ask s reconfigure att", "sprocket ask s reconfigure attach=", []),
    ("sprocket ask s reconfigure stage=rot", "sprocket ask s reconfigure stage=rotate", []),
    ("sprocket run --codec hev", "sprocket run --codec hevc", []),
    ("sprocket run --codec h264:pre", "sprocket run --codec h264:preset=", []),
    ("sprocket run --source scene --control ga", "sprocket run --source scene --control gain=", []),
    ("sprocket run --stage motion --record-when motion.sco",
     "sprocket run --stage motion --record-when motion.score ", []),
    ("sprocket run --on-unplug ", "sprocket run --on-unplug ", ["wait", "stop"]),
    ("sprocket run --frames ", "sprocket run --frames ", []),
]


@pytest.fixture
def home(prefix, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{prefix}/bin:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clip 1.mov").touch()
    return tmp_path


@pytest.mark.parametrize("shell, script", [(shells.bash, FILES[3]), (shells.zsh, FILES[6])],
                         ids=["bash", "zsh"])
def test_a_shell_completes_names_settings_and_files(shell, script, prefix, home):
    found = shell(prefix / script, home, [typed for typed, _, _ in TYPED])
    for (typed, becomes, offers), (line, offered) in zip(TYPED, found, strict=True):
        assert line == becomes, typed
        assert set(offers) <= set(offered), (typed, offered)


def test_fish_completes_names_settings_and_files(prefix, home):
    for typed, becomes, offers in TYPED:
        found = shells.fish(prefix / FILES[4], home, typed)
        last = typed.split(" ")[-1]
        assert set(offers) <= {word.removeprefix(last) for word in found}, typed
        if becomes != typed:
            word = becomes.replace("\\ ", "_").split()[-1].replace("_", " ")
            assert word in found, (typed, found)
    assert shells.fish(prefix / FILES[4], home, "sprocket run --stage me")["meter"].startswith("how bright")


def test_a_program_of_ones_own_completes_its_own_names(home):
    (home / "my own").mkdir()
    own = home / "my own/ramp-up"
    own.symlink_to(pathlib.Path(SPROCKET).with_name("SprocketOwn"))
    os.environ["PATH"] = f"{own.parent}:{os.environ['PATH']}"
    typed = [("ramp-up run --sink bri", "ramp-up run --sink bright"),
             ("ramp-up run --sink bright:ab", "ramp-up run --sink bright:above="),
             ("ramp-up run --source ra", "ramp-up run --source ramp:"),
             ("ramp-up run --source ramp:5 --source-set s",
              "ramp-up run --source ramp:5 --source-set step=")]
    for name, shell in (("bash", shells.bash), ("zsh", shells.zsh)):
        script = home / name / "_ramp-up"
        script.parent.mkdir()
        script.write_text(run([own, "completions", name]).stdout)
        found = shell(script, home, [line for line, _ in typed])
        assert [line for line, _ in found] == [line for _, line in typed], name


def test_the_manual_renders_and_has_what_the_lists_have(prefix):
    page = prefix / "share/man/man1/sprocket.1"
    lint = run(["mandoc", "-T", "lint", "-W", "warning", page])
    assert (lint.returncode, lint.stdout) == (0, "")
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANWIDTH": "100"}
    rendered = run(["man", "--warnings", "--local-file", page], env=environment)
    assert (rendered.returncode, rendered.stderr) == (0, "")
    text = rendered.stdout
    for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "STAGES", "SOURCES", "SINKS", "FILES",
                    "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
        assert f"\n{heading}\n" in text
    for said in ("--stage name[:key=value,...]", "stabilize", "crop=value", "camera[:NAME]", "movie:PATH",
                 "highlighttarget=value", "log_luminance", "NAME.partial.EXT"):
        assert said in text, said
    root = json.loads(run([prefix / "bin/sprocket", "--experimental-dump-help"]).stdout)["command"]
    for command in root["subcommands"]:
        for argument in command["arguments"]:
            name = argument.get("names", [{"name": "h"}])[0]["name"]
            if argument["shouldDisplay"] and name not in ("h", "version"):
                assert re.search(rf"^ +--{name}\b", text, re.MULTILINE), (command["commandName"], name)
    # Programs of users have a manual page, too.
    own = run(["python3", ROOT / "Tools/manual.py", pathlib.Path(SPROCKET).with_name("SprocketOwn")])
    lint = run(["mandoc", "-T", "lint", "-W", "warning"], input=own.stdout)
    assert (lint.returncode, lint.stdout) == (0, "") and ".It Cm ramp" in own.stdout
    # Found by name in the installed location.
    found = run(["man", "--where", "sprocket"], env={**environment, "MANPATH": str(prefix / "share/man")})
    assert found.stdout.strip() == str(page)
