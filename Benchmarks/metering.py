"""The meter beside OpenCV's calcHist: one core, one thread, luma in memory."""

import pathlib

PEER = pathlib.Path(__file__).resolve().parent / "Peers/opencv_histogram.py"
PASSES = 25
SAMPLES = 262144
CALC_HIST = "OpenCV calcHist"
# The stage and its settings, and how much of calcHist's time it may take.
STAGES = {
    "every pixel, center": ("meter", 1),
    "every pixel, zones": ("meter:mode=zones", 1),
    "grid, center": (f"meter:samples={SAMPLES}", 0.25),
    "grid, spot": (f"meter:mode=spot,samples={SAMPLES}", 0.25),
    "grid, zones": (f"meter:mode=zones,samples={SAMPLES}", 0.25),
}


def metering(luma, width, height, tools):
    """`luma`: a file of frames. `tools`: counted, rounds, their number, python and stage_time."""
    frames = [luma, width, height, PASSES]
    contestants = {CALC_HIST: lambda: tools.counted([tools.python, PEER, *frames], cores=1)}
    for name, (stage, _) in STAGES.items():
        command = [tools.stage_time, stage, *frames]
        contestants[name] = lambda command=command: tools.counted(command, cores=1)
    return {"width": width, "height": height, "contestants": tools.rounds(tools.count, contestants)}


def lines(found, table):
    results = found["contestants"]
    peer = results[CALC_HIST]["p50_us"]
    yield "## Metering"
    yield ""
    frames = f"{results[CALC_HIST]['frames']:.0f} frames of {found['width']}x{found['height']} luma"
    share = SAMPLES / (found["width"] * found["height"])
    yield (f"{frames} in turn, one thread on one core; the median time of a frame. The grid is "
           f"`samples={SAMPLES}`, at least {min(share, 1):.1%} of the pixels.")
    yield ""
    yield from table(
        ["", "us/frame", "least", "of calcHist", "bar", "spread"],
        [[name, f"{r['p50_us']:.0f}", f"{r['least_us']:.0f}", f"{r['p50_us'] / peer:.2f}",
          f"{STAGES[name][1]}" if name in STAGES else "", f"{r['spread']:.0%}"]
         for name, r in results.items()])
