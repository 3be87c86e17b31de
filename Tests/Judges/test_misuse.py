"""Mistakes that must not compile: Tests/Misuse has one in each file, with a part of the compiler's error in
its second line. `-emit-sil` and not `-typecheck`: the latter misses ownership, lifetimes and escapes."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from program import LIMIT

ROOT = pathlib.Path(__file__).parents[2]
SOURCES = sorted((ROOT / "Tests" / "Misuse").glob("*.swift"))
MARK = "// error: "
CAPTURE = ROOT / "docs" / "capture.md"
NUMBER = re.compile(r"\bBug (\d+):")
BUILDS = ("release", "debug", "readme/.build/release", "thread/release")


def modules():
    """The folder of the package's modules: of a build of the target SprocketCapture."""
    given = os.environ.get("SPROCKET_MODULES")
    found = [pathlib.Path(given)] if given else [ROOT / ".build" / build / "Modules" for build in BUILDS]
    for folder in found:
        if (folder / "SprocketCapture.swiftmodule").exists():
            return folder
    pytest.skip("SprocketCapture is not built; run: swift build --target SprocketCapture")


def module_maps():
    """Options that name the modules of C libraries."""
    maps = [*ROOT.glob("Sources/CSprocket*/module.modulemap"),
            *ROOT.glob(".build/checkouts/*/Sources/*/include/module.modulemap"),
            *modules().parent.glob("C*.build/module.modulemap")]
    return [word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}")]


def compile(source, *more):
    """The compiler's answer to a file; `more` options come last. Its output goes to a folder of its own: on
    an error the driver removes the output, which as root may be /dev/null."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            shutil.which("swiftc"), "-emit-sil", "-o", f"{folder}/out.sil", "-swift-version", "6",
            "-parse-as-library", "-enable-upcoming-feature", "ExistentialAny", "-I", str(modules()),
            *module_maps(), str(source), *more]
        return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)


def test_ten_mistakes():
    """docs/capture.md lists ten mistakes; each has a test of the kind that the list says."""
    row = r"^\| (\d+) \|.*\| (does not compile|fails at run time)"
    listed = dict(re.findall(row, CAPTURE.read_text(), re.M))
    kinds = {number: "does not compile" for path in SOURCES for number in NUMBER.findall(path.read_text())}
    for path in ROOT.glob("Tests/SprocketCaptureTests/*.swift"):
        kinds |= {number: "fails at run time" for number in NUMBER.findall(path.read_text())}
    assert listed == kinds and set(listed) == {str(number) for number in range(1, 11)}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_misuse(source):
    lines = source.read_text().splitlines()
    result = compile(source)
    if not lines[1].startswith(MARK):
        assert result.returncode == 0, result.stderr
        return
    assert result.returncode != 0, f"{source.name} compiles"
    errors = [line for line in result.stderr.splitlines() if f"{source.name}:" in line and " error: " in line]
    assert errors and lines[1].removeprefix(MARK) in errors[0], result.stderr
