"""Every frame that a driver lost or flagged is accounted for, against a witness of every dequeue."""
import pytest

from conftest import (FLAG_ERROR, Run, assert_epochs_are_the_drivers, assert_ledger_is_the_drivers, control,
                      wait_until)
from recordings import dump_records

SMALL = ["--format", "GREY", "--size", "320x180", "--rate", "60"]


def test_every_frame_of_a_calm_camera_is_delivered(camera, tmp_path):
    with Run(tmp_path, camera, *SMALL, "--frames", 60, "--checksum") as run:
        run.end()
    expected = assert_ledger_is_the_drivers(run)
    assert len(expected) == 60
    # The device's own statement: buffers carry the time at the end of the frame.
    assert all(line["clock"] == "monotonic" for line in run.reports if line["captured_ns"])


def test_lost_and_flagged_frames_are_what_the_driver_said(camera, tmp_path):
    control(camera, percentage_of_dropped_buffers=15)
    with Run(tmp_path, camera, *SMALL, "--checksum", "--null", "--dump",
             tmp_path / "dump.mcap") as run:
        for count in range(1, 5):
            control(camera, inject_v4l2_buf_flag_error=1)  # The next buffer, and that alone.
            wait_until(lambda: count == sum(buffer.flags & FLAG_ERROR > 0 for buffer in run.buffers()))
        run.wait_for_frames(120)
        run.stop()
    fates = [fate for _, fate, _ in assert_ledger_is_the_drivers(run)]
    assert fates.count("missing") > 3
    assert fates.count("corrupt") == 4


def test_a_sequence_number_that_wraps_loses_nothing(camera, tmp_path):
    control(camera, wrap_sequence_number=1, percentage_of_dropped_buffers=5)
    # vivid begins 128 frames before the end of 32 bits.
    with Run(tmp_path, camera, *SMALL, "--frames", 200, "--checksum") as run:
        run.end()
    expected = assert_ledger_is_the_drivers(run)
    assert len(expected) == 200
    assert expected[0][0] < 2**32 < expected[-1][0]


@pytest.mark.parametrize("point", [0, 1], ids=["end-of-frame", "start-of-exposure"])
def test_either_point_of_time_is_taken_as_the_driver_gives_it(camera, tmp_path, point):
    control(camera, timestamp_source=point)
    with Run(tmp_path, camera, *SMALL, "--frames", 20, "--dump", tmp_path / "dump.mcap") as run:
        run.end()
    assert_ledger_is_the_drivers(run)
    mask = 0x00070000  # V4L2_BUF_FLAG_TSTAMP_SRC_MASK; 0 is the end of the frame.
    assert {bool(buffer.flags & mask) for buffer in run.buffers()} == {bool(point)}
    records = [record for _, record in dump_records(tmp_path / "dump.mcap")["source"]]
    assert {record["point"] for record in records} == {["end_of_frame", "start_of_exposure"][point]}
    flags = {buffer.time: buffer.flags for buffer in run.buffers()}
    assert all(record["driver_flags"] == flags[record["captured_ns"]] for record in records)


def test_a_stream_that_breaks_is_started_again(camera, tmp_path):
    with Run(tmp_path, camera, *SMALL, "--checksum") as run:
        run.wait_for_frames(10)
        control(camera, inject_fatal_streaming_error=1)
        wait_until(lambda: len(run.streams()) > 1)
        run.wait_for_frames(10)
        run.stop()
    assert run.summary["source"]["counts"]["restarts"] == 1
    assert run.summary["source"]["counts"]["unplugs"] == 0
    assert_epochs_are_the_drivers(run)


def test_a_buffer_that_is_refused_at_the_start_is_tried_again(camera, tmp_path):
    control(camera, inject_vidioc_qbuf_error=1)
    with Run(tmp_path, camera, *SMALL, "--frames", 20, "--checksum") as run:
        run.end()
    assert_ledger_is_the_drivers(run)
    assert len({buffer.index for buffer in run.buffers()}) > 1


@pytest.mark.parametrize("fault", ["reqbufs", "streamon"])
def test_a_start_that_fails_is_one_sentence(camera, tmp_path, fault):
    control(camera, **{f"inject_vidioc_{fault}_error": 1})
    with Run(tmp_path, camera, *SMALL, "--frames", 5) as run:
        errors = run.end(status=1)
    assert len(errors.strip().splitlines()) == 1, errors
    assert camera in errors
    # The fault was for once; the next run is as ever.
    with Run(tmp_path, camera, *SMALL, "--frames", 5) as run:
        run.end()
