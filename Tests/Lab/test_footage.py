"""Real Motion JPEG through a device of the kernel is recorded as the clip has it; a replay of what was
dumped is the same again."""
import signal
import subprocess
import time

import pytest

from conftest import (FLAG_ERROR, LIMIT, LOOPBACK, Run, assert_ledger_is_the_drivers, control,
                      expected_frames, wait_until)
from program import clip, read_lines, read_summary, sprocket
from recordings import (dump_images, has_huffman_tables, movie_packets, whole_jpeg,
                        without_exif, without_huffman_tables)

FRAMES = 30


def pictures(path, folder):
    """The JPEGs of a clip, as ffmpeg hands them on."""
    folder.mkdir()
    subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:v:0", "-c", "copy", "-f", "image2",
                    folder / "%05d.jpg"], check=True, timeout=LIMIT)
    return [file.read_bytes() for file in sorted(folder.iterdir())]


def is_fed():
    """Whether the loopback device has a format: somebody writes into it."""
    said = subprocess.run(["v4l2-ctl", "-d", LOOPBACK, "-V"], capture_output=True, timeout=LIMIT).stdout
    return b"MJPG" in said


def torn_frames(run, dump, originals):
    """The numbers of frames that the program calls corrupt and that the clip does not have: v4l2loopback's
    writer overwrites buffers that a slow reader still holds."""
    corrupt = {line["sequence"] for line in run.reports if line["fate"] == "corrupt"}
    return {image.sequence for image in dump_images(dump) if image.sequence in corrupt
            and not any(image.message.data.startswith(data) for data in originals)}


@pytest.fixture
def played(request):
    """The clip, over and over, as a camera."""
    path = clip(request.param)
    command = ["ffmpeg", "-v", "error", "-re", "-stream_loop", "-1", "-i", path, "-map", "0:v:0", "-c",
               "copy", "-f", "v4l2", LOOPBACK]
    request.node.player = player = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        wait_until(is_fed)
        yield path
    finally:
        player.kill()
        player.wait()


@pytest.mark.costly
@pytest.mark.parametrize("played", ["mjpeg/100_0306.AVI", "mjpeg/test.mjpeg"], indirect=True)
def test_a_recording_has_the_clips_own_pictures(played, tmp_path):
    movie, dump = tmp_path / "movie.mov", tmp_path / "dump.mcap"
    with Run(tmp_path, LOOPBACK, "--format", "MJPG", "--frames", FRAMES, "--movie", movie, "--dump",
             dump, "--stills", tmp_path / "stills") as run:
        run.end()
    originals = [whole_jpeg(data) for data in pictures(played, tmp_path / "clip")]
    torn = torn_frames(run, dump, originals)
    assert len(torn) <= FRAMES // 10
    assert_ledger_is_the_drivers(run, torn)
    shown = [whole_jpeg(packet.data) for packet in movie_packets(movie)]
    stills = [whole_jpeg(without_exif(path.read_bytes()))
              for path in sorted((tmp_path / "stills").iterdir())]
    images = [whole_jpeg(image.message.data) for image in dump_images(dump)
              if image.sequence not in torn]
    sinks = run.summary["sinks"]
    assert [sinks[name]["delivered"] for name in ("movie", "stills", "dump")] \
        == [len(shown), len(stills), len(images) + len(torn)]
    assert len(images) >= FRAMES // 2

    assert set(images) <= set(originals)  # The dump has what the driver sent.
    complete = originals
    if not has_huffman_tables(originals[0]):
        assert all(has_huffman_tables(data) for data in shown + stills)
        shown, stills = ([without_huffman_tables(data) for data in group]
                         for group in (shown, stills))
        complete = [without_huffman_tables(data) for data in originals]
    assert set(shown) <= set(complete) and set(stills) <= set(complete)
    # In the clip's order, as far as the device lost nothing.
    if sinks["movie"]["delivered"] == FRAMES and len(set(complete)) == len(complete):
        first = complete.index(shown[0])
        assert shown == [complete[(first + step) % len(complete)] for step in range(FRAMES)]


