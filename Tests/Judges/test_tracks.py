"""What a file has, and what becomes of it: tracks, colour, fields, pictures that are not read."""
import fractions
import io
import json
import re
import struct
import subprocess

import numpy as np
import pytest
from foxglove_schemas_protobuf.CompressedImage_pb2 import CompressedImage
from mcap.writer import Writer
from PIL import Image

from program import LIMIT, read_summary, sprocket
from test_times import make, shown


def streams(path, entries):
    text = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", f"stream={entries}", "-of", "json",
         str(path)],
        capture_output=True,
        check=True,
        timeout=LIMIT).stdout
    return json.loads(text)["streams"]


def first_picture(path, number=0):
    return subprocess.run([
        "ffmpeg", "-v", "error", "-i",
        str(path), "-vf", rf"select=eq(n\,{number})", "-frames:v", "1", "-f", "rawvideo", "-"
    ],
                          capture_output=True,
                          check=True,
                          timeout=LIMIT).stdout


def test_a_copy_begins_where_from_begins(tmp_path):
    """`--from` counts from the first picture, with --copy as without: here sound begins 0.5 s before it."""
    film = make(tmp_path / "b.mp4", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=2", "-f", "lavfi", "-i",
                "sine=d=2:r=48000", "-c:v", "libx264", "-bf", "3", "-g", "12", "-pix_fmt", "yuv420p", "-c:a",
                "aac")
    for ending, options in ("mkv", []), ("ts", []), ("mp4", ["-movflags", "frag_keyframe+delay_moov"]):
        source = make(tmp_path / f"in.{ending}", "-itsoffset", 0.5, "-i", film, "-i", film, "-map", "0:v",
                      "-map", "1:a", "-c", "copy", *options)
        copy, encoded = tmp_path / f"copy-{ending}.mkv", tmp_path / f"encoded-{ending}.mkv"
        part = ["--from", "500ms", "--to", "1200ms", "--quiet"]
        sprocket("export", source, copy, "--copy", *part)
        sprocket("export", source, encoded, *part)
        # From the key picture 12, and from 13, to 29; a copy may have what pictures at its end refer to.
        assert 18 <= len(shown(copy)) <= 22 and len(shown(encoded)) == 17, ending
        assert first_picture(copy) == first_picture(film, 12), ending


@pytest.fixture(scope="module")
def unknown(tmp_path_factory):
    """Films of which one of two tracks of sound is of a codec that nobody knows."""
    folder = tmp_path_factory.mktemp("unknown")
    film = make(folder / "t.mp4", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=2", "-f", "lavfi", "-i",
                "sine=d=2:r=48000", "-f", "lavfi", "-i", "sine=f=500:d=2:r=48000", "-map", 0, "-map", 1,
                "-map", 2, "-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac", "-ac:a:1",
                4).read_bytes()
    places = [at for at in range(len(film)) if film[at:at + 4] == b"mp4a" and b"stsd" in film[at - 24:at]]
    for number, at in enumerate(places):
        end = film.index(b"esds", at)
        (folder / f"{number}.mp4").write_bytes(film[:at] + b"apac" + film[at + 4:end] + b"xxxx" +
                                               film[end + 4:])
    assert len(places) == 2
    return folder


@pytest.mark.parametrize("place, kept", [(0, 4), (1, 1)])
def test_a_track_of_an_unknown_codec_is_left_out(unknown, place, kept, tmp_path):
    source = unknown / f"{place}.mp4"
    for name, options in ("out.mp4", []), ("copy.mov", ["--copy"]), ("copy.mkv", ["--copy"]):
        result = sprocket("export", source, tmp_path / name, *options)
        found = streams(tmp_path / name, "codec_type,codec_name,channels")
        assert [(stream["codec_type"], stream.get("channels")) for stream in found] == [("video", None),
                                                                                        ("audio", kept)]
        if options:
            assert f"stream {place + 1}, sound of the codec apac, is left out" in result.errors


