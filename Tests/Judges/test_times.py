"""Times that no recording has, and gaps that recordings do have: judged by ffprobe and GStreamer.

ffmpeg makes the sources: its filter `setts` writes any time into a packet.
"""
import json
import subprocess

import numpy as np
import pytest

from program import LIMIT, sprocket


def make(path, *arguments):
    subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments),
                    str(path)],
                   check=True,
                   timeout=LIMIT)
    return path


def pictures(path, count, times="TS", rate=25, codec=("mjpeg", )):
    """A film without sound, whose packets have `times`, an expression of ffmpeg's in ms."""
    return make(path, "-f", "lavfi", "-i", f"testsrc2=s=96x64:r={rate}", "-frames:v", count, "-c:v", *codec,
                "-bsf:v", "setts=ts=" + times.replace(",", r"\,"), "-f", "matroska")


def shown(path, stream="v"):
    """When each frame is shown, in seconds from the first, as ffprobe decodes them."""
    text = subprocess.run([
        "ffprobe", "-v", "error", "-select_streams", stream, "-show_entries",
        "frame=best_effort_timestamp_time", "-of", "csv=p=0",
        str(path)
    ],
                          capture_output=True,
                          check=True,
                          timeout=LIMIT)
    assert text.stderr == b"", text.stderr
    found = [float(line.strip(b",")) for line in text.stdout.split() if line.strip(b",")]
    return [time - found[0] for time in found]


def durations(path):
    """{kind of a stream: seconds that ffprobe counts of its packets}"""
    text = subprocess.run([
        "ffprobe", "-v", "error", "-show_entries", "packet=codec_type,pts_time,duration_time", "-of",
        "csv=p=0",
        str(path)
    ],
                          capture_output=True,
                          check=True,
                          text=True,
                          timeout=LIMIT).stdout
    found = {}
    for line in text.split():
        kind, time, length = line.split(",")[:3]
        end = float(time) + (float(length) if length not in ("", "N/A") else 0)
        first, last = found.get(kind, (float(time), end))
        found[kind] = (min(first, float(time)), max(last, end))
    return {kind: last - first for kind, (first, last) in found.items()}


def near(times, others, tolerance):
    assert len(times) == len(others)
    worst = max(abs(one - other) for one, other in zip(times, others))
    assert worst <= tolerance, (worst, times[:8], others[:8])


DAY = 86_400


@pytest.mark.parametrize("ending", ["mov", "mp4", "mkv"])
@pytest.mark.parametrize("command", ["jpeg", "h264", "copy"])
@pytest.mark.parametrize("gaps, seconds, divisor", [
    ("11*gte(N,10)", 11, 1),
    ("3600*gte(N,10)+11*gte(N,20)", 3600, 1),
    ("14*3600*gte(N,10)", 14 * 3600, 3),
    ("(24*86400-1)*gte(N,10)", 24 * DAY - 1, 90),
    ("48000*gte(N,5)", 48000, 3),
],
                         ids=["11s", "1h", "14h", "24d", "48000s"])
def test_any_gap_is_kept(gaps, seconds, divisor, command, ending, tmp_path):
    source = pictures(tmp_path / "in.mkv", 30, f"TS+1000*({gaps})")
    target = tmp_path / f"out.{ending}"
    if command == "jpeg":
        sprocket("run", "--source", f"file:{source}", "--movie", target, "--quiet")
    else:
        sprocket("export", source, target, "--quiet", *(["--copy"] if command == "copy" else []))
    # The source has the gap that the case is called by.
    assert max(np.diff(shown(source))) == pytest.approx(seconds, abs=0.05)
    # A tick of the file's clock, which a long gap makes coarser.
    near(shown(target), shown(source), 0.001 if ending == "mkv" else 1.01 * divisor / 90_000)


@pytest.mark.parametrize("codec", [("mjpeg", ), ("libx264", "-bf", "3", "-g", "8", "-pix_fmt", "yuv420p")],
                         ids=["mjpeg", "h264"])
@pytest.mark.parametrize("ending", ["mov", "mp4", "mkv"])
def test_one_picture_a_day(codec, ending, tmp_path):
    source = make(tmp_path / "in.mkv", "-f", "lavfi", "-i", f"testsrc2=s=96x64:r=1/{DAY}", "-frames:v", 400,
                  "-c:v", *codec, "-f", "matroska")
    for name, options in ("copy", ["--copy"]), ("encoded", []):
        target = tmp_path / f"{name}.{ending}"
        sprocket("export", source, target, "--quiet", *options)
        times = shown(target)
        near(times, [number * DAY for number in range(400)], 0.001)


