"""Microseconds from a live frame of 1280x720 at 60 frames/s until Python has it as a NumPy view.

    latency.py sprocket|gstreamer gray|rgb SECONDS

Sprocket: from `processed`, the end of the chain. GStreamer: from the moment at which the live source lets
the frame go, which its time stamp says, to appsink's sample. Both include the conversion that RGB needs.
Prints one line of JSON.
"""
import json
import sys
import time

import numpy as np

way, layout, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
found = []


def sprocket():
    import sprocket as package

    with package.run("scene", every=False, image=layout, size="1280x720", rate=60, format="YU12",
                     duration=f"{seconds}s", source_set=["cached=30", "pace=real"]) as frames:
        for frame in frames:
            now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            assert frame.image.shape[:2] == (720, 1280)
            found.append(now - frame.processed_ns)


def gstreamer():
    import gi
    gi.require_version("Gst", "1.0")
    gi.require_version("GstApp", "1.0")
    from gi.repository import Gst, GstApp  # noqa: F401

    Gst.init(None)
    source = ("videotestsrc is-live=true pattern=black ! "
              "video/x-raw,format=I420,width=1280,height=720,framerate=60/1")
    kind = {"gray": "GRAY8", "rgb": "RGB"}[layout]
    pipeline = Gst.parse_launch(
        f"{source} ! videoconvert ! video/x-raw,format={kind} ! "
        "appsink name=sink sync=false drop=true max-buffers=1")
    sink = pipeline.get_by_name("sink")
    pipeline.set_state(Gst.State.PLAYING)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sample = sink.emit("try-pull-sample", Gst.SECOND)
        if sample is None:
            break
        buffer = sample.get_buffer()
        _, memory = buffer.map(Gst.MapFlags.READ)
        picture = np.frombuffer(memory.data, np.uint8)
        now = pipeline.get_clock().get_time()
        assert picture.size >= 1280 * 720
        found.append(now - pipeline.get_base_time() - buffer.pts)
        del picture
        buffer.unmap(memory)
    pipeline.set_state(Gst.State.NULL)


{"sprocket": sprocket, "gstreamer": gstreamer}[way]()
# The first half second is the start.
steady = np.array(found[30:]) / 1e3
print(json.dumps({"frames": len(found), "p50_us": float(np.percentile(steady, 50)),
                  "p99_us": float(np.percentile(steady, 99))}))
