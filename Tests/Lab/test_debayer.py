"""Mosaics of a driver: every byte arrives, and `debayer` makes pictures of them before they go back."""
import pytest

from conftest import SIZE, Run, captured
from program import sprocket
from recordings import dump_images

FORMATS = ["GRBG", "RG10", "BA12", "GB16", "BYR2"]


def digests(path):
    return dict(line.split() for line in path.read_text().splitlines())


@pytest.mark.costly
@pytest.mark.parametrize("fourcc", FORMATS)
def test_debayer_sees_what_another_program_captures(camera, tmp_path, fourcc):
    expected = captured(camera, fourcc, tmp_path, 2)[1]
    dump = tmp_path / "dump.mcap"
    with Run(tmp_path, camera, "--format", fourcc, "--size", "x".join(map(str, SIZE)), "--frames", 20,
             "--stage", "debayer", "--dump", dump, "--checksums", tmp_path / "live") as run:
        run.end()
    images = dump_images(dump)
    assert len(images) > 0 and all(image.message.data == expected for image in images)
    # The driver's buffers are given back and written anew while the run goes on: a picture that was made too
    # late would be another one.
    sprocket("run", "--source", f"replay:{dump}", "--stage", "debayer", "--checksums", tmp_path / "again",
             "--quiet")
    live, again = digests(tmp_path / "live"), digests(tmp_path / "again")
    assert len(live) > 0 and set(live.values()) == set(again.values()) and len(set(live.values())) == 1
