"""What `make run` records, in the hands of programs that we did not write."""
import pathlib
import re
import shlex
import subprocess

import cv2
import numpy as np
import pytest

from program import LIMIT, ROOT, SPROCKET, read_lines, read_summary
from recordings import (decode, dump_images, dump_messages, ffprobe, image_schemas, movie_packets,
                        time_base, whole_jpeg, without_exif)

pytestmark = pytest.mark.alone
# Ticks per second of each container (DESIGN: MOV and MP4 1/90000 s, MKV 1/1000).
TICKS = {"mov": 90_000, "mp4": 90_000, "mkv": 1_000}


def command_of_make_run():
    """What the Makefile runs where there is no camera, as words, less the program's name."""
    text = subprocess.run(["make", "--no-print-directory", "--dry-run", "run", "SPROCKET=sprocket"],
                          cwd=ROOT, capture_output=True, check=True, timeout=LIMIT).stdout.decode()
    [command] = re.findall(r"^sprocket (run .*)$", text.replace("\\\n", " "), re.MULTILINE)
    return shlex.split(re.sub(r"\$\(sprocket devices[^)]*\)", "--source scene", command))


def smaller(words, folder, ending):
    """The same command with a smaller, shorter scene, into another folder."""
    words = [word.replace("demo/", f"{folder}/") for word in words]
    words = [re.sub(r"(movie)\.\w+$", rf"\1.{ending}", word) for word in words]
    for option, value in {"--size": "320x240", "--duration": "4s"}.items():
        if option in words:
            words[words.index(option) + 1] = value
        else:
            words += [option, value]
    return words if "--source" in words else [*words, "--source", "scene"]


def option(words, name):
    return pathlib.Path(words[words.index(name) + 1])


class Recording:
    def __init__(self, folder, ending):
        self.words = smaller(command_of_make_run(), folder, ending)
        result = subprocess.run([SPROCKET, *self.words], cwd=folder, capture_output=True, timeout=LIMIT)
        assert result.returncode == 0, result.stderr.decode()
        self.summary = read_summary(option(self.words, "--summary"))
        self.reports = read_lines(option(self.words, "--reports"))
        self.movie, self.dump = option(self.words, "--movie"), option(self.words, "--dump")
        self.stills = sorted(option(self.words, "--stills").iterdir())
        self.ending = ending
        # Of the frames that left the chain, when each was captured.
        self.times = [line["captured_ns"] for line in self.reports if line["fate"] == "delivered"]

    def delivered(self, sink):
        return self.summary["sinks"][sink]["delivered"]


@pytest.fixture(scope="module", params=list(TICKS))
def recording(request, tmp_path_factory):
    return Recording(tmp_path_factory.mktemp(request.param), request.param)


def test_every_reader_counts_what_the_ledger_says(recording):
    assert len(movie_packets(recording.movie)) == recording.delivered("movie") > 50
    assert len(dump_images(recording.dump)) == recording.delivered("dump") > 50
    assert len(recording.stills) == recording.delivered("stills") >= 2
    assert len(recording.reports) == recording.summary["produced"]


def test_the_movie_decodes_without_a_word(recording):
    assert decode(recording.movie) == ""


def test_all_agree_on_the_size(recording):
    stream = ffprobe(recording.movie, "stream=width,height")["streams"][0]
    sizes = {(stream["width"], stream["height"])}
    jpegs = [path.read_bytes() for path in recording.stills]
    images = [image.message for image in dump_images(recording.dump)]
    jpegs += [image.data for image in images[::20]]
    for data in jpegs:
        picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        sizes.add((picture.shape[1], picture.shape[0]))
    assert sizes == {(320, 240)}


def test_the_movie_tells_the_time_to_a_tick(recording):
    rate = time_base(recording.movie)
    assert rate == TICKS[recording.ending]
    ticks = [packet.ticks for packet in movie_packets(recording.movie)]
    assert len(ticks) == recording.delivered("movie")
    exact = [(time - recording.times[0]) * rate / 1e9 for time in recording.times]
    if len(exact) > len(ticks):  # On a busy machine the movie may be behind the reports.
        exact = [min(exact, key=lambda time: abs(time - tick)) for tick in ticks]
    assert len(ticks) == len(exact) == len(set(exact))
    for tick, time in zip(ticks, exact):
        assert abs(tick - ticks[0] - time) <= 1


def test_the_dump_tells_the_time_to_the_nanosecond(recording):
    images = dump_images(recording.dump)
    arrived = [line["captured_ns"] for line in recording.reports if line["captured_ns"] is not None]
    assert [image.time for image in images] == arrived
    for image in images:
        stamp = image.message.timestamp
        assert stamp.seconds * 10**9 + stamp.nanos == image.time


def test_images_decode_by_the_schema_in_the_file_and_by_the_published_one(recording):
    from mcap_protobuf.decoder import DecoderFactory
    factory = DecoderFactory()
    published = image_schemas()
    seen = 0
    for schema, channel, message in dump_messages(recording.dump):
        if schema is None or schema.name not in published:
            continue
        ours = factory.decoder_for(channel.message_encoding, schema)(message.data)
        theirs = published[schema.name].FromString(message.data)
        assert ours.SerializeToString() == theirs.SerializeToString()
        assert theirs.format == "jpeg"
        names = {field.name: field.number for field in theirs.DESCRIPTOR.fields}
        assert {field.name: field.number for field in ours.DESCRIPTOR.fields} == names
        seen += 1
    assert seen == recording.delivered("dump")


def test_stills_are_pictures_of_the_dump(recording):
    """Their chain writes pixels or it does not; untouched, they are the camera's own bytes behind EXIF."""
    if "negate" in recording.words:
        pytest.skip("the chain of `make run` writes pixels, so its stills are made anew")
    dumped = {whole_jpeg(image.message.data) for image in dump_images(recording.dump)}
    assert all(whole_jpeg(without_exif(path.read_bytes())) in dumped for path in recording.stills)


def test_the_dump_has_an_index_and_the_ledger(recording):
    from mcap.reader import make_reader
    with open(recording.dump, "rb") as file:
        summary = make_reader(file).get_summary()
    assert summary.statistics.message_count == sum(summary.statistics.channel_message_counts.values())
    assert summary.chunk_indexes
    assert sum(1 for _ in dump_messages(recording.dump)) == summary.statistics.message_count
