"""Dumps, in the hands of readers that are not ours, and played again."""
import itertools
import json
import struct
import subprocess

import jsonschema
import lz4.frame
import numpy as np
import pytest
from foxglove_schemas_protobuf.CompressedImage_pb2 import CompressedImage
from foxglove_schemas_protobuf.RawImage_pb2 import RawImage
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.timestamp_pb2 import Timestamp
from mcap.reader import NonSeekingReader, make_reader
from mcap.records import Chunk, Message, MessageIndex
from mcap.stream_reader import StreamReader
from mcap.writer import CompressionType, Writer
from mcap_protobuf.decoder import DecoderFactory

from conftest import LIMIT, clip, read_lines, sprocket

FAULTS = {"seed": 5, "startup": 3, "drop": 0.05, "corrupt": 0.05, "truncate": 0.04, "late": 0.1,
          "latefor": "40ms", "backwards": 0.02, "unplug": 0.01, "unplugfor": "30ms",
          "formatchange": 0.01}
CHAIN = ["--stage", "latedrop:budget=30ms", "--stage", "meter", "--stage", "negate"]
PUBLISHED = {"foxglove.CompressedImage": CompressedImage, "foxglove.RawImage": RawImage}


def scene(*more, size="160x120", **settings):
    given = [["--source-set", f"{key}={value}"] for key, value in settings.items()]
    return ["run", "--source", "scene", "--size", size, *itertools.chain(*given), *more, "--quiet"]


def messages(path, topic=None, **options):
    """Topic, message and data, decoded: JSON as it is, images by the published classes."""
    with open(path, "rb") as file:
        for schema, channel, message in make_reader(file, validate_crcs=True).iter_messages(
                topics=topic, log_time_order=False, **options):
            kind = PUBLISHED.get(schema.name)
            data = kind.FromString(message.data) if kind else json.loads(message.data)
            yield channel.topic, message, data


def records(path, topic):
    return [data for _, _, data in messages(path, topic)]


def ledger(summary, sink):
    return {key: value for key, value in json.loads(summary.read_text())["sinks"][sink].items()
            if isinstance(value, int)}


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """A live run through all that the scene can do wrong: its dump, reports and summary."""
    folder = tmp_path_factory.mktemp("live")
    sprocket(*scene("--rate", 60, "--duration", "5s", *CHAIN, "--dump", folder / "a.mcap", "--reports",
                    folder / "a.jsonl", "--summary", folder / "a.json", "--checksum", **FAULTS))
    return folder


def test_readers_of_both_kinds_find_everything_and_agree(live):
    path = live / "a.mcap"
    with open(path, "rb") as file:
        indexed = list(make_reader(file, validate_crcs=True).iter_messages(log_time_order=False))
    with open(path, "rb") as file:
        streamed = list(NonSeekingReader(file, validate_crcs=True).iter_messages(log_time_order=False))
    def key(entry):
        return entry[1].topic, entry[2].sequence, entry[2].log_time, entry[2].data
    assert sorted(map(key, indexed)) == sorted(map(key, streamed))
    with open(path, "rb") as file:
        statistics = make_reader(file).get_summary().statistics
    assert statistics.message_count == len(indexed)
    counts = {}
    for _, channel, message in indexed:
        counts[channel.id] = counts.get(channel.id, 0) + 1
    assert counts == {key: value for key, value in statistics.channel_message_counts.items() if value}
    times = [message.log_time for _, _, message in indexed]
    assert (statistics.message_start_time, statistics.message_end_time) == (min(times), max(times))


def test_chunks_are_bounded_and_their_indexes_true(live, tmp_path):
    large = tmp_path / "large.mcap"
    sprocket(*scene("--frames", 30, "--format", "RGB24", "--dump", large, size="1280x720"))
    for path in (live / "a.mcap", large):
        with open(path, "rb") as file:
            summary = make_reader(file).get_summary()
        starts = {index.chunk_start_offset: index for index in summary.chunk_indexes}
        assert len(starts) == summary.statistics.chunk_count > 2
        content = None
        for record in StreamReader(str(path), emit_chunks=True).records:
            if isinstance(record, Chunk):
                content = lz4.frame.decompress(record.data)
                assert len(content) == record.uncompressed_size <= 8_000_000
                assert record.message_end_time - record.message_start_time <= 1_100_000_000
            elif isinstance(record, MessageIndex):
                for time, offset in record.records:
                    opcode, _, channel, _, logged = struct.unpack_from("<BQHIQ", content, offset)
                    assert (opcode, channel, logged) == (5, record.channel_id, time)
        with open(path, "rb") as file:
            for start, index in starts.items():
                file.seek(start)
                opcode, length = struct.unpack("<BQ", file.read(9))
                assert (opcode, length + 9) == (6, index.chunk_length)
                for channel, offset in index.message_index_offsets.items():
                    file.seek(offset)
                    assert struct.unpack("<BQH", file.read(11))[::2] == (7, channel)


