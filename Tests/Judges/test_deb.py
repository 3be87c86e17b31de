"""The package of Debian: what it holds, and that it installs, records and leaves nothing."""
import os
import pathlib
import re
import subprocess

import pytest

from program import LIMIT, ROOT, SPROCKET

# Seconds for what loads packages.
LOADING = 900


def run(*command, limit=LIMIT, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=limit, **options)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("deb")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    made = run("make", "--silent", "--directory", ROOT, "--assume-old=release", f"SPROCKET={SPROCKET}", "deb",
               f"DESTDIR={folder}/root", f"DIST={folder}", env=environment)
    assert made.returncode == 0, made.stderr
    return next(folder.glob("sprocket_*.deb"))


def field(package, name):
    return run("dpkg-deb", "--field", package, name, check=True).stdout.strip()


def files(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


def test_it_names_what_it_needs(package):
    names = re.findall(r"[a-z0-9.+-]{3,}(?=[ ,|]|$)", field(package, "Depends"))
    assert {"libc6", "libturbojpeg0", "libyuv0", "libasound2"} <= set(names)
    assert not [name for name in names if "swift" in name]
    assert {"libavformat59", "libyaml-0-2", "libzbar0"} <= set(field(package, "Recommends").split(", "))
    version = run(SPROCKET, "--version").stdout.split()[1]
    assert field(package, "Version") == version


def test_it_is_installed_by_dpkg_and_removed_without_a_trace(package, tmp_path):
    (tmp_path / "var/lib/dpkg/info").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").touch()
    (tmp_path / "var/lib/dpkg/updates").mkdir()
    dpkg = ["dpkg", f"--root={tmp_path}", "--force-depends", "--force-not-root", "--force-script-chrootless",
            "--log=/dev/null"]
    installed = run(*dpkg, "--install", package)
    assert installed.returncode == 0, installed.stderr
    names = {name for name in files(tmp_path) if name.startswith("usr/")}
    assert {"usr/bin/sprocket", "usr/libexec/sprocket/sprocket", "usr/share/man/man1/sprocket.1.gz",
            "usr/share/bash-completion/completions/sprocket", "usr/share/zsh/vendor-completions/_sprocket",
            "usr/share/fish/vendor_completions.d/sprocket.fish", "usr/share/doc/sprocket/copyright",
            "usr/share/doc/sprocket/docs/stills.md", "usr/libexec/sprocket/sprocket-plot"} <= names
    assert all(name.startswith(("usr/bin/", "usr/libexec/sprocket/", "usr/share/")) for name in names)
    version = run(tmp_path / "usr/bin/sprocket", "--version")
    assert version.stdout.startswith("Sprocket ")
    assert run(*dpkg, "--purge", "sprocket").returncode == 0
    assert not (tmp_path / "usr").exists()


@pytest.mark.costly
def test_a_clean_debian_installs_it_records_and_removes_it(package, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("a machine of one's own in a folder needs root")
    root = tmp_path / "debian"
    made = run("debootstrap", "--variant=minbase", "bookworm", root, limit=LOADING)
    assert made.returncode == 0, made.stdout[-2000:]
    (root / "sprocket.deb").write_bytes(package.read_bytes())
    (root / "etc/resolv.conf").write_text(pathlib.Path("/etc/resolv.conf").read_text())
    (root / "etc/hosts").write_text(pathlib.Path("/etc/hosts").read_text())
    before = files(root / "usr")

    def inside(script):
        result = run("unshare", "--mount", "sh", "-euc",
                     'mount -t proc proc "$1/proc"; exec chroot "$1" sh -euc "$2"', "sh", root, script,
                     limit=LOADING, env={"PATH": os.environ["PATH"], "DEBIAN_FRONTEND": "noninteractive"})
        assert result.returncode == 0, result.stdout[-2000:] + result.stderr
        return result.stdout

    inside("apt-get update -qq && apt-get install -qq -y /sprocket.deb")
    inside("sprocket run --source scene --size 320x240 --duration 1s --movie /take.mov --microphone scene "
           "--quiet")
    assert "mjpeg" in inside("sprocket inspect /take.mov")
    told = run("ffprobe", "-v", "error", "-count_packets", "-show_entries",
               "stream=codec_type,nb_read_packets", "-of", "csv=p=0", root / "take.mov", check=True).stdout
    assert re.search(r"video,[1-9]\d", told) and "audio," in told
    assert "photo" in inside("zcat /usr/share/man/man1/sprocket.1.gz")
    inside("apt-get purge -qq -y sprocket && apt-get autoremove -qq -y --purge && apt-get clean")
    left = {name for name in files(root / "usr") - before if "sprocket" in name}
    assert not left
    assert not list((root / "etc").rglob("*sprocket*"))
    assert not list((root / "var/lib/dpkg").rglob("sprocket*"))
