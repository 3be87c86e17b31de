"""wheel.py PACKAGE PREFIX FOLDER: makes a wheel of a Python package and an installed program.

PACKAGE is the folder with pyproject.toml, PREFIX where `make install` has put the program; what lies there
comes to the prefix of the Python that the wheel is installed for. The wheel goes to FOLDER, and its path is
printed. The same files make the same bytes. The format is that of PEP 427.

The shared libraries that the program needs go with it, all but those of glibc and of the compiler, which
every Linux has. The copies and the program get a DT_RPATH: the loader looks there first, before
LD_LIBRARY_PATH, and for what is opened later, too. If the launcher set LD_LIBRARY_PATH instead, every program
that this one starts would inherit it. A DT_RUNPATH is not for what the libraries need themselves.

Where a copy needs a function of a glibc later than GLIBC, it gets that of later.c.
"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import tomllib
import zipfile

PROGRAM = "libexec/sprocket/sprocket"
LIBRARIES = "libexec/sprocket/lib"
# What the program opens while it runs.
OPENED = ["avformat", "avcodec", "avutil", "swscale", "swresample", "yaml", "zbar"]
# The second number of the glibc that is to suffice, which is Ubuntu 22.04's.
GLIBC = 35
LATER = "libsprocket-later.so"
# PyPI takes files of 100 MB; level 6 makes 2 % less in twice the time.
LEVEL = 4
# What the machine has: auditwheel's list has these, too. Of that list libX11, glib and libexpat are left out,
# since small machines have none.
OUTSIDE = re.compile(r"(ld-linux.*|lib(c|m|mvec|dl|rt|pthread|resolv|util|anl|nsl|stdc\+\+|gcc_s))\.so\.\d+")
# The second number of the oldest glibc that is beside these versions of the compiler's libraries, as PEP 600
# and auditwheel's policies pair them.
COMPILERS = {"GLIBCXX": [((3, 4, 24), 28), ((3, 4, 28), 31), ((3, 4, 29), 34), ((3, 4, 30), 35),
                         ((3, 4, 33), 39)],
             "CXXABI": [((1, 3, 11), 28), ((1, 3, 12), 31), ((1, 3, 13), 34), ((1, 3, 15), 39)],
             "GCC": [((7, 0, 0), 28), ((12, 0, 0), 35), ((14, 0, 0), 39)]}


def main(package, prefix, folder):
    project = tomllib.loads((package / "pyproject.toml").read_text())
    packages, project = project["tool"]["setuptools"]["packages"], project["project"]
    name = f"{project['name'].replace('-', '_')}-{project['version']}"
    information = f"{name}.dist-info"
    contents = {str(path.relative_to(package)): (path.read_bytes(), 0o644) for inside in packages
                for path in sorted((package / inside).iterdir()) if path.is_file()}
    files = {str(path.relative_to(prefix)): path for path in sorted(prefix.rglob("*")) if path.is_file()}
    with tempfile.TemporaryDirectory() as work:
        found = needed([prefix / PROGRAM, *map(opened, OPENED)])
        copies = {PROGRAM: files[PROGRAM], **{f"{LIBRARIES}/{path.name}": path for path in found}}
        for place, path in copies.items():
            files[place] = pathlib.Path(work) / path.name
            shutil.copyfile(path, files[place])
            files[place].chmod(0o755)
            run("patchelf", "--force-rpath", "--set-rpath",
                "$ORIGIN/lib" if place == PROGRAM else "$ORIGIN", files[place])
        files.update(earlier([files[place] for place in copies], pathlib.Path(work) / LATER))
        tag = f"py3-none-manylinux_2_{oldest_glibc(files)}_{os.uname().machine}"
        for place, path in files.items():
            mode = 0o755 if os.access(path, os.X_OK) else 0o644
            contents[f"{name}.data/data/{place}"] = (path.read_bytes(), mode)
    debian = copyrights(found)
    # The GPL asks for the sources; this says which they are.
    sources = run("dpkg-query", "--show", "--showformat", "${source:Package} ${source:Version}\n", *debian)
    sources = "".join(sorted(set(sources.splitlines(keepends=True))))
    contents[f"{information}/licenses/debian-sources"] = (sources.encode(), 0o644)
    licences = {"sprocket": package.parent / "LICENSE", **debian}
    # Debian's accounts name files for the longer texts.
    accounts = "".join(path.read_text() for path in licences.values())
    licences.update((path.name, path) for path in sorted(pathlib.Path("/usr/share/common-licenses").iterdir())
                    if f"common-licenses/{path.name}" in accounts)
    for source, path in licences.items():
        contents[f"{information}/licenses/{source}"] = (path.read_bytes(), 0o644)
    about = metadata(project, package, ["debian-sources", *licences])
    contents[f"{information}/METADATA"] = (about.encode(), 0o644)
    contents[f"{information}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: sprocket\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644)
    record = f"{information}/RECORD"
    lines = [f"{path},sha256={digest(data)},{len(data)}\n" for path, (data, _) in contents.items()]
    contents[record] = ("".join([*lines, f"{record},,\n"]).encode(), 0o644)

    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inside, (data, mode) in contents.items():
            entry = zipfile.ZipInfo(inside, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED, LEVEL)
    print(path)


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def opened(name):
    """The library that a program gets that was compiled with the headers of lib`name`."""
    link = pathlib.Path(run("clang", f"-print-file-name=lib{name}.so").strip())
    return link.with_name(re.search(r"SONAME.*\[(.*)\]", run("readelf", "--dynamic", link))[1])


def needed(roots):
    """The libraries among `roots`, and all that these need, by the names that the loader looks for."""
    found = {path.name: path for path in roots if ".so" in path.name}
    for root in roots:
        for line in run("ldd", root).splitlines():
            name, _, path = line.strip().partition(" => ")
            if path and not OUTSIDE.fullmatch(name):
                if not path.startswith("/"):
                    sys.exit(f"wheel.py: {root} needs {name}, which is not here")
                found[name] = pathlib.Path(path.split(" (")[0])
    return [found[name] for name in sorted(found)]


def earlier(binaries, library):
    """Gives `library`, made of later.c, to those that need functions of a glibc later than GLIBC.

    Returns the library by its place in the wheel, or nothing where none needs it. patchelf's
    --clear-symbol-version does not do: it leaves the version in the list of those that the file needs.
    """
    run("clang", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-s",
        f"-Wl,-soname,{library.name}", "-o", library, pathlib.Path(__file__).with_name("later.c"))
    known = {name for name, is_defined, _ in symbols(library) if is_defined}
    changed = {}
    for path in binaries:
        for name, is_defined, version in symbols(path):
            if is_defined or version is None or version <= (2, GLIBC):
                continue
            if name not in known:
                sys.exit(f"wheel.py: {path.name} needs {name} of glibc {'.'.join(map(str, version))}, which "
                         "Tools/later.c does not have")
            changed.setdefault(path, set()).add(version)
    for path, versions in changed.items():
        run("patchelf", "--add-needed", library.name, path)
        path.write_bytes(without(path.read_bytes(), versions))
    return {f"{LIBRARIES}/{library.name}": library} if changed else {}


def symbols(path):
    """Each dynamic symbol: its name, whether it is defined here, and which version of glibc it is of."""
    for line in run("readelf", "--wide", "--dyn-syms", path).splitlines():
        words = line.split()
        if len(words) > 7 and words[0].endswith(":") and words[0] != "Num:":
            name, _, version = words[7].partition("@")
            glibc = re.fullmatch(r"@?GLIBC_([0-9.]+)", version)
            yield name, words[6] != "UND", glibc and tuple(map(int, glibc[1].split(".")))


def without(data, versions):
    """An ELF file (64 bits, little-endian) that needs none of these versions of glibc.

    The loader looks for every version in the list of needed ones, so that they leave that list. Symbols of
    them become symbols without a version.
    """
    data = bytearray(data)
    start, size, count = struct.unpack_from("<40xQ10xHH", data)
    # Of each section: its type, where it begins, its size, the section that it belongs to.
    headers = [struct.unpack_from("<4xI16xQQI", data, start + size * place) for place in range(count)]
    sections = {kind: place for kind, *place in headers}
    file, _, strings = sections[0x6FFFFFFE]  # SHT_GNU_verneed
    texts = headers[strings][1]
    names = {f"GLIBC_{'.'.join(map(str, version))}".encode() for version in versions}
    gone, is_last = set(), False
    while not is_last:
        first, following = struct.unpack_from("<8xII", data, file)
        kept, entry, step = [], file + first, 1
        while step:
            index, text, step = struct.unpack_from("<6xHII", data, entry)
            if bytes(data[texts + text:data.index(0, texts + text)]) in names:
                gone.add(index)
            else:
                kept.append(entry)
            entry += step
        if not kept:
            sys.exit(f"wheel.py: a file needs nothing else of a library than {names}; this is not handled")
        struct.pack_into("<H", data, file + 2, len(kept))
        struct.pack_into("<I", data, file + 8, kept[0] - file)
        for entry, other in zip(kept, [*kept[1:], None]):
            struct.pack_into("<I", data, entry + 12, other - entry if other else 0)
        file, is_last = file + following, following == 0
    begin, length, _ = sections[0x6FFFFFFF]  # SHT_GNU_versym
    for place in range(begin, begin + length, 2):
        if struct.unpack_from("<H", data, place)[0] in gone:
            struct.pack_into("<H", data, place, 1)  # VER_NDX_GLOBAL
    return data


def oldest_glibc(files):
    """The second number of the oldest glibc that has every symbol that these files need."""
    binaries = [path for path in files.values() if path.read_bytes()[:4] == b"\x7fELF"]
    listed = run("readelf", "--wide", "--version-info", *binaries)
    versions = {(family, tuple(map(int, version.split(".")))) for family, version in re.findall(
        r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_([0-9.]+)\s", listed)}
    newer = [f"{family} {version}" for family, version in versions
             if family != "GLIBC" and version > COMPILERS[family][-1][0]]
    assert not newer, f"COMPILERS has to know which glibc is beside {newer}"
    return max(version[1] if family == "GLIBC" else
               next(glibc for most, glibc in COMPILERS[family] if version <= most)
               for family, version in versions)


def copyrights(libraries):
    """Debian's account of who wrote each library, and under which licence, by Debian's package."""
    paths = [str(path) for path in libraries]
    # Debian's list says /lib of some and /usr/lib of others; both are the same folder.
    listed = subprocess.run(["dpkg-query", "--search", *paths, *(f"/usr{path}" for path in paths)],
                            capture_output=True, text=True).stdout
    packages = {}
    for line in listed.splitlines():
        package, _, path = line.partition(": ")
        packages[path.removeprefix("/usr")] = package.split(":")[0]
    found = sorted({packages[path.removeprefix("/usr")] for path in paths})
    return {package: pathlib.Path("/usr/share/doc", package, "copyright") for package in found}


def metadata(project, package, licences):
    # Sprocket is under its own licence; the whole is not, since x264 and x265 are under the GPL.
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}",
             f"License-Expression: {project['license']['text']} AND GPL-3.0-or-later",
             *(f"License-File: {name}" for name in licences),
             f"Requires-Python: {project['requires-python']}",
             *(f"Requires-Dist: {other}" for other in project["dependencies"])]
    for extra, needs in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}",
                  *(f'Requires-Dist: {other}; extra == "{extra}"' for other in needs)]
    lines += ["Description-Content-Type: text/markdown", "", (package / project["readme"]).read_text()]
    return "\n".join(lines)


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
