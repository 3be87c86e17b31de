"""The stabilizer beside vid.stab, deshake and OpenCV: its warp, the whole of it, and how steady it gets."""

import json
import os
import pathlib
import subprocess

import cv2
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
DATA = pathlib.Path(os.environ.get("SPROCKET_TEST_DATA", HERE.parents[1] / "shared/data"))
JUDGE = DATA.parent / "tools/stab_eval.py"
CLIPS = ["stabilization/test.avi", "stabilization/max-heromode.mp4", "generic/box.mp4",
         "generic/flipping_a_pancake.mkv"]
MODES = ["standard", "cinematic"]
PASSES = 5
# How many times as fast as each the stabilizer has to be.
BARS = {"vid.stab, two passes": 10, "deshake": 10, "OpenCV's recipe": 6}
CUBIC = "OpenCV warpAffine, bicubic"
WARP_BAR = 4


def stabilizing(sprocket, clip, width, height, folder, output, tools):
    """`tools`: measured, counted, rounds, their number, said, python and frame_count, from `run`."""
    found = {"width": width, "height": height}
    found["warp"] = warp(sprocket, clip, width, height, folder, tools)
    found["whole"] = whole(sprocket, clip, folder, tools)
    before_and_after(sprocket, output / "stabilizer.png", tools)
    if JUDGE.exists():
        found["judged"] = {name: judged(sprocket, DATA / name, folder, tools) for name in CLIPS}
    return found


def warp(sprocket, clip, width, height, folder, tools):
    pictures, summary = folder / "clip.yuv", folder / "summary.json"
    tools.said("ffmpeg", "-v", "error", "-i", clip, "-frames:v", "8", "-pix_fmt", "yuvj420p", "-f",
               "rawvideo", pictures)
    frames = tools.frame_count(clip)
    command = [sprocket, "run", "--source", f"file:{clip}", "--stage", "stabilize:mode=standard", "--null",
               "--workers", 1, "--summary", summary, "--quiet", "--overwrite"]

    def ours():
        tools.measured(command, frames)
        return {"p50_us": json.loads(summary.read_text())["stages"]["stabilize/warp"]["p50_us"]}

    def theirs(kernel):
        peer = HERE / "Peers/opencv_warp.py"
        command = [tools.python, peer, kernel, pictures, width, height, PASSES]
        return lambda: tools.counted(command, cores=1)

    return tools.rounds(tools.count, {
        "stabilize/warp": ours, CUBIC: theirs("cubic"), "bilinear": theirs("linear"),
        "Lanczos of four lobes": theirs("lanczos")})


def whole(sprocket, clip, folder, tools):
    frames = tools.frame_count(clip)

    def ours(mode, workers):
        command = [sprocket, "run", "--source", f"file:{clip}", "--stage", f"stabilize:mode={mode}", "--null",
                   "--workers", workers, "--quiet"]
        return lambda: tools.measured(command, frames)

    def filtered(filters):
        return lambda: tools.measured(
            ["ffmpeg", "-v", "error", "-i", clip, "-vf", filters, "-f", "null", "-"], frames)

    transforms = folder / "transforms.trf"
    passes = [filtered(f"vidstabdetect=result={transforms}"),
              filtered(f"vidstabtransform=input={transforms}")]
    recipe = [tools.python, HERE / "Peers/opencv_stabilizer.py", clip]
    contestants = {
        "standard, 1 worker": ours("standard", 1), "standard, 2 workers": ours("standard", 2),
        "cinematic, 2 workers": ours("cinematic", 2),
        "vid.stab, two passes": lambda: both([one() for one in passes], frames),
        "deshake": filtered("deshake"), "OpenCV's recipe": lambda: tools.measured(recipe, frames)}
    return tools.rounds(tools.count, contestants)


def both(passes, frames):
    """Two runs as one."""
    wall = sum(frames / one["frames_per_second"] for one in passes)
    cpu = sum(one["cpu_ms_per_frame"] for one in passes)
    return {"frames_per_second": frames / wall, "cpu_ms_per_frame": cpu,
            "cores_busy": cpu * frames / 1e3 / wall,
            "peak_mb": max(one["peak_mb"] for one in passes)}


