"""The focus score beside the same measures in OpenCV: one core, one thread, luma in memory."""

import pathlib

PEER = pathlib.Path(__file__).resolve().parent / "Peers/opencv_focus.py"
PASSES = 25
# By measure, how many times as fast as OpenCV's fastest way to it the stage has to be.
BARS = {"normalized": 3, "laplacian": None, "tenengrad": None}
# Other ways of OpenCV: the usual one.
OTHERS = ["laplacian-usual"]


def focusing(luma, width, height, tools):
    """`luma`: a file of frames. `tools`: counted, rounds, their number, python and stage_time."""
    frames = [luma, width, height, PASSES]
    contestants = {}
    for measure in BARS:
        ours = [tools.stage_time, f"focus:measure={measure}", *frames]
        contestants[f"focus, {measure}"] = lambda ours=ours: tools.counted(ours, cores=1)
    for way in [*BARS, *OTHERS]:
        theirs = [tools.python, PEER, way, *frames]
        contestants[f"OpenCV, {way}"] = lambda theirs=theirs: tools.counted(theirs, cores=1)
    return {"width": width, "height": height, "contestants": tools.rounds(tools.count, contestants)}


def lines(found, table):
    results = found["contestants"]
    first = next(iter(results.values()))
    yield "## Focus"
    yield ""
    yield (f"{first['frames']:.0f} frames of {found['width']}x{found['height']} luma in turn, one "
           "thread on one core; the median time of a frame. The stage says contrast, noise and a grid "
           "of 4x4 scores, too.")
    yield ""
    rows = []
    for name, r in results.items():
        side, measure = name.split(", ")
        peer = results[f"OpenCV, {measure}"]["p50_us"]
        rows.append(
            [name, f"{r['p50_us']:.0f}", f"{r['least_us']:.0f}",
             f"{peer / r['p50_us']:.1f}" if side == "focus" else "",
             f"{BARS[measure]}" if side == "focus" and BARS[measure] else "", f"{r['spread']:.0%}"])
    yield from table(["", "us/frame", "least", "times as fast", "bar", "spread"], rows)
