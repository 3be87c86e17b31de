"""libav and zbar are loaded when something needs them: the rest starts and runs without them, also on a
machine that does not have them. What needs them says which are missing, and loses nothing."""
import ctypes.util
import os
import pathlib
import re
import subprocess

import pytest
from mcap.reader import make_reader

from program import HIDE, LIMIT, SPROCKET, apart, one_sentence, read_lines, sprocket

LIBAV = "libavformat.so libavcodec.so libavutil.so libswscale.so libswresample.so"
NAMES = re.compile(r"lib(?:avformat|avcodec|avutil|swscale|swresample|zbar)\.so")
SCENE = ["run", "--source", "scene", "--size", "320x240", "--frames", "12", "--quiet"]


def loaded(folder, *arguments):
    """The names of libav and zbar that the loader looked for, in the program and its threads."""
    sprocket(*arguments, env={**os.environ, "LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(folder / "loads")})
    logs = list(folder.glob("loads.*"))
    assert logs and any("libturbojpeg.so" in log.read_text() for log in logs)
    found = {name for log in logs for name in NAMES.findall(log.read_text())}
    for log in logs:
        log.unlink()
    return found


def libraries():
    """The folder of the system's libraries."""
    listed = subprocess.run(["ldd", SPROCKET], capture_output=True, text=True, timeout=LIMIT).stdout.split()
    return pathlib.Path(listed[listed.index("libyuv.so.0") + 2]).parent


def without(names, folder, *arguments):
    """Runs the program where libraries whose names begin so are not installed."""
    place = folder / "machine"
    place.mkdir()
    return apart(f'cd "{folder}"' + HIDE, libraries(), place, SPROCKET, names, *arguments)


def version(library):
    """Major and minor version of one of libav's libraries on this machine."""
    number = getattr(ctypes.CDLL(ctypes.util.find_library(library)), f"{library}_version")()
    return number >> 16, number >> 8 & 255


def test_nothing_is_linked():
    linked = subprocess.run(["ldd", SPROCKET], capture_output=True, text=True, timeout=LIMIT).stdout
    assert not NAMES.findall(linked)
    # 130 libraries come with libav alone.
    assert len(linked.splitlines()) < 30


def test_most_runs_load_neither(tmp_path):
    sinks = ["--reports", tmp_path / "r.jsonl", "--dump", tmp_path / "d.mcap", "--stills", tmp_path / "s",
             "--stage", "meter", "--stage", "focus", "--checksums", tmp_path / "c"]
    replay = ["run", "--source", f"replay:{tmp_path}/d.mcap", "--quiet", "--reports", tmp_path / "r2.jsonl"]
    for arguments in (["--version"], ["--help"], ["devices"], ["stages"], ["completions", "bash"],
                      [*SCENE, *sinks], replay, ["inspect", tmp_path / "d.mcap"]):
        assert loaded(tmp_path, *arguments) == set(), arguments


def test_each_is_loaded_by_what_needs_it(tmp_path):
    assert "libavformat.so" in loaded(tmp_path, *SCENE, "--movie", tmp_path / "a.mov")
    assert "libavformat.so" in loaded(tmp_path, "run", "--source", f"file:{tmp_path}/a.mov", "--checksum",
                                      "--quiet")
    assert loaded(tmp_path, *SCENE, "--stage", "codes", "--null") == {"libzbar.so"}


def test_a_machine_without_them_records_reports_stills_and_dumps(tmp_path):
    result = without(f"{LIBAV} libzbar.so", tmp_path, *SCENE, "--reports", "r.jsonl", "--dump", "d.mcap",
                     "--stills", "s", "--stage", "meter")
    assert (result.returncode, result.stderr) == (0, "")
    assert [line["fate"] for line in read_lines(tmp_path / "r.jsonl")] == ["delivered"] * 12
    assert len(list((tmp_path / "s").glob("*.jpg"))) == 12
    with open(tmp_path / "d.mcap", "rb") as file:
        assert make_reader(file).get_summary().statistics.message_count >= 12


NEEDS = [
    ([*SCENE, "--reports", "r.jsonl", "--movie", "m.mov"], LIBAV, "m.mov cannot be written: "),
    ([*SCENE, "--codec", "h264", "--movie", "m.mp4"], LIBAV, "m.mp4 cannot be written: "),
    ([*SCENE, "--microphone", "scene", "--sound", "a.wav", "--reports", "r.jsonl"], LIBAV,
     "a.wav cannot be written: "),
    (["run", "--source", "file:in.mov", "--reports", "r.jsonl", "--quiet"], LIBAV,
     "in.mov cannot be opened: "),
    (["run", "--source", "file:in.jpg", "--reports", "r.jsonl", "--quiet"], LIBAV,
     "in.jpg cannot be opened: "),
    (["inspect", "in.mov"], LIBAV, "in.mov cannot be opened: "),
    (["export", "in.mov", "m.mkv", "--quiet"], LIBAV, "in.mov cannot be opened: "),
    (["export", "--copy", "in.mov", "m.mkv", "--quiet"], LIBAV, "in.mov cannot be opened: "),
    (["recover", "in.mov", "m.mkv"], LIBAV, "in.mov cannot be opened: "),
    ([*SCENE, "--stage", "codes", "--reports", "r.jsonl"], "libzbar.so", "cannot look for codes: "),
]


@pytest.mark.parametrize("arguments, names, said", NEEDS,
                         ids=["movie", "encoded", "sound", "file", "picture", "inspect", "export", "copy",
                              "recover", "codes"])
def test_what_needs_them_names_library_and_package(arguments, names, said, tmp_path):
    sprocket(*SCENE, "--movie", tmp_path / "in.mov")
    sprocket(*SCENE[:-3], "--frames", "1", "--quiet", "--stills", tmp_path / "stills")
    next((tmp_path / "stills").glob("*.jpg")).rename(tmp_path / "in.jpg")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    result = without(names, tmp_path, *arguments)
    assert result.returncode == 1, (result.stdout, result.stderr)
    sentence = one_sentence(result.stderr)
    assert said in sentence
    for name in names.split():
        assert name in sentence
    packages = re.search(
        r"not installed here; install the Debian packages?: apt-get install((?: lib[a-z]+\d+)+)", sentence)
    assert len(packages[1].split()) == len(names.split())
    after = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")
             if path.is_file() and "machine" not in path.parts}
    assert after == before


def test_a_library_that_another_one_needs_is_named(tmp_path):
    result = without("libx264.so", tmp_path, *SCENE, "--movie", "m.mov")
    assert result.returncode == 1
    sentence = one_sentence(result.stderr)
    assert re.search(r"libavcodec\.so\.\d+ cannot be loaded \(libx264\.so\.\d+: ", sentence)
    assert "apt-get install --reinstall libavcodec" in sentence


@pytest.mark.parametrize("change, said", [
    ((0, -1), "has version"), ((1, 0), "has version"), (None, "has no function"),
], ids=["older", "major", "incomplete"])
def test_another_version_is_refused(change, said, tmp_path):
    major, minor = version("avformat")
    name = f"libavformat.so.{major}"
    found = (major, minor) if change is None else (major + change[0], minor + change[1])
    fake = tmp_path / "fake.c"
    fake.write_text(f"unsigned avformat_version(void) {{ return {found[0]}u << 16 | {found[1]} << 8; }}")
    subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", tmp_path / name, fake], check=True,
                   timeout=LIMIT)
    result = sprocket(*SCENE, "--movie", tmp_path / "m.mov", check=False,
                      env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    assert result.returncode == 1
    sentence = one_sentence(result.errors)
    assert f"{name} {said}" in sentence and f"apt-get install libavformat{major}" in sentence
    if change is not None:
        assert f"{found[0]}.{found[1]} here, and {major}.{minor} is needed" in sentence
    assert not (tmp_path / "m.mov").exists()


def test_too_little_address_space_for_them_is_told(tmp_path):
    """From too little for the libraries to enough for all; a run that was refused leaves no file."""
    def status(megabytes):
        movie = tmp_path / f"{megabytes}.mov"
        limited = ["sh", "-c", f'ulimit -v {megabytes << 10}; exec "$@"', "sh", SPROCKET]
        result = subprocess.run([*limited, *SCENE, "--movie", movie], capture_output=True, text=True,
                                timeout=LIMIT)
        assert result.returncode in (0, 1), (megabytes, result.returncode, result.stderr)
        if result.returncode:
            # A library may have said something itself before.
            assert "ulimit -v" in one_sentence(result.stderr.splitlines()[-1])
        else:
            assert result.stderr == ""
        assert movie.exists() == (result.returncode == 0)
        return result.returncode

    coarse = {megabytes: status(megabytes) for megabytes in range(100, 700, 25)}
    assert {0, 1} == set(coarse.values())
    least = min(megabytes for megabytes, code in coarse.items() if code == 0)
    for megabytes in range(least - 50, least):
        status(megabytes)
