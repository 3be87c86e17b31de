"""The writer's side of a share, as docs/share.md describes it, and able to break each of its rules."""
import array
import fcntl
import json
import mmap
import os
import socket
import struct

import numpy as np

import sprocket

# Seconds for what comes at once, however slow the machine is.
LIMIT = 600
PAGE = 4096
SEALS = 0x1 | 0x2 | 0x4  # F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW
ADD_SEALS = 1033
TYPES = {"u8": "<u1", "f16": "<f2", "f32": "<f4", "bf16": "<u2"}

STRIDE = 544
FOCUS = {"plugin": "focus", "offset": 480, "fields": [
    {"name": "score", "unit": "", "offset": 0, "type": "f8", "count": 1, "words": None},
    {"name": "grid", "unit": "", "offset": 8, "type": "f4", "count": 4, "words": None},
    {"name": "state", "unit": "", "offset": 24, "type": "u1", "count": 1, "words": ["sharp", "blurred"]}]}


class Writer:
    """One reader at the other end of `stream`."""

    def __init__(self, **options):
        ours, self.socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        options = {"every": False, "batches": False, **options}
        self.stream = sprocket.Stream(ours, "share test", **options)
        self.shared = self.ticket = 0
        # Counts of the frames that are not shared, by fate from `missing` on.
        self.lost = [0] * 11
        self.slot = -1
        self.memory = None

    def hello(self):
        return self.socket.recv(100)

    def acknowledged(self):
        """Tickets that the reader has given back."""
        tickets = []
        while True:
            try:
                packet = self.socket.recv(100, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return tickets
            assert packet[:8] == b"SPRKACK1" and len(packet) == 16
            tickets.append(struct.unpack("<Q", packet[8:])[0])

    def keys(self, shape=(1, 3, 4, 6), kind="f32", batch=1, slots=8, reports=(FOCUS,), lens=None, **changes):
        """A layout's."""
        payload = int(np.prod(shape)) * np.dtype(TYPES[kind]).itemsize
        order = changes.get("order", "nchw")
        channels = shape[1] if order == "nchw" else shape[3]
        payload_at = 64 + batch * STRIDE
        slot_bytes = (payload_at + batch * payload + PAGE - 1) // PAGE * PAGE
        return {"version": 1, "shared": self.shared, "totals": self.totals(), "totals_at": 384,
                "every": True, "source": "test", "live": False, "clock": "media",
                "epoch": 0, "rate": 30, "memory_bytes": PAGE + slots * slot_bytes, "slots": slots,
                "slots_at": PAGE,
                "slot_bytes": slot_bytes, "frames_at": 64, "frame_stride": STRIDE, "batch": batch,
                "payload_at": payload_at, "payload_bytes": payload, "layout": "tensor",
                "channels": "gray" if channels == 1 else "rgb", "type": kind, "order": order,
                "shape": list(shape),
                "picture": [6, 4], "decoded_at": 1, "regions": [[1, 1, 0, 0]] * shape[0], "lens": lens,
                "reports": list(reports), **changes}

    def send_layout(self, seals=SEALS, magic=b"SPRKSHM1", size=None, packet=None, with_memory=True,
                    **options):
        self.layout = self.keys(**options)
        if self.memory is not None:
            self.set_state(3)
        descriptor = os.memfd_create("test", os.MFD_ALLOW_SEALING)
        length = min(size if size is not None else self.layout["memory_bytes"], 1 << 30)
        os.ftruncate(descriptor, length)
        if seals:
            fcntl.fcntl(descriptor, ADD_SEALS, seals)
        if length >= PAGE:
            self.memory = mmap.mmap(descriptor, length)
            self.memory[:8] = magic
            self.set_state(1)
            self.set_shared()
        packet = json.dumps(self.layout).encode() if packet is None else packet
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
        self.socket.sendmsg([packet], rights if with_memory else [])
        os.close(descriptor)
        return self

    def set_state(self, state):
        self.memory[72:80] = struct.pack("<Q", state)

    def set_shared(self):
        self.memory[64:72] = struct.pack("<Q", self.shared)
        self.memory[80:176] = struct.pack("<12Q", *self.totals())

    def totals(self, behind=0):
        return [self.shared + behind, *self.lost]

    def lose(self, fate, count=1):
        self.lost[fate - 1] += count
        self.set_shared()

    def fill(self, frames=1, magic=b"SPRKFRM1"):
        """Writes the next slot; every number of a frame is its place among all."""
        self.slot = (self.slot + 1) % self.layout["slots"]
        self.ticket += 1
        at = self.layout["slots_at"] + self.slot * self.layout["slot_bytes"]
        self.memory[at:at + 8] = struct.pack("<Q", self.ticket)
        for index in range(frames):
            number = self.shared + index
            header = at + self.layout["frames_at"] + index * self.layout["frame_stride"]
            self.memory[header:header + 384] = frame_header(number, magic=magic)
            self.memory[header + 384:header + 480] = struct.pack("<12Q", *self.totals(index))
            if self.layout["reports"]:
                report = struct.pack("<d4fB", number / 2, *range(4), number % 2)
                self.memory[header + 480:header + 505] = report
            pixels = np.full(self.layout["shape"], number % 200, TYPES[self.layout["type"]]).tobytes()
            place = at + self.layout["payload_at"] + index * self.layout["payload_bytes"]
            self.memory[place:place + len(pixels)] = pixels
        self.memory[at + 8:at + 16] = struct.pack("<Q", self.ticket)
        self.shared += frames
        self.set_shared()

    def notice(self, frames=1, slot=None, ticket=None, shared=None):
        self.socket.send(struct.pack(
            "<IIQQQ", self.slot if slot is None else slot, frames, self.ticket if ticket is None else ticket,
            self.shared if shared is None else shared, 0))

    def share(self, count=1, frames=1):
        for _ in range(count):
            self.fill(frames)
            self.notice(frames)
        return self

    def end(self, state=2):
        if self.memory is not None:
            self.set_state(state)
        self.socket.close()


def frame_header(number, magic=b"SPRKFRM1", straight=np.eye(3), sensor=np.eye(3), reported=1):
    header = bytearray(384)
    header[:8] = magic
    struct.pack_into("<IIQQQIBBBB", header, 8, 384, 2 if number == 0 else 0, 0, number, number + 100, 7, 1, 2,
                     2, 0)
    struct.pack_into("<qqqq", header, 48, number * 1000, 1, 2, 3)
    struct.pack_into("<12I", header, 96, *range(12))
    struct.pack_into("<fff", header, 144, 10000, float("nan"), 0.5)
    struct.pack_into("<9d", header, 160, *np.ravel(straight))
    struct.pack_into("<9d", header, 232, *np.ravel(sensor))
    struct.pack_into("<Q", header, 336, reported)
    return bytes(header)