def test_records_obey_the_schemas_in_the_file(live):
    with open(live / "a.mcap", "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        schemas = reader.get_summary().schemas
        validators = {}
        for schema in schemas.values():
            if schema.encoding == "jsonschema":
                jsonschema.Draft202012Validator.check_schema(json.loads(schema.data))
                validators[schema.id] = jsonschema.Draft202012Validator(json.loads(schema.data))
        assert len(validators) == 5
        for schema, _, message in reader.iter_messages():
            if schema.id in validators:
                validators[schema.id].validate(json.loads(message.data))
        # By the schema in the file as by the published one.
        for schema, _, message, image in reader.iter_decoded_messages(topics=["image"]):
            published = PUBLISHED[schema.name].FromString(message.data)
            assert image.data == published.data and image.format == published.format == "jpeg"
            assert image.timestamp.ToNanoseconds() == published.timestamp.ToNanoseconds()
            assert published.timestamp.ToNanoseconds() == message.log_time


def test_the_schemas_in_the_file_are_the_published_ones(live, tmp_path):
    raw = tmp_path / "raw.mcap"
    sprocket(*scene("--frames", 2, "--format", "GREY", "--dump", raw))
    def fields(message):
        return sorted((field.name, field.number, field.type, field.type_name) for field in message.field)
    for path, name in ((live / "a.mcap", "foxglove.CompressedImage"), (raw, "foxglove.RawImage")):
        with open(path, "rb") as file:
            schemas = make_reader(file).get_summary().schemas.values()
        data = next(schema.data for schema in schemas if schema.name == name)
        files = {file.name: file for file in FileDescriptorSet.FromString(data).file}
        for kind in (PUBLISHED[name], Timestamp):
            published = FileDescriptorProto()
            kind.DESCRIPTOR.file.CopyToProto(published)
            ours = files[published.name]
            assert (ours.package, ours.syntax, ours.dependency) \
                == (published.package, published.syntax, published.dependency)
            assert fields(ours.message_type[0]) == fields(published.message_type[0])


def test_every_produced_frame_is_told_of(live):
    produced = json.loads((live / "a.json").read_text())["produced"]
    told = {record["number"]: record for record in records(live / "a.mcap", "source")}
    images = [message for _, message, _ in messages(live / "a.mcap", "image")]
    assert len(images) == sum(record["bytes"] > 0 for record in told.values())
    ranges = set()
    for record in records(live / "a.mcap", "range"):
        ranges |= set(range(record["first_number"], record["first_number"] + record["frames"]))
    fates = {record["number"]: record for record in records(live / "a.mcap", "fate")}
    assert sorted(fates) == list(range(produced))
    lines = read_lines(live / "a.jsonl")
    for number, line in enumerate(lines):
        assert {key: value for key, value in fates[number].items() if key != "number"} == line
        assert (line["fate"] == "missing") == (number not in told and number not in ranges)
        if number in told:
            assert told[number]["captured_ns"] == line["captured_ns"]
            assert told[number]["sequence"] == line["sequence"]
    final = records(live / "a.mcap", "ledger")[0]
    assert final["produced"] == produced
    assert final["sinks"]["reports"] == ledger(live / "a.json", "reports")
    assert final["sinks"]["dump"] == ledger(live / "a.json", "dump")
    assert len(records(live / "a.mcap", "session")) == 1 + max(line["epoch"] for line in lines)


def test_jpegs_are_the_clips_own(tmp_path):
    path, copied = tmp_path / "a.mcap", tmp_path / "a.mjpeg"
    video = clip("mjpeg/100_0306.AVI")
    sprocket("run", "--source", f"file:{video}", "--dump", path, "--quiet")
    subprocess.run(["ffmpeg", "-v", "error", "-i", str(video), "-map", "0:v", "-c", "copy", "-f", "mjpeg",
                    str(copied)], check=True, timeout=LIMIT)
    assert b"".join(image.data for _, _, image in messages(path, "image")) == copied.read_bytes()


def test_raw_frames_and_times_are_the_files_own(tmp_path):
    path, raw = tmp_path / "a.mcap", tmp_path / "a.y4m"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=332x200:rate=30000/1001",
                    "-frames:v", "50", "-pix_fmt", "yuv420p", str(raw)], check=True, timeout=LIMIT)
    sprocket("run", "--source", f"file:{raw}", "--dump", path, "--quiet")
    size = 332 * 200 * 3 // 2
    frames = raw.read_bytes().split(b"\n", 1)[1]
    found = list(messages(path, "image"))
    assert len(found) == 50
    for index, (_, message, image) in enumerate(found):
        start = index * (size + 6) + 6
        assert image.data == frames[start:start + size]
        assert (image.width, image.height, image.step, image.encoding) == (332, 200, 332, "YU12")
        # Frame n of 30000/1001 is due at n 1001/30000 s.
        due = index * 1001 * 1_000_000_000 / 30000
        assert abs(message.log_time - due) < 1 and message.sequence == index
        assert image.timestamp.ToNanoseconds() == message.log_time