def test_players_show_a_gap(tmp_path):
    source = pictures(tmp_path / "in.mkv", 30, "TS+3600000*gte(N,10)")
    target = tmp_path / "out.mp4"
    sprocket("export", source, target, "--quiet")
    text = subprocess.run([
        "gst-launch-1.0", "-v", "filesrc", f"location={target}", "!", "qtdemux", "!", "identity",
        "silent=false", "!", "fakesink"
    ],
                          capture_output=True,
                          check=True,
                          text=True,
                          timeout=LIMIT).stdout
    stamps = [
        line.split("pts: ")[1].split(",")[0].split(":") for line in text.splitlines() if "pts: " in line
    ]
    times = sorted(3600 * int(hours) + 60 * int(minutes) + float(seconds)
                   for hours, minutes, seconds in stamps)
    near([time - times[0] for time in times], shown(source), 0.0001)


def test_a_recording_that_was_cut_off_shows_the_picture_behind_a_gap_at_its_time(tmp_path):
    source = pictures(tmp_path / "in.mkv", 60, "TS+50000000*gte(N,30)")
    whole = tmp_path / "whole.mov"
    sprocket("run", "--source", f"file:{source}", "--movie", whole, "--quiet")
    # What a crash leaves has the first index and fragments: the header of the whole file's `mdat` hides them.
    data = bytearray(whole.read_bytes())
    place = 4 + data.index(b"ftyp") - 4 + int.from_bytes(data[:4], "big")
    place -= 4
    assert data[place + 4:place + 8] == b"mdat"
    data[place:place + 16] = (16).to_bytes(4, "big") + b"free" + bytes(8)
    cut = tmp_path / "cut.partial.mov"
    cut.write_bytes(data[:data.rindex(b"moov") - 4])
    near(shown(cut), shown(source), 0.0001)
    recovered = tmp_path / "recovered.mov"
    sprocket("recover", cut, recovered, "--quiet")
    near(shown(recovered), shown(source), 0.0001)


@pytest.mark.parametrize("sink",
                         [["--null"], ["--movie", "out.mov"], ["--movie", "out.mkv"], ["--dump", "out.mcap"]],
                         ids=lambda sink: sink[-1])
def test_a_time_that_nobody_can_count_to_is_closed(sink, tmp_path):
    source = pictures(tmp_path / "in.mkv", 10, "TS+gte(N,1)*10000000000000")
    result = sprocket("run", "--source", f"file:{source}", *sink, cwd=tmp_path)
    assert "the clock of" in result.errors and "produced 10 frames" in result.errors


def test_a_film_of_one_picture_in_63_years_plays(tmp_path):
    film = tmp_path / "slow.y4m"
    film.write_bytes(b"YUV4MPEG2 W16 H16 F1:2000000000 Ip A1:1 C420jpeg\n" + (b"FRAME\n" + bytes(384)) * 8)
    result = sprocket("run", "--source", f"file:{film}", "--null")
    assert "produced 8 frames" in result.errors and "4 more jumps" in result.errors


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    """A second of film with sound as MPEG-TS."""
    return make(
        tmp_path_factory.mktemp("second") / "a.ts", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=1", "-f",
        "lavfi", "-i", "sine=d=1:r=48000", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p",
        "-c:a", "aac", "-f", "mpegts")


@pytest.mark.parametrize("ending, options", [("mp4", []), ("mov", []), ("mkv", []), ("mkv", ["--copy"]),
                                             ("mp4", ["--copy"])])
@pytest.mark.parametrize("offset", [0, 50_000, 95_442], ids=["anew", "ahead", "wrap"])
def test_a_clock_that_jumps_goes_on(second, offset, ending, options, tmp_path):
    """The second part begins anew, jumps ahead, or follows a clock of 33 bits that wraps between them."""
    first, last = (second, tmp_path / "b.ts")
    if offset == 95_442:
        first = make(tmp_path / "a.ts", "-i", second, "-c", "copy", "-output_ts_offset", offset - 1, "-f",
                     "mpegts")
        make(last, "-i", second, "-c", "copy", "-output_ts_offset", 0.282, "-muxdelay", 0, "-f", "mpegts")
    else:
        make(last, "-i", second, "-c", "copy", "-output_ts_offset", offset, "-f", "mpegts")
    source = tmp_path / "in.ts"
    source.write_bytes(first.read_bytes() + last.read_bytes())
    target = tmp_path / f"out.{ending}"
    result = sprocket("export", source, target, *options)
    found = durations(target)
    assert 1.9 < found["video"] < 2.9 and 1.9 < found["audio"] < 2.9, found
    assert target.stat().st_size < 2_000_000
    if offset != 95_442:
        assert "the clock of" in result.errors


