"""Frames in shared memory, read by Python and C: which arrive, what is counted, who harms whom."""
import contextlib
import json
import mmap
import os
import random
import select
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sprocket as package
from sprocket._layout import FATES

from program import LIMIT, ROOT, SPROCKET, sprocket, wait_for
from shares import FAST, accounted, delivered, shared

LIVE = [*FAST, "--rate", "120"]
STORMS = int(os.environ.get("SPROCKET_SHARE_STORMS", "6"))


def read(run):
    """What a reader of every frame gets until the end."""
    with run.connect(every=True) as frames:
        numbers = [frame.number for frame in frames]
    return numbers, frames.seen, frames.missed_by.get("unread", 0)


def raw(run, every):
    """A reader by hand: a socket that has said what it wants."""
    run.wait_for_socket()
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(LIMIT)
    connection.connect(run.name)
    connection.send(b"SPRKRDR1" + struct.pack("<Q", every))
    return connection


def tickets(connection, count):
    """Of the next notices."""
    found = []
    while len(found) < count:
        packet = connection.recv(1 << 18)
        assert packet, "the share has ended"
        if packet[:1] != b"{":
            found.append(struct.unpack("<IIQQQ", packet)[2])
    return found


def acknowledge(connection, ticket):
    connection.send(b"SPRKACK1" + struct.pack("<Q", ticket))


def test_every_frame_arrives_with_the_pixels_that_a_pipe_has():
    settings = "size=64x48,type=f16,mean=0.5,std=0.25,exact=true"
    piped = np.frombuffer(sprocket("run", *FAST, "--frames", 50, "--pipe", f"tensor:{settings}",
                                   "--quiet").stdout, np.float16).reshape(50, 3, 48, 64)
    with shared(*FAST, "--frames", 50, "--stage", "focus", pixels=f":tensor,{settings}") as run:
        with run.connect(every=True) as frames:
            for number, frame in enumerate(frames):
                np.testing.assert_array_equal(frame.tensor[0], piped[number])
                assert frame.number == number and frame.reports["focus"]["score"] > 0
        assert (frames.seen, frames.missed) == (50, 0) and delivered(run.end()) == 50


def test_the_latest_frame_is_the_newest_and_the_others_are_counted():
    with shared(*LIVE, "--duration", "1500ms") as run:
        with run.connect() as frames:
            ages = []
            for frame in frames:
                ages.append(time.monotonic_ns() - frame.shared_ns)
                time.sleep(0.05)
        assert frames.missed > frames.seen > 10
        assert accounted(frames) == run.end()["produced"]


def test_a_reader_that_stalls_holds_nobody_up_and_knows_what_it_missed():
    with shared(*LIVE, "--duration", "2s") as run, run.connect() as stalled, run.connect(every=True) as held:
        next(stalled), next(held)
        summary = run.end()
        for stream in (stalled, held):
            for _ in stream:
                pass
            assert accounted(stream) == summary["produced"]
        assert held.seen <= 8 and stalled.seen <= 3


def test_a_reader_that_never_acknowledges_takes_neither_slots_nor_time_from_others():
    with shared(*FAST, "--rate", "40", "--duration", "2s") as run, ThreadPoolExecutor() as pool:
        held = raw(run, 1)
        honest = pool.submit(read, run)
        with run.connect() as latest:
            copies = 0
            for frame in latest:
                # Three frames' time: four slots are left to those who take the latest.
                time.sleep(0.03)
                copies += 1
        numbers, seen, missed = honest.result()
        assert seen > 4 * missed and copies > 10 and delivered(run.end()) > 40
        held.close()


def test_readers_that_are_stuck_do_not_keep_others_from_every_frame_of_a_live_source():
    with shared(*LIVE, pixels=":gray,size=64x48,patience=4s") as run:
        stuck = raw(run, 1)
        tickets(stuck, 4)
        with run.connect(every=True) as late:
            # Before `patience` is over: one at a time, in a slot of its own.
            for _, _ in zip(range(20), late):
                pass
            assert not select.select([stuck], [], [], 0)[0]
            assert b"did not acknowledge a frame within 4s" in stuck.recv(1 << 18)
            for _, _ in zip(range(20), late):
                pass
        assert delivered(run.stop()) >= late.seen


