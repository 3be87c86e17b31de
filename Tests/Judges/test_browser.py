"""What headless Chromium's <video> makes of our movies: number and size of pictures, duration, sound."""
import http.server
import json
import shutil
import subprocess
import threading

import pytest

from program import sprocket
from test_times import pictures

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
PAGE = """<!doctype html><body><video id="v" muted></video><script>
const video = document.getElementById("v");
function tell() {
  const quality = video.getVideoPlaybackQuality();
  say({
    frames: quality.totalVideoFrames, duration: video.duration, width: video.videoWidth,
    height: video.videoHeight, error: video.error && video.error.message,
    sound: video.webkitAudioDecodedByteCount});
}
function say(what) {
  fetch("http://127.0.0.1:PORT/", {method: "POST", mode: "no-cors", body: JSON.stringify(what)});
}
video.onerror = tell;
SCRIPT
video.src = "FILE";
</script>"""
PLAY = "video.onended = tell; video.autoplay = true;"
SEEK = """
const times = TIMES, shown = [];
function seek() {
  if (shown.length == times.length) { say({shown: shown, duration: video.duration}); return; }
  video.requestVideoFrameCallback((now, frame) => { shown.push(frame.mediaTime); seek(); });
  video.currentTime = times[shown.length];
}
// The first picture is shown without a seek.
video.requestVideoFrameCallback(seek);
"""


def told(path, script, patience=60):
    """Opens a file in the browser, runs `script` on it, and returns what the page posts."""
    found, came = [], threading.Event()

    class Ear(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            found.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            came.set()

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ear) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = path.with_suffix(".html")
        page.write_text(PAGE.replace("PORT", str(server.server_port)).replace("FILE", path.name)
                        .replace("SCRIPT", script))
        browser = subprocess.Popen(
            [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio",
             "--autoplay-policy=no-user-gesture-required", f"--user-data-dir={path.parent}/profile",
             "--remote-debugging-port=0", page.as_uri()],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            assert came.wait(patience), "the page told nothing"
        finally:
            browser.kill()
            browser.wait()
            subprocess.run(["pkill", "-KILL", "-f", f"user-data-dir={path.parent}/profile"])
            server.shutdown()
    return found[0]


@pytest.mark.alone
@pytest.mark.skipif(not BROWSER, reason="chromium is not installed")
@pytest.mark.parametrize("ending, codec, sound", [
    ("mp4", "h264", "aac"), ("mov", "h264:preset=ultrafast,crf=30", "aac"), ("mp4", "h264", "opus"),
    ("mp4", "av1", "aac")])
def test_a_browser_plays_every_picture(tmp_path, ending, codec, sound):
    path = tmp_path / f"a.{ending}"
    sprocket("run", "--source", "scene", "--source-set", "pace=fast", "--size", "320x180", "--frames", 60,
             "--microphone", "scene", "--movie", path, "--codec", codec, "--audio-codec", sound, "--quiet")
    found = told(path, PLAY)
    assert found["error"] is None and found["frames"] == 60
    assert (found["width"], found["height"]) == (320, 180) and abs(found["duration"] - 2) < 0.03
    assert found["sound"] > 0


@pytest.mark.alone
@pytest.mark.skipif(not BROWSER, reason="chromium is not installed")
@pytest.mark.parametrize("gap", [11, 3600, 14 * 3600])
@pytest.mark.parametrize("options", [[], ["--copy"]], ids=["encoded", "copied"])
def test_a_browser_seeks_behind_a_gap(tmp_path, options, gap):
    source = pictures(tmp_path / "in.mkv", 30, f"TS+1000*{gap}*gte(N,10)")
    film = tmp_path / "film.mp4"
    sprocket("export", source, film, "--quiet")
    if options:
        film, encoded = tmp_path / "copy.mp4", film
        sprocket("export", encoded, film, "--quiet", *options)
    numbers = [12, 3, 10, 29, 9, 20]
    times = [number / 25 + (gap if number >= 10 else 0) for number in numbers]
    # Half a frame later each, and once in the middle of the gap, where the picture before it stands.
    asked = [time + 0.02 for time in times] + [gap / 2]
    found = told(film, SEEK.replace("TIMES", json.dumps(asked)))
    assert found["shown"] == pytest.approx(times + [9 / 25], abs=0.001)
    assert found["duration"] == pytest.approx(gap + 1.2, abs=0.05)