def test_a_film_whose_only_sound_is_unknown_is_exported_without_it(unknown, tmp_path):
    source = unknown / "alone.mp4"
    data = (unknown / "1.mp4").read_bytes()
    place = data.index(b"mp4a", data.index(b"stsd"))
    end = data.index(b"esds", place)
    source.write_bytes(data[:place] + b"apac" + data[place + 4:end] + b"xxxx" + data[end + 4:])
    result = sprocket("export", source, tmp_path / "out.mp4")
    assert "its codec apac is not read" in result.errors
    assert [stream["codec_type"] for stream in streams(tmp_path / "out.mp4", "codec_type")] == ["video"]


def test_of_several_films_the_default_is_taken_and_the_others_are_told(tmp_path):
    source = make(tmp_path / "in.mkv", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=1", "-f", "lavfi", "-i",
                  "testsrc=s=160x120:r=10:d=1", "-map", 0, "-map", 1, "-c:v", "libx264", "-pix_fmt",
                  "yuv420p", "-disposition:v:0", "default", "-disposition:v:1", 0)
    result = sprocket("run", "--source", f"file:{source}", "--null")
    assert "96x64" in result.errors and "pictures in the streams 0, 1; 0 is taken" in result.errors
    other = sprocket("run", "--source", f"file:{source}", "--source-set", "stream=1", "--null")
    assert "160x120" in other.errors and "is taken" not in other.errors
    none = sprocket("run", "--source", f"file:{source}", "--source-set", "stream=7", "--null", check=False)
    assert none.returncode == 2 and "give one of 0, 1" in none.errors
    # Without a default it is the largest.
    plain = make(tmp_path / "plain.mkv", "-i", source, "-map", 0, "-c", "copy", "-disposition", 0,
                 "-default_mode", "passthrough")
    assert "160x120" in sprocket("run", "--source", f"file:{plain}", "--null").errors


@pytest.mark.parametrize("codec", ["h264", "hevc", "mjpeg"])
@pytest.mark.parametrize("ending", ["mov", "mkv"])
@pytest.mark.parametrize("primaries, transfer, matrix", [("smpte432", "bt709", "bt709"),
                                                         ("bt2020", "smpte2084", "bt2020nc"),
                                                         ("bt709", "bt709", "bt709"),
                                                         ("smpte170m", "smpte170m", "smpte170m"),
                                                         ("bt2020", "arib-std-b67", "bt2020nc"),
                                                         ("bt2020", "bt2020-10", "bt2020nc")])
def test_colour_survives_an_encode(primaries, transfer, matrix, ending, codec, tmp_path):
    source = make(tmp_path / "in.mov", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=0.2", "-c:v", "libx264",
                  "-pix_fmt", "yuv420p", "-color_primaries", primaries, "-color_trc", transfer, "-colorspace",
                  matrix)
    target = tmp_path / f"out.{ending}"
    sprocket("export", source, target, "--quiet", *([] if codec == "h264" else ["--codec", codec]))
    found, = streams(target, "color_space,color_transfer,color_primaries")
    if codec == "mjpeg":
        # JPEG has a matrix of its own.
        assert found["color_primaries"] == primaries
    else:
        assert (found["color_primaries"], found["color_transfer"], found["color_space"]) == (primaries,
                                                                                             transfer, matrix)


def test_encrypted_tracks_are_told_and_never_decoded_to_noise(tmp_path):
    source = make(tmp_path / "in.mp4", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=1", "-f", "lavfi", "-i",
                  "sine=d=1", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-encryption_scheme", "cenc-aes-ctr",
                  "-encryption_key", "76a6c65c5ea762046bd749a2e632ccbb", "-encryption_kid",
                  "a7e61c373e219033c21091fa607bf3b8")
    for command in (["run", "--source", f"file:{source}", "--null",
                     "--quiet"], ["export", source, tmp_path / "a.wav"],
                    ["export", source, tmp_path / "a.mov"], ["export", source, tmp_path / "a.mkv", "--copy"]):
        failed = sprocket(*command, check=False)
        assert failed.returncode != 0 and "is encrypted in stream" in failed.errors, failed.errors
    assert [path.name for path in tmp_path.iterdir()] == ["in.mp4"]
    assert "is encrypted in stream 0" in sprocket("inspect", source, check=False).stdout.decode()