@pytest.mark.parametrize("name, encoding, step", [
    ("YUYV", "yuyv", 324), ("NV12", "nv12", 161), ("I420", "YU12", 161), ("GREY", "mono8", 161),
    ("Y16", "mono16", 322), ("RGB24", "rgb8", 483), ("RGGB", "bayer_rggb8", 161),
    ("GR16", "bayer_grbg16", 322), ("BA12", "BA12", 322), ("pGAA", "pGAA", 205)])
def test_every_format_has_its_name_and_its_bytes(name, encoding, step, tmp_path):
    path = tmp_path / "a.mcap"
    arguments = scene("--frames", 3, "--format", name, size="161x121")
    result = sprocket(*arguments, "--dump", path, check=False)
    if result.returncode == 2 and "does not draw" in result.errors:
        pytest.skip(f"the scene does not draw {name}")
    assert result.returncode == 0, result.errors
    images = records(path, "image")
    assert [(image.encoding, image.step, image.width, image.height) for image in images] \
        == [(encoding, step, 161, 121)] * 3
    if name in ("I420", "GREY", "Y16", "NV12", "YUYV"):
        piped = sprocket(*arguments, "--pipe", "y4m").stdout.split(b"\n", 1)[1]
        size = len(piped) // 3
        for index, image in enumerate(images):
            planes = piped[index * size + 6:(index + 1) * size]
            assert planar(name, image.data, 161, 121) == planes


def planar(name, data, width, height):
    """What y4m has of a frame."""
    if name == "NV12":
        luma, chroma = data[:width * height], data[width * height:]
        return luma + chroma[0::2] + chroma[1::2]
    if name == "YUYV":
        pairs = np.frombuffer(data, np.uint8).reshape(height, -1, 4)
        luma = pairs[:, :, 0::2].reshape(height, -1)[:, :width]
        return luma.tobytes() + pairs[:, :, 1].tobytes() + pairs[:, :, 3].tobytes()
    return data