@pytest.mark.costly
@pytest.mark.parametrize("played", ["mjpeg/100_0306.AVI"], indirect=True)
def test_a_camera_that_falls_silent_is_waited_for_and_can_be_stopped(played, tmp_path, request):
    player, dump = request.node.player, tmp_path / "dump.mcap"
    originals = [whole_jpeg(data) for data in pictures(played, tmp_path / "clip")]
    with Run(tmp_path, LOOPBACK, "--format", "MJPG", "--dump", dump) as run:
        run.wait_for_frames(5)
        player.send_signal(signal.SIGSTOP)
        time.sleep(2)  # Longer than any pause between two frames.
        before = len(run.buffers())
        player.send_signal(signal.SIGCONT)
        run.wait_for_frames(before + 5)
        player.send_signal(signal.SIGSTOP)
        run.stop()
    player.send_signal(signal.SIGCONT)
    # After its pause the player writes all that it owes at once.
    assert_ledger_is_the_drivers(run, torn_frames(run, dump, originals))
    stalls = [event for line in run.reports for event in line.get("events", [])
              if event["kind"] == "stalled"]
    assert max(stall["wait_us"] for stall in stalls) > 1e6


@pytest.mark.costly
def test_a_replay_is_the_run_again(camera, tmp_path):
    dump = tmp_path / "dump.mcap"
    control(camera, percentage_of_dropped_buffers=10, osd_text_mode=0)  # The picture counts frames.
    with Run(tmp_path, camera, "--format", "YUYV", "--size", "320x180", "--rate", 30,
             "--stage", "meter", "--stage", "negate", "--dump", dump, "--checksums",
             tmp_path / "sums") as run:
        for count in (1, 2):
            control(camera, inject_v4l2_buf_flag_error=1)
            wait_until(lambda: count == sum(buffer.flags & FLAG_ERROR > 0 for buffer in run.buffers()))
        run.wait_for_frames(40)
        wait_until(lambda: any(fate == "missing" for _, fate, _ in expected_frames(run.buffers())))
        run.wait_for_frames(len(run.buffers()) + 2)  # The program has taken them, too.
        run.stop()
    summary, sums = run.summary, dict(line.split() for line in (tmp_path / "sums").read_text().splitlines())
    live, dumped = summary["sinks"]["checksum"], summary["sinks"]["dump"]
    fates = {line["sequence"]: (line["fate"], line["captured_ns"]) for line in run.reports}
    assert live["missing"] > 0 and live["corrupt"] == 2
    for workers in (1, 2, 4):
        sprocket("run", "--source", f"replay:{dump}", "--workers", workers, "--stage", "meter", "--stage",
                 "negate", "--reports", tmp_path / "again.jsonl", "--summary", tmp_path / "again.json",
                 "--checksums", tmp_path / "again", "--overwrite", "--quiet")
        again = {line["sequence"]: (line["fate"], line["captured_ns"])
                 for line in read_lines(tmp_path / "again.jsonl")}
        assert again.keys() == fates.keys()
        # A busy machine may lose a frame on its way into the dump, which says how many: it has no picture of
        # that one, and no time of a corrupt one.
        unseen = {number for number in fates if fates[number][0] == "delivered" != again[number][0]}
        timeless = {number for number in fates if fates[number][1] and not again[number][1]}
        lost = unseen | timeless
        assert len(lost) <= dumped["behind"], (lost, dumped)
        assert {number: fates[number] for number in fates.keys() - lost} \
            == {number: again[number] for number in fates.keys() - lost}
        sums_again = dict(line.split() for line in (tmp_path / "again").read_text().splitlines())
        assert {number: sum for number, sum in sums.items() if int(number) not in lost}.items() \
            <= sums_again.items()
        assert len(sums_again) <= len(sums) - len(unseen) + live["behind"]
        ledger = read_summary(tmp_path / "again.json")["sinks"]["checksum"]
        assert lost or live["behind"] or ledger["digest"] == live["digest"]