def test_a_reader_beyond_patience_is_told_so_and_others_go_on():
    with shared(*FAST, "--frames", 40, pixels=":gray,size=64x48,patience=1s") as run:
        # Frames begin to come with the first reader.
        steady, slow = run.connect(every=True), run.connect(every=True)
        with ThreadPoolExecutor() as pool:
            def takes_all():
                return [(frame.number, time.sleep(0.02))[0] for frame in steady]
            all_numbers = pool.submit(takes_all)
            next(slow)
            time.sleep(2.5)
            with pytest.raises(package.ShareRefused, match="did not acknowledge a frame within 1s"):
                for _ in slow:
                    pass
            assert all_numbers.result() == list(range(40)) and steady.missed == 0
        assert delivered(run.end()) == 40


def test_acknowledgements_that_give_nothing_back_do_not_prolong_patience():
    with shared(*FAST, "--frames", 60, pixels=":gray,size=64x48,patience=1s") as run:
        busy = raw(run, 1)
        found = tickets(busy, 7)
        acknowledge(busy, found[0])
        with pytest.raises(OSError):
            for _ in range(400):
                acknowledge(busy, found[0])
                acknowledge(busy, 0)
                time.sleep(0.05)
        numbers, _, missed = read(run)
        assert numbers == list(range(8, 60)) and missed == 0
        assert delivered(run.end()) == 53


def test_a_share_whose_only_reader_stalls_does_not_seem_complete():
    with shared(*FAST, "--frames", 60, pixels=":gray,size=64x48,patience=1s") as run:
        with run.connect(every=True) as frames:
            next(frames)
            time.sleep(2.5)
            with pytest.raises(package.ShareRefused, match="did not acknowledge"):
                for _ in frames:
                    pass
        run.process.wait(LIMIT)
        assert b"no reader of every frame connected" in run.process.stderr.read()


def test_a_slow_reader_of_the_latest_frames_outlives_a_change_of_layout():
    with tempfile.TemporaryDirectory() as folder, \
            shared("--source", "scene", "--size", "320x240", "--rate", "400", "--source-set", "pace=real",
                   "--duration", "4s", "--control-socket", f"{folder}/control", pixels=":gray") as run:
        with run.connect() as frames:
            assert next(frames).image.shape == (240, 320)
            # Notices fill its socket.
            time.sleep(1.5)
            subprocess.run([SPROCKET, "ask", f"{folder}/control", "reconfigure",
                            "stage=crop:region=0/0/0.5/1"], check=True, capture_output=True, timeout=LIMIT)
            shapes = [frame.image.shape for frame in frames]
        assert shapes[-1] == (240, 160)
        assert accounted(frames) == run.end()["produced"]


CHANGING = ["--source", "scene", "--size", "320x240", "--rate", "400", "--source-set", "pace=real"]


def crop(path, width):
    subprocess.run([SPROCKET, "ask", path, "reconfigure", f"stage=crop:region=0/0/{width}/1"], check=True,
                   capture_output=True, timeout=LIMIT)


def test_readers_that_did_not_receive_another_layout_count_to_their_end():
    with tempfile.TemporaryDirectory() as folder, \
            shared(*CHANGING, "--control-socket", f"{folder}/control", pixels=":gray") as run:
        slow, closed, steady = run.connect(), run.connect(), run.connect()
        for frames in (slow, closed, steady):
            next(frames)
        # Notices fill their sockets.
        time.sleep(1.5)
        crop(f"{folder}/control", 0.5)
        while next(steady).image.shape != (240, 160):
            pass
        time.sleep(0.2)
        before = sum(steady._memory.totals)
        closed.close()
        assert before <= accounted(closed) <= sum(steady._memory.totals)
        summary = run.stop()
        assert all(frame.image.shape == (240, 320) for frame in slow)
        for _ in steady:
            pass
        for frames in (slow, steady):
            assert accounted(frames) == summary["produced"]


