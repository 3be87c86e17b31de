"""Checks that what a file says besides pictures and samples is kept, or that a sentence says it is not."""
import json
import struct
import subprocess

import numpy as np
import pytest
from mcap.writer import Writer
from PIL import Image, ImageOps

from program import LIMIT, one_sentence, sprocket
from test_times import make
from test_tracks import cdr, jpeg_of

SUBTITLES = "1\n00:00:00,000 --> 00:00:01,000\nHello\n"
CHAPTERS = ";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=500\ntitle=One\n" \
           "[CHAPTER]\nTIMEBASE=1/1000\nSTART=500\nEND=1000\ntitle=Two\n"


def probe(path, entries, kind="a"):
    text = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", kind, "-show_entries", f"stream={entries}", "-of",
         "json", str(path)], capture_output=True, check=True, timeout=LIMIT).stdout
    return json.loads(text)["streams"][0]


def surround(path, layout):
    """A film whose sound has that layout."""
    return make(path, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=0.5", "-f", "lavfi", "-i",
                "anoisesrc=d=0.5:r=48000", "-af", f"aformat=channel_layouts={layout}", "-c:v", "mjpeg",
                "-c:a", "pcm_s16le", "-shortest")


@pytest.mark.parametrize("layout", ["2.1", "3.0", "quad", "4.0", "5.0", "5.1(side)", "7.1"])
def test_channels_are_heard_where_they_were(layout, tmp_path):
    film = surround(tmp_path / "in.mov", layout)
    # AAC has one place for surround channels.
    encoded = "5.1" if layout == "5.1(side)" else layout
    for ending, codec, expected in (("mp4", "aac", encoded), ("mkv", "aac", encoded), ("mov", "pcm", layout),
                                    ("mp4", "flac", layout), ("mkv", "flac", layout)):
        out = tmp_path / f"{codec}.{ending}"
        told = sprocket("export", film, out, "--audio", codec, "--overwrite").errors
        found = probe(out, "channel_layout")["channel_layout"]
        # FLAC in MP4 has the places of its number of channels alone.
        assert ("does not say where the" in told) == (found != expected), (codec, ending)
        assert found == expected or (codec, ending) == ("flac", "mp4")
    for ending in "wav", "flac":
        sprocket("export", film, tmp_path / f"out.{ending}", "--quiet")
        assert probe(tmp_path / f"out.{ending}", "channel_layout")["channel_layout"] == layout
    # Through a dump.
    sprocket("run", "--source", f"file:{film}", "--microphone", f"file:{film}", "--dump", tmp_path / "d.mcap",
             "--quiet")
    sprocket("export", tmp_path / "d.mcap", tmp_path / "again.wav", "--quiet")
    assert probe(tmp_path / "again.wav", "channel_layout")["channel_layout"] == layout
    # Matroska has no word for the channels of PCM.
    told = sprocket("export", film, tmp_path / "pcm.mkv", "--audio", "pcm").errors
    assert "does not say where the" in told


def test_places_that_a_codec_does_not_have_are_told(tmp_path):
    # Front left and right of the centre, which nothing but WAV and FLAC has for two channels.
    header = bytearray(make(tmp_path / "b.wav", "-f", "lavfi", "-i", "anoisesrc=d=0.5:r=48000", "-af",
                            "aformat=channel_layouts=2.1", "-c:a", "pcm_s16le").read_bytes())
    place = header.index(b"fmt ") + 8 + 20
    header[place:place + 4] = struct.pack("<I", 0x2C0)
    (tmp_path / "odd.wav").write_bytes(header)
    for name in "odd.mp4", "odd.mov":
        told = sprocket("run", "--source", "scene", "--frames", "5", "--microphone",
                        f"file:{tmp_path / 'odd.wav'}", "--movie", tmp_path / name, "--audio-codec",
                        "aac").errors
        assert "does not say where the 3 channels" in told
    sprocket("export", tmp_path / "odd.wav", tmp_path / "again.wav", "--quiet")
    data = (tmp_path / "again.wav").read_bytes()
    place = data.index(b"fmt ") + 8 + 20
    assert data[place:place + 4] == struct.pack("<I", 0x2C0)


