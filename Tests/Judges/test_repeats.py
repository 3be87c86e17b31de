"""The stage repeatdrop, against ffmpeg's digests of each frame."""
import subprocess

import pytest

from program import LIMIT, one_sentence, read_lines, read_summary, sprocket

# Of one quality, so that equal pictures become equal bytes.
MJPEG = ["mjpeg", "-pix_fmt", "yuvj420p", "-qmin", "3", "-qmax", "3"]


def film(path, *arguments, rate=30):
    """Five pictures a second, each some times."""
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=5", "-vf",
                    f"fps={rate}", "-frames:v", "75", *arguments, path], check=True, timeout=LIMIT)
    return path


def digests(path, *arguments):
    """What ffmpeg says of each frame: its time in seconds, and a digest."""
    text = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-vsync", "passthrough",
                           "-enc_time_base", "1/1000", *arguments, "-f", "framemd5", "-"],
                          capture_output=True, check=True, timeout=LIMIT).stdout.decode()
    rows = [line.split(",") for line in text.splitlines() if not line.startswith("#")]
    return [(int(row[2]) / 1000, row[5].strip()) for row in rows]


def wanted(frames, period):
    """Numbers of the frames that differ from the one before, or begin a period."""
    found, before, slot = [], None, None
    for number, (time, digest) in enumerate(frames):
        # The middle of a millisecond: containers cut times.
        now = int((time + 0.0005) // period)
        if digest != before or now != slot:
            found.append(number)
        before, slot = digest, now
    return found


def run(path, folder, *settings):
    reports, summary = folder / "r.jsonl", folder / "s.json"
    sprocket("run", "--source", f"file:{path}", "--stage", ":".join(["repeatdrop", *settings]),
             "--reports", reports, "--summary", summary, "--quiet", "--overwrite")
    lines = read_lines(reports)
    return [line["sequence"] for line in lines if line["fate"] == "delivered"], lines, read_summary(summary)


@pytest.mark.parametrize("codec", [["ffv1"], MJPEG, ["rawvideo", "-pix_fmt", "gray"]])
def test_repeats_are_those_that_ffmpeg_sees(codec, tmp_path):
    path = film(tmp_path / "a.mkv", "-c:v", *codec)
    frames = digests(path)
    passed, lines, summary = run(path, tmp_path, "every=1h")
    assert passed == wanted(frames, 3600) and 12 <= len(passed) <= 14
    assert {line["fate"] for line in lines} == {"delivered", "rejected"}
    parts = {name: part["rejected"] for name, part in summary["stages"].items() if "repeat" in name}
    bytes_alone = codec[0] == "mjpeg"
    assert parts == {"repeatdrop/bytes": (75 - len(passed)) * bytes_alone,
                     "repeatdrop/pixels": (75 - len(passed)) * (not bytes_alone)}


def test_one_passes_per_period(tmp_path):
    path = film(tmp_path / "a.mkv", "-c:v", "ffv1", rate=50)
    passed, _, _ = run(path, tmp_path, "every=60ms")
    assert passed == wanted(digests(path), 0.06)


def test_a_repeated_jpeg_is_not_decoded(tmp_path):
    path = film(tmp_path / "a.mkv", "-c:v", *MJPEG)
    packets = digests(path, "-c", "copy")
    passed, _, summary = run(path, tmp_path, "every=1h")
    assert passed == wanted(packets, 3600)
    assert summary["stages"]["unpack"]["count"] == len(passed)


def test_the_movie_has_each_picture_once_at_its_time(tmp_path):
    path, movie = film(tmp_path / "a.mkv", "-c:v", *MJPEG), tmp_path / "b.mkv"
    sprocket("run", "--source", f"file:{path}", "--stage", "repeatdrop:every=1h,compare=bytes", "--movie",
             movie, "--quiet")
    packets = digests(path, "-c", "copy")
    assert digests(movie, "-c", "copy") == [packets[number] for number in wanted(packets, 3600)]


def test_bytes_alone_need_compressed_frames():
    said = sprocket("run", "--source", "scene", "--format", "YUYV", "--frames", 2, "--null", "--stage",
                    "repeatdrop:compare=bytes", check=False)
    assert said.returncode == 2 and "compare=all" in one_sentence(said.errors)
