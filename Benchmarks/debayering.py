"""Pictures of mosaics by `debayer`, beside OpenCV's: one core, one thread."""

import json
import pathlib

PEER = pathlib.Path(__file__).resolve().parent / "Peers/opencv_debayer.py"
PASSES = 10
FRAMES = 300
# Contestants of ours by name: format and settings.
OURS = {
    "debayer, malvar": ("RGGB", "method=malvar"), "debayer, bilinear": ("RGGB", "method=bilinear"),
    "debayer, malvar, 10 bits packed": ("pRAA", "method=malvar"),
    "debayer, malvar, 12 bits in and out": ("RG12", "method=malvar,depth=source"),
}
# OpenCV's ways, each to BGR alone, and with the planes of YUV that follow.
THEIRS = ["bilinear", "ea", "vng"]


def debayering(sprocket, luma, width, height, folder, tools):
    """`luma`: a file of frames, which OpenCV takes for mosaics; ours are the scene's. `tools`: measured,
    counted, rounds, their number and python, from `run`."""
    summary = folder / "summary.json"

    def ours(pixels, settings):
        command = [sprocket, "run", "--source", "scene", "--source-set", "cached=8", "--source-set",
                   "pace=fast", "--format", pixels, "--size", f"{width}x{height}", "--frames", FRAMES,
                   "--workers", 1, "--stage", f"debayer:{settings}", "--null", "--summary", summary,
                   "--quiet", "--overwrite"]

        def contestant():
            tools.measured(command, FRAMES)
            return {"p50_us": json.loads(summary.read_text())["stages"]["debayer"]["p50_us"]}
        return contestant

    def theirs(way, planes):
        command = [tools.python, PEER, way, planes, luma, width, height, PASSES]
        return lambda: tools.counted(command, cores=1)

    contestants = {name: ours(*what) for name, what in OURS.items()}
    for planes, text in (("bgr", "to BGR"), ("yuv", "to planes of YUV")):
        contestants |= {f"OpenCV, {way}, {text}": theirs(way, planes) for way in THEIRS}
    return {"width": width, "height": height, "contestants": tools.rounds(tools.count, contestants)}


def lines(found, table):
    yield "## Mosaics"
    yield ""
    yield (f"Mosaics of {found['width']}x{found['height']}, of 8 bits where nothing else is said, one "
           "thread on one core; the median time of a frame. `debayer` makes planes of YUV.")
    yield ""
    area = found["width"] * found["height"]
    yield from table(
        ["", "us/frame", "ps/pixel", "spread"],
        [[name, f"{r['p50_us']:.0f}", f"{1e6 * r['p50_us'] / area:.0f}", f"{r['spread']:.0%}"]
         for name, r in found["contestants"].items()])
