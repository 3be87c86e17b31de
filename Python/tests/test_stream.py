"""A reader against a writer that is written here: which frames it gets, and what it counts."""
import gc
import math
import os
import pickle
import random
import struct
import weakref

import numpy as np
import pytest

import sprocket
from writer import Writer

SEEDS = int(os.environ.get("SPROCKET_SHARE_STORMS", "50"))


def test_latest_gives_the_newest_and_counts_the_others():
    writer = Writer().send_layout().share(3)
    assert writer.hello() == b"SPRKRDR1" + struct.pack("<Q", 0)
    frame = next(writer.stream)
    assert (frame.number, frame.missed) == (2, 2)
    writer.share(2)
    assert (next(writer.stream).number, writer.stream.missed, writer.stream.seen) == (4, 3, 2)
    assert writer.acknowledged() == []


def test_every_gives_all_and_acknowledges_at_once():
    writer = Writer(every=True).send_layout().share(3)
    assert writer.hello() == b"SPRKRDR1" + struct.pack("<Q", 1)
    for number in range(3):
        assert next(writer.stream).number == number and writer.acknowledged() == [number + 1]
    writer.end()
    assert list(writer.stream) == [] and (writer.stream.seen, writer.stream.missed) == (3, 0)


def test_what_was_shared_before_the_reader_came_is_not_missed():
    writer = Writer()
    writer.shared = 1000
    writer.send_layout().share()
    assert next(writer.stream).missed == 0
    writer.end()
    assert list(writer.stream) == [] and writer.stream.missed == 0


def test_frames_without_a_notice_are_counted_at_the_next_one_and_at_the_end():
    writer = Writer(every=True).send_layout().share()
    next(writer.stream)
    writer.fill()
    writer.fill()
    writer.share()
    assert next(writer.stream).missed == 2
    writer.fill()
    writer.end()
    assert list(writer.stream) == [] and (writer.stream.seen, writer.stream.missed) == (2, 3)


def test_what_is_missing_is_counted_by_cause():
    writer = Writer(every=True)
    writer.lost[0] = 7
    writer.send_layout()
    writer.lose(1, 3)
    writer.share()
    assert (frame := next(writer.stream)).missed_by == {"missing": 3} and frame.missed == 3
    writer.lose(2)
    writer.fill()
    writer.lose(5, 2)
    writer.share()
    frame = next(writer.stream)
    assert frame.missed_by == {"corrupt": 1, "late": 2, "unread": 1} and frame.missed == 4
    writer.lose(10)
    assert writer.stream.missed_by == {"missing": 3, "corrupt": 1, "late": 2, "unread": 1}
    writer.end()
    assert list(writer.stream) == []
    assert writer.stream.missed_by == {"missing": 3, "corrupt": 1, "late": 2, "unread": 1, "failed": 1}
    assert (writer.stream.seen, writer.stream.missed) == (2, 8)


def test_what_is_missing_within_a_batch_belongs_to_it():
    writer = Writer(every=True, batches=True).send_layout(batch=3)
    writer.lose(1)
    writer.share(1, frames=3)
    at = writer.layout["slots_at"] + writer.layout["frames_at"] + 2 * writer.layout["frame_stride"] + 384
    struct.pack_into("<Q", writer.memory, at + 8, 5)
    batch = next(writer.stream)
    assert [frame.missed for frame in batch.frames] == [1, 0, 4] and batch.missed == 5


def test_by_default_the_share_says_which_frames_are_taken():
    for every in (True, False):
        writer = Writer(every=None).send_layout(every=every).share(3)
        assert writer.hello() == b"SPRKRDR1" + struct.pack("<Q", 2)
        assert next(writer.stream).number == (0 if every else 2) and writer.stream.every is every
        assert writer.acknowledged() == ([1] if every else [])


