"""Examples/CameraManager: its size, its table of methods, and the files that its program makes."""
import json
import re
import subprocess

import pytest

from program import LIMIT, ROOT, example

EXAMPLE = ROOT / "Examples" / "CameraManager"
SOURCES = sorted((EXAMPLE / "Sources" / "CameraManager").glob("*.swift"))


def test_it_has_at_most_500_lines():
    lengths = [len(path.read_text().splitlines()) for path in SOURCES]
    assert lengths and sum(lengths) <= 500 and max(lengths) <= 300


def test_each_method_of_the_table_exists():
    public = "\n".join(line for path in SOURCES for line in path.read_text().splitlines()
                       if re.match(r"\s*(@\S+ )?public ", line))
    declared = set(re.findall(r"\b(?:func|var|let|typealias|struct|enum|class) (\w+)", public))
    rows = [line.split(" | ") for line in (EXAMPLE / "README.md").read_text().splitlines()
            if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row[1])}
    assert len(rows) > 30 and len(named) > 35
    assert named <= declared, named - declared
    assert not [row[0] for row in rows if row[1] == "none" and not row[2].strip(" |")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The lines that the program printed, and its folder."""
    folder = tmp_path_factory.mktemp("manager")
    codes = folder / "codes"
    codes.mkdir()
    for text in ("Sprocket", "Grüße"):
        picture = codes / f"{text}-0.png"
        command = ["qrencode", "-8", "-s", "8", "-v", "2", "-o", picture, text]
        subprocess.run(command, check=True, timeout=LIMIT)
        for number in range(1, 10):
            (codes / f"{text}-{number}.png").write_bytes(picture.read_bytes())
    probe = ["ffprobe", "-v", "error", "-show_entries", "stream=width,height", "-of", "csv=p=0:s=x", picture]
    size = subprocess.run(probe, check=True, timeout=LIMIT, capture_output=True, text=True).stdout.strip()
    result = subprocess.run(
        [example("camera-manager"), folder, codes, size], timeout=LIMIT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout, folder


def test_each_step_is_printed(made):
    words = ["ready: ready", "front camera", "quality: 1280x720", "picture: ", "zoom: 2.0 of 4.0", "tapped",
             "zoomed picture: ", "recorded so far: ", "movie: "]
    places = [made[0].find(f"\n{word}" if word != words[0] else word) for word in words]
    assert -1 not in places and places == sorted(places), made[0]
    assert "focus: " not in made[0]


def test_codes_are_read(made):
    assert set(re.findall(r"^code: (.*)", made[0], re.M)) == {"Sprocket", "Grüße"}


def test_the_movie_is_one(made):
    movies = list(made[1].glob("movie-*.mov"))
    assert len(movies) == 1
    command = ["ffprobe", "-v", "error", "-count_frames", "-of", "json", "-show_streams", movies[0]]
    probed = subprocess.run(command, check=True, timeout=LIMIT, capture_output=True)
    video, = json.loads(probed.stdout)["streams"]
    assert (video["codec_type"], video["width"], video["height"]) == ("video", 1280, 720)
    assert int(video["nb_read_frames"]) > 20 and 1.0 < float(video["duration"]) < 4.0


def test_pictures_are_photographs(made):
    pictures = list(made[1].glob("picture-*.jpg"))
    assert len(pictures) == 2
    command = ["exiftool", "-json", "-n", "-ImageWidth", "-ImageHeight", "-DateTimeOriginal", "-ExposureTime"]
    told = subprocess.run([*command, *pictures], check=True, timeout=LIMIT, capture_output=True)
    for photo in json.loads(told.stdout):
        assert (photo["ImageWidth"], photo["ImageHeight"]) == (1280, 720)
        assert photo["DateTimeOriginal"]