@pytest.mark.parametrize("layout", ["mono", "stereo"])
def test_mono_and_stereo_have_the_plain_header(layout, tmp_path):
    sprocket("export", surround(tmp_path / "in.mov", layout), tmp_path / "o.wav", "--quiet")
    assert (tmp_path / "o.wav").read_bytes()[56:58] == b"\1\0"


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """A film with two tracks of sound in two languages, subtitles and chapters."""
    folder = tmp_path_factory.mktemp("rich")
    (folder / "s.srt").write_text(SUBTITLES)
    (folder / "c.txt").write_text(CHAPTERS)
    return make(folder / "in.mkv", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=1", "-f", "lavfi", "-i",
                "sine=d=1", "-i", folder / "s.srt", "-i", folder / "c.txt", "-map", "0", "-map", "1", "-map",
                "2", "-map_chapters", "3", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac", "-c:s",
                "srt", "-metadata:s:a:0", "language=swe")


def test_what_a_film_has_besides_pictures_and_sound_is_told(rich, tmp_path):
    words = "subtitles (subrip), 2 chapters"
    assert words in sprocket("export", rich, tmp_path / "a.mp4").errors
    assert words in sprocket("export", rich, tmp_path / "b.mp4", "--copy").errors
    found = json.loads(sprocket("inspect", rich, "--json").stdout)
    assert found[0]["others"] == ["subtitles (subrip)", "2 chapters"]
    for name in "a.mp4", "b.mp4":
        assert probe(tmp_path / name, "index:stream_tags=language")["tags"]["language"] == "swe"
        assert "others" not in json.loads(sprocket("inspect", tmp_path / name, "--json").stdout)[0]


def test_a_copy_of_a_stream_without_times_says_which_it_has(tmp_path):
    film = ["-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=1"]
    jpegs = make(tmp_path / "a.mjpeg", *film, "-c:v", "mjpeg")
    assert "25 frames/s are assumed" in sprocket("export", jpegs, tmp_path / "a.mov", "--copy").errors
    for codec, name in ("libx264", "a.h264"), ("libx265", "a.hevc"):
        stream = make(tmp_path / name, *film, "-c:v", codec, "-pix_fmt", "yuv420p")
        refused = sprocket("export", stream, tmp_path / "b.mov", "--copy", check=False)
        assert refused.returncode == 2 and "has no times" in one_sentence(refused.errors)
        assert not (tmp_path / "b.mov").exists()