def light(path):
    """What ffprobe finds in the container and in the first picture, as numbers."""
    text = subprocess.run([
        "ffprobe", "-v", "error", "-show_frames", "-show_streams", "-read_intervals", "%+#1", "-of", "json",
        str(path)
    ],
                          capture_output=True,
                          check=True,
                          timeout=LIMIT).stdout
    document = json.loads(text)
    found = {}
    for part in document["streams"] + document["frames"]:
        for side in part.get("side_data_list", []):
            found.update({
                key: round(float(fractions.Fraction(value)), 4)
                for key, value in side.items()
                if re.match(r"(red|green|blue|white_point)_[xy]|(min|max)_", key)
            })
    return found


@pytest.mark.parametrize("codec, ending", [("hevc", "mp4"), ("hevc", "mov"), ("hevc", "mkv"), ("h264", "mp4"),
                                           ("av1", "mkv"), ("copy", "mp4"), ("copy", "mkv")])
def test_what_a_film_says_of_its_light_is_kept(codec, ending, tmp_path):
    master = "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50)"
    source = make(tmp_path / "in.mkv", "-f", "lavfi", "-i", "testsrc2=s=128x96:r=25:d=0.4", "-pix_fmt",
                  "yuv420p10le", "-c:v", "libx265", "-x265-params",
                  f"log-level=0:hdr10=1:master-display={master}:max-cll=1000,400")
    expected = {
        "green_x": 0.265,
        "green_y": 0.69,
        "blue_x": 0.15,
        "blue_y": 0.06,
        "red_x": 0.68,
        "red_y": 0.32,
        "white_point_x": 0.3127,
        "white_point_y": 0.329,
        "max_luminance": 1000,
        "min_luminance": 0.005,
        "max_content": 1000,
        "max_average": 400
    }
    assert light(source) == expected
    target = tmp_path / f"out.{ending}"
    sprocket("export", source, target, "--quiet", *(["--copy"] if codec == "copy" else ["--codec", codec]))
    assert light(target) == expected
    if codec == "av1":
        # The container alone says it to those that do not decode.
        sprocket("export", target, tmp_path / "copy.mp4", "--copy", "--quiet")
        assert light(tmp_path / "copy.mp4") == expected


@pytest.mark.parametrize("first", ["tff", "bff"])
@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv"])
def test_interlaced_pictures_stay_interlaced(first, ending, tmp_path):
    source = make(tmp_path / "in.mp4", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=1", "-vf",
                  f"tinterlace={'4' if first == 'tff' else '5'},setfield={first}", "-c:v", "libx264",
                  "-flags", "+ilme+ildct", "-x264-params", f"{first}=1", "-pix_fmt", "yuv420p")
    target = tmp_path / f"out.{ending}"
    sprocket("export", source, target, "--quiet")
    frames = json.loads(
        subprocess.run([
            "ffprobe", "-v", "error", "-show_entries", "frame=interlaced_frame,top_field_first", "-of",
            "json",
            str(target)
        ],
                       capture_output=True,
                       check=True,
                       timeout=LIMIT).stdout)["frames"]
    assert {(frame["interlaced_frame"], frame["top_field_first"])
            for frame in frames} == {(1, int(first == "tff"))}
    told = sprocket("export", source, tmp_path / "other.mp4", "--codec", "hevc")
    assert "does not encode interlaced pictures as such" in told.errors


def test_depth_that_is_lost_is_told(tmp_path):
    source = make(tmp_path / "in.mkv", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=0.2", "-c:v", "ffv1",
                  "-pix_fmt", "yuv420p10le")
    assert "become 8 bits" in sprocket("export", source, tmp_path / "a.mp4").errors
    assert "become 8 bits" not in sprocket("export", source, tmp_path / "b.mp4", "--codec", "hevc").errors