@pytest.mark.parametrize("every", [False, True])
def test_closing_early_counts_what_was_shared_until_then(every):
    writer = Writer(every=every).send_layout().share(5)
    next(writer.stream)
    writer.fill()
    writer.hello()
    writer.stream.close()
    assert writer.stream.seen + writer.stream.missed == 6 == writer.shared
    packets = iter(lambda: writer.socket.recv(100), b"")
    assert list(packets) == ([b"SPRKACK1" + struct.pack("<Q", 1)] if every else [])
    writer.stream.close()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_seen_and_missed_add_up_to_what_was_shared(seed):
    chance = random.Random(seed)
    every, batches = chance.random() < 0.5, chance.random() < 0.5
    writer = Writer(every=every, batches=batches)
    writer.shared = before = chance.randrange(1000)
    batch = chance.randrange(1, 4)
    writer.send_layout(batch=batch)
    seen, last = [], before - 1
    waiting = rest = 0
    for _ in range(chance.randrange(1, 80)):
        step = chance.random()
        if step < 0.5 and not (every and waiting >= 4):
            # At times without a notice, as where the reader's queue is full.
            for _ in range(chance.randrange(3)):
                if every:
                    writer.shared += 1  # In a slot that this reader does not hold.
                    writer.set_shared()
                else:
                    writer.fill(chance.randrange(1, batch + 1))
            writer.share(1, chance.randrange(1, batch + 1))
            waiting += 1
            rest = 0
        elif step < 0.9 and (waiting or rest):
            item = next(writer.stream)
            frames = item.frames if batches else [item]
            assert frames[0].number == last + 1 + item.missed
            last = frames[-1].number
            seen += [frame.number for frame in frames]
            waiting = 0 if not every else waiting - (len(writer.stream._rest) == 0)
            rest = len(writer.stream._rest)
        elif step > 0.97 and not (every and waiting):
            batch = chance.randrange(1, 4)
            writer.send_layout(batch=batch, shape=(1, 3, chance.randrange(2, 9), 5))
    if chance.random() < 0.5:
        writer.end()
        for item in writer.stream:
            seen += [frame.number for frame in (item.frames if batches else [item])]
    writer.stream.close()
    assert seen == sorted(set(seen)) and writer.stream.seen == len(seen)
    assert writer.stream.seen + writer.stream.missed == writer.shared - before


def test_a_frame_has_what_its_header_says():
    writer = Writer().send_layout().share(2)
    frame = next(writer.stream)
    assert (frame.number, frame.sequence, frame.epoch, frame.captured_ns) == (1, 101, 7, 1000)
    assert (frame.clock, frame.capture_point, frame.is_discontinuous) == ("media", "end_of_frame", False)
    assert (frame.dequeued_ns, frame.processed_ns, frame.shared_ns) == (1, 2, 3)
    assert frame.exposure_us == 10000 and math.isnan(frame.gain) and frame.lens_position == 0.5
    focus = frame.reports["focus"]
    assert (focus["score"], focus["state"], focus["grid"].tolist()) == (0.5, "blurred", [0, 1, 2, 3])


def test_pictures_have_their_channels_last_in_either_order():
    for order, shape in (("nchw", (2, 3, 4, 6)), ("nhwc", (2, 4, 6, 3))):
        writer = Writer().send_layout(shape=shape, order=order, kind="u8").share()
        frame = next(writer.stream)
        assert frame.tensor.shape == shape and frame.image.shape == (4, 6, 3)
        assert np.shares_memory(frame.image, frame.tensor)
    gray = next(Writer().send_layout(shape=(1, 1, 4, 6)).share().stream)
    assert gray.image.shape == (4, 6)


@pytest.mark.parametrize("kind, dtype", [
    ("u8", "uint8"), ("f16", "float16"), ("f32", "float32"), ("bf16", "uint16")])
def test_numbers_have_the_type_of_the_layout(kind, dtype):
    frame = next(Writer().send_layout(kind=kind).share().stream)
    assert frame.tensor.dtype == dtype


def laps(writer):
    """Writes each slot anew, as a writer does that does not wait."""
    for _ in range(writer.layout["slots"]):
        writer.fill()


