"""What is left when the program is killed: all but the last fragment and chunk, frame for frame."""
import concurrent.futures
import json
import os
import random
import time

import cv2
import numpy as np
import pytest

from containers import chunk_messages, complete_pieces
from program import SPROCKET, running, wait_for_bytes
from recordings import decode, ffprobe, image_schemas, movie_packets, stream_messages

KILLS = int(20 * float(os.environ.get("SPROCKET_STRESS", "1")))
SEED = 20
# How many are under way at once.
BATCH = 4


def partial(path):
    return path.with_name(f"{path.stem}.partial{path.suffix}")


def kill_somewhere(folder, number):
    """Kills a live run that records a movie and a dump, at a moment that follows from the number, counted
    from where both files have something; returns what it left."""
    draw = random.Random(SEED * 1000 + number)
    folder = folder / str(number)
    folder.mkdir()
    movie, dump = folder / f"movie.{['mov', 'mp4', 'mkv'][number % 3]}", folder / "dump.mcap"
    command = [SPROCKET, "run", "--source", "scene", "--source-set", "pace=real", "--size", "320x240",
               "--rate", "60", "--movie", movie, "--dump", dump, "--quiet"]
    with running(command) as process:
        for path in (movie, dump):
            wait_for_bytes(partial(path), process)
        # Fragments and chunks are a second long.
        time.sleep(draw.uniform(0, 3))
        process.kill()
        process.wait()
    assert not movie.exists() and not dump.exists()
    assert sorted(folder.iterdir()) == sorted([partial(movie), partial(dump)])
    return partial(movie), partial(dump)


@pytest.fixture(scope="module")
def remains(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kills")
    with concurrent.futures.ThreadPoolExecutor(BATCH) as pool:
        return list(pool.map(lambda number: kill_somewhere(folder, number), range(KILLS)))


def dumped_pictures(path):
    """Sequence and JPEG of each image that Python's `mcap` reads."""
    classes = image_schemas()
    return [(message.sequence, classes[schema].FromString(message.data).data)
            for schema, message in stream_messages(path) if schema in classes]


def explained(path):
    """Numbers that the dump itself says it has no picture of, and those that it does not get to: on a busy
    machine the scene, like a camera, may go on without us."""
    missing, told = set(), -1
    for schema, message in stream_messages(path):
        record = json.loads(message.data) if schema.startswith("sprocket.") else {}
        if schema == "sprocket.fate":
            told = record["sequence"]
            if record["fate"] == "missing":
                missing.add(told)
        elif schema == "sprocket.range":
            missing.update(range(record["first_sequence"],
                                 record["first_sequence"] + record["frames"]))
    return missing | set(range(told + 1, told + 1000))


def test_a_dump_is_read_to_its_last_chunk(remains):
    chunks_seen = 0
    for _, dump in remains:
        chunks = chunk_messages(dump)
        chunks_seen += len(chunks)
        complete = [message for chunk in chunks for message in chunk]
        read = [(message.channel_id, message.sequence, message.data)
                for _, message in stream_messages(dump)]
        assert read == complete, dump
        pictures = dumped_pictures(dump)
        numbers = [sequence for sequence, _ in pictures]
        assert numbers == sorted(set(numbers))
        assert set(range(max(numbers, default=0))) - set(numbers) <= explained(dump)
        for _, data in pictures[::10] + pictures[-1:]:
            picture = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
            assert picture.shape == (240, 320, 3)
    # A chunk is a second at most, so most of the runs have one.
    assert chunks_seen > KILLS // 2


@pytest.mark.parametrize("ending", ["mov", "mp4", "mkv"])
def test_a_movie_is_decoded_to_its_last_fragment(remains, ending, tmp_path):
    whole = tmp_path / f"whole.{ending}"
    pieces_seen = 0
    for movie, dump in remains:
        if movie.suffix != f".{ending}":
            continue
        pieces = complete_pieces(movie)
        if not pieces:
            continue
        pieces_seen += len(pieces)
        count = sum(piece.pictures for piece in pieces)
        # ffmpeg and ffprobe get along with the file as it was left, and lose nothing complete.
        streams = ffprobe(movie, "stream=width,height,codec_name", is_whole=False)["streams"]
        assert streams == [{"codec_name": "mjpeg", "width": 320, "height": 240}]
        assert len(ffprobe(movie, "packet=pts", is_whole=False)["packets"]) >= count
        # The complete part decodes without a word.
        whole.write_bytes(movie.read_bytes()[:pieces[-1].end])
        assert decode(whole) == ""
        packets = movie_packets(whole)
        assert len(packets) == count
        ticks = [packet.ticks for packet in packets]
        assert all(one < next for one, next in zip(ticks, ticks[1:]))
        # Frame for frame what the dump has, as far as both go: none missing, none out of order.
        both = list(zip(packets, dumped_pictures(dump)))
        assert all(packet.data == data for packet, (_, data) in both), movie
    assert pieces_seen > 0