def tiled_tiff(path, value=200):
    """48x64 gray pixels in tiles of 16x16 (TIFF 6.0, section 15)."""
    offsets = [200 + 256 * tile for tile in range(12)]
    fields = [(256, 3, 1, 64), (257, 3, 1, 48), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1),
              (277, 3, 1, 1), (322, 3, 1, 16), (323, 3, 1, 16), (324, 4, 12, 4000), (325, 4, 12, 4100)]
    data = bytearray(b"II*\0" + struct.pack("<I", 8) + struct.pack("<H", len(fields)))
    for tag, kind, count, number in fields:
        data += struct.pack("<HHII", tag, kind, count, number)
    data += bytes(4)
    data += bytes([value]) * (4200 - len(data))
    data[4000:4048] = struct.pack("<12I", *offsets)
    data[4100:4148] = struct.pack("<12I", *[256] * 12)
    path.write_bytes(data)
    assert np.asarray(Image.open(path)).max() >= value
    return path


def test_a_tiff_that_is_not_read_is_never_black(tmp_path):
    picture = Image.new("RGB", (64, 48), (200, 200, 200))
    picture.save(tmp_path / "jpeg.tif", compression="jpeg")
    picture.save(tmp_path / "plain.tif")
    for path, word in (tiled_tiff(tmp_path / "tiled.tif"), "in tiles"), (tmp_path / "jpeg.tif", "as JPEG"):
        result = sprocket("run", "--source", f"file:{path}", "--null", check=False)
        assert result.returncode == 2 and word in result.errors, result.errors
    result = sprocket("run", "--source", f"file:{tmp_path}", "--null", "--summary", tmp_path / "s.json")
    counts = json.loads((tmp_path / "s.json").read_text())["sinks"]["null"]
    assert (counts["delivered"], counts["corrupt"]) == (1, 2) and "in tiles" in result.errors
    pixels = sprocket("run", "--source", f"file:{tmp_path / 'plain.tif'}", "--pipe", "rgb", "--quiet").stdout
    assert min(pixels) > 195


@pytest.mark.parametrize(
    "name, start, kind",
    [("a.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC"),
     ("a.tif", b"II+\0\x08\0\0\0\x10" + bytes(15), "BigTIFF"),
     ("a.tga", b"\0\0\x02" + bytes(9) + b"\x40\0\x30\0\x18\0" + bytes(64 * 48 * 3), "Targa")])
def test_a_picture_that_is_not_read_is_named(name, start, kind, tmp_path):
    path = tmp_path / name
    path.write_bytes(start + bytes(64))
    result = sprocket("run", "--source", f"file:{path}", "--null", check=False)
    assert result.returncode == 2 and f"is a picture in {kind}" in result.errors, result.errors


def test_streams_without_times_have_the_rate_that_is_given(tmp_path):
    source = make(tmp_path / "in.mjpeg", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=10:d=2", "-c:v", "mjpeg",
                  "-f", "mjpeg")
    given = tmp_path / "given.mov"
    with open(source, "rb") as file:
        sprocket("run", "--source", "file:-", "--rate", 10, "--movie", given, "--quiet", stdin=file)
    assert shown(given)[-1] == pytest.approx(1.9)
    assumed = sprocket("run", "--source", f"file:{source}", "--movie", tmp_path / "assumed.mov")
    assert shown(tmp_path / "assumed.mov")[-1] == pytest.approx(0.76)
    assert "has no times: 25 frames/s are assumed" in assumed.errors
    film = make(tmp_path / "in.mov", "-i", source, "-c", "copy")
    refused = sprocket("run", "--source", f"file:{film}", "--rate", 10, "--null", check=False)
    assert refused.returncode == 2 and "times of its own" in refused.errors


def test_no_picture_at_all_is_an_error(tmp_path):
    """Frames that are all damaged, or are marked as not to be used."""
    Image.effect_noise((64, 48), 50).convert("RGB").save(tmp_path / "p.jpg")
    jpeg = (tmp_path / "p.jpg").read_bytes()
    (tmp_path / "bad.mjpeg").write_bytes((jpeg[:200] + b"\xff\xd9") * 5)
    for options in ["--movie", "a.mov"], ["--stills", "s"]:
        result = sprocket("run",
                          "--source",
                          "scene",
                          "--size",
                          "64x48",
                          "--frames",
                          3,
                          "--source-set",
                          "startup=9",
                          *options,
                          "--quiet",
                          check=False,
                          cwd=tmp_path)
        assert result.returncode == 1 and "3 startup" in result.errors, result.errors
    result = sprocket("export", "bad.mjpeg", "o.mp4", "--quiet", check=False, cwd=tmp_path)
    assert result.returncode != 0 and not (tmp_path / "o.mp4").exists()