def test_a_cut_file_is_read_to_its_last_chunk(live, tmp_path):
    whole = (live / "a.mcap").read_bytes()
    with open(live / "a.mcap", "rb") as file:
        chunks = make_reader(file).get_summary().chunk_indexes
    ends = sorted(chunk.chunk_start_offset + chunk.chunk_length for chunk in chunks)
    everything = [record for record in StreamReader(str(live / "a.mcap")).records
                  if isinstance(record, Message)]
    counts = [len(content_messages(whole, chunk)) for chunk in
              sorted(chunks, key=lambda chunk: chunk.chunk_start_offset)]
    cut = tmp_path / "cut.mcap"
    for share in range(5, 100, 7):
        cut.write_bytes(whole[:len(whole) * share // 100])
        expected = sum(itertools.islice(counts, sum(end <= cut.stat().st_size for end in ends)))
        found = []
        try:
            for record in StreamReader(str(cut)).records:
                if isinstance(record, Message):
                    found.append(record)
        except Exception:  # However the reader says that the file ends.
            pass
        assert found == everything[:expected]
        replayed = sprocket("run", "--source", f"replay:{cut}", "--null", check=False)
        if replayed.returncode == 0:
            assert "was cut off" in replayed.errors
        else:
            assert replayed.returncode == 2 and "without a whole chunk" in replayed.errors


def content_messages(data, index):
    start = index.chunk_start_offset + index.chunk_length - index.compressed_size
    content, position, found = lz4.frame.decompress(data[start:start + index.compressed_size]), 0, []
    while position < len(content):
        opcode, length = struct.unpack_from("<BQ", content, position)
        assert opcode == 5
        found.append(position)
        position += 9 + length
    return found


def strip(source, target, topics, compression):
    """A copy without some topics, by Python's writer."""
    with open(source, "rb") as file, open(target, "wb") as output:
        writer = Writer(output, compression=compression)
        writer.start()
        schemas, channels = {}, {}
        for schema, channel, message in make_reader(file).iter_messages():
            if channel.topic in topics:
                continue
            if schema.id not in schemas:
                schemas[schema.id] = writer.register_schema(schema.name, schema.encoding, schema.data)
            if channel.id not in channels:
                channels[channel.id] = writer.register_channel(
                    channel.topic, channel.message_encoding, schemas[schema.id])
            writer.add_message(channels[channel.id], message.log_time, message.data,
                               message.publish_time, message.sequence)
        writer.finish()


def without_times(lines):
    return [{key: value for key, value in line.items() if key not in ("clock", "latency_us")}
            for line in lines]


def replay(path, folder, *more, chain=CHAIN):
    reports, summary = folder / "r.jsonl", folder / "r.json"
    sprocket("run", "--source", f"replay:{path}", *chain, "--reports", reports, "--summary", summary,
             "--checksum", "--overwrite", "--quiet", *more)
    return read_lines(reports), json.loads(summary.read_text())


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_replay_gives_the_same_results(live, tmp_path, workers):
    lines, summary = replay(live / "a.mcap", tmp_path, "--workers", workers)
    first = json.loads((live / "a.json").read_text())
    assert summary["sinks"]["checksum"]["digest"] == first["sinks"]["checksum"]["digest"]
    assert ledger(tmp_path / "r.json", "reports") == ledger(live / "a.json", "reports")
    assert summary["epochs"] == first["epochs"] > 1
    before = read_lines(live / "a.jsonl")
    assert without_times(lines) == without_times(before)
    assert {line["clock"] for line in lines} == {"recorded", None}
    assert sum(line["fate"] == "late" for line in lines) > 0


@pytest.mark.parametrize("compression", list(CompressionType))
def test_without_the_fates_the_sources_are_found_again(live, tmp_path, compression):
    strip(live / "a.mcap", tmp_path / "s.mcap", {"fate", "ledger"}, compression)
    lines, _ = replay(tmp_path / "s.mcap", tmp_path)
    first = read_lines(live / "a.jsonl")
    assert len(lines) == len(first)
    for line, before in zip(lines, first):
        assert (line["sequence"], line["epoch"]) == (before["sequence"], before["epoch"])
        expected = "delivered" if before["fate"] == "late" else before["fate"]
        assert line["fate"] == expected
    assert {line["fate"] for line in lines} >= {"missing", "corrupt", "startup", "delivered"}


@pytest.mark.alone
def test_what_found_no_room_is_overrun_again(tmp_path):
    path = tmp_path / "a.mcap"
    sprocket(*scene("--rate", 3000, "--frames", 3000, "--stage", "focus", "--reports", tmp_path / "a.jsonl",
                    "--workers", 1, "--dump", path, "--source-set", "pace=real", "--source-set", "cached=30",
                    size="640x480"))
    before = read_lines(tmp_path / "a.jsonl")
    # That frames are missing is told by the next that arrived: a dump knows of none behind the last.
    while before[-1]["fate"] == "missing":
        before.pop()
    lost = {line["sequence"] for line in before if line["fate"] == "overrun"}
    behind = set()
    for record in records(path, "range"):
        numbers = range(record["first_number"], record["first_number"] + record["frames"])
        if record["fate"] == "behind":
            behind |= set(numbers)
        else:
            assert all(before[number]["fate"] == "overrun" for number in numbers)
    lines, _ = replay(path, tmp_path, chain=["--stage", "focus"])
    assert len(lines) == len(before)
    for number, (line, first) in enumerate(zip(lines, before)):
        if first["fate"] in ("overrun", "missing") or number in behind:
            assert line["fate"] == ("missing" if first["fate"] == "missing" else "overrun")
        else:
            assert line["fate"] == "delivered"  # Also what was behind for the reports.
    print(len(lost), "overrun,", len(behind), "behind for the dump")


def test_the_dump_of_a_replay_holds_the_same(live, tmp_path):
    again = tmp_path / "b.mcap"
    sprocket("run", "--source", f"replay:{live / 'a.mcap'}", "--dump", again, "--quiet")
    first, second = ([(message.log_time, image.data) for _, message, image in messages(path, "image")]
                     for path in (live / "a.mcap", again))
    assert first == second
    keys = ("number", "sequence", "epoch", "captured_ns", "point", "bytes", "fate", "exposure_us", "gain",
            "lens", "events")
    first, second = ([[record.get(key) for key in keys] for record in records(path, "source")]
                     for path in (live / "a.mcap", again))
    assert first == second


@pytest.mark.alone
def test_a_live_replay_takes_its_time(live, tmp_path):
    result = json.loads((live / "a.json").read_text())
    lines, summary = replay(live / "a.mcap", tmp_path, "--source-set", "live=true")
    assert summary["source"]["live"] and 3 < summary["elapsed_s"] < result["elapsed_s"] + 5
    assert {line["clock"] for line in lines} == {"monotonic", None}


def test_frames_of_other_programs_are_played(tmp_path):
    path = tmp_path / "foreign.mcap"
    jpegs = clip("mjpeg/100_0306.AVI")
    sprocket("run", "--source", f"file:{jpegs}", "--dump", tmp_path / "a.mcap", "--quiet")
    strip(tmp_path / "a.mcap", path, {"session", "source", "fate", "range", "ledger"},
          CompressionType.LZ4)
    lines, summary = replay(path, tmp_path, chain=[])
    _, first = replay(tmp_path / "a.mcap", tmp_path, chain=[])
    assert summary["sinks"]["checksum"]["digest"] == first["sinks"]["checksum"]["digest"]
    assert len(lines) == 41


@pytest.mark.parametrize("arguments, sentence", [
    (["--source", "replay:nothing.mcap"], "does not exist"),
    (["--source", "replay:."], "directory"),
    (["--source", "replay"], "replay:PATH"),
    (["--source", "replay:text.mcap"], "is no MCAP file"),
    (["--source", "replay:a.mcap", "--dump", "a.mcap", "--overwrite"], "is read and cannot be replaced"),
    (["--source", "replay:a.mcap", "--dump", "./sub/../a.mcap", "--overwrite"],
     "is read and cannot be replaced"),
    (["--source", "replay:a.mcap", "--size", "10x10"], "leave out"),
    (["--source", "replay:a.mcap", "--control", "gain=2"], "no controls"),
    (["--source", "scene", "--frames", "1", "--dump", "a.mcap"], "--overwrite"),
    (["--source", "scene", "--frames", "1", "--dump", "nowhere/a.mcap"], "does not exist"),
    (["--source", "replay:b.partial.mcap", "--dump", "b.mcap", "--overwrite"],
     "partial file"),
])
def test_what_cannot_be_is_said_in_one_sentence(arguments, sentence, tmp_path):
    (tmp_path / "text.mcap").write_text("This is text, and nothing else.")
    (tmp_path / "sub").mkdir()
    sprocket(*scene("--frames", 3, "--dump", tmp_path / "a.mcap"))
    whole = (tmp_path / "a.mcap").read_bytes()
    (tmp_path / "b.partial.mcap").write_bytes(whole)
    result = sprocket("run", *arguments, check=False, cwd=tmp_path)
    assert result.returncode == 2 and result.errors.count("\n") == 1, result.errors
    assert sentence in result.errors
    assert (tmp_path / "a.mcap").read_bytes() == (tmp_path / "b.partial.mcap").read_bytes() == whole


def test_a_full_disk_ends_the_dump_alone(tmp_path):
    reports = tmp_path / "r.jsonl"
    result = sprocket("run", "--source", "scene", "--size", "160x120", "--frames", 40, "--dump", "/dev/full",
                      "--reports", reports, "--summary", tmp_path / "s.json", "--quiet", check=False)
    assert result.returncode == 1 and result.errors.count("\n") == 1 and "full" in result.errors
    assert len(read_lines(reports)) == 40
    assert ledger(tmp_path / "s.json", "dump")["failed"] == 40
    assert ledger(tmp_path / "s.json", "dump-fates")["failed"] == 40
    assert ledger(tmp_path / "s.json", "reports")["delivered"] == 40