def test_a_gap_in_sound_takes_no_room(tmp_path):
    """Pictures and PCM with a hole of 14 hours: sound is in step behind it, and nothing is written for it."""
    parts = []
    for number, offset in enumerate([0, 50_400]):
        parts.append(
            make(tmp_path / f"{number}.mkv", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=2", "-f", "lavfi",
                 "-i", "sine=d=2:r=48000", "-c:v", "mjpeg", "-c:a", "pcm_s16le", "-f", "matroska"))
    lists = tmp_path / "list"
    lists.write_text(f"file '{parts[0]}'\nduration 50400\nfile '{parts[1]}'\n")
    source = make(tmp_path / "in.mkv", "-f", "concat", "-safe", 0, "-i", lists, "-c", "copy", "-f",
                  "matroska")
    for name, options in ("mov", []), ("mp4", []), ("mkv", []):
        target = tmp_path / f"out.{name}"
        sprocket("run", "--source", f"file:{source}", "--microphone", f"file:{source}", "--movie", target,
                 "--quiet", *options)
        assert target.stat().st_size < 3_000_000, target.stat().st_size
        times = shown(target)
        assert abs(times[50] - 50_400) < 0.05, times[48:52]
        found = durations(target)
        assert abs(found["audio"] - found["video"]) < 0.2, found


@pytest.fixture(scope="module")
def holed(tmp_path_factory):
    """Pictures with a hole of 20 s, and PCM with the same."""
    folder = tmp_path_factory.mktemp("holed")
    part = make(folder / "part.mkv", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=2", "-f", "lavfi", "-i",
                "sine=d=2:r=48000", "-c:v", "mjpeg", "-c:a", "pcm_s16le", "-f", "matroska")
    (folder / "list").write_text(f"file '{part}'\nduration 22\nfile '{part}'\n")
    return make(folder / "in.mkv", "-f", "concat", "-safe", 0, "-i", folder / "list", "-c", "copy", "-f",
                "matroska")


def samples(path):
    """The sound as ffmpeg decodes it, mono, 16 bits."""
    data = subprocess.run([
        "ffmpeg", "-v", "error", "-i",
        str(path), "-map", "0:a", "-af", "aresample=async=1:first_pts=0", "-ac", "1", "-f", "s16le", "-"
    ],
                          capture_output=True,
                          check=True,
                          timeout=LIMIT).stdout
    return np.frombuffer(data, np.int16).astype(float)


def is_loud(sound, second):
    part = sound[int((second + 0.1) * 48_000):int((second + 0.4) * 48_000)]
    return len(part) > 1000 and np.abs(part).mean() > 500


def test_a_copy_of_pcm_behind_a_stall_of_the_pictures_is_whole(tmp_path):
    """Pictures pause for 3 s while sound goes on: the copy's samples are those of the source."""
    source = tmp_path / "in.mkv"
    make(source, "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=6", "-f", "lavfi", "-i", "sine=d=6:r=48000",
         "-vf", r"select=not(between(t\,1\,4))", "-fps_mode", "passthrough", "-c:v", "mjpeg", "-c:a",
         "pcm_s16le", "-f", "matroska")
    first, copy = tmp_path / "first.mov", tmp_path / "copy.mov"
    sprocket("run", "--source", f"file:{source}", "--microphone", f"file:{source}", "--movie", first,
             "--quiet")
    sprocket("export", first, copy, "--copy", "--quiet")
    near(shown(copy), shown(source), 0.001)
    assert np.array_equal(samples(copy), samples(first)) and len(samples(copy)) > 5.9 * 48_000


@pytest.mark.parametrize("options",
                         [["--codec", "h264"], ["--rate", "25"], ["--codec", "mjpeg"], ["--codec", "hevc"]],
                         ids=lambda options: options[-1])