def test_a_reader_that_receives_nothing_keeps_one_memory():
    with tempfile.TemporaryDirectory() as folder, \
            shared(*CHANGING, "--control-socket", f"{folder}/control", pixels=":gray") as run:
        stalled = [raw(run, every) for every in (0, 1)]
        for connection in stalled:
            connection.recv(1, socket.MSG_PEEK)
        with run.connect() as frames:
            for width in (0.5, 0.25, 0.5, 0.25):
                crop(f"{folder}/control", width)
                while next(frames).image.shape != (240, 320 * width):
                    pass
        for connection in stalled:
            layouts = []
            while len(layouts) < 2:
                packet, descriptors, _, _ = socket.recv_fds(connection, 1 << 18, 1)
                layouts += [packet] * len(descriptors)
                for descriptor in descriptors:
                    os.close(descriptor)
            assert b'"shape":[1,240,320,1]' in layouts[0] and b'"shape":[1,240,80,1]' in layouts[1]
        assert run.stop()["errors"] == []


def test_a_reader_that_leaves_early_counts_until_then_and_others_go_on():
    with shared(*LIVE, "--duration", "2s") as run, ThreadPoolExecutor() as pool:
        reader = pool.submit(read, run)
        with run.connect() as early:
            for _, _ in zip(range(20), early):
                time.sleep(0.01)
            memory = early._memory
        assert early.seen == 20 and 0 <= accounted(early) <= sum(memory.totals)
        run.end()
        numbers, _, missed = reader.result()
        # The sink itself takes the newest frame of a live source, so numbers may jump.
        assert missed == 0 and np.all(np.diff(numbers) >= 1)


def test_a_file_waits_for_two_readers_and_ends_although_one_goes():
    with shared(*FAST, "--frames", 200) as run:
        first, second = run.connect(every=True), run.connect(every=True)
        assert [next(first).number for _ in range(5)] == [0, 1, 2, 3, 4]
        next(second)
        second.close()
        assert len(list(first)) == 195 and first.missed == 0
        assert delivered(run.end()) == 200


@pytest.mark.parametrize("acknowledged", [0, 2])
def test_frames_that_their_readers_left_with_are_not_delivered(acknowledged):
    # At the end, with a reader of the latest frames beside it.
    with shared(*FAST, "--frames", 5) as run:
        first = raw(run, 1)
        with run.connect() as latest:
            found = tickets(first, 5)
            if acknowledged:
                acknowledge(first, found[acknowledged - 1])
            first.close()
            for _ in latest:
                pass
        summary = run.end()
        sink = summary["sinks"]["share"]
        assert (sink["delivered"], sink["flushed"]) == (acknowledged, 5 - acknowledged)
        assert accounted(latest) == 5
        assert any(f"{5 - acknowledged} frames were not acknowledged" in note for note in summary["notes"])
    # Before another reader comes.
    with shared(*FAST, "--frames", 60) as run:
        first = raw(run, 1)
        found = tickets(first, 7)
        if acknowledged:
            acknowledge(first, found[acknowledged - 1])
            tickets(first, acknowledged)
        first.close()
        numbers, seen, missed = read(run)
        assert numbers == list(range(7 + acknowledged, 60)) and (seen, missed) == (len(numbers), 0)
        sink = run.end()["sinks"]["share"]
        assert (sink["delivered"], sink["flushed"]) == (seen + acknowledged, 7)


def test_what_a_reader_acknowledges_before_it_closes_is_delivered():
    with shared(*FAST, "--frames", 5) as run:
        first = raw(run, 1)
        found = tickets(first, 3)
        time.sleep(0.5)
        # Two packets are unread: the writer gets ECONNRESET.
        acknowledge(first, found[-1])
        first.close()
        sink = run.end()["sinks"]["share"]
        assert (sink["delivered"], sink["flushed"]) == (3, 2)


def test_what_one_reader_acknowledged_is_delivered_although_another_left_with_it():
    with shared(*FAST, "--frames", 40) as run, ThreadPoolExecutor() as pool:
        lost = raw(run, 1)
        honest = pool.submit(read, run)
        tickets(lost, 7)
        lost.close()
        numbers, _, missed = honest.result()
        assert numbers[-1] == 39 and missed == 0
        assert delivered(run.end()) == len(numbers)


@pytest.mark.parametrize("every", [False, True])
def test_a_writer_that_is_killed_ends_its_readers_at_once(every):
    with shared(*LIVE) as run, run.connect(every=every) as frames:
        next(frames)
        # Neither its own time limit ends the reader, which is LIMIT, nor a look at long intervals.
        killed = []
        threading.Timer(0.3, lambda: (killed.append(time.monotonic()),
                                      run.process.send_signal(signal.SIGKILL))).start()
        with pytest.raises(package.WriterGone, match="its program died"):
            for _ in frames:
                pass
        assert time.monotonic() - killed[0] < LIMIT / 20
        assert frames.seen > 5 and next(frames, None) is None


