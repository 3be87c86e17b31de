"""Reports that have lists of items with texts."""
import json
import struct

import pytest

import sprocket
from writer import LIMIT, Writer

FIELDS = [{"name": "name", "unit": "", "offset": 0, "type": "text", "count": 1, "words": None},
          {"name": "bytes", "unit": "", "offset": 0, "type": "binary", "count": 1, "words": None},
          {"name": "size", "unit": "px", "offset": 8, "type": "f4", "count": 2, "words": None}]
LIST = {"name": "things", "unit": "", "offset": 4, "type": "list", "count": 2, "words": None, "stride": 16,
        "count_at": 0, "texts_at": 36, "texts_bytes": 20, "fields": FIELDS}


def report(**changes):
    return {"plugin": "finder", "offset": 480, "fields": [{**LIST, **changes}]}


def frame(count, texts=b"Gr\xc3\xbcn\xff\0", ranges=((0, 5), (5, 2)), batch=1, **options):
    """What a reader sees of a list of two things."""
    writer = Writer(**options).send_layout(reports=[report()], batch=batch)
    writer.fill(batch)
    at = writer.layout["slots_at"] + writer.layout["frames_at"] + 480
    items = b"".join(struct.pack("<II2f", *span, 1.5, index) for index, span in enumerate(ranges))
    data = struct.pack("<I", count) + items + texts
    writer.memory[at:at + len(data)] = data
    writer.notice(batch)
    return next(writer.stream)


def things(*arguments, **options):
    return frame(*arguments, **options).reports["finder"]["things"]


def test_items_are_dictionaries_and_texts_are_text_or_bytes():
    first, second = things(2)
    assert (first["name"], first["bytes"], list(first["size"])) == ("Gr\u00fcn", None, [1.5, 0])
    assert (second["name"], second["bytes"], list(second["size"])) == (None, b"\xff\0", [1.5, 1])
    assert [item["name"] for item in things(1)] == ["Gr\u00fcn"] and things(0) == []


def test_numbers_that_lie_reach_no_further_than_the_list():
    assert len(things(4_000_000_000)) == 2
    texts = things(2, ranges=((4_000_000_000, 4_000_000_000), (2, 4_000_000_000)))
    assert texts[0]["name"] == "" and len(texts[1]["bytes"] or texts[1]["name"].encode()) <= 18


@pytest.mark.parametrize("changes", [
    {"count": 5}, {"stride": 0}, {"stride": 400}, {"count_at": 61}, {"texts_at": 50}, {"texts_bytes": 60},
    {"offset": -4}, {"fields": [LIST]}, {"fields": [{**FIELDS[2], "count": 3}]}, {"fields": 3},
    {"fields": [{**FIELDS[0], "offset": 12}]}], ids=str)
def test_a_list_that_lies_beyond_its_frame_is_refused(changes):
    writer = Writer(timeout=LIMIT)
    packet = json.dumps({**writer.keys(), "reports": [report(**changes)]}).encode()
    with pytest.raises(sprocket.ShareRefused, match="layout cannot be used"):
        next(writer.send_layout(packet=packet).stream)


def test_a_text_outside_of_a_list_is_refused():
    writer = Writer(timeout=LIMIT)
    packet = json.dumps({**writer.keys(), "reports": [
        {"plugin": "finder", "offset": 384, "fields": [FIELDS[0]]}]}).encode()
    with pytest.raises(sprocket.ShareRefused, match="layout cannot be used"):
        next(writer.send_layout(packet=packet).stream)


def test_lines_of_lists_are_columns_of_lists(tmp_path):
    path = tmp_path / "r.jsonl"
    lines = [{"sequence": index, "fate": "delivered", "codes": {"count": 1, "codes": [{"type": "qr"}]}}
             for index in range(3)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = sprocket.reports(path)
    assert table["codes.codes"][1] == [{"type": "qr"}]
