#!/usr/bin/env python3
"""Plays packets of H.264 or HEVC into v4l2loopback, as a camera with an encoder of its own would.

packets.py FILE,... DEVICE FOURCC WIDTH HEIGHT RATE [LOST...]: the files have start codes, and a delimiter
before each packet. Packets are sent over and over; of each round those of the numbers LOST are cut short.
Where APART is set, parameter sets are sent in a packet of their own. Where KEYS names a file and GROUP a
number, each byte that the file gets makes the packet of the next multiple of GROUP, a key frame, the next.
"""
import fcntl
import os
import struct
import sys
import time

VIDIOC_S_FMT = 0xC0D05605  # linux/videodev2.h
OUTPUT, PROGRESSIVE = 2, 1
# The unit that begins a packet, with its start code: ITU-T H.264, table 7-1, and H.265, table 7-1.
DELIMITERS = {"H264": b"\0\0\0\1\x09", "HEVC": b"\0\0\0\1\x46\x01"}


def split(data, fourcc):
    """The packets of a file."""
    delimiter = DELIMITERS[fourcc]
    return [delimiter + part for part in data.split(delimiter)[1:]]


def apart(packet):
    """The parameter sets of a packet of H.264, if it has some, and its picture."""
    slice_at = packet.find(b"\0\0\1\x65")
    return [packet] if slice_at < 0 else [packet[:slice_at], packet[slice_at:]]


def main(path, node, fourcc, width, height, rate, *lost):
    packets = []
    for name in path.split(","):
        with open(name, "rb") as file:
            packets += split(file.read(), fourcc)
    if os.environ.get("APART"):
        packets = [part for packet in packets for part in apart(packet)]
    lost = {int(number) for number in lost}
    with open(node, "wb", buffering=0) as device:
        shape = struct.pack("<II4sIIIII", int(width), int(height), fourcc.encode(), PROGRESSIVE, 0,
                            int(width) * int(height) * 3 // 2, 8, 0)
        fcntl.ioctl(device, VIDIOC_S_FMT, struct.pack("<II", OUTPUT, 0) + shape.ljust(200, b"\0"))
        due, number, seen = time.monotonic(), 0, 0
        keys, group = os.environ.get("KEYS"), int(os.environ.get("GROUP", 1))
        while True:
            packet = packets[number]
            device.write(packet[:len(packet) // 2] if number in lost else packet)
            asked = os.path.getsize(keys) if keys and os.path.exists(keys) else 0
            number = (number // group + 1) * group if asked > seen else number + 1
            number, seen = number % len(packets), asked
            due += 1 / float(rate)
            time.sleep(max(0, due - time.monotonic()))


if __name__ == "__main__":
    main(*sys.argv[1:])