def test_sound_stays_with_its_pictures_behind_a_hole(holed, options, tmp_path):
    for ending in ("mp4", "mkv"):
        target = tmp_path / f"out.{ending}"
        sprocket("export", holed, target, "--quiet", "--overwrite", *options)
        sound = samples(target)
        assert [is_loud(sound, second) for second in (0.5, 1.5, 4, 12, 20, 22.5, 23.3)
                ] == [True, True, False, False, False, True, True], (ending, options)


def test_a_copy_of_standard_input_is_whole(holed, tmp_path):
    film = make(tmp_path / "a.ts", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=3", "-c:v", "libx264", "-g",
                25, "-pix_fmt", "yuv420p", "-f", "mpegts")
    target = tmp_path / "out.mkv"
    with open(film, "rb") as file:
        sprocket("export", "-", target, "--copy", "--to", "2s", "--quiet", stdin=file)
    assert 50 <= len(shown(target)) <= 54
    sprocket("export", "-", target, "--copy", "--quiet", "--overwrite", input=film.read_bytes())
    assert len(shown(target)) == 75


@pytest.mark.parametrize(
    "tag", ["creation_time=2300-01-01T00:00:00Z", "timecode=01:00:00:00", "comment=" + "x" * 70_000],
    ids=["date", "timecode", "long"])
def test_no_tag_breaks_an_export(tag, tmp_path):
    source = make(tmp_path / "in.mkv", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=3", "-c:v", "libx264",
                  "-pix_fmt", "yuv420p", "-metadata", tag)
    target = tmp_path / "out.mp4"
    sprocket("export", source, target, "--from", "1s", "--quiet")
    assert len(shown(target)) == 50
    complaint = subprocess.run(["ffmpeg", "-v", "error", "-i", target, "-f", "null", "-"],
                               capture_output=True,
                               check=True,
                               timeout=LIMIT).stderr
    assert complaint == b""


def header_seconds(path):
    """What the headers of a MOV or MP4 say, by ffprobe: of the file, and of its stream."""
    text = subprocess.run([
        "ffprobe", "-v", "error", "-show_entries", "format=duration:stream=duration", "-of", "csv=p=0",
        str(path)
    ],
                          capture_output=True,
                          check=True,
                          text=True,
                          timeout=LIMIT).stdout
    return [float(line) for line in text.split()]


# A gap of 2 s behind the first picture, which an encoder decodes that much earlier, and one of two hours.
@pytest.mark.parametrize("gap, tolerance", [(2, 0.15), (7200, 0.15)])
@pytest.mark.parametrize("ending", ["mov", "mp4"])
def test_headers_last_as_long_as_the_pictures(gap, tolerance, ending, tmp_path):
    source = pictures(tmp_path / "in.mkv", 60, f"N*40+if(gt(N,0),{gap * 1000},0)")
    sprocket("export", source, tmp_path / f"a.{ending}", "--codec", "h264", "--quiet")
    last = shown(tmp_path / f"a.{ending}")[-1]
    for seconds in header_seconds(tmp_path / f"a.{ending}"):
        assert last <= seconds <= last + tolerance
    text = sprocket("inspect", tmp_path / f"a.{ending}").stdout.decode()
    assert f"{last + 0.04:.3f} s" in text and "1 gap, in which" in text


@pytest.mark.parametrize("pace", ["fast", "real"])
def test_times_beyond_the_limit_are_no_trap(pace, tmp_path):
    """Five pictures at 68 years each, and one that is decoded at no time and shown at 2^62 ms."""
    still = make(tmp_path / "one.jpg", "-f", "lavfi", "-i", "testsrc2=s=96x64", "-frames:v", 1).read_bytes()
    (tmp_path / "a.mjpeg").write_bytes(still * 8)
    film = make(tmp_path / "h.mkv", "-f", "lavfi", "-i", "testsrc2=s=96x64", "-frames:v", 1, "-c:v",
                "libx264", "-bf", 3, "-pix_fmt", "yuv420p", "-live", 1).read_bytes()
    # The cluster gets a time of eight bytes, and loses its checksum.
    cluster = film.index(b"\x1f\x43\xb6\x75")
    block = film[film.index(b"\xe7\x81", cluster) + 3:]
    body = b"\xe7\x88" + (1 << 62).to_bytes(8, "big") + block
    (tmp_path / "far.mkv").write_bytes(film[:cluster + 4] + b"\x01" + len(body).to_bytes(7, "big") + body)
    for path, options in (("a.mjpeg", ["--rate", "1/2147483647"]), ("far.mkv", [])):
        reports = tmp_path / "reports.jsonl"
        sprocket("run", "--source", f"file:{tmp_path / path}", "--source-set", f"pace={pace}", "--reports",
                 reports, "--overwrite", "--quiet", *options)
        found = [json.loads(line)["captured_ns"] for line in reports.read_text().splitlines()]
        assert len(found) == (8 if path == "a.mjpeg" else 1) and found == sorted(found)
        assert pace == "real" or found[-1] > 1 << 61


