"""Code in the documentation of SprocketCapture, as `make docs` shows it, compiles: that of the tutorials, and
the blocks in comments."""

import json
import pathlib
import platform
import re
import subprocess

import pytest

from program import LIMIT
from test_misuse import ROOT, compile, module_maps, modules

CAPTURE = ROOT / "Sources" / "SprocketCapture"
RESOURCES = CAPTURE / "Documentation.docc" / "Resources"
FILES = sorted(RESOURCES.glob("*.swift"))
# What blocks in comments take for granted.
GIVEN = """
func block{number}(
  _ camera: CaptureDevice, _ session: CaptureSession, _ photos: PhotoOutput, _ movies: MovieFileOutput,
  _ format: FrameFormat, _ pictures: [[UInt8]]
) async throws {{
{code}
}}
"""


@pytest.fixture(scope="module")
def darkness(tmp_path_factory):
    """The module of the tutorial's stage, as its last step has it."""
    folder = tmp_path_factory.mktemp("modules")
    result = compile(
        RESOURCES / "first-stage-3.swift", "-emit-module", "-module-name", "Darkness",
        "-emit-module-path", str(folder / "Darkness.swiftmodule"))
    assert result.returncode == 0, result.stderr
    return folder


def test_tutorials_show_every_file():
    shown = {
        name for path in CAPTURE.glob("Documentation.docc/*.tutorial")
        for name in re.findall(r'file: "([^"]+)"', path.read_text())}
    assert shown == {path.name for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_tutorial(path, darkness, tmp_path):
    if path.name.endswith("Package.swift"):
        (tmp_path / "Package.swift").write_text(path.read_text())
        result = subprocess.run(
            ["swift", "package", "dump-package"], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["dependencies"], "the program depends on Sprocket"
        return
    result = compile(path, "-I", str(darkness))
    assert result.returncode == 0, result.stderr


def blocks():
    """Code in comments: four columns more than the text, behind an empty line."""
    for path in sorted(CAPTURE.rglob("*.swift")):
        code, isOpen = [], False
        for line in [*path.read_text().splitlines(), ""]:
            match = re.match(r" *///(?: (.*))?$", line)
            text = match and (match[1] or "")
            if match and text.startswith("    ") and (isOpen or code):
                code.append(text)
                continue
            if code:
                yield path.name, "\n".join(code)
                code = []
            isOpen = bool(match) and not text


def test_comments(tmp_path):
    found = list(blocks())
    assert len(found) >= 10
    source = tmp_path / "blocks.swift"
    source.write_text(
        "import SprocketCapture\n"
        + "".join(GIVEN.format(number=index, code=code) for index, (_, code) in enumerate(found)))
    result = compile(source)
    assert result.returncode == 0, result.stderr


def test_pages(tmp_path):
    """What `make docs` does, of modules that are there: no warning, and the tutorials among the pages."""
    command = [
        "swift", "symbolgraph-extract", "-module-name", "SprocketCapture", "-target",
        f"{platform.machine()}-unknown-linux-gnu", "-I", str(modules()), *module_maps(),
        "-minimum-access-level", "public", "-output-dir", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT)
    result = subprocess.run(
        ["docc", "convert", RESOURCES.parent, "--additional-symbol-graph-dir", tmp_path, "--output-path",
         tmp_path / "pages", "--fallback-display-name", "SprocketCapture",
         "--fallback-bundle-identifier", "sprocket"],
        capture_output=True, text=True, timeout=LIMIT)
    assert result.returncode == 0, result.stderr
    assert "warning:" not in result.stdout + result.stderr, result.stdout + result.stderr
    pages = tmp_path / "pages" / "data"
    assert (pages / "documentation" / "sprocketcapture" / "capturesession.json").exists()
    assert len(list((pages / "tutorials").rglob("*.json"))) >= 4
