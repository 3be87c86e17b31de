"""How far a file that was cut off is complete, by the structure of its container alone: small parsers
of ISO 14496-12, of Matroska (RFC 9559) and of MCAP, independent of the program and its libraries."""
import collections
import struct

import lz4.frame

# A piece that stands for itself: where it ends in the file, and how many pictures it has.
Piece = collections.namedtuple("Piece", "end pictures")


def complete_pieces(path):
    """The fragments or clusters that the file has in full, in order."""
    data = path.read_bytes()
    return list(clusters(data) if path.suffix == ".mkv" else fragments(data))


def boxes(data, start=0, end=None):
    """(type, start of the content, end) of each box that is complete."""
    end = len(data) if end is None else end
    while start + 8 <= end:
        size, kind = struct.unpack_from(">I4s", data, start)
        content = start + 8
        if size == 1:
            if start + 16 > end:
                return
            size, content = struct.unpack_from(">Q", data, start + 8)[0], start + 16
        if size < 8 or start + size > end:
            return  # 0 reaches to the end of the file: an mdat that nobody closed.
        yield kind, content, start + size
        start += size


def fragments(data):
    """Each moof with the mdat behind it; before the first, the moov has to be complete."""
    has_movie, samples = False, None
    for kind, start, end in boxes(data):
        if kind == b"moov":
            has_movie = True
        elif kind == b"moof":
            samples = sum(
                struct.unpack_from(">I", data, run + 4)[0]
                for track, inside, track_end in boxes(data, start, end) if track == b"traf"
                for name, run, _ in boxes(data, inside, track_end) if name == b"trun")
        elif kind == b"mdat" and samples is not None:
            assert has_movie, "a fragment stands before the moov"
            yield Piece(end, samples)
            samples = None


SEGMENT, CLUSTER, SIMPLE_BLOCK, BLOCK_GROUP = 0x18538067, 0x1F43B675, 0xA3, 0xA0


def vint(data, place, keeps_marker):
    """An EBML number and the place behind it; None where it is cut off or says that it is unknown."""
    if place >= len(data) or data[place] == 0:
        return None, place
    length = 9 - data[place].bit_length()
    raw = data[place:place + length]
    if len(raw) < length:
        return None, place
    value = int.from_bytes(raw, "big")
    if keeps_marker:
        return value, place + length
    bits = 7 * length
    value &= (1 << bits) - 1
    return (None if value == (1 << bits) - 1 else value), place + length


def elements(data, start, end):
    """(id, start of the content, end) of each element; the end is None where the size is unknown."""
    while start < end:
        name, place = vint(data, start, True)
        if name is None:
            return
        size, content = vint(data, place, False)
        if content == place:
            return
        yield name, content, None if size is None else content + size
        if size is None:
            return
        start = content + size


def clusters(data):
    for name, start, end in elements(data, 0, len(data)):
        if name != SEGMENT:
            continue
        limit = len(data) if end is None else min(end, len(data))
        for inner, content, stop in elements(data, start, limit):
            if inner == CLUSTER and stop is not None and stop <= len(data):
                blocks = [block for block, _, _ in elements(data, content, stop)]
                yield Piece(stop, blocks.count(SIMPLE_BLOCK) + blocks.count(BLOCK_GROUP))


MAGIC = b"\x89MCAP0\r\n"
CHUNK, MESSAGE = 0x06, 0x05


def mcap_records(data, start):
    """(opcode, content) of each record that is complete."""
    while start + 9 <= len(data) and data[start:start + 8] != MAGIC:
        code, size = struct.unpack_from("<BQ", data, start)
        if start + 9 + size > len(data):
            return
        yield code, data[start + 9:start + 9 + size]
        start += 9 + size


def chunk_messages(path):
    """Of each complete chunk, its messages: (channel, sequence, content)."""
    data = path.read_bytes()
    assert data[:8] == MAGIC
    chunks = []
    for code, content in mcap_records(data, 8):
        if code != CHUNK:
            continue
        size, _, name_length = struct.unpack_from("<QII", content, 16)
        name = content[32:32 + name_length]
        records = content[32 + name_length + 8:]
        if name == b"lz4":
            records = lz4.frame.decompress(records)
        assert len(records) == size, name
        chunks.append([struct.unpack_from("<HI", record) + (record[22:],)
                       for kind, record in mcap_records(records, 0) if kind == MESSAGE])
    return chunks
