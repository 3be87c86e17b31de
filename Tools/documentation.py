"""Makes one documentation of all products that docs/library.md lists, as pages with one search.

    python3 Tools/documentation.py MODULES PAGES

MODULES is the folder of a build's modules, such as .build/release/Modules; nothing is compiled. Pages go to
the folder PAGES, which is made anew. A product's modules are its own and all that these re-export, each
documented once. A warning of DocC, such as a link to nothing, is an error.
"""

import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
CATALOGUE = ROOT / "Sources" / "SprocketCapture" / "Documentation.docc"
# A row of the table of products: `| `Sprocket` | programs ... |`.
PRODUCT = re.compile(r"^\| `(Sprocket\w*)` \| (.+) \|$", re.M)
LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")
EXPORT = re.compile(r"^@_exported public import (\w+)", re.M)


def products():
    """{product: what it is for}, from docs/library.md."""
    text = (ROOT / "docs" / "library.md").read_text()
    return {name: LINK.sub(r"\1", purpose) for name, purpose in PRODUCT.findall(text)}


def exported(module):
    """The modules that a module re-exports."""
    folder = next(path for place in ("Sources", "Plugins") if (path := ROOT / place / module).is_dir())
    return [name for path in sorted(folder.rglob("*.swift")) for name in EXPORT.findall(path.read_text())]


def exporters():
    """{module: the products that bring it along}, with each product in its own list."""
    found = {}
    for product in products():
        names = [product]
        for name in names:
            names += [new for new in exported(name) if new not in names]
        for name in names:
            found.setdefault(name, []).append(product)
    return found


def page(module, bringing):
    """The module's page: what the product is for, or what to import for the module."""
    purpose = products().get(module)
    if purpose:
        text = f"The product for {purpose}."
    else:
        text = "Comes with `import " + "`, `import ".join(bringing) + "`."
    return f"# ``{module}``\n\n{text}\n"


def module_maps(modules):
    """Options that name the modules of C libraries."""
    maps = [*ROOT.glob("Sources/CSprocket*/module.modulemap"),
            *ROOT.glob(".build/checkouts/*/Sources/*/include/module.modulemap"),
            *modules.parent.glob("C*.build/module.modulemap")]
    return [word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}")]


def extract(module, modules, folder):
    """Writes the public symbols of a module to a folder, each where it is declared."""
    if not (modules / f"{module}.swiftmodule").exists():
        sys.exit(f"{modules} has no module {module}; build it: swift build --target {module}")
    subprocess.run(
        ["swift", "symbolgraph-extract", "-module-name", module, "-I", modules, *module_maps(modules),
         "-target", f"{platform.machine()}-unknown-linux-gnu", "-minimum-access-level", "public",
         "-skip-synthesized-members", "-output-dir", folder],
        check=True, stdout=subprocess.DEVNULL)


def join_modules(pages):
    """Lets the sidebar of each page show all modules, so that its filter finds symbols of all: where nodes of
    an index are called modules, the sidebar shows the page's own module alone."""
    path = pages / "index" / "index.json"
    index = json.loads(path.read_text())
    for root in index["interfaceLanguages"]["swift"]:
        for node in root["children"]:
            if node["type"] == "module":
                node["type"] = "collection"
    path.write_text(json.dumps(index))


def main(modules, pages):
    found = exporters()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        graphs, catalogue, archive = folder / "graphs", folder / CATALOGUE.name, folder / "all.doccarchive"
        graphs.mkdir()
        shutil.copytree(CATALOGUE, catalogue)
        for module, bringing in sorted(found.items()):
            extract(module, modules, graphs)
            if not (catalogue / f"{module}.md").exists():
                (catalogue / f"{module}.md").write_text(page(module, bringing))
        subprocess.run(
            ["docc", "convert", catalogue, "--additional-symbol-graph-dir", graphs, "--output-path", archive,
             "--fallback-display-name", "Sprocket", "--fallback-bundle-identifier", "sprocket",
             "--warnings-as-errors"],
            check=True)
        shutil.rmtree(pages, ignore_errors=True)
        # DocC merges a single archive, too: that makes the page that lists all modules.
        subprocess.run(
            ["docc", "merge", archive, "--output-path", pages, "--synthesized-landing-page-name", "Sprocket",
             "--synthesized-landing-page-topics-style", "list"],
            check=True)
    join_modules(pages)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(map(str, error.cmd[:2]))} failed, see above")