def test_inspect_counts_what_players_show(tmp_path):
    film = make(tmp_path / "b.mp4", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=2", "-f", "lavfi", "-i",
                "sine=d=2:r=48000", "-c:v", "libx264", "-bf", "3", "-g", "12", "-pix_fmt", "yuv420p", "-c:a",
                "aac")
    source = tmp_path / "in.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-ss", "0.6", "-i", film, "-c", "copy", source],
                   check=True,
                   timeout=LIMIT)
    entry = json.loads(sprocket("inspect", "--json", source).stdout)
    track = (entry[0] if isinstance(entry, list) else entry)["tracks"][0]
    assert (track["count"], track["start_s"]) == (35, 0) and track["duration_s"] == pytest.approx(1.4)


def test_a_folder_has_all_pictures_that_are_read_alone(tmp_path):
    picture = Image.new("RGB", (64, 48), (9, 99, 199))
    for name, kind in ("a.jpg", None), ("b.jfif", "JPEG"), ("c.webp", None), ("d.gif", None):
        picture.save(tmp_path / name, kind)
    sprocket("run", "--source", "scene", "--format", "RG10", "--size", "64x48", "--frames", 1, "--stills",
             tmp_path / "{n}.dng", "--quiet")
    result = sprocket("run", "--source", f"file:{tmp_path}", "--null")
    assert "produced 5 frames" in result.errors, result.errors


def test_frames_and_pages_of_one_file_are_all_there(tmp_path):
    pictures = [Image.new("RGB", (64, 48), (value, value, value)) for value in (20, 60, 100, 140)]
    more = {"save_all": True, "append_images": pictures[1:]}
    pictures[0].save(tmp_path / "a.gif", duration=200, **more)
    pictures[0].save(tmp_path / "b.png", duration=200, **more)
    pictures[0].save(tmp_path / "c.tif", **more)
    pictures[0].save(tmp_path / "d.tiff", compression="tiff_lzw", **more)
    pictures[0].save(tmp_path / "e.png")

    def levels(source, *options):
        data = sprocket("run", "--source", f"file:{source}", "--pipe", "gray", "--reports", tmp_path / "r",
                        "--quiet", "--overwrite", *options).stdout
        times = [json.loads(line)["captured_ns"] for line in (tmp_path / "r").read_text().splitlines()]
        found = np.frombuffer(data, np.uint8).reshape(-1, 48, 64).mean(axis=(1, 2)).round().astype(int)
        return found.tolist(), times

    four = [20, 60, 100, 140]
    # Animations have times of their own; pages have those of the rate.
    for name in "a.gif", "b.png":
        assert levels(tmp_path / name) == (four, [number * 200_000_000 for number in range(4)])
    for name in "c.tif", "d.tiff":
        assert levels(tmp_path / name, "--rate", 10) == (four, [number * 10**8 for number in range(4)])
    assert levels(tmp_path)[0] == four * 4 + [20]


def test_a_page_that_cannot_be_read_is_a_corrupt_frame(tmp_path):
    pictures = [Image.new("RGB", (64, 48), (value, value, value)) for value in (20, 60, 100)]
    pictures[0].save(tmp_path / "a.tif", save_all=True, append_images=pictures[1:])
    data = bytearray((tmp_path / "a.tif").read_bytes())
    # The second page says that it is JPEG.
    second = struct.unpack_from("<I", data, 8 + 2 + 12 * struct.unpack_from("<H", data, 8)[0])[0]
    for place in range(second + 2, second + 2 + 12 * struct.unpack_from("<H", data, second)[0], 12):
        if struct.unpack_from("<H", data, place)[0] == 259:
            struct.pack_into("<H", data, place + 8, 7)
    (tmp_path / "a.tif").write_bytes(data)
    result = sprocket("run", "--source", f"file:{tmp_path / 'a.tif'}", "--null", "--summary",
                      tmp_path / "s.json")
    counts = read_summary(tmp_path / "s.json")["sinks"]["null"]
    assert (counts["delivered"], counts["corrupt"]) == (2, 1)
    assert "is a TIFF compressed as JPEG, which is not read" in result.errors


