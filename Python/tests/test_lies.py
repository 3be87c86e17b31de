"""A reader against writers that break the protocol: an error in a sentence, soon, and never memory that
is not there."""
import json
import random
import struct

import pytest

import sprocket
from writer import LIMIT, Writer

HUGE = [0, -1, 1 << 31, 1 << 40, 1 << 63, 10**30, 1.5, True, None, "8", []]


def refused(writer):
    """What the reader says of it."""
    with pytest.raises(sprocket.ShareRefused) as error:
        next(writer.stream)
    assert next(writer.stream, None) is None and len(str(error.value)) < 600
    writer.stream.close()
    return str(error.value)


@pytest.mark.parametrize("value", HUGE, ids=str)
@pytest.mark.parametrize("key", ["memory_bytes", "slots", "slots_at", "slot_bytes", "frames_at",
                                 "frame_stride",
                                 "payload_at", "payload_bytes", "batch", "shape"])
def test_a_layout_with_a_number_that_cannot_be_is_refused(key, value):
    keys = Writer(timeout=LIMIT).keys()
    if key == "shape":
        value = [1, 3, value, 6]
    keys[key] = value
    writer = Writer(timeout=LIMIT).send_layout(packet=json.dumps(keys).encode())
    text = refused(writer)
    assert "layout cannot be used" in text or key == "memory_bytes" and "smaller than its layout" in text


@pytest.mark.parametrize("key, change", [
    ("slot_bytes", -4096), ("memory_bytes", -1), ("payload_at", -8), ("payload_bytes", -4), ("frames_at", 8),
    ("frame_stride", 8), ("batch", 1), ("slots", 1), ("slots_at", 8)])
def test_a_layout_whose_parts_overlap_or_end_too_late_is_refused(key, change):
    keys = Writer().keys(shape=(1, 3, 4, 299))  # Fills four pages but for some bytes.
    keys[key] += change
    writer = Writer(timeout=LIMIT)
    assert "layout cannot be used" in refused(writer.send_layout(packet=json.dumps(keys).encode()))


@pytest.mark.parametrize("changes", [
    {"version": 2}, {"type": "f64"}, {"order": "hwc"}, {"reports": 5}, {"regions": []},
    {"regions": [[1, 1, 0]]},
    {"channels": "cmyk", "shape": [1, 4, 4, 6]}, {"lens": {"model": "pinhole"}}, {"picture": []},
    {"lens": {"model": "mirror", "camera": [1] * 4, "undistorted": [1] * 4, "distortion": [0] * 14}},
    {"reports": [{"plugin": "a", "offset": 512, "fields": [
        {"name": "b", "unit": "", "offset": 60, "type": "f8", "count": 1, "words": None}]}]},
    {"reports": [{"plugin": "a", "offset": 480, "fields": [
        {"name": "b", "unit": "", "offset": 0, "type": "O", "count": 1, "words": None}]}]},
    {"reports": [{"plugin": "a", "offset": 0, "fields": []}]}, {"decoded_at": 0}, {"rate": "fast"},
    {"totals": [0] * 11}, {"totals": [-1] * 12}, {"totals_at": 0}, {"totals_at": 544 - 95}], ids=str)
def test_a_layout_that_contradicts_itself_is_refused(changes):
    packet = json.dumps({**Writer().keys(), **changes}).encode()
    assert "layout cannot be used" in refused(Writer(timeout=LIMIT).send_layout(packet=packet))


@pytest.mark.parametrize("packet", [b"{", b"{}", b"[" * 50000, b"{" + b"9" * 30000, b'{"version": 1}',
                                    b"x" * 32 + b"y",
                                    b"{" + b"\xff" * 100, b'{"a":' * 5000])
def test_what_is_no_layout_is_refused(packet):
    refused(Writer(timeout=LIMIT).send_layout(packet=packet))


def test_the_reason_of_a_refusal_is_told():
    writer = Writer(timeout=LIMIT)
    writer.socket.send(b'{"error": "64 programs read this share already; close one of them"}')
    assert refused(writer) == "64 programs read this share already; close one of them"


def test_memory_that_could_shrink_is_refused():
    for seals in (0, 0x4):
        assert "not sealed" in refused(Writer(timeout=LIMIT).send_layout(seals=seals))