def test_the_lines_of_a_copy_are_about_the_copy(tmp_path):
    film = make(tmp_path / "in.mp4", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=4", "-c:v", "mjpeg")
    told = sprocket("export", film, tmp_path / "out.mov", "--copy", "--from", "2s").errors
    assert "20 frames" in told and "begins at" not in told


def two_cameras(path):
    """Two topics of pictures of another program: dark and bright ones."""
    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("sensor_msgs/msg/CompressedImage", "ros2msg", b"x")
        channels = [writer.register_channel(topic, "cdr", schema) for topic in ("/front", "/back", "/front")]
        for number in range(12):
            data = cdr(number * 40_000_000, "jpeg", jpeg_of(200 if number % 3 == 1 else 20))
            writer.add_message(channels[number % 3], number * 40_000_000, data, number * 40_000_000)
        writer.finish()
    return path


def test_each_topic_of_another_program_can_be_played(tmp_path):
    path = two_cameras(tmp_path / "two.mcap")

    def greys(*options):
        pixels = sprocket("run", "--source", f"replay:{path}", *options, "--pipe", "gray", "--quiet").stdout
        return np.frombuffer(pixels, np.uint8).reshape(-1, 48 * 64).mean(axis=1)

    # One topic has two channels, as files have that were merged.
    assert len(greys()) == 8 and (greys() < 100).all()
    back = greys("--source-set", "stream=/back")
    assert len(back) == 4 and (back > 100).all()
    told = sprocket("run", "--source", f"replay:{path}", "--null").errors
    assert "has pictures on 2 topics, and /front is played; stream=/back plays another" in told
    sprocket("export", path, tmp_path / "back.mp4", "--stream", "/back", "--quiet")
    assert probe(tmp_path / "back.mp4", "nb_frames", "v")["nb_frames"] == "4"
    wrong = sprocket("run", "--source", f"replay:{path}", "--source-set", "stream=/bac", "--null",
                     check=False)
    assert wrong.returncode == 2 and "topics /front, /back" in one_sentence(wrong.errors)
    tracks = json.loads(sprocket("inspect", path, "--json").stdout)[0]["tracks"]
    assert [(track["source"], track["count"]) for track in tracks] == [("/front", 8), ("/back", 4)]


def gradient():
    across, down = np.meshgrid(np.arange(64) * 3, np.arange(48) * 5)
    return np.stack([across, down, np.full_like(across, 60)], 2).astype(np.uint8)


def upright(path):
    pixels = sprocket("run", "--source", f"file:{path}", "--stage", "rotate:upright=true", "--pipe", "rgb",
                      "--quiet").stdout
    return np.frombuffer(pixels, np.uint8)


@pytest.mark.parametrize("kind", ["webp", "webp with a name", "avif"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_pictures_of_all_kinds_are_made_upright(orientation, kind, tmp_path):
    exif = Image.Exif()
    exif[0x112] = orientation
    picture = Image.fromarray(gradient())
    if kind == "avif":
        path = tmp_path / "a.avif"
        picture.save(path, exif=exif.tobytes(), quality=95)
    else:
        path = tmp_path / "a.webp"
        picture.save(path, exif=exif.tobytes()[0 if "name" in kind else 6:], lossless=True)
    picture.getexif()[0x112] = orientation
    expected = np.asarray(ImageOps.exif_transpose(picture))
    found = upright(path)
    assert found.size == expected.size
    difference = found.reshape(expected.shape).astype(int) - expected
    assert np.abs(difference).mean() < 3
    told = json.loads(sprocket("inspect", path, "--json").stdout)[0].get("picture")
    assert (told or {"orientation": 1})["orientation"] == orientation


def test_transparency_is_told_where_it_is(tmp_path):
    pixels = np.dstack([gradient(), np.full((48, 64), 255, np.uint8)])
    opaque = pixels.copy()
    pixels[:10, :, 3] = 100
    for name in "a.png", "a.webp", "a.tiff":
        for array, is_told in (pixels, True), (opaque, False):
            Image.fromarray(array).save(tmp_path / name, lossless=True)
            told = sprocket("run", "--source", f"file:{tmp_path / name}", "--null").errors
            assert ("transparent in places" in told) == is_told, name
    palette = Image.fromarray(gradient()).quantize(16)
    palette.info["transparency"] = int(np.asarray(palette)[0, 0])
    palette.save(tmp_path / "p.png", transparency=palette.info["transparency"])
    assert "transparent" in sprocket("run", "--source", f"file:{tmp_path / 'p.png'}", "--null").errors
    film = make(tmp_path / "a.mov", "-f", "lavfi", "-i", "color=red@0.5:s=64x48:d=0.2,format=yuva444p10le",
                "-c:v", "prores_ks", "-profile:v", "4444")
    assert "transparent" in sprocket("run", "--source", f"file:{film}", "--null").errors


def test_a_tiff_of_luma_and_chroma_is_of_full_range(tmp_path):
    Image.fromarray(gradient()).convert("YCbCr").save(tmp_path / "a.tiff")
    expected = np.asarray(Image.open(tmp_path / "a.tiff").convert("RGB"))
    found = upright(tmp_path / "a.tiff").reshape(expected.shape)
    assert np.abs(found.astype(int) - expected).max() <= 2


@pytest.mark.parametrize("name", ["a.png", "a.gif", "a.avif"])
def test_an_animation_alone_has_its_own_times(name, tmp_path):
    if name == "a.avif":
        make(tmp_path / name, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=0.4", "-c:v", "libaom-av1",
             "-cpu-used", "8")
        expected = [0, 100, 200, 300]
    else:
        frames = [Image.new("RGB", (64, 48), (60 * number, 90, 20)) for number in range(4)]
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:],
                       duration=[100, 200, 500, 100])
        expected = [0, 100, 300, 800]
        duration = json.loads(sprocket("inspect", tmp_path / name, "--json").stdout)[0]["tracks"][0]
        assert (duration["duration_s"], duration["gaps"]) == (0.9, 0)
    sprocket("run", "--source", f"file:{tmp_path / name}", "--reports", tmp_path / "r.jsonl", "--quiet")
    times = [json.loads(line)["captured_ns"] for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [time // 1_000_000 for time in times] == expected


def test_a_file_that_is_not_what_its_name_says_is_named_rightly(tmp_path):
    (tmp_path / "page.jpg").write_text("<html><body>none</body></html>")
    webp = bytearray(b"RIFF\0\0\0\0WEBPVP8X" + struct.pack("<I", 10) + b"\2" + bytes(9) + bytes(40))
    webp[4:8] = struct.pack("<I", len(webp) - 8)
    (tmp_path / "moving.webp").write_bytes(webp)
    for name, words in ("page.jpg", "is not a movie or picture"), ("moving.webp", "animated WebP"):
        for command in (["inspect"], ["run", "--null", "--source"]):
            path = tmp_path / name
            told = sprocket(*command, f"file:{path}" if "run" in command else path, check=False)
            assert told.returncode != 0 and words in one_sentence(told.errors), name
            assert "Success" not in told.errors and "image2" not in told.errors


@pytest.mark.parametrize("codec", ["h264", "hevc"])
@pytest.mark.parametrize("site", ["left", "center", "topleft"])
def test_chroma_lies_where_it_lay(site, codec, tmp_path):
    film = make(tmp_path / "in.mp4", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=0.2", "-c:v", "libx264",
                "-pix_fmt", "yuv420p", "-chroma_sample_location", site)
    sprocket("export", film, tmp_path / "out.mp4", "--codec", codec, "--quiet")
    assert probe(tmp_path / "out.mp4", "chroma_location", "v")["chroma_location"] == site


def test_chroma_of_jpegs_lies_in_the_middle(tmp_path):
    film = make(tmp_path / "in.mov", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=0.2", "-c:v", "mjpeg")
    sprocket("export", film, tmp_path / "out.mp4", "--quiet")
    assert probe(tmp_path / "out.mp4", "chroma_location", "v")["chroma_location"] == "center"


def test_chroma_that_no_word_fits_is_told(tmp_path):
    film = make(tmp_path / "in.mp4", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=0.2", "-c:v", "libx264",
                "-pix_fmt", "yuv420p", "-chroma_sample_location", "bottom")
    assert "no word for it" in sprocket("export", film, tmp_path / "out.mp4").errors


def test_a_turned_animation_is_made_upright(tmp_path):
    frames = [Image.new("RGB", (64, 48), (60 * number, 90, 20)) for number in range(3)]
    exif = Image.Exif()
    exif[0x112] = 6
    path = tmp_path / "a.png"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=100, exif=exif.tobytes())
    sprocket("export", path, tmp_path / "up.mp4", "--upright", "--quiet")
    size = probe(tmp_path / "up.mp4", "width,height,nb_frames", "v")
    assert (size["width"], size["height"], size["nb_frames"]) == (48, 64, "3")
    assert json.loads(sprocket("inspect", path, "--json").stdout)[0]["picture"]["orientation"] == 6
    refused = sprocket("export", path, tmp_path / "copy.mkv", "--copy", check=False)
    assert refused.returncode == 2 and "names pictures" in one_sentence(refused.errors)


def test_transparency_that_no_decoder_shows_or_that_comes_later_is_told(tmp_path):
    make(tmp_path / "a.webm", "-f", "lavfi", "-i", "color=red@0.5:s=64x48:r=10:d=0.3,format=yuva420p", "-c:v",
         "libvpx-vp9", "-pix_fmt", "yuva420p")
    make(tmp_path / "b.mov", "-f", "lavfi", "-i",
         "color=red:s=64x48:r=10:d=0.5,format=rgba,fade=out:st=0.2:d=0.2:alpha=1", "-c:v", "png")
    pixels = np.dstack([gradient(), np.full((48, 64), 100, np.uint8)])
    Image.fromarray(pixels).save(tmp_path / "c.avif")
    opaque = Image.fromarray(gradient()).convert("RGBA")
    opaque.save(tmp_path / "d.tiff", save_all=True, append_images=[Image.fromarray(pixels)])
    for name in "a.webm", "b.mov", "c.avif", "d.tiff":
        told = sprocket("run", "--source", f"file:{tmp_path / name}", "--null").errors
        assert "transparent in places" in told, name


@pytest.mark.parametrize("layout", ["6.1", "hexagonal", "7.1(wide)"])
def test_places_that_no_reader_finds_are_told(layout, tmp_path):
    film = surround(tmp_path / "in.mov", layout)
    told = sprocket("export", film, tmp_path / "out.mp4", "--audio", "aac").errors
    assert "does not say where the" in told
    told = sprocket("run", "--source", "none", "--microphone", f"file:{film}", "--sound",
                    tmp_path / "out.mkv").errors
    assert "does not say where the" in told


def test_a_topic_that_is_not_read_is_not_offered(tmp_path):
    path = tmp_path / "two.mcap"
    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("sensor_msgs/msg/CompressedImage", "ros2msg", b"x")
        for topic, kind, data in ("/depth", "png", b"\x89PNG\r\n\x1a\n"), ("/camera", "jpeg", jpeg_of(20)):
            channel = writer.register_channel(topic, "cdr", schema)
            for number in range(3):
                writer.add_message(channel, number, cdr(number, kind, data), number)
        writer.finish()
    told = sprocket("run", "--source", f"replay:{path}", "--null").errors
    assert "on /depth are not read" in told and "stream=" not in told


def test_the_comment_of_a_wav_does_not_grow(tmp_path):
    first = make(tmp_path / "0.wav", "-f", "lavfi", "-i", "sine=d=0.1", "-metadata", "comment=a word")
    for number in range(3):
        sprocket("export", first, tmp_path / f"{number + 1}.wav", "--quiet")
        first = tmp_path / f"{number + 1}.wav"
    assert first.read_bytes().count(b"captured_ns=") == 1 and b"a word captured" in first.read_bytes()


def test_a_cover_of_sound_is_told(tmp_path):
    Image.fromarray(gradient()).save(tmp_path / "c.png")
    song = make(tmp_path / "a.mp3", "-f", "lavfi", "-i", "sine=d=0.2", "-i", tmp_path / "c.png", "-map", "0",
                "-map", "1", "-c:v", "copy", "-disposition:v", "attached_pic")
    assert "a cover (png)" in sprocket("export", song, tmp_path / "a.wav").errors


@pytest.mark.parametrize("language, mov", [("deu", "ger"), ("fre", "fra"), ("swe", "sve"), ("eng", "eng")])
def test_languages_survive_in_mov(language, mov, tmp_path):
    film = make(tmp_path / "in.mkv", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=0.3", "-f", "lavfi", "-i",
                "sine=d=0.3", "-c:v", "mjpeg", "-c:a", "aac", "-metadata:s:a", f"language={language}")
    for number, options in enumerate(([], ["--copy"])):
        sprocket("export", film, tmp_path / f"{number}.mov", "--quiet", *options)
        found = probe(tmp_path / f"{number}.mov", "index:stream_tags=language")
        assert found["tags"]["language"] == mov


def test_a_copy_into_matroska_says_what_it_does_not_say(tmp_path):
    film = make(tmp_path / "a.mp4", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=0.3", "-c:v", "mjpeg")
    turned = tmp_path / "b.mov"
    subprocess.run(["ffmpeg", "-v", "error", "-i", film, "-c", "copy", "-metadata:s:v", "rotate=90", turned],
                   check=True, timeout=LIMIT)
    told = sprocket("export", turned, tmp_path / "b.mkv", "--copy").errors
    assert "shown turned or mirrored, which .mkv files do not say" in told and "shown turned by" not in told
    told = sprocket("export", surround(tmp_path / "c.mov", "5.1"), tmp_path / "c.mkv", "--copy").errors
    assert "does not say where the 6 channels" in told


def test_subtitles_of_a_mov_with_chapters_are_told(rich, tmp_path):
    film = make(tmp_path / "a.mov", "-i", rich, "-map", "0", "-c", "copy", "-c:s", "mov_text")
    told = sprocket("export", film, tmp_path / "a.mp4").errors
    assert "subtitles (mov_text), 2 chapters" in told


def test_a_files_name_is_no_title_of_its_sound(rich, tmp_path):
    sprocket("export", rich, tmp_path / "a.mkv", "--quiet")
    assert "title" not in probe(tmp_path / "a.mkv", "index:stream_tags=title").get("tags", {})
