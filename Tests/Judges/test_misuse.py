"""Mistakes that must not compile: Tests/Misuse has one in each file, with a part of the compiler's error in
its second line. `-emit-sil` and not `-typecheck`: the latter misses ownership, lifetimes and escapes."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SOURCES = sorted((ROOT / "Tests" / "Misuse").glob("*.swift"))
MARK = "// error: "
BUILDS = ("release", "debug", "readme/.build/examples/release", "readme/.build/release", "thread/release")
SHIMS = ".build/checkouts/swift-numerics/Sources/_NumericsShims/include/module.modulemap"


def modules():
    """The folder of the package's modules: of a build of the target SprocketCapture."""
    given = os.environ.get("SPROCKET_MODULES")
    found = [pathlib.Path(given)] if given else [ROOT / ".build" / build / "Modules" for build in BUILDS]
    for folder in found:
        if (folder / "SprocketCapture.swiftmodule").exists():
            return folder
    pytest.skip("SprocketCapture is not built; run: swift build --target SprocketCapture")


def compile(source):
    maps = [*ROOT.glob("Sources/CSprocket*/module.modulemap"), *ROOT.glob(SHIMS)]
    options = [word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}")]
    command = [
        shutil.which("swiftc"), "-emit-sil", "-o", "/dev/null", "-swift-version", "6", "-parse-as-library",
        "-enable-upcoming-feature", "ExistentialAny", "-I", str(modules()), *options, str(source)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


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