def test_memory_that_is_smaller_than_told_is_refused():
    for size in (0, 4095, 4096, 36863):
        assert "smaller" in refused(Writer(timeout=LIMIT).send_layout(size=size))


def test_memory_that_does_not_begin_as_such_is_refused():
    assert "does not begin" in refused(Writer(timeout=LIMIT).send_layout(magic=b"SPRKSHM2"))


def test_a_layout_without_memory_is_refused():
    assert "without its memory" in refused(Writer(timeout=LIMIT).send_layout(with_memory=False))


def test_frames_whose_header_is_none_are_refused():
    writer = Writer(timeout=LIMIT).send_layout()
    writer.fill(magic=b"SPRKFRM9")
    writer.notice()
    assert "header" in refused(writer)


@pytest.mark.parametrize("notice", [
    {"slot": 8}, {"slot": 2**32 - 1}, {"frames": 0}, {"frames": 2}, {"frames": 2**32 - 1}, {"ticket": 0},
    {"shared": 0}], ids=str)
def test_a_notice_of_what_is_not_there_is_refused(notice):
    writer = Writer(timeout=LIMIT).send_layout()
    writer.fill()
    writer.notice(**notice)
    assert "a notice" in refused(writer)


def test_notices_that_go_back_are_refused():
    writer = Writer(timeout=LIMIT, every=True).send_layout().share(2)
    writer.notice(ticket=1)
    assert [next(writer.stream).number for _ in range(2)] == [0, 1]
    assert "goes back" in refused(writer)


def test_a_notice_before_the_layout_is_refused():
    writer = Writer(timeout=LIMIT)
    writer.socket.send(struct.pack("<IIQQQ", 0, 1, 1, 1, 0))
    assert "before the layout" in refused(writer)


def test_every_reader_tells_a_writer_that_does_not_keep_its_memory():
    writer = Writer(timeout=LIMIT, every=True).send_layout().share()
    for _ in range(8):
        writer.fill()
    assert "before it was acknowledged" in refused(writer)


def test_a_writer_that_does_not_read_acknowledgements_is_told():
    writer = Writer(timeout=LIMIT, every=True).send_layout()
    writer.socket.setblocking(False)
    with pytest.raises(sprocket.ShareRefused, match="does not read acknowledgements"):
        for _ in range(100_000):
            writer.share()
            next(writer.stream)


def test_words_that_the_layout_does_not_have_are_empty():
    writer = Writer().send_layout()
    writer.fill()
    at = writer.layout["slots_at"] + writer.layout["frames_at"] + 480 + 24
    writer.memory[at] = 200
    writer.notice()
    assert next(writer.stream).reports["focus"]["state"] == ""


@pytest.mark.parametrize("seed", range(300))
def test_any_packets_end_in_an_error_or_a_frame(seed):
    chance = random.Random(seed)
    writer = Writer(every=chance.random() < 0.5, batches=chance.random() < 0.5, timeout=0.2)
    if chance.random() < 0.8:
        packet = bytearray(json.dumps(writer.keys()).encode())
        for _ in range(chance.choice([0, 1, 1, 5])):
            packet[chance.randrange(1, len(packet))] = chance.choice(b'0123456789-.,:"[]{}ntf ')
        writer.send_layout(packet=bytes(packet))
    for _ in range(chance.randrange(5)):
        kind = chance.random()
        if kind < 0.4 and writer.memory is not None:
            writer.share()
        elif kind < 0.7:
            size = chance.choice([1, 31, 32, 33, 600])
            writer.socket.send(bytes(chance.randrange(256) for _ in range(size)))
        else:
            words = [chance.choice([0, 1, 2, 7, 8, 2**32 - 1]) for _ in range(5)]
            writer.socket.send(struct.pack("<IIQQQ", *words))
    if chance.random() < 0.5:
        writer.end(state=chance.choice([0, 1, 2, 3, 9]))
    try:
        for item in writer.stream:
            float(item.tensor.sum())
            for frame in getattr(item, "frames", [item]):
                frame.reports, frame.clock, frame.missed_by
    except sprocket.Error:
        pass
    writer.stream.close()
    assert writer.stream.seen >= 0