@pytest.mark.parametrize("every", [False, True])
def test_frames_are_the_callers(every):
    writer = Writer(every=every).send_layout().share(3)
    first = next(writer.stream)
    array, image, other = first.tensor, first.image, np.from_dlpack(first.tensor)
    assert np.shares_memory(image, array) and np.shares_memory(np.asarray(first), array)
    number, header = first.number, first.captured_ns
    del first
    if every:
        assert [frame.number for _, frame in zip(range(2), writer.stream)] == [1, 2]
    laps(writer)
    for view in (array, image, other):
        assert (view == number).all()
    array += 7
    assert (image == number + 7).all() and header == 1000 * number


def test_kept_frames_stay_and_dropped_ones_give_their_memory_to_later_ones():
    writer = Writer(every=True).send_layout()
    kept, addresses = [], []
    for number in range(40):
        writer.share()
        frame = next(writer.stream)
        if number % 4 == 0:
            kept.append(frame.image)
        addresses.append(frame.tensor.ctypes.data)
        del frame
    assert [image.min() for image in kept] == [image.max() for image in kept] == list(range(0, 40, 4))
    stacked = np.stack(kept)
    assert stacked.shape == (10, 4, 6, 3) and stacked[3].mean() == 12
    # Ten are kept; the others were made in the same piece.
    assert len(set(addresses)) == 11


def test_a_part_of_a_frame_keeps_its_memory():
    writer = Writer(every=True).send_layout().share()
    row = next(writer.stream).image[1:2, ::2]
    for number in range(1, 9):
        writer.share()
        assert next(writer.stream).image.max() == number
    assert (row == 0).all()


def test_a_frame_is_an_array_and_is_not_pickled():
    pictures = Writer(every=True).send_layout(shape=(1, 4, 6, 3), order="nhwc", kind="u8", layout="rgb")
    for writer, shape in (pictures, (4, 6, 3)), (Writer(every=True).send_layout(), (1, 3, 4, 6)):
        frame = next(writer.share(3).stream)
        assert np.asarray(frame).shape == shape and np.asarray(frame, np.float64).dtype == np.float64
        assert not np.shares_memory(np.array(frame), frame.tensor)
        with pytest.raises(TypeError, match="a frame is not pickled; send frame.tensor"):
            pickle.dumps(frame)


def test_a_forked_child_has_its_frames_and_leaves_the_stream_alone():
    writer = Writer(every=True).send_layout().share(2)
    writer.hello()
    frame = next(writer.stream)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with pytest.raises(sprocket.Error, match="belongs to the process that opened it"):
                next(writer.stream)
            writer.stream.close()
            code = 0 if frame.tensor.max() == 0 else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert writer.acknowledged() == [1] and next(writer.stream).number == 1


def test_a_report_that_is_not_there_is_told_with_those_there_are():
    writer = Writer(every=True).send_layout().share()
    reports = next(writer.stream).reports
    batch = next(Writer(every=True, batches=True).send_layout(batch=2).share(1, 2).stream)
    for found in (reports, batch.reports, pickle.loads(pickle.dumps(reports))):
        with pytest.raises(KeyError, match="^there is no report of stage meter; there are: focus$") as error:
            found["meter"]
        assert isinstance(error.value, sprocket.Error) and found.get("meter") is None
        with pytest.raises(sprocket.NoSuchItem, match="no field of focus scor; there are: .*score, grid"):
            found["focus"]["scor"]


def test_what_is_printed_names_the_share_and_counts():
    writer = Writer().send_layout().share(3)
    next(writer.stream)
    assert repr(writer.stream) == "<sprocket.Stream of share test: 1 frames seen, 2 missed>"
    writer.stream.close()
    assert repr(writer.stream) == "<sprocket.Stream of share test: 1 frames seen, 2 missed, closed>"


def test_notices_of_slots_that_are_overwritten_by_now_are_missed():
    writer = Writer().send_layout().share()
    for _ in range(8):
        writer.fill()
    writer.notice()
    assert (next(writer.stream).number, writer.stream.missed) == (8, 8)


