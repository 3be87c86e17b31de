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


def test_every_gives_all_and_acknowledges_when_the_next_is_asked_for():
    writer = Writer(every=True).send_layout().share(3)
    assert writer.hello() == b"SPRKRDR1" + struct.pack("<Q", 1)
    assert next(writer.stream).number == 0 and writer.acknowledged() == []
    assert next(writer.stream).number == 1 and writer.acknowledged() == [1]
    with next(writer.stream) as frame:
        assert frame.number == 2 and writer.acknowledged() == [2]
    assert writer.acknowledged() == [3]
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
    assert frame.between["missing"] == 1 and frame.between["flushed"] == 11
    assert "delivered" not in frame.between
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


def test_views_cannot_be_written_to_and_copies_can():
    frame = next(Writer().send_layout().share().stream)
    for view in (frame.tensor, frame.image):
        with pytest.raises(ValueError):
            view[:] = 0
        with pytest.raises(ValueError):
            view.flags.writeable = True
    kept = frame.copy()
    kept.tensor[:] = 7
    assert frame.tensor.max() == 0 and kept.image.max() == 7 and kept.number == 0


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


def test_a_frame_that_is_overtaken_says_so():
    writer = Writer().send_layout().share()
    frame = next(writer.stream)
    kept = frame.copy()
    with pytest.raises(sprocket.Overwritten), frame:
        for _ in range(8):
            writer.fill()
    with pytest.raises(sprocket.Overwritten):
        frame.copy()
    with kept:
        assert kept.tensor.max() == 0
    with pytest.raises(ZeroDivisionError), frame:
        1 / 0  # What the block raises is not hidden.


def test_a_frame_that_is_being_overwritten_says_so():
    writer = Writer().send_layout().share()
    frame = next(writer.stream)
    at = writer.layout["slots_at"]
    writer.memory[at:at + 8] = struct.pack("<Q", 9)  # The first ticket alone: it is being written.
    with pytest.raises(sprocket.Overwritten):
        frame.check()


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


def test_the_memory_is_unmapped_when_nobody_sees_it_any_more():
    writer = Writer().send_layout().share()
    frame = next(writer.stream)
    memory = weakref.ref(frame._claim.memory)
    writer.stream.close()
    del frame, writer
    gc.collect()
    assert memory() is None


def test_batches_lie_behind_each_other():
    writer = Writer(every=True, batches=True).send_layout(batch=3, shape=(2, 3, 4, 6)).share(1, 3).share(1, 2)
    batch = next(writer.stream)
    assert batch.tensor.shape == (6, 3, 4, 6) and batch.tensor[:, 0, 0, 0].tolist() == [0, 0, 1, 1, 2, 2]
    assert batch.numbers.tolist() == [0, 1, 2] and batch.captured_ns.tolist() == [0, 1000, 2000]
    focus = batch.reports["focus"]
    assert focus["score"].tolist() == [0, 0.5, 1] and focus["grid"].shape == (3, 4)
    assert focus["reported"].all()
    assert focus["state"].tolist() == ["sharp", "blurred", "sharp"]
    kept = batch.copy()
    assert len(next(writer.stream)) == 2
    assert kept.frames[2].tensor[0, 0, 0, 0] == 2 and kept.tensor.flags.writeable


def test_frames_of_a_batch_are_given_back_with_the_last():
    writer = Writer(every=True).send_layout(batch=3).share(1, 3)
    writer.hello()
    for number in range(3):
        with next(writer.stream) as frame:
            assert frame.number == number
        assert writer.acknowledged() == ([1] if number == 2 else [])


def test_a_frame_that_is_kept_past_the_next_step_says_so():
    writer = Writer(every=True).send_layout().share(2)
    kept = next(writer.stream)
    next(writer.stream)
    kept.check()
    writer.share(7)
    with pytest.raises(sprocket.Overwritten, match="you kept it past the next step"):
        kept.check()


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
