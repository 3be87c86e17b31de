"""wheel.py PACKAGE PREFIX FOLDER: makes a wheel of a Python package and an installed program.

PACKAGE is the folder with pyproject.toml, PREFIX where `make install` has put the program; what lies there
comes to the prefix of the Python that the wheel is installed for. The wheel goes to FOLDER, and its path is
printed. The same files make the same bytes. The format is that of PEP 427.
"""
import base64
import hashlib
import os
import pathlib
import sys
import tomllib
import zipfile


def main(package, prefix, folder):
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    name = f"{project['name']}-{project['version']}"
    tag = f"py3-none-linux_{os.uname().machine}"
    contents = {str(path.relative_to(package)): (path.read_bytes(), 0o644)
                for path in sorted((package / project["name"]).iterdir()) if path.is_file()}
    for path in sorted(path for path in prefix.rglob("*") if path.is_file()):
        mode = 0o755 if os.access(path, os.X_OK) else 0o644
        contents[f"{name}.data/data/{path.relative_to(prefix)}"] = (path.read_bytes(), mode)
    information = f"{name}.dist-info"
    contents[f"{information}/METADATA"] = (metadata(project, package).encode(), 0o644)
    contents[f"{information}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: sprocket\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644)
    record = f"{information}/RECORD"
    lines = [f"{path},sha256={digest(data)},{len(data)}\n" for path, (data, _) in contents.items()]
    contents[record] = ("".join([*lines, f"{record},,\n"]).encode(), 0o644)

    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for inside, (data, mode) in contents.items():
            entry = zipfile.ZipInfo(inside, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    print(path)


def metadata(project, package):
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", f"License: {project['license']['text']}",
             f"Requires-Python: {project['requires-python']}",
             *(f"Requires-Dist: {needed}" for needed in project["dependencies"])]
    for extra, needs in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}",
                  *(f'Requires-Dist: {needed}; extra == "{extra}"' for needed in needs)]
    lines += ["Description-Content-Type: text/markdown", "", (package / project["readme"]).read_text()]
    return "\n".join(lines)


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
