"""What a build makes of an edit has to be what a clean build makes of it."""
import json
import shutil
import subprocess

from conftest import LIMIT, ROOT


def described():
    """The package as SwiftPM understands it."""
    text = subprocess.run(["swift", "package", "describe", "--type", "json"], cwd=ROOT, capture_output=True,
                          check=True, timeout=LIMIT).stdout
    return json.loads(text)


def test_a_module_names_all_modules_beneath_it():
    """SwiftPM compiles a module again when one that its target names has changed. Without the modules beneath those,
    a structure that changed there keeps its old layout here, and the program crashes."""
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
    """SwiftPM compiles all again when the compiler's version is another text. Tools/swiftc adds to it what else
    decides about all modules."""
    for path in [ROOT / "Tools/swiftc", *ROOT.glob("Sources/C*/*.h"), *ROOT.glob("Sources/C*/module.modulemap")]:
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)

    def version():
        return subprocess.run([tmp_path / "Tools/swiftc", "--version"], capture_output=True, check=True,
                              timeout=LIMIT).stdout
    first = version()
    assert first == version()
    for changed in ("Tools/swiftc", "Sources/CSprocketLibAV/shim.h", "Sources/CSprocketZBar/module.modulemap"):
        before = version()
        with open(tmp_path / changed, "a") as file:
            file.write("\n")
        assert version() != before, changed