def test_a_thousand_readers_come_and_go_and_leave_nothing_behind():
    with shared(*LIVE) as run:
        with run.connect() as frames:
            next(frames)
        chance = random.Random(1)
        for number in range(1000):
            if number == 100:
                memory, descriptors = run.memory(), run.descriptors()
            way = chance.random()
            if way < 0.4:
                raw(run, number % 2).close()
            elif way < 0.7:
                connection = raw(run, 1)
                connection.recv(10)
                connection.close()
            elif way < 0.72:
                with run.connect(every=way < 0.71) as frames:
                    assert next(frames).tensor.shape == (1, 3, 48, 64)
            else:
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                connection.connect(run.name)
                connection.close()
        with run.connect() as frames:
            for _, _ in zip(range(10), frames):
                pass
        wait_for(lambda: run.descriptors() <= descriptors, run.process)
        assert run.memory() - memory < 2 << 20
        assert run.stop()["errors"] == []


def test_a_reader_that_lies_is_disconnected_and_the_others_get_all():
    lies = [b"SPRKACK1" + struct.pack("<Q", 2**64 - 1), b"SPRKACK1" + struct.pack("<Q", 50), b"SPRKRDR1" * 2,
            b"x", b"SPRKACK1" + b"\0" * 9, b"y" * 5000]
    with shared(*FAST, "--frames", 120) as run, ThreadPoolExecutor() as pool:
        liars = [raw(run, 1) for _ in lies]
        honest = [pool.submit(read, run) for _ in range(2)]
        for liar, lie in zip(liars, lies):
            assert liar.recv(1 << 18)
            liar.recv(32)
            liar.send(lie)
            with contextlib.suppress(ConnectionResetError):
                while liar.recv(1 << 18):
                    pass
            liar.close()
        for numbers, seen, missed in [reader.result() for reader in honest]:
            assert (seen, missed) == (len(numbers), 0) and numbers == list(range(numbers[0], 120))
        summary = run.end()
    assert "share: a reader was disconnected: it sent what no reader sends" in summary["notes"]


def test_a_reader_of_the_latest_frames_may_not_acknowledge():
    with shared(*LIVE, "--duration", "1s") as run, run.connect() as frames:
        next(frames)
        frames._socket.send(b"SPRKACK1" + struct.pack("<Q", 1))
        with pytest.raises(package.ShareRefused, match="it sent what no reader sends"):
            for _ in frames:
                pass