def judged(sprocket, clip, folder, tools):
    """What the judge says of the clip and of all that was made from it, by name."""
    transforms, stab, shake = (folder / name for name in ("t.trf", "vidstab.mkv", "deshake.mkv"))
    ffmpeg = ["ffmpeg", "-v", "error", "-y", "-i", clip, "-an", "-vf"]
    lossless = ["-c:v", "ffv1"]
    tools.said(*ffmpeg, f"vidstabdetect=result={transforms}", "-f", "null", "-")
    tools.said(*ffmpeg, f"vidstabtransform=input={transforms}", *lossless, stab)
    tools.said(*ffmpeg, "deshake", *lossless, shake)

    def said(crop, *outputs):
        lines = tools.said(tools.python, JUDGE, clip, *outputs, "--crop", str(crop)).splitlines()
        return [json.loads(line) for line in lines]

    source, moved = said(0, shake)
    crop = round((1 - 1 / said(0, stab)[1]["zoom"]) / 2, 4)
    found = {"input": source, "deshake": moved}
    for share in (crop, 0.10, 0.05):
        ours = {f"{mode}, {share}": stabilized(sprocket, clip, folder, mode, share) for mode in MODES}
        theirs = {"vid.stab": stab} if share == crop else {}
        outputs = theirs | ours
        found |= zip(outputs, said(share, *outputs.values())[1:])
    return found


def stabilized(sprocket, clip, folder, mode, crop):
    output = folder / f"{mode}-{crop}.mkv"
    command = [sprocket, "run", "--source", f"file:{clip}", "--stage", f"stabilize:mode={mode},crop={crop}",
               "--pipe", "y4m", "--quiet"]
    run = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE)
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", "-", "-c:v", "ffv1", output], stdin=run.stdout,
                   check=True)
    run.stdout.close()
    if run.wait() != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {run.returncode}")
    return output


def before_and_after(sprocket, path, tools):
    """The mean of 30 frames of the scene in a hand that shakes, as it is and stabilized, side by side."""
    scene = [sprocket, "run", "--source", "scene", "--size", "640x360", "--frames", "60", "--source-set",
             "pace=fast", "--source-set", "pan=0", "--source-set", "shake=8", "--source-set", "roll=0.5",
             "--pipe", "gray", "--quiet"]
    means = []
    for stage in ([], ["--stage", "stabilize:mode=cinematic,crop=0.1"]):
        data = subprocess.run([*map(str, scene), *stage], check=True, stdout=subprocess.PIPE).stdout
        frames = np.frombuffer(data, np.uint8).reshape(-1, 360, 640)
        means.append(frames[20:50].mean(0))
    gap = np.full((360, 8), 255.0)
    path.parent.mkdir(exist_ok=True)
    cv2.imwrite(str(path), np.hstack([means[0], gap, means[1]]).round().astype(np.uint8))


def lines(found, table):
    yield "## Stabilizing"
    yield ""
    yield (f"All planes of a {found['width']}x{found['height']} picture, 4:2:0, one thread; the median "
           "time of a picture.")
    yield ""
    cubic = found["warp"][CUBIC]["p50_us"]
    yield from table(
        ["", "ms/picture", "times as fast as bicubic", "bar", "spread"],
        [[name, f"{r['p50_us'] / 1e3:.2f}", f"{cubic / r['p50_us']:.1f}",
          f"{WARP_BAR}" if name.startswith("stabilize") else "", f"{r['spread']:.0%}"]
         for name, r in found["warp"].items()])
    yield ""
    yield from whole_lines(found["whole"], table)
    yield ""
    if "judged" in found:
        yield from judged_lines(found["judged"], table)
    else:
        yield f"How steady it gets was not measured: {JUDGE} is not there."


def whole_lines(results, table):
    yield ("The clip from file to nowhere, decoding included, on two cores; each contestant is a process, "
           "its start included.")
    yield ""
    yield from table(
        ["", "frames/s", "CPU ms/frame", "cores busy", "peak MB", "spread"],
        [[name, f"{r['frames_per_second']:.1f}", f"{r['cpu_ms_per_frame']:.2f}",
          f"{r['cores_busy']:.2f}", f"{r['peak_mb']:.0f}", f"{r['spread']:.0%}"]
         for name, r in results.items()])
    yield ""
    one, two = results["standard, 1 worker"], results["standard, 2 workers"]
    for name, bar in BARS.items():
        ratio = two["frames_per_second"] / results[name]["frames_per_second"]
        yield f"- {ratio:.1f} times as fast as {name} (bar: {bar})."
    growth = two["cpu_ms_per_frame"] / one["cpu_ms_per_frame"] - 1
    yield f"- CPU per frame from one worker to two: {growth:+.1%} (bar: +10%)."


def judged_lines(clips, table):
    yield ("How steady, by a judge of its own: jitter in pixels at a width of 640, sharpness beside a "
           "Lanczos zoom by the same crop, stability as Liu et al. 2013, and how faithful each frame is to "
           "its own, in dB. All are stored without loss.")
    for name, results in clips.items():
        yield ""
        yield f"{pathlib.Path(name).name}:"
        yield ""
        yield from table(
            ["", "zoom", "jitter", "sharpness", "stability", "faithful"],
            [[contestant, f"{r['zoom']:.3f}", f"{r['jitter_px']:.2f}", f"{r['sharpness']:.2f}",
              f"{r['stability']:.3f}", f"{r['faithful_db']:.1f}" if "faithful_db" in r else ""]
             for contestant, r in results.items()])