def tiff(*pages):
    """Pages of 16 x 16 grey pixels of a level each, as (level, more fields, place among the directories): the
    links go from page to page, wherever these lie."""
    strips, directories = {}, {}
    place = 8
    for number, (_, more, _) in enumerate(pages):
        strips[number], place = place, place + 256
    order = sorted(range(len(pages)), key=lambda number: pages[number][2])
    for number in order:
        directories[number], place = place, place + 6 + 12 * (9 + len(pages[number][1]))
    data = bytearray(place)
    struct.pack_into("<2sHI", data, 0, b"II", 42, directories[0])
    for number, (level, more, _) in enumerate(pages):
        data[strips[number]:strips[number] + 256] = bytes([level]) * 256
        fields = {256: 16, 257: 16, 258: 8, 259: 1, 262: 1, 273: strips[number], 277: 1, 278: 16, 279: 256}
        fields.update(more)
        start = directories[number]
        struct.pack_into("<H", data, start, len(fields))
        for index, tag in enumerate(sorted(fields)):
            struct.pack_into("<HHII", data, start + 2 + 12 * index, tag, 4, 1, fields[tag])
        if number + 1 < len(pages):
            struct.pack_into("<I", data, start + 2 + 12 * len(fields), directories[number + 1])
    return bytes(data)


TILED = {322: 16, 323: 16, 324: 8}


@pytest.mark.parametrize(
    "pages, shown",
    [
        ([(20, {}, 0), (60, {}, 1), (100, {}, 2)], [20, 60, 100]),
        # The first directory is the last in the file; one page is a smaller copy; the first is not read.
        ([(20, {}, 3), (60, {}, 2), (100, {}, 1)], [20, 60, 100]),
        ([(20, {
            254: 1
        }, 0), (60, {}, 1)], [60]),
        ([(20, TILED, 0), (60, {}, 1)], [None, 60]),
        ([(20, {}, 0), (60, TILED, 1), (100, {}, 2)], [20, None, 100])
    ])
def test_pages_may_lie_anywhere_and_be_of_any_kind(pages, shown, tmp_path):
    (tmp_path / "a.tif").write_bytes(tiff(*pages))
    Image.new("L", (16, 16), 200).save(tmp_path / "b.png")
    data = sprocket("run", "--source", f"file:{tmp_path}", "--pipe", "gray", "--reports", tmp_path / "r",
                    "--quiet").stdout
    fates = [json.loads(line)["fate"] for line in (tmp_path / "r").read_text().splitlines()]
    assert fates == ["corrupt" if level is None else "delivered" for level in shown] + ["delivered"]
    found = np.frombuffer(data, np.uint8).reshape(-1, 16, 16)[:, 0, 0].tolist()
    assert found == [level for level in shown if level is not None] + [200]


def test_each_page_has_its_own_orientation(tmp_path):
    (tmp_path / "a.tif").write_bytes(tiff((20, {}, 0), (60, {274: 6}, 1)))
    sprocket("run", "--source", f"file:{tmp_path / 'a.tif'}", "--null", "--summary", tmp_path / "s.json",
             "--quiet")
    assert read_summary(tmp_path / "s.json")["epochs"] == 2


def jpeg_of(value):
    data = io.BytesIO()
    Image.new("RGB", (64, 48), (value, 80, 120)).save(data, "JPEG")
    return data.getvalue()


STAMP = 1_700_000_000_000_000_000


