"""A movie on standard output, against ffprobe and ffmpeg; WebM; the total that a movie's files may take."""
import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import tempfile

import cv2
import numpy
import pytest

from program import (LIMIT, SPROCKET, frame_count, one_sentence, read_summary, running, sprocket,
                     wait_for)

SCENE = ["run", "--source", "scene", "--size", "320x240"]
H264 = ["--codec", "h264:preset=ultrafast"]


def ffprobe(path, *arguments):
    text = subprocess.run(["ffprobe", "-v", "error", "-of", "json", *arguments, path], capture_output=True,
                          check=True, timeout=LIMIT)
    assert text.stderr == b"", text.stderr
    return json.loads(text.stdout)


def packets(path):
    return ffprobe(path, "-show_packets", "-select_streams", "v")["packets"]


def frames(path):
    """A digest of each picture, as ffmpeg decodes it, which finds no fault."""
    found = subprocess.run(["ffmpeg", "-v", "warning", "-i", path, "-map", "0:v", "-fps_mode", "passthrough",
                            "-f", "framemd5", "-"], capture_output=True, check=True, timeout=LIMIT)
    assert found.stderr == b"", found.stderr
    return [line.split(b",")[5] for line in found.stdout.splitlines() if not line.startswith(b"#")]


@pytest.mark.parametrize("command", [[*SCENE, "--frames", 300, "--movie", "-", "--quiet"],
                                     ["export", "a.mov", "-"]], ids=["run", "export"])
@pytest.mark.parametrize("reader", ["head -c 100", "true"])
def test_a_reader_that_leaves_before_the_first_fragment_is_no_error(command, reader, tmp_path):
    sprocket(*SCENE, "--frames", 90, "--movie", tmp_path / "a.mov", "--quiet")
    words = " ".join(map(str, command))
    said = subprocess.run(["bash", "-c", f"{SPROCKET} {words} | {reader} >head; echo ${{PIPESTATUS[0]}}"],
                          capture_output=True, text=True, timeout=LIMIT, cwd=tmp_path)
    assert said.stdout == "0\n" and "not written" not in said.stderr, said.stderr


@pytest.mark.parametrize("quiet", [[], ["--quiet"], ["--verbose"]])
@pytest.mark.parametrize("kind,codec", [
    ("mp4", H264), ("mkv", H264), ("mov", H264), ("mp4", []), ("mkv", [])])
def test_a_movie_on_standard_output_is_the_movie(kind, codec, quiet, tmp_path):
    film, piped = tmp_path / f"a.{kind}", tmp_path / "piped"
    choice = [] if kind == "mp4" else ["--container", kind]
    sprocket(*SCENE, "--frames", 70, *codec, "--movie", film, "--quiet")
    piped.write_bytes(sprocket(*SCENE, "--frames", 70, *codec, "--movie", "-", *choice, *quiet).stdout)
    names = ffprobe(piped, "-show_format")["format"]["format_name"]
    assert ("matroska" if kind == "mkv" else "mov,mp4") in names
    assert frames(piped) == frames(film) and len(frames(piped)) == 70
    times = [[packet["pts_time"] for packet in packets(path)]
             for path in (film, piped)]
    assert times[0] == times[1]