@pytest.mark.parametrize("codec", ["mjpeg", "h264"])
@pytest.mark.parametrize("ending", ["mov", "mp4"])
def test_a_copy_keeps_pictures_that_begin_after_the_sound(ending, codec, tmp_path):
    """The edit list of a movie waits for them; their length, with a hole of 2 s, comes behind that."""
    options = ["-c:v", "mjpeg"] if codec == "mjpeg" else ["-c:v", "libx264", "-pix_fmt", "yuv420p"]
    late = make(tmp_path / "late.mkv", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=10", "-frames:v", 40, "-vf",
                r"setpts=PTS+gt(N\,20)*2/TB", "-fps_mode", "passthrough", *options)
    film = make(tmp_path / "film.mkv", "-f", "lavfi", "-i", "sine=d=8:r=48000", "-itsoffset", 0.5, "-i", late,
                "-map", "0:a", "-map", "1:v", "-c:v", "copy", "-c:a", "aac")
    sprocket("export", film, tmp_path / f"copy.{ending}", "--copy", "--quiet")
    assert np.allclose(shown(tmp_path / f"copy.{ending}"), shown(film), atol=0.002)
    assert len(shown(film)) == 40


B_FRAMES = ("-bf", "2", "-g", "12", "-pix_fmt", "yuv420p")


@pytest.mark.parametrize("codec, ending", [("mpeg4", "avi"), ("libx264", "avi"), ("mpeg2video", "m2v")])
def test_pictures_without_times_that_are_shown_in_another_order_are_not_copied(codec, ending, tmp_path):
    source = make(tmp_path / f"in.{ending}", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=1", "-c:v", codec,
                  *B_FRAMES)
    for command in ["export", "--copy"], ["recover"]:
        result = sprocket(*command, source, tmp_path / "out.mkv", check=False)
        assert result.returncode == 1 and "have no times, and decoding alone tells" in result.errors
        assert not (tmp_path / "out.mkv").exists()


def test_a_clock_that_restarts_keeps_the_order_of_pictures(tmp_path):
    one = make(tmp_path / "one.mkv", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=2", "-c:v",
               "libx264", *B_FRAMES)
    both = tmp_path / "both.mkv"
    both.write_bytes(one.read_bytes() * 2)
    sprocket("export", both, tmp_path / "out.mp4", "--quiet")
    steps = np.diff(shown(tmp_path / "out.mp4"))
    # Where it restarts a frame's length is guessed.
    assert len(steps) == 99 and (np.abs(steps - 0.04) < 0.0011).sum() >= 98 and steps.min() > 0


@pytest.mark.parametrize("is_dump", [False, True])
def test_a_part_ends_where_it_is_asked_to_though_it_begins_in_a_gap(tmp_path, is_dump):
    film = pictures(tmp_path / "film.mkv", 40, times="if(eq(N,0),0,2000+40*N)")
    if is_dump:
        sprocket("run", "--source", f"file:{film}", "--dump", tmp_path / "film.mcap", "--quiet")
        film = tmp_path / "film.mcap"
    part = tmp_path / "part.mkv"
    # The pictures at 2.04, 2.08, 2.12 and 2.16 s.
    sprocket("export", film, part, "--from", "500ms", "--to", "2200ms", "--quiet")
    assert len(shown(part)) == 4
    none = sprocket("export", film, part, "--from", "500ms", "--to", "1500ms", "--overwrite", check=False)
    assert none.returncode == 1 and "no frame reached" in none.errors


def test_a_part_of_pictures_ends_where_it_is_asked_to(tmp_path):
    make(tmp_path / "%03d.png", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=1", "-frames:v", "10")
    part = tmp_path / "part.mkv"
    sprocket("export", tmp_path, part, "--rate", "1", "--from", "2500ms", "--to", "5s", "--quiet")
    assert len(shown(part)) == 2
