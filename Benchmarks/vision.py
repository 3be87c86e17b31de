"""Tensors in Python beside OpenCV, PyAV and decord, the pass alone, and live frames beside GStreamer."""

import os
import pathlib

PEERS = pathlib.Path(__file__).resolve().parent / "Peers"
SIDE = 640
ROUNDS = 10
SECONDS = 8
WAYS = {"sprocket": "Sprocket", "sprocket-exact": "Sprocket, JPEGs decoded in full",
        "opencv": "OpenCV", "pyav": "PyAV", "decord": "decord"}


def vision(sprocket, clip, width, height, folder, tools):
    """`tools`: counted, said, rounds, their number, python, and the program tensor_time, from `run`."""
    planes = folder / "clip.yuv"
    tools.said("ffmpeg", "-v", "error", "-i", clip, "-frames:v", "20", "-pix_fmt", "yuvj420p", "-f",
               "rawvideo", planes)
    # What the peers are told, and where Debian has GStreamer's bindings.
    os.environ["SPROCKET"] = str(sprocket)
    os.environ["PYTHONPATH"] = f"{PEERS.parents[1] / 'Python'}:/usr/lib/python3/dist-packages"

    def way(name):
        def contestant():
            found = tools.counted([tools.python, PEERS / "tensors.py", name, clip, SIDE])
            return {"frames_per_second": found["frames"] / found["seconds"]} | found
        return contestant

    def latency(name, layout):
        return lambda: tools.counted([tools.python, PEERS / "latency.py", name, layout, SECONDS])

    kinds = [("sprocket", "gray"), ("gstreamer", "gray"), ("sprocket", "rgb"), ("gstreamer", "rgb")]
    return {
        "width": width, "height": height,
        "files": tools.rounds(tools.count, {text: way(name) for name, text in WAYS.items()}),
        "fused": tools.rounds(tools.count, {
            "Sprocket": lambda: tools.counted(
                [tools.tensor_time, planes, width, height, ROUNDS, f"size={SIDE}x{SIDE}"], cores=1),
            "OpenCV": lambda: tools.counted(
                [tools.python, PEERS / "opencv_tensor.py", planes, width, height, ROUNDS, SIDE], cores=1),
        }),
        "latency": tools.rounds(min(tools.count, 3), {
            f"{name}, {layout}": latency(name, layout) for name, layout in kinds}),
    }


def lines(found, table):
    yield "## Tensors in Python"
    yield ""
    yield (f"300 frames of {found['width']}x{found['height']} MJPEG 4:2:0 to float32 of 1x3x{SIDE}x{SIDE}, "
           "letterboxed RGB from 0 to 1, two cores. From the first import to the last tensor.")
    yield ""
    files = found["files"]
    yield from table(
        ["", "frames/s", "seconds", "spread"],
        [[name, f"{r['frames_per_second']:.0f}", f"{r['seconds']:.2f}", f"{r['spread']:.0%}"]
         for name, r in files.items()])
    yield ""
    for name in list(files)[2:]:
        ratio = files["Sprocket"]["frames_per_second"] / files[name]["frames_per_second"]
        yield f"- {ratio:.1f} times as fast as {name}."
    ours, theirs = found["fused"]["Sprocket"], found["fused"]["OpenCV"]
    yield ""
    yield (f"The pass alone, from planes in memory, one thread: {ours['p50_us']:.0f} us. OpenCV takes "
           f"{theirs['p50_us']:.0f} us from the same planes (cvtColor, resize, border, blobFromImage), "
           f"{theirs['from_bgr_p50_us']:.0f} us from BGR: {theirs['p50_us'] / ours['p50_us']:.1f} and "
           f"{theirs['from_bgr_p50_us'] / ours['p50_us']:.1f} times as long. To read the planes and write "
           f"the tensor once takes {ours['touch_p50_us']:.0f} us: the pass takes "
           f"{ours['p50_us'] / ours['touch_p50_us']:.1f} times that.")
    yield ""
    yield "## Live frames in Python"
    yield ""
    yield ("1280x720 at 60 frames/s, from the end of the chain (Sprocket) or of the live source (GStreamer's "
           "videotestsrc) to a NumPy view; conversion included. The scene's frames are drawn beforehand.")
    yield ""
    yield from table(
        ["", "p50 us", "p99 us", "spread of p50"],
        [[name, f"{r['p50_us']:.0f}", f"{r['p99_us']:.0f}", f"{r['spread']:.0%}"]
         for name, r in found["latency"].items()])