def cdr(stamp, *fields):
    """A message of ROS 2 with a header: numbers of 32 bits, texts, and bytes last."""
    data = bytearray(struct.pack("<iI", stamp // 10**9, stamp % 10**9))
    for field in ("camera", *fields):
        if isinstance(field, str):
            field = field.encode() + b"\0"
        if isinstance(field, bool):
            data += bytes([field])
            continue
        data += bytes(-len(data) % 4)
        data += struct.pack("<I", field) if isinstance(field, int) else struct.pack("<I", len(field)) + field
    return b"\0\1\0\0" + bytes(data)


def messages(kind):
    """(schema, encoding, ten messages taken 40 ms apart)"""
    if kind == "foxglove":
        found = []
        for number in range(10):
            message = CompressedImage(data=jpeg_of(number * 20), format="jpeg", frame_id="camera")
            message.timestamp.FromNanoseconds(STAMP + number * 40_000_000)
            found.append(message.SerializeToString())
        return "foxglove.CompressedImage", "protobuf", found
    times = [STAMP + number * 40_000_000 for number in range(10)]
    if kind == "ros compressed":
        return "sensor_msgs/msg/CompressedImage", "cdr", [
            cdr(time, "rgb8; jpeg compressed bgr8", jpeg_of(20 * number)) for number, time in enumerate(times)
        ]
    return "sensor_msgs/msg/Image", "cdr", [
        cdr(time, 48, 64, "rgb8", False, 64 * 3,
            bytes([20 * number, 80, 120]) * (64 * 48)) for number, time in enumerate(times)
    ]


@pytest.mark.parametrize("kind", ["foxglove", "ros compressed", "ros raw"])
def test_messages_of_other_programs_have_their_own_times(kind, tmp_path):
    schema, encoding, all_messages = messages(kind)
    path = tmp_path / "jitter.mcap"
    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start()
        number = writer.register_schema(schema, "ros2msg" if encoding == "cdr" else "protobuf", b"x")
        channel = writer.register_channel("/camera", encoding, number)
        for index, message in enumerate(all_messages):
            logged = STAMP + index // 5 * 200_000_000 + index % 5 * 1_000
            writer.add_message(channel, logged, message, logged)
        writer.finish()
    for stamped, step in (False, None), (True, 40_000_000):
        sprocket("run", "--source", f"replay:{path}", "--source-set", f"stamped={str(stamped).lower()}",
                 "--reports", tmp_path / "r.jsonl", "--pipe", "rgb", "--quiet", "--overwrite")
        times = [json.loads(line)["captured_ns"] for line in (tmp_path / "r.jsonl").read_text().splitlines()]
        assert len(times) == 10
        assert step is None or times == [STAMP + number * step for number in range(10)]
    pixels = sprocket("run", "--source", f"replay:{path}", "--pipe", "rgb", "--quiet").stdout
    reds = np.frombuffer(pixels, np.uint8).reshape(10, 48, 64, 3)[:, :, :, 0].mean(axis=(1, 2))
    assert np.abs(reds - np.arange(10) * 20).max() < 3


def test_tags_survive_an_encode(tmp_path):
    source = make(tmp_path / "in.mov", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=4", "-c:v", "libx264",
                  "-pix_fmt", "yuv420p", "-metadata", "creation_time=2024-05-06T07:08:09Z", "-metadata",
                  "title=A title", "-metadata", "make=Maker", "-metadata", "location=+48.1+011.5/",
                  "-movflags", "use_metadata_tags")
    for ending in "mov", "mp4", "mkv":
        target = tmp_path / f"out.{ending}"
        sprocket("export", source, target, "--from", "2s", "--quiet")
        text = subprocess.run(
            ["ffprobe", "-v", "error", "-show_entries", "format_tags", "-of", "json",
             str(target)],
            capture_output=True,
            check=True,
            timeout=LIMIT).stdout
        tags = {key.lower(): value for key, value in json.loads(text)["format"]["tags"].items()}
        assert (tags["title"], tags["make"]) == ("A title",
                                                 "Maker") and tags["location"].startswith("+48.1"), tags
        assert tags["creation_time"].startswith("2024-05-06T07:08:11"), tags


def told(errors, sink="null"):
    """The ledger's line of a sink: {fate: frames}."""
    names, counts = next((names.split()[1:], line.split()[1:])
                         for names, line in zip(errors.splitlines(),
                                                errors.splitlines()[1:]) if line.startswith(sink))
    return {name: int(count) for name, count in zip(names, counts) if count.isdigit()}


def pages(folder, count=5):
    """A TIFF of several pages, compressed by Deflate."""
    noise = np.random.default_rng(3)
    images = [Image.fromarray(noise.integers(0, 255, (120, 160, 3), np.uint8)) for _ in range(count)]
    images[0].save(folder / "pages.tif", save_all=True, append_images=images[1:], compression="tiff_deflate")
    return folder / "pages.tif"


def animation(folder):
    noise = np.random.default_rng(4)
    images = [Image.fromarray(noise.integers(0, 255, (64, 64), np.uint8)) for _ in range(12)]
    images[0].save(folder / "a.gif", save_all=True, append_images=images[1:], duration=100)
    return folder / "a.gif"


@pytest.mark.parametrize("make_file", [pages, animation])
def test_a_picture_that_is_damaged_inside_is_corrupt(make_file, tmp_path):
    """libavcodec shows what it has of these, and says so in its log alone."""
    whole = make_file(tmp_path)
    bytes = bytearray(whole.read_bytes())
    frames = told(sprocket("run", "--source", f"file:{whole}", "--null").errors)["delivered"]
    at = len(bytes) // 2
    if whole.suffix == ".gif":
        # Within the first row of an image, where most codes mean nothing yet. Before it lie its extension of
        # 8 bytes, its header of 10, a table of colours, the size of codes and that of its first part.
        at = bytes.index(b"\x21\xf9\x04", at) + 18
        at += (3 << (bytes[at - 1] & 7) + 1 if bytes[at - 1] & 0x80 else 0) + 32
    bytes[at:at + 12] = b"\xff" * 12
    damaged = tmp_path / f"damaged{whole.suffix}"
    damaged.write_bytes(bytes)
    found = told(sprocket("run", "--source", f"file:{damaged}", "--null").errors)
    assert found["corrupt"] >= 1 and sum(found.values()) == frames


@pytest.mark.parametrize("make_file, share", [(pages, 0.5), (animation, 0.5), (animation, 0.9)])
def test_a_picture_that_is_cut_off_is_told(make_file, share, tmp_path):
    whole = make_file(tmp_path)
    bytes = whole.read_bytes()
    cut = tmp_path / f"cut{whole.suffix}"
    cut.write_bytes(bytes[:int(len(bytes) * share)])
    assert "is cut off: " in sprocket("run", "--source", f"file:{cut}", "--null").errors
    assert "cut off" in sprocket("inspect", cut).stdout.decode() or whole.suffix == ".gif"
    assert "cut off" not in sprocket("run", "--source", f"file:{whole}", "--null").errors
    # The byte at its end may be missing.
    (tmp_path / "open.gif").write_bytes(bytes[:-1])
    if whole.suffix == ".gif":
        assert "cut off" not in sprocket("run", "--source", f"file:{tmp_path}/open.gif", "--null").errors


def test_inspect_counts_pages_and_lists_animations(tmp_path):
    pages(tmp_path), animation(tmp_path)
    entries = {
        entry["file"].split("/")[-1]: entry
        for entry in json.loads(sprocket("inspect", tmp_path, "--json").stdout)
    }
    assert entries["pages.tif"]["tracks"][0]["count"] == 5 and entries["a.gif"]["tracks"][0]["count"] == 12
    refused = sprocket("recover", tmp_path / "pages.tif", tmp_path / "x.mkv", check=False)
    assert refused.returncode == 2 and "is a picture" in refused.errors


def test_a_folder_with_an_animation_is_one_film(tmp_path):
    """Pixels that are not square, which a GIF may have, become so."""
    folder = tmp_path / "in"
    folder.mkdir()
    Image.new("RGB", (320, 240), "red").save(folder / "1.png")
    gif = bytearray(animation(folder).read_bytes())
    gif[12] = 60  # Pixel aspect: (60 + 15) / 64.
    (folder / "a.gif").write_bytes(gif)
    sprocket("export", folder, tmp_path / "film.mp4")
    assert len(shown(tmp_path / "film.mp4")) == 13 and not (tmp_path / "film-2.mp4").exists()