def test_another_layout_brings_another_shape_and_old_views_stay():
    writer = Writer(every=True).send_layout().share()
    old = next(writer.stream)
    writer.send_layout(shape=(1, 1, 9, 7), kind="u8").share()
    new = next(writer.stream)
    assert (old.tensor.shape, new.tensor.shape) == ((1, 3, 4, 6), (1, 1, 9, 7))
    view = old.tensor
    writer.stream.close()
    del old, new, writer
    gc.collect()
    assert view.sum() == 0


def test_the_memory_is_unmapped_with_the_stream():
    writer = Writer().send_layout().share()
    frame = next(writer.stream)
    memory = weakref.ref(writer.stream._memory)
    writer.stream.close()
    del writer
    gc.collect()
    assert memory() is None and frame.tensor.sum() == 0


def test_batches_lie_behind_each_other():
    writer = Writer(every=True, batches=True).send_layout(batch=3, shape=(2, 3, 4, 6)).share(1, 3).share(1, 2)
    batch = next(writer.stream)
    assert batch.tensor.shape == (6, 3, 4, 6) and batch.tensor[:, 0, 0, 0].tolist() == [0, 0, 1, 1, 2, 2]
    assert batch.numbers.tolist() == [0, 1, 2] and batch.captured_ns.tolist() == [0, 1000, 2000]
    focus = batch.reports["focus"]
    assert focus["score"].tolist() == [0, 0.5, 1] and focus["grid"].shape == (3, 4)
    assert focus["reported"].all()
    assert focus["state"].tolist() == ["sharp", "blurred", "sharp"]
    assert len(next(writer.stream)) == 2
    laps(writer)
    batch.tensor[4] += 1
    assert batch.frames[2].tensor[:, 0, 0, 0].tolist() == [3, 2]


def test_a_batch_is_given_back_with_its_first_frame():
    writer = Writer(every=True).send_layout(batch=3).share(1, 3)
    writer.hello()
    assert [next(writer.stream).number for _ in range(3)] == [0, 1, 2] and writer.acknowledged() == [1]


def test_a_loop_over_what_is_closed_or_has_ended_is_an_error():
    for is_closed in (True, False):
        writer = Writer(every=True).send_layout().share()
        if is_closed:
            next(writer.stream)
            writer.stream.close()
        else:
            writer.end()
            assert [frame.number for frame in writer.stream] == [0]
        with pytest.raises(StopIteration, match="start another"):
            next(writer.stream)
        with pytest.raises(sprocket.Error, match="share test was closed, or has been read to its end; start"):
            iter(writer.stream)


def test_a_loop_ends_where_its_body_closes_the_stream():
    writer = Writer(every=True).send_layout().share(3)
    for frame in writer.stream:
        writer.stream.close()
    assert frame.number == 0


def test_a_step_waits_no_longer_than_it_is_told():
    writer = Writer(timeout=0.05).send_layout()
    with pytest.raises(sprocket.Timeout, match="within 0.05 s"):
        next(writer.stream)
    writer.share()
    assert next(writer.stream).number == 0


def test_a_writer_that_dies_is_told():
    for every in (False, True):
        writer = Writer(every=every).send_layout().share()
        assert next(writer.stream).number == 0
        writer.fill()
        writer.end(state=1)
        with pytest.raises(sprocket.WriterGone, match="its program died"):
            next(writer.stream)
        assert next(writer.stream, None) is None
        assert (writer.stream.seen, writer.stream.missed) == (1, 1)


def test_what_a_writer_sent_before_it_died_is_still_read():
    writer = Writer(every=True).send_layout().share(2)
    writer.socket.setblocking(False)
    # With the greeting unread the connection ends by ECONNRESET.
    writer.end(state=2)
    assert [frame.number for frame in writer.stream] == [0, 1]


def test_a_writer_that_ends_without_a_frame_is_told():
    writer = Writer()
    writer.end()
    with pytest.raises(sprocket.WriterGone, match="before it had a frame"):
        next(writer.stream)


def test_a_stream_that_is_dropped_disconnects_although_a_frame_is_kept():
    writer = Writer().send_layout().share()
    writer.hello()
    frame = next(writer.stream)
    del writer.stream
    gc.collect()
    assert writer.socket.recv(1) == b"" and frame.tensor.sum() == 0
