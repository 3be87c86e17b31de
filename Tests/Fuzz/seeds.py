"""Makes the inputs that fuzzing begins with: files of the program's own, and one for each past defect
that would be large to keep."""

import ctypes
import pathlib
import shutil
import struct
import subprocess


def make(folder, sprocket):
    """Fills `folder` with a folder for each target that has seeds."""
    shutil.rmtree(folder, ignore_errors=True)
    scratch = folder / "scratch"
    scratch.mkdir(parents=True)
    recorded(scratch, sprocket)
    jpegs = sorted((scratch / "stills").glob("*.jpg"))[:1]
    put(folder, "file", [*scratch.glob("movie.*"), *jpegs])
    put(folder, "replay", list(scratch.glob("*.mcap")))
    put(folder, "mcap", list(scratch.glob("*.mcap")))
    put(folder, "json", json_lines(scratch / "reports.jsonl"))
    still = jpegs[0].read_bytes()
    for target in ("jpeg-structure", "jpeg-decoder"):
        put(folder, target, jpegs)
        put(folder, target, {"gray.jpg": still[: len(still) // 2], "scans.jpg": many_scans(60_000)})
    put(folder, "exif", {"still.jpg": still[:600], "exif.tif": still[12:600]})
    put(folder, "jpeg-structure", {"huge.jpg": huge(still)})
    put(folder, "file", {"huge.jpg": huge(still), "list.mp4": PLAYLIST, "concat.mp4": CONCAT})
    put(folder, "file", {"scans.mjpeg": many_scans(2000)})
    put(folder, "replay", {"ranges.mcap": many_ranges(10_000)})
    put(folder, "mcap", {"overlapping.mcap": overlapping(40), "everything.mcap": everything()})
    content = still + bytes(2000) + still
    put(folder, "lz4", {"frame.lz4": lz4(content)})
    put(folder, "zstd", {"frame.zst": zstd(content), "bomb.zst": zstd(bytes(1 << 24))})
    put(folder, "movie-index", {"index": b"\x10\x20\x03\x04" + movie_index(scratch / "movie.mov")})
    put(folder, "sound", sounds(scratch))
    put(folder, "values", {f"{index}": text.encode() for index, text in enumerate(VALUES)})
    shutil.rmtree(scratch)


def put(folder, target, files):
    """Files, or bytes by name."""
    (folder / target).mkdir(exist_ok=True)
    if isinstance(files, list):
        files = {file.name: file.read_bytes() for file in files}
    for name, content in files.items():
        (folder / target / name).write_bytes(content)


def recorded(scratch, sprocket):
    """A few small frames of the scene, in all that is written."""
    run = [sprocket, "run", "--quiet", "--source", "scene", "--size", "64x48", "--frames", "3"]
    everything = ["--dump", "mjpg.mcap", "--movie", "movie.mov", "--reports", "reports.jsonl"]
    for arguments in (
        ["--format", "MJPG", "--stage", "meter", *everything, "--stills", "stills"],
        ["--format", "YUYV", "--dump", "yuyv.mcap", "--movie", "movie.mkv", "--microphone",
         "scene:rate=8000,channels=1"],
        ["--format", "pgAA", "--stage", "debayer", "--dump", "mosaic.mcap"],
        ["--format", "MJPG", "--source-set", "corrupt=0.5", "--source-set", "drop=0.3", "--dump",
         "faults.mcap", "--movie", "movie.mp4"],
    ):
        subprocess.run([*run, *arguments], cwd=scratch, check=True)


def sounds(scratch):
    """A tenth of a second of a tone, in all kinds of files."""
    made = []
    for name, codec, rate in SOUNDS:
        made.append(scratch / name)
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"sine=d=0.1:r={rate}", "-c:a", codec,
                        "-strict", "-2", made[-1]], check=True)
    return made


SOUNDS = [
    ("s16.wav", "pcm_s16le", 8000), ("u8.avi", "pcm_u8", 8000), ("s24.mov", "pcm_s24le", 8000),
    ("s32.mkv", "pcm_s32le", 8000), ("f64.au", "pcm_f64be", 8000), ("aac.m4a", "aac", 44100),
    ("aac.aac", "aac", 44100), ("aac.ts", "aac", 44100), ("lame.mp3", "libmp3lame", 44100),
    ("opus.ogg", "libopus", 48000), ("vorbis.mkv", "libvorbis", 44100), ("flac.flac", "flac", 44100),
    ("alac.m4a", "alac", 44100), ("adpcm.wav", "adpcm_ima_wav", 8000), ("ac3.mkv", "ac3", 44100),
]


def json_lines(path):
    lines = path.read_bytes().splitlines()[:1] + [line.encode() for line in RECORDS]
    return {f"{index}.json": line for index, line in enumerate(lines)}


# As docs/dump.md has them.
RECORDS = [
    '{"version":1,"epoch":0,"source":"scene","format":"MJPG","image":"422P","width":64,"height":48,'
    '"rate":{"frames":30000,"seconds":1001},"color":{"range":"full","matrix":"bt601","transfer":"srgb"},'
    '"live":true,"clock":"monotonic","wall_offset_ns":null,"stages":["meter"],"controls":[{"name":"a"}]}',
    '{"number":18446744073709551615,"sequence":9,"epoch":0,"captured_ns":-9223372036854775808,'
    '"clock":"media","point":"start_of_exposure","dequeued_ns":3,"bytes":100,"driver_flags":64,'
    '"fate":"corrupt","exposure_us":1e4,"gain":1.5,"lens":null,"events":[{"kind":"control_applied",'
    '"control":1,"ticket":2,"value":0.5},{"kind":"stalled","wait_us":7},{"kind":"replugged"}]}',
    '{"number":4,"fate":"late","latency_us":1.5,"meter":{"histogram":[1,2,3],"mode":"a\\"b"}}',
    '{"first_number":1,"first_sequence":1,"frames":4294967295,"epoch":0,"source_fate":"startup"}',
]


# JPEG


def segment(marker, body):
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def many_scans(count):
    """A progressive image of 8x8 whose scans do nothing but take time."""
    start = b"\xff\xd8" + segment(0xDB, b"\0" + b"\1" * 64)
    start += segment(0xC2, struct.pack(">BHHBBBB", 8, 8, 8, 1, 1, 0x11, 0))
    # One code each: DC of category 0, and the end of a block.
    start += segment(0xC4, b"\0" + b"\1" + bytes(15) + b"\0") + segment(
        0xC4, b"\x10" + b"\1" + bytes(15) + b"\0")
    first = segment(0xDA, b"\1\1\0" + b"\0\0\0") + b"\x7f"
    further = segment(0xDA, b"\1\1\0" + b"\1\x3f\0") + b"\x7f"
    return start + first + further * (count - 1) + b"\xff\xd9"


def huge(jpeg):
    """The same image, that says that it has 65500x65500 pixels."""
    at = next(
        index for index in range(2, len(jpeg) - 9)
        if jpeg[index] == 0xFF and jpeg[index + 1] in (0xC0, 0xC2)
    )
    return jpeg[: at + 5] + struct.pack(">HH", 65500, 65500) + jpeg[at + 9 :]


# Movies


PLAYLIST = b"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n/proc/self/exe\n#EXT-X-ENDLIST\n"
CONCAT = b"ffconcat version 1.0\nfile /proc/self/exe\n"


def movie_index(path):
    movie = path.read_bytes()
    at = movie.index(b"moov") - 4
    return movie[at : at + struct.unpack(">I", movie[at : at + 4])[0]]


# MCAP


def record(opcode, content):
    return struct.pack("<BQ", opcode, len(content)) + content


def text(value):
    return struct.pack("<I", len(value)) + value.encode()


def mcap(records):
    magic = b"\x89MCAP0\r\n"
    header = record(1, text("") + text("sprocket"))
    return magic + header + b"".join(records) + record(0x0F, bytes(4)) + record(2, bytes(20)) + magic


def channel(number, schema, encoding):
    """A schema and a channel of the same number."""
    content = struct.pack("<H", number) + text(schema) + text("jsonschema") + struct.pack("<I", 0)
    named = struct.pack("<HH", number, number) + text(schema) + text(encoding) + struct.pack("<I", 0)
    return record(3, content) + record(4, named)


def message(number, time, data):
    return record(5, struct.pack("<HIQQ", number, 0, time, time) + data)


def many_ranges(count):
    """Records that tell of 10^10 frames that are not there."""
    session = b'{"version":1,"epoch":0,"format":"GREY","width":64,"height":48,"clock":"monotonic"}'
    records = [channel(1, "sprocket.session", "json"), channel(2, "sprocket.range", "json")]
    records.append(message(1, 0, session))
    for index in range(count):
        first = 1 + index * 1_000_000
        told = f'{{"first_number":{first},"first_sequence":{first},"frames":1000000,"epoch":0}}'
        records.append(message(2, 0, told.encode()))
    return mcap(records)


def overlapping(count):
    """Chunks whose messages come in turn: each is needed after each other."""
    records = [channel(1, "foxglove.CompressedImage", "protobuf")]
    for chunk in range(count):
        content = b"".join(message(1, chunk + count * turn, b"\x1a\4none") for turn in range(20))
        packed = lz4(content)
        start = struct.pack("<QQQI", chunk, count * 20, len(content), 0) + text("lz4")
        records.append(record(6, start + struct.pack("<Q", len(packed)) + packed))
    return mcap(records)


def everything():
    """Every kind of record, and a summary that names all."""
    magic = b"\x89MCAP0\r\n"
    data = magic + record(1, text("") + text("foreign"))
    chunk = len(data)
    content = channel(1, "a", "json") + message(1, 5, b"{}")
    start = struct.pack("<QQQI", 5, 5, len(content), 0) + text("") + struct.pack("<Q", len(content))
    data += record(6, start + content)
    index = len(data)
    data += record(7, struct.pack("<HIQQ", 1, 16, 5, len(content) - 33))
    attachment = len(data)
    held = struct.pack("<QQ", 7, 8) + text("name") + text("text/plain") + struct.pack("<Q", 3) + b"abc"
    data += record(9, held + bytes(4))
    metadata = len(data)
    data += record(12, text("name") + struct.pack("<I", 10) + text("a") + text("b"))
    data += record(0x80, b"unknown") + record(15, bytes(4))
    summary = len(data)
    data += record(11, struct.pack("<QHIIIIQQIHQ", 1, 1, 1, 1, 1, 1, 5, 5, 10, 1, 1))
    offsets = struct.pack("<QQQQIHQQ", 5, 5, chunk, index - chunk, 10, 1, index, attachment - index)
    data += record(8, offsets + text("") + struct.pack("<QQ", len(content), len(content)))
    place = struct.pack("<QQQQQ", attachment, metadata - attachment, 7, 8, 3)
    data += record(10, place + text("name") + text("text/plain"))
    data += record(13, struct.pack("<QQ", metadata, 40) + text("name"))
    end = len(data)
    data += record(14, struct.pack("<BQQ", 11, summary, 67))
    return data + record(2, struct.pack("<QQI", summary, end, 0)) + magic


# Compression, by the libraries that the program uses.


def lz4(content):
    library = ctypes.CDLL("liblz4.so.1")
    library.LZ4F_compressFrameBound.restype = library.LZ4F_compressFrame.restype = ctypes.c_size_t
    library.LZ4F_compressFrameBound.argtypes = [ctypes.c_size_t, ctypes.c_void_p]
    library.LZ4F_compressFrame.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p]
    target = ctypes.create_string_buffer(library.LZ4F_compressFrameBound(len(content), None))
    count = library.LZ4F_compressFrame(target, len(target), content, len(content), None)
    return target.raw[:count]


def zstd(content):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    library.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    library.ZSTD_compress.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    target = ctypes.create_string_buffer(library.ZSTD_compressBound(len(content)))
    count = library.ZSTD_compress(target, len(target), content, len(content), 3)
    return target.raw[:count]


# Values, one a line


VALUES = [
    "1.5s\n500ms\n40us\n1h\n9e18ns\n0x1p-1074\n-0\n1e308\nnan\n0.25/0.75\n0/0/1/1\nNV12\nY10",
    "corrupt=0.4\ndrop=0.1\nseed=18446744073709551615\ncached=80\nmotion=handheld\npace=fast",
    "live=true\nstartup=3\npace=real\nlens=0.5\nexposure=10000\nnoise=off",
]
