"""Recordings as programs read them that we did not write: ffprobe, ffmpeg, Python's `mcap`."""
import collections
import json
import struct
import subprocess

from program import LIMIT

# An image of a dump: its number in the device's sequence, when it was logged in nanoseconds, the schema's
# name, and the message, decoded with the schema that Foxglove publishes.
DumpImage = collections.namedtuple("DumpImage", "sequence time schema message")
# A picture of a movie: when it is shown, in ticks of the container, and its bytes.
Packet = collections.namedtuple("Packet", "ticks data")


def image_schemas():
    """Foxglove's own classes, by the schema's name."""
    from foxglove_schemas_protobuf.CompressedImage_pb2 import CompressedImage
    from foxglove_schemas_protobuf.RawImage_pb2 import RawImage
    return {"foxglove.CompressedImage": CompressedImage, "foxglove.RawImage": RawImage}


def dump_messages(path):
    """Every message of a complete dump, in the order of the file: (schema, channel, message)."""
    from mcap.reader import make_reader
    with open(path, "rb") as file:
        yield from make_reader(file).iter_messages(log_time_order=False)


def dump_images(path):
    classes = image_schemas()
    return [DumpImage(message.sequence, message.log_time, schema.name,
                      classes[schema.name].FromString(message.data))
            for schema, _, message in dump_messages(path) if schema and schema.name in classes]


def dump_records(path):
    """The JSON of a dump by topic, each with the number that joins it to the images."""
    found = collections.defaultdict(list)
    for _, channel, message in dump_messages(path):
        if channel.message_encoding == "json":
            found[channel.topic].append((message.sequence, json.loads(message.data)))
    return found


def stream_messages(path):
    """Every message of a dump that may be cut off, front to back: (name of the schema, message)."""
    from mcap.exceptions import McapError
    from mcap.records import Channel, Message, Schema
    from mcap.stream_reader import StreamReader
    schemas, channels, found = {}, {}, []
    with open(path, "rb") as file:
        records = StreamReader(file).records
        try:
            for record in records:
                if isinstance(record, Schema):
                    schemas[record.id] = record.name
                elif isinstance(record, Channel):
                    channels[record.id] = schemas.get(record.schema_id)
                elif isinstance(record, Message):
                    found.append((channels[record.channel_id], record))
        except (McapError, struct.error):
            pass  # The end is missing.
    return found


def time_base(path):
    """Ticks per second of a movie's video."""
    streams = ffprobe(path, "stream=time_base")["streams"]
    over, under = map(int, streams[0]["time_base"].split("/"))
    assert under % over == 0
    return under // over


def ffprobe(path, entries, is_whole=True):
    """What ffprobe says of the video; of a whole file, without complaint."""
    text = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v:0", "-of", "json", "-show_entries", entries,
         str(path)], capture_output=True, check=True, timeout=LIMIT)
    assert not is_whole or text.stderr == b"", text.stderr
    return json.loads(text.stdout)


def movie_packets(path):
    """Every picture of a movie's video, as ffprobe and ffmpeg find it."""
    found = ffprobe(path, "packet=pts,size")["packets"]
    data = subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(path), "-map", "0:v:0", "-c", "copy", "-f", "mjpeg", "-"],
        capture_output=True, check=True, timeout=LIMIT).stdout
    packets, start = [], 0
    for packet in found:
        size = int(packet["size"])
        packets.append(Packet(int(packet["pts"]), data[start:start + size]))
        start += size
    assert start == len(data)
    return packets


def decode(path):
    """Lets ffmpeg decode all of a movie's video; what it complains about. Times keep the file's own unit: in
    ffmpeg's own, one picture long, two pictures of an uneven camera may have one time."""
    result = subprocess.run(
        ["ffmpeg", "-v", "error", "-xerror", "-i", str(path), "-map", "0:v:0", "-fps_mode", "passthrough",
         "-enc_time_base", "-1", "-f", "null", "-"], capture_output=True, timeout=LIMIT)
    return result.stderr.decode() + ("" if result.returncode == 0 else f"exit {result.returncode}")


def jpeg_segments(data):
    """The segments of a JPEG up to its scan, as (marker, bytes), and then what follows."""
    assert data[:2] == b"\xff\xd8", data[:4]
    place, found = 2, []
    while True:
        assert data[place] == 0xFF, place
        while data[place + 1] == 0xFF:  # Fill bytes may stand before a marker.
            place += 1
        marker, length = data[place + 1], int.from_bytes(data[place + 2:place + 4], "big")
        if marker == 0xDA:
            return found, data[place:]
        found.append((marker, data[place:place + 2 + length]))
        place += 2 + length


def without_huffman_tables(data):
    """A JPEG less its DHT segments: what a camera sends that leaves the usual ones out."""
    segments, scan = jpeg_segments(data)
    return b"\xff\xd8" + b"".join(part for marker, part in segments if marker != 0xC4) + scan


def has_huffman_tables(data):
    return any(marker == 0xC4 for marker, _ in jpeg_segments(data)[0])


def without_exif(jpeg):
    """A JPEG without its first segment, which is EXIF's (CIPA DC-008, 4.5.5)."""
    assert jpeg[:4] == b"\xff\xd8\xff\xe1" and jpeg[6:12] == b"Exif\0\0"
    return jpeg[:2] + jpeg[4 + int.from_bytes(jpeg[4:6], "big"):]


def whole_jpeg(data):
    """The JPEG without what stands behind its end."""
    return data[:data.rindex(b"\xff\xd9") + 2]
