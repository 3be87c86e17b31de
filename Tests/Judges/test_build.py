"""What a build makes of an edit has to be what a clean build makes of it."""
import json
import os
import shutil
import subprocess

from conftest import LIMIT, ROOT


def described():
    """The package as SwiftPM understands it."""
    text = subprocess.run(["swift", "package", "describe", "--type", "json"], cwd=ROOT, capture_output=True,
                          check=True, timeout=LIMIT).stdout
    return json.loads(text)


def test_a_module_names_all_modules_beneath_it():
    """SwiftPM compiles a module again when one that its target names has changed. Without the modules beneath
    those, a structure that changed there keeps its old layout here, and the program crashes."""
    package = described()
    below = {target["name"]: set(target.get("target_dependencies", [])) for target in package["targets"]}
    for name, named in below.items():
        missing = set().union(*(below[other] for other in named)) - named
        assert not missing, f"{name} does not name {sorted(missing)}"
    assert "SprocketPixels" in below["SprocketCommandLine"]
    kinds = {target["name"]: target["type"] for target in package["targets"]}
    for product in package["products"]:
        if product["name"] == "CSprocketSystem" or "library" not in product["type"]:
            continue
        named = set(product["targets"])
        missing = {other for name in named for other in below[name] if kinds[other] == "library"} - named
        assert not missing, f"packages that depend on {product['name']} do not name {sorted(missing)}"


def test_a_header_or_a_flag_that_changes_compiles_all_again(tmp_path):
    """SwiftPM compiles all again when the compiler's version is another text. Tools/swiftc adds to it what
    else decides about all modules."""
    for path in [ROOT / "Tools/swiftc", *ROOT.glob("Sources/C*/*.h"),
                 *ROOT.glob("Sources/C*/module.modulemap")]:
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)

    def version():
        return subprocess.run([tmp_path / "Tools/swiftc", "--version"], capture_output=True, check=True,
                              timeout=LIMIT).stdout
    first = version()
    assert first == version()
    for changed in ("Tools/swiftc", "Sources/CSprocketLibAV/shim.h",
                    "Sources/CSprocketZBar/module.modulemap"):
        before = version()
        with open(tmp_path / changed, "a") as file:
            file.write("\n")
        assert version() != before, changed


MANIFEST = """// swift-tools-version: 6.2
import PackageDescription
let package = Package(
  name: "layers",
  products: [],
  targets: [
    .target(name: "Below"),
    .target(name: "Between", dependencies: ["Below"]),
    .executableTarget(name: "Top", dependencies: ["Between"]),
  ])
"""


def test_a_structure_that_changes_two_modules_below_is_seen(tmp_path):
    """SwiftPM itself, with what our manifest adds to a target's dependencies. Without it the program reads
    the structure by its old layout."""
    manifest = (ROOT / "Package.swift").read_text()
    added = manifest[manifest.index("func addDependencies"):]
    files = {
        "Package.swift": MANIFEST + added,
        "Sources/Below/Below.swift":
            "public struct Pair { public var a = 1, b = 2; @inline(never) public init() {} }",
        "Sources/Between/Between.swift":
            "public import Below\n@inline(never) public func pair() -> Pair { Pair() }",
        "Sources/Top/main.swift": "import Between\nlet found = pair()\nprint(found.a, found.b)"}
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")

    def printed():
        # As `swift build` compiles, whatever `make` has told.
        environment = {name: value for name, value in os.environ.items() if name != "SWIFT_EXEC"}
        built = subprocess.run(["swift", "build", "-c", "release"], cwd=tmp_path, capture_output=True,
                               text=True, env=environment, timeout=LIMIT)
        assert built.returncode == 0, built.stdout + built.stderr
        return subprocess.run([tmp_path / ".build/release/Top"], capture_output=True, text=True, check=True,
                              timeout=LIMIT).stdout.split()
    assert printed() == ["1", "2"]
    (tmp_path / "Sources/Below/Below.swift").write_text(
        "public struct Pair { public var before = 7, a = 1, b = 2; @inline(never) public init() {} }\n")
    assert printed() == ["1", "2"]