def test_a_reader_of_a_pipe_sees_fragments_as_they_come(tmp_path):
    command = [SPROCKET, *SCENE, "--source-set", "pace=real", *H264, "--sync", "200ms", "--movie", "-",
               "--quiet", "--summary", summary := tmp_path / "s.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        # It ends by itself, when its reader has what it wants.
        read = subprocess.run(["ffmpeg", "-v", "error", "-i", "-", "-frames:v", "20", "-f", "framemd5", "-"],
                              stdin=program.stdout, capture_output=True, check=True, timeout=LIMIT)
        program.stdout.close()
        errors = program.stderr.read().decode()
        assert len([line for line in read.stdout.splitlines() if not line.startswith(b"#")]) == 20
        assert program.wait(LIMIT) == 0 and errors == ""
    account = read_summary(summary)["sinks"]["movie"]
    assert account["failed"] == 0 and account["delivered"] >= 20


def test_sound_is_in_the_pipe_too(tmp_path):
    for kind, codec in [("mp4", "aac"), ("mkv", "pcm_s16le")]:
        piped = tmp_path / kind
        piped.write_bytes(sprocket(*SCENE, "--frames", 60, "--microphone", "scene", "--movie", "-", *H264,
                                   "--container", kind, "--quiet").stdout)
        names = [stream["codec_name"] for stream in ffprobe(piped, "-show_streams")["streams"]]
        assert names == ["h264", codec]


def test_a_movie_goes_to_a_file_that_the_shell_opens(tmp_path):
    path = tmp_path / "a.mp4"
    subprocess.run(f"{SPROCKET} {' '.join(SCENE)} --frames 30 --movie - --quiet > {path}", shell=True,
                   check=True, timeout=LIMIT)
    assert frame_count(path) == 30


def test_a_film_is_handed_on(tmp_path):
    film, piped = tmp_path / "a.mov", tmp_path / "piped"
    sprocket(*SCENE, "--frames", 40, "--movie", film, "--quiet")
    piped.write_bytes(sprocket("export", film, "-").stdout)
    assert ffprobe(piped, "-show_streams")["streams"][0]["codec_name"] == "h264" and len(frames(piped)) == 40
    for command in (["export", film, "--copy", "-"], ["recover", film, "-"]):
        said = sprocket(*command, check=False)
        assert said.returncode == 2 and said.stdout == b"" and "give the name of a file" in said.errors


def test_a_terminal_is_refused():
    leader, follower = pty.openpty()
    try:
        said = subprocess.run([SPROCKET, *SCENE, "--frames", "2", "--movie", "-"], stdout=follower,
                              stderr=subprocess.PIPE, timeout=LIMIT)
    finally:
        os.close(leader)
        os.close(follower)
    assert said.returncode == 2
    assert "standard output is a terminal; add a reader" in one_sentence(said.stderr.decode())


@pytest.mark.parametrize("arguments,words", [
    (["--movie", "-", "--split", "5s"], "standard output takes one movie"),
    (["--movie", "-", "--on-demand"], "standard output takes one movie"),
    (["--movie", "-", "--longest", "5s"], "standard output takes one movie"),
    (["--movie", "-", "--reports", "-"], "two outputs write to standard output"),
    (["--movie", "-", "--pipe", "y4m"], "two outputs write to standard output"),
    (["--movie", "-", "--container", "avi"], "mov, mp4, mkv, webm"),
    (["--movie", "-", "--container", "webm"], "choose the codec vp9"),
    (["--movie", "a.mkv", "--container", "mkv"], "the ending of a.mkv says"),
    (["--null", "--container", "mkv"], "--container is for --movie"),
    (["--movie", "a.webm"], "choose the codec vp9"),
    (["--movie", "a.webm", "--codec", "h264"], "choose vp9, vp8 or av1"),
    (["--movie", "a.gif"], ".mov, .mp4, .mkv, .webm"),
    (["--movie", "a.mov", "--keep-total", "1G"], "ride-{n}.mov"),
    (["--movie", "-", "--keep-total", "1G"], "standard output has no files"),
    (["--movie", "cam1{n}.mov", "--split", "1s", "--keep-total", "1G"], "with no digit"),
    (["--source", "cam=scene", "--source", "cam1=scene", "--movie", "{source}{n}.mov", "--split", "1s",
      "--keep-total", "1G"], "with no digit"),
    (["--movie", "a-{n}.mov", "--keep-total", "1G"], "let the movie be split"),
    (["--movie", "a-{n}.mov", "--split", "1G", "--keep-total", "1G"], "less than two files"),
])
def test_what_cannot_be_had_is_refused(arguments, words, tmp_path):
    begin = ["run"] if "--source" in arguments else SCENE
    said = sprocket(*begin, "--frames", 2, *arguments, check=False, cwd=tmp_path)
    assert said.returncode == 2 and words in one_sentence(said.errors), said.errors
    assert said.stdout == b"" and list(tmp_path.iterdir()) == []


def test_two_sources_do_not_share_standard_output():
    said = sprocket("run", "--source", "a=scene", "--source", "b=scene", "--frames", 2, "--movie", "-",
                    check=False)
    assert said.returncode == 2 and "one source" in one_sentence(said.errors)
    assert said.stdout == b""


@pytest.mark.parametrize("codec,name", [("vp9", "vp9"), ("vp8", "vp8"), ("av1:preset=12", "av1")])
def test_webm_is_what_others_read(codec, name, tmp_path):
    path = tmp_path / "a.webm"
    sprocket(*SCENE, "--frames", 40, "--codec", codec, "--microphone", "scene", "--movie", path, "--quiet")
    found = ffprobe(path, "-show_streams", "-show_format")
    assert [stream["codec_name"] for stream in found["streams"]] == [name, "opus"]
    assert "webm" in found["format"]["format_name"]
    assert len(frames(path)) == 40
    assert path.read_bytes()[:64].count(b"webm") == 1
    if shutil.which("mkvalidator"):
        subprocess.run(["mkvalidator", path], check=True, timeout=LIMIT)


def split_run(folder, total, frames, *more):
    """A run whose movie goes on in its next file ten times a second; the account of its files."""
    summary = folder / "s.json"
    said = sprocket(*SCENE, "--format", "MJPEG", "--frames", frames, "--movie", folder / "ride-{n}.mov",
                    "--split", "100ms", "--keep-total", total, "--summary", summary, "--overwrite", *more)
    return read_summary(summary), said


# The tag of a movie that a run wrote: no other file is deleted.
OWN = b"captured_ns"


def test_the_last_file_of_a_run_makes_no_room_for_a_further_one(tmp_path):
    (free := tmp_path / "free").mkdir()
    files = [pathlib.Path(record["path"]).stat().st_size
             for record in split_run(free, "1G", 40)[0]["recordings"]]
    (held := tmp_path / "held").mkdir()
    # There is room for all of them, and not for one more.
    kilobytes = (sum(files[:-1]) + max(files)) // 1024 + 2
    assert kilobytes * 1024 < total(free) + max(files)
    summary, said = split_run(held, f"{kilobytes}K", 40)
    assert len(list(held.glob("ride-*.mov"))) == len(files) == len(summary["recordings"]) > 5
    assert "deleted" not in said.errors
    # The next run has no place for its first file.
    summary, said = split_run(held, f"{kilobytes}K", 2)
    assert summary["recordings"][0]["deleted"] == [str(held / "ride-1.mov")]
    assert total(held) < kilobytes * 1024


def test_files_that_no_run_wrote_stay_and_numbers_out_of_reach_are_passed_over(tmp_path):
    others = [tmp_path / f"ride-{number}.mov" for number in (1, 2024, 9223372036854775807)]
    for path in others:
        path.write_bytes(b"mine" * 200_000)
    summary, said = split_run(tmp_path, "400K", 60)
    assert all(path.read_bytes() == b"mine" * 200_000 for path in others)
    numbers = [int(pathlib.Path(record["path"]).stem[5:]) for record in summary["recordings"]]
    assert numbers == list(range(2025, 2025 + len(numbers)))
    assert f"no run wrote {others[0]} and 1 more" in said.errors
    assert [pathlib.Path(record["path"]).exists() for record in summary["recordings"]].count(True) >= 2


def total(folder):
    return sum(path.stat().st_size for path in folder.glob("ride-*.mov"))


def test_the_oldest_files_are_deleted_and_said(tmp_path):
    names = ("ride.mov", "ride-1.mp4", "ride-01.mov", "ride-x.mov", "walk-1.mov")
    others = {name: b"x" * 100_000 for name in names}
    for name, data in others.items():
        (tmp_path / name).write_bytes(data)
    summary, said = split_run(tmp_path, "400K", 120)
    files = summary["recordings"]
    deleted = [path for record in files for path in record.get("deleted", [])]
    made = [record["path"] for record in files]
    assert len(made) >= 20 and deleted == made[:len(deleted)] and len(deleted) > 5
    left = [path for path in made if pathlib.Path(path).exists()]
    assert left == made[len(deleted):] and len(left) >= 2
    assert sum(pathlib.Path(path).stat().st_size for path in left) < 400 * 1024
    assert all((tmp_path / name).read_bytes() == data for name, data in others.items())
    assert f"the oldest were deleted: {len(deleted)} files" in said.errors
    for path in left:
        assert frame_count(path) > 0


def test_files_of_an_earlier_run_count_and_go_first(tmp_path):
    first, _ = split_run(tmp_path, "400K", 60)
    before = {path.name for path in tmp_path.glob("ride-*.mov")}
    # A run that was killed left a file.
    (tmp_path / "ride-1.partial.mov").write_bytes(OWN + b"x" * 50_000)
    second, _ = split_run(tmp_path, "400K", 60)
    highest = max(int(name[5:-4]) for name in before)
    numbers = [int(pathlib.Path(record["path"]).name[5:-4]) for record in second["recordings"]]
    assert numbers == list(range(highest + 1, highest + 1 + len(numbers)))
    deleted = [pathlib.Path(path).name for record in second["recordings"]
               for path in record.get("deleted", [])]
    assert deleted[0] == "ride-1.partial.mov"
    assert before <= set(deleted) | {path.name for path in tmp_path.iterdir()}
    assert total(tmp_path) < 400 * 1024


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_what_cannot_be_deleted_is_an_error_of_the_run_which_goes_on():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # Who does not own a file may not delete it here.
        folder.chmod(0o1777)
        (folder / "ride-1.mov").write_bytes(OWN + b"x" * 500_000)
        said = sprocket(*SCENE, "--format", "MJPEG", "--frames", 60, "--movie", folder / "ride-{n}.mov",
                        "--split", "100ms", "--keep-total", "400K", check=False, user=65534, group=65534,
                        extra_groups=[])
        assert said.returncode == 1 and said.errors.count("ride-1.mov cannot be deleted") == 1, said.errors
        assert (folder / "ride-1.mov").exists() and not (folder / "ride-2.mov").exists()
        assert frame_count(max(folder.glob("ride-*.mov"), key=lambda path: int(path.stem[5:]))) > 0


def test_the_total_is_kept_while_the_run_goes_on(tmp_path):
    command = [SPROCKET, *SCENE, "--format", "MJPEG", "--source-set", "pace=real", "--movie",
               tmp_path / "ride-{n}.mov", "--split", "200ms", "--keep-total", "500K", "--quiet"]
    seen = []
    with running(command) as program:
        def count():
            names = [path.name for path in tmp_path.glob("ride-*.mov")]
            sizes = 0
            for name in names:
                try:
                    sizes += (tmp_path / name).stat().st_size
                except FileNotFoundError:
                    pass
            seen.append(sizes)
            return any(int(name.split(".")[0][5:]) > 25 for name in names)
        wait_for(count, program)
        program.send_signal(signal.SIGINT)
        assert program.wait(LIMIT) == 0
    assert max(seen) < 512_000 and total(tmp_path) < 512_000
    assert not (tmp_path / "ride-1.mov").exists()


def luma(movie, width, height):
    """The luma of each picture, as ffmpeg decodes it."""
    found = subprocess.run(["ffmpeg", "-v", "error", "-i", movie, "-fps_mode", "passthrough", "-pix_fmt",
                            "gray", "-f", "rawvideo", "-"], capture_output=True, check=True, timeout=LIMIT)
    return numpy.frombuffer(found.stdout, numpy.uint8).reshape(-1, height, width)


# Each with its size, and the columns and rows of 320x240 that it shows.
@pytest.mark.parametrize("shape,size,columns,rows", [
    ("crop=0.25/0.125/0.5/0.5", (160, 120), (80, 240), (30, 150)),
    ("crop=0.25/0.125/0.5/0.5,size=80x60", (80, 60), (80, 240), (30, 150)),
    ("size=160x", (160, 120), (0, 320), (0, 240)),
    ("size=120x120,fit=fill", (120, 120), (40, 280), (0, 240)),
    ("size=200x240,fit=stretch", (200, 240), (0, 320), (0, 240))])
@pytest.mark.parametrize("kind,codec,most", [
    ("mkv", "codec=ffv1", 1), ("mp4", "codec=h264,crf=8,preset=ultrafast", 24), ("mov", "quality=98", 16)])
def test_a_movies_part_and_size_are_opencvs(kind, codec, most, shape, size, columns, rows, tmp_path):
    """All else keeps the whole picture: a movie beside it."""
    whole, part = tmp_path / "whole.mkv", tmp_path / f"part.{kind}"
    said = sprocket(*SCENE, "--frames", 20, "--sink", f"movie:{whole},codec=ffv1", "--sink",
                    f"movie:{part},{shape},{codec}").errors
    assert ("encoded anew" in said) == (kind == "mov"), said
    shown, seen = luma(whole, 320, 240), luma(part, *size)
    assert len(shown) == len(seen) == 20
    # Limited range on either side would be another picture.
    for old, new in zip(shown, seen):
        exact = old[slice(*rows), slice(*columns)]
        if exact.shape != new.shape:
            exact = cv2.resize(exact.astype(numpy.float32), size, interpolation=cv2.INTER_AREA)
        assert abs(exact.astype(float) - new).max() <= most
    if kind == "mkv" and "size" not in shape:
        assert (shown[:, slice(*rows), slice(*columns)] == seen).all()


def test_a_shape_of_a_movie_is_a_setting_like_all_others(tmp_path):
    refused = sprocket(*SCENE, "--frames", 2, "--sink", f"movie:{tmp_path}/a.mov,crop=0.5/0/0.6/1",
                       check=False)
    assert refused.returncode == 2 and "crop" in one_sentence(refused.errors)
    movie = tmp_path / "b.mp4"
    (tmp_path / "run.yaml").write_text(
        f"source: scene\nframes: 3\noutputs:\n  movie: {{path: {movie}, codec: h264, crop: 0/0/0.5/0.5, "
        "size: 64x64, fit: letterbox}\n")
    sprocket("run", "--pipeline", tmp_path / "run.yaml", "--quiet")
    stream = ffprobe(movie, "-show_streams")["streams"][0]
    assert (stream["width"], stream["height"]) == (64, 64)
