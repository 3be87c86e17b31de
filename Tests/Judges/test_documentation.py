"""The documentation of all products, as `make docs` makes it: its pages and their search. Code in that of
SprocketCapture compiles: the tutorials', and the blocks in comments."""

import json
import re
import subprocess

import pytest

from program import LIMIT
from test_misuse import ROOT, compile, modules

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


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """What `make docs` makes, of modules that are there. A warning of DocC is an error of the tool."""
    folder = tmp_path_factory.mktemp("documentation") / "pages"
    result = subprocess.run(
        ["python3", ROOT / "Tools" / "documentation.py", modules(), folder], capture_output=True, text=True,
        timeout=LIMIT)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def test_pages(pages):
    assert (pages / "data" / "documentation" / "sprocketcapture" / "capturesession.json").exists()
    assert len(list((pages / "data" / "tutorials").rglob("*.json"))) >= 4
    listed = json.loads((pages / "data" / "documentation.json").read_text())["references"].values()
    assert {"SprocketCore", "SprocketCapture", "Stabilizer"} <= {part["title"] for part in listed}


def symbols(node):
    """{path: title} of a node of the index and of all below it."""
    found = {node["path"]: node["title"]} if "path" in node else {}
    for child in node.get("children", ()):
        found |= symbols(child)
    return found


def test_one_search_finds_symbols_of_all_products(pages):
    """The sidebar's filter looks in the index: below its one root, since it shows no other part of the index
    on the page of a module."""
    root, = json.loads((pages / "index" / "index.json").read_text())["interfaceLanguages"]["swift"]
    found = symbols(root)
    for path, title in [
            ("sprocketcore/source", "Source"), ("sprocketcore/arrivedframe", "ArrivedFrame"),
            ("sprocketcore/captureslot", "CaptureSlot"), ("sprocketcore/stage", "Stage"),
            ("sprocketengine/engine", "Engine"), ("sprocketsinks/moviesink", "MovieSink"),
            ("sprocket/pushsource", "PushSource"), ("sprocketcapture/capturesession", "CaptureSession"),
            ("sprocketpipelines/run", "Run"), ("sprocketcommandline/sprocketmain", "sprocketMain"),
            ("stabilizer/stabilizer", "Stabilizer"), ("sprockettesting/testrun", "TestRun")]:
        paths = [one for one, name in found.items() if re.search(rf"\b{title}\b", name)]
        assert f"/documentation/{path}" in [re.sub(r"\(.*", "", one) for one in paths], paths
    types = {node["type"] for node in root["children"]}
    assert types == {"collection"}, "a node that is called a module has a sidebar, and a search, of its own"
    # A symbol that is re-exported has its page where it is declared.
    assert [one for one, name in found.items() if name == "ArrivedFrame"] == [
        "/documentation/sprocketcore/arrivedframe"]


def test_each_module_says_what_to_import(pages):
    folder = pages / "data" / "documentation"
    for product in re.findall(r"^\| `(Sprocket\w*)` \|", (ROOT / "docs" / "library.md").read_text(), re.M):
        assert (folder / f"{product.lower()}.json").exists(), f"{product} is a product without a page"
    for module, words in [("stabilizer", "SprocketStages"), ("sprocketengine", "Sprocket"),
                          ("sprockettestmemory", "SprocketTesting")]:
        page = json.loads((folder / f"{module}.json").read_text())
        assert f"import {words}" in [part.get("code") for part in page["abstract"]], page["abstract"]


def test_types_and_requirements_have_comments(pages):
    """Whoever writes a source, a sink or a stage reads these."""
    kinds, silent = {"protocol", "struct", "class", "enum", "associatedtype"}, []
    for path in sorted((pages / "data" / "documentation").rglob("*.json")):
        page = json.loads(path.read_text())
        about = page["metadata"]
        if about.get("symbolKind") in kinds or about.get("required"):
            name = f"{about['modules'][0]['name']}: {about['title']}"
            silent += [name] if not page.get("abstract") else []
    assert not silent, "\n".join(silent)