def test_no_reader_changes_what_others_see():
    with shared(*FAST, "--frames", 40) as run:
        connection = raw(run, 1)
        _, descriptors, _, _ = socket.recv_fds(connection, 1 << 18, 1)
        memory, = descriptors
        for flags in (mmap.PROT_WRITE, mmap.PROT_READ | mmap.PROT_WRITE):
            with pytest.raises(PermissionError):
                mmap.mmap(memory, 4096, mmap.MAP_SHARED, flags)
        for change in (lambda file: os.write(file, b"x"), lambda file: os.pwrite(file, b"x", 4096),
                       lambda file: os.ftruncate(file, 0)):
            with pytest.raises(OSError):
                change(memory)
            # Opened anew it can be written to, as far as the file's mode is concerned.
            again = os.open(f"/proc/self/fd/{memory}", os.O_RDWR)
            with pytest.raises(PermissionError):
                change(again)
            with pytest.raises(PermissionError):
                mmap.mmap(again, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
            os.close(again)
        assert os.fstat(memory).st_size > 4096
        os.close(memory)
        connection.close()


def test_batches_and_regions_arrive_and_a_new_format_changes_the_shape(tmp_path):
    regions = "regions=0/0/0.5/1+0.5/0/0.5/1"
    control = tmp_path / "c"
    with shared(*LIVE, "--control-socket", control, pixels=f":gray,{regions},batch=3") as run:
        wait_for(control.exists, run.process)
        with run.connect(batches=True) as batches, package.Control(control) as asked:
            first = next(batches)
            assert first.tensor.shape == (6, 240, 160, 1) and len(first) == 3
            asked.reconfigure(size="160x120")
            shapes = {batch.tensor.shape[1:] for _, batch in zip(range(60), batches)}
            assert shapes <= {(240, 160, 1), (120, 80, 1)} and batches.layout.picture == (160, 120)
            asked.quit()
            for _ in batches:
                pass
            assert accounted(batches) == run.end()["produced"]


def test_a_reader_in_c_prints_what_python_sees(tmp_path):
    reader = tmp_path / "reader"
    source = ROOT / "Examples/Reader/reader.c"
    assert len(source.read_text().splitlines()) <= 150
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", reader, source, "-lm"], check=True)
    for kind in ("u8", "f16", "f32", "bf16"):
        with shared(*FAST, "--frames", 20, pixels=f":tensor,size=48x32,type={kind},batch=3") as run:
            run.wait_for_socket()
            process = subprocess.Popen([reader, run.name, "every"], stdout=subprocess.PIPE, text=True)
            with run.connect(every=True) as frames:
                expected = [(frame.number, frame.captured_ns, frame.missed, mean(frame)) for frame in frames]
            lines = process.communicate(timeout=LIMIT)[0].splitlines()
            assert process.returncode == 0
        start = int(lines[0].split()[0])
        assert lines[-1] == f"seen {20 - start} missed 0"
        for line, frame in zip(lines[:-1], expected[start:]):
            np.testing.assert_allclose([float(word) for word in line.split()], frame, rtol=1e-5)


def mean(frame):
    tensor = frame.tensor
    if frame.layout.type == "bf16":
        tensor = (tensor.astype(np.uint32) << 16).view(np.float32)
    return tensor.mean(dtype=np.float64)


@pytest.mark.parametrize("session", ["/nowhere", "nowhere", "", None])
def test_a_reader_in_c_looks_where_shares_are(session, tmp_path):
    reader = tmp_path / "reader"
    subprocess.run(["cc", "-O2", "-o", reader, ROOT / "Examples/Reader/reader.c", "-lm"], check=True)
    if session is None:
        session = str(tmp_path)
    environment = {**os.environ, "XDG_RUNTIME_DIR": session}
    name = f"test-{os.getpid()}"
    with subprocess.Popen([SPROCKET, "run", *FAST, "--frames", "5", "--quiet", "--share", name],
                          env=environment) as writer:
        place = f"{session}/sprocket" if session == str(tmp_path) else f"/tmp/sprocket-{os.geteuid()}"
        wait_for(lambda: os.path.exists(f"{place}/{name}"), writer, pause=0.01)
        lines = subprocess.run([reader, name, "every"], capture_output=True, text=True, timeout=LIMIT,
                               env=environment).stdout.splitlines()
        writer.terminate()
    assert lines[-1:] == ["seen 5 missed 0"]


def test_a_reader_in_c_takes_the_latest(tmp_path):
    reader = tmp_path / "reader"
    subprocess.run(["cc", "-O2", "-o", reader, ROOT / "Examples/Reader/reader.c", "-lm"], check=True)
    with shared(*LIVE, "--duration", "1s", pixels=":rgb") as run:
        run.wait_for_socket()
        lines = subprocess.run([reader, run.name], capture_output=True, text=True,
                               timeout=LIMIT).stdout.splitlines()
        words = lines[-1].split()
        missed = sum(int(line.split()[2]) for line in lines[:-1])
        assert int(words[1]) == len(lines) - 1 > 10 and int(words[3]) >= missed
        assert delivered(run.end()) >= int(words[1]) + int(words[3])
    missing = subprocess.run([reader, str(tmp_path / "nobody")], capture_output=True, text=True)
    assert missing.returncode == 1 and "No such file" in missing.stderr


def stormed(run, chance, waits):
    """A reader that does as it likes: whether it takes every frame, whether it stayed to the end, the frames
    that it gave back, and its counts."""
    time.sleep(chance.random() * 0.2)
    every, batches = chance.random() < 0.5, chance.random() < 0.3
    pace = chance.choice([0, 0, 0.001, 0.02])
    leaves = chance.randrange(1, 40) if chance.random() < 0.4 else None
    try:
        frames = run.connect(every=every, batches=batches, wait=1)
    except package.NoSuchShare:
        return None
    count, saw = 0, []
    with frames:
        try:
            for item in frames:
                for frame in item.frames if batches else [item]:
                    assert not saw or frame.number > saw[-1]
                    saw.append(frame.number)
                if leaves is not None and (count := count + 1) >= leaves:
                    break
                time.sleep(pace * chance.random())
        except package.WriterGone as gone:
            if "before it had a frame" in str(gone):
                return None
            assert waits and not every and "no reader of every frame was left" in str(gone)
        # Frames that lie together are given back together.
        given_back = {*saw, *(frame.number for frame in frames._rest)}
    return every, leaves is None, given_back, frames


@pytest.mark.parametrize("seed", range(STORMS))
def test_seen_and_missed_are_what_was_produced(seed):
    chance = random.Random(seed)
    live = chance.random() < 0.5
    arguments = [*(LIVE if live else FAST), "--frames", chance.randrange(30, 150),
                 "--source-set", "pace=real" if live else "pace=fast",
                 "--source-set", f"drop={chance.choice([0, 0.05])}"]
    pixels = (f":tensor,size=32x24,batch={chance.choice([1, 1, 3])}"
              f",take={chance.choice(['auto', 'every', 'latest'])},patience=5s")
    waits = not live and "latest" not in pixels
    with shared(*arguments, pixels=pixels) as run, ThreadPoolExecutor() as pool:
        run.wait_for_socket()
        jobs = [pool.submit(stormed, run, random.Random(chance.random()), waits)
                for _ in range(chance.randrange(1, 5))]
        results = [result for result in (job.result() for job in jobs) if result is not None]
        if run.process.poll() is None:
            run.process.terminate()
        code, said = run.process.wait(LIMIT), run.process.stderr.read()
        summary = json.loads(run.summary_path.read_text())
    assert code == 0 or waits and b"no reader of every frame connected" in said, said
    results_and_sink = results, summary["sinks"]
    for every, stayed, _, frames in results:
        total = accounted(frames)
        assert total <= sum(frames._memory.totals), results_and_sink
        if stayed:
            # A run that failed has counted up to there.
            assert total == sum(frames._memory.totals) == summary["produced"] or code, results_and_sink
        # What waits for its readers loses nothing of those that stay.
        if every and stayed and waits:
            assert "unread" not in frames.missed_by, results_and_sink
    if waits:
        given_back = set().union(*(numbers for every, _, numbers, *_ in results if every))
        assert delivered(summary) == len(given_back), results_and_sink


FAULTS = ["--source-set", "drop=0.1", "--source-set", "corrupt=0.1", "--source-set", "startup=3", "--stage",
          "latedrop"]


@pytest.mark.parametrize("source", [
    [*FAST, "--frames", 200, *FAULTS], [*LIVE, "--source-set", "pace=real", "--duration", "2s", *FAULTS],
    "damaged"])
def test_what_readers_miss_is_in_the_ledger_by_cause(source, tmp_path):
    if source == "damaged":
        source = ["--source", f"file:{damaged(tmp_path)}"]
    paces = [0, 0.002, 0.01, 0.03, 0.1]
    waits = "pace=real" not in source
    with shared(*source, pixels=":gray,size=32x24") as run, ThreadPoolExecutor() as pool:
        streams = [run.connect(every=waits and pace < 0.01 or pace == 0.03 and not waits) for pace in paces]
        for _ in pool.map(lambda stream, pace: [time.sleep(pace) for _ in stream], streams, paces):
            pass
        summary = run.end()
    sink = summary["sinks"]["share"]
    assert sum(sink[fate] > 0 for fate in ("missing", "corrupt", "startup") if fate in sink) >= 1, sink
    for stream in streams:
        assert accounted(stream) == summary["produced"]
        for fate, count in zip(FATES[1:], stream._start[1:]):
            assert count + stream.missed_by.get(fate, 0) == sink.get(fate, 0), (fate, stream.missed_by, sink)
        assert stream._start[0] + stream.seen + stream.missed_by.get("unread", 0) == sink["delivered"]
    assert waits <= ("unread" not in streams[0].missed_by)


def damaged(folder):
    """A film with bytes that are wrong, so that pictures of it are."""
    path = folder / "film.mp4"
    sprocket("run", *FAST, "--frames", 120, "--movie", path, "--codec", "h264")
    data = bytearray(path.read_bytes())
    chance = random.Random(3)
    for _ in range(40):
        data[chance.randrange(len(data) // 4, len(data) // 2)] ^= 255
    path.write_bytes(data)
    return path
