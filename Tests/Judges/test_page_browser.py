"""The page in Chromium: what it shows, and that each button, control and tap does what `ask` does.

`SPROCKET_SCREENSHOT=docs/page.png` keeps the picture that the README shows."""
import http.server
import json
import os
import shutil
import threading

import pytest
from PIL import Image

from program import LIMIT, wait_for
from test_page import Page

playwright = pytest.importorskip("playwright.sync_api")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium; run: make test")
SCENE = ["--source", "scene", "--size", "640x360", "--source-set", "shake=0", "--source-set", "pan=0"]
OPTIONS = ["--auto-exposure", "continuous", "--auto-focus", "continuous", "--movie", "take.mov", "--stills",
           "shots", "--on-demand"]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        # As root Chromium has no sandbox. A name that a stranger points at this machine.
        arguments = ["--no-sandbox", "--host-resolver-rules=MAP evil.example 127.0.0.1"]
        browser = driver.chromium.launch(executable_path=BROWSER, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def run(tmp_path):
    with Page(tmp_path, *OPTIONS, source=SCENE) as run:
        yield run


@pytest.fixture
def opened(browser, run):
    """The page in a window, and what its console says."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(LIMIT * 1000)
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(run.link)
    until(page, "document.querySelector('#why').textContent === '' && known && status")
    yield page
    # What the browser says of a run that has ended is no mistake of the page.
    assert [text for text in said if "ERR_CONNECTION_REFUSED" not in text] == []
    context.close()


def until(page, holds):
    """Waits for a script's value: the page's policy lets no script of others wait in it."""
    return wait_for(lambda: page.evaluate(holds))


def test_the_picture_is_live(opened):
    assert opened.title() == "scene - Sprocket"
    first = opened.evaluate("line.sequence")
    until(opened, f"line.sequence > {first + 10}")
    assert opened.evaluate("[picture.width, picture.height]") == [640, 360]
    assert "640x360 MJPG" in opened.inner_text("#figures")


def test_a_tap_is_where_it_was(opened, run):
    box = opened.locator("#picture").bounding_box()
    assert abs(box["width"] / box["height"] - 640 / 360) < 0.01
    for x, y in ((0.25, 0.75), (0.9, 0.1)):
        opened.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
        until(opened, "/^focus and exposure/.test(document.querySelector('#told').textContent)")
        told = opened.inner_text("#told").split()[-1].split("/")
        # Within a pixel.
        assert abs(float(told[0]) - x) < 1 / 640 and abs(float(told[1]) - y) < 1 / 360
        opened.evaluate("tell('', false)")


def test_buttons_ask_what_ask_does(opened, run):
    opened.click("#photo")
    wait_for(lambda: list((run.folder / "shots").glob("*.jpg")), run.process)
    opened.click("#record")
    wait_for(lambda: any(one.get("bytes") for one in run.json("/state.json")["recording"]), run.process)
    until(opened, "document.querySelector('#figures').textContent.includes('\u25cf')")
    opened.click("#stop")
    wait_for((run.folder / "take.mov").exists, run.process)


def test_controls_follow_and_steer(opened, run):
    slider = opened.locator("[data-control=gain]")
    assert run.ask(request="set", stage="autoexposure", settings={"mode": "locked"})["ok"]
    assert run.ask(request="control", name="gain", value=4)["ok"]
    until(opened, "document.querySelector('[data-control=lens]') !== null")
    shown = "input => input.parentElement.querySelector('output').textContent"
    wait_for(lambda: slider.evaluate(shown) == "4", run.process)
    slider.evaluate("(input) => { input.value = input.min; input.dispatchEvent(new Event('input')); }")
    wait_for(lambda: run.json("/state.json")["controls"]["gain"] < 1.1, run.process)


def test_by_keyboard_alone(opened, run):
    opened.focus("#picture")
    opened.keyboard.press("ArrowRight")
    opened.keyboard.press("Enter")
    until(opened, "document.querySelector('#told').textContent.includes('0.525')")
    for _ in range(40):
        opened.keyboard.press("Tab")
        if opened.evaluate("document.activeElement.id") == "photo":
            break
    opened.keyboard.press("Enter")
    wait_for(lambda: list((run.folder / "shots").glob("*.jpg")), run.process)


def test_a_hidden_tab_gets_nothing(opened, run):
    opened.evaluate("send('hide')")
    wait_for(lambda: still(run), run.process, pause=3)
    opened.evaluate("send('show')")
    before = delivered(run)
    wait_for(lambda: delivered(run) > before, run.process)


def delivered(run):
    return run.json("/state.json")["sinks"]["page"]["delivered"]


def still(run):
    """Whether no picture was made between two looks."""
    before = delivered(run)
    produced = run.json("/state.json")["produced"]
    wait_for(lambda: run.json("/state.json")["produced"] > produced + 10, run.process)
    return delivered(run) == before


def test_it_says_why_and_comes_back(opened, run, tmp_path):
    port = run.host.split(":")[1]
    run.process.terminate()
    until(opened, "/ended|answer/.test(document.querySelector('#why').textContent)")
    run.process.wait(LIMIT)
    with Page(tmp_path, *OPTIONS, "--overwrite", source=SCENE, address=port):
        until(opened, "document.querySelector('#why').textContent === ''")


def test_other_sites_get_nothing(browser, run):
    """Pages of another port and of a strange name: no picture, no state, no change, no WebSocket."""
    port = run.host.split(":")[1]

    class Stranger(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>strange</title>")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    before = run.json("/state.json")["controls"]["gain"]
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{server.server_port}/")
    found = page.evaluate(PROBE, f"127.0.0.1:{port}")
    assert found == {"picture": False, "state": False, "blind": True, "socket": False}, found
    # A name that a stranger points at this machine has the page's own origin there, and is refused for it.
    answer = page.goto(f"http://evil.example:{port}/")
    assert answer.status == 421
    assert page.evaluate("fetch('/state.json').then((answer) => answer.status)") == 421
    assert run.json("/state.json")["controls"]["gain"] == before
    assert run.ask(request="recordings")["recordings"] == []
    context.close()
    server.shutdown()


PROBE = """async (host) => {
  const picture = await new Promise((done) => {
    const image = new Image();
    image.onload = () => done(true);
    image.onerror = () => done(false);
    image.src = `http://${host}/snapshot.jpg`;
  });
  const state = await fetch(`http://${host}/state.json`).then(() => true, () => false);
  // Without CORS a page may send, but not read.
  const blind = await fetch(`http://${host}/ask`, {
    method: "POST", mode: "no-cors", body: JSON.stringify({request: "control", name: "gain", value: 9}),
  }).then(() => true, () => true);
  const socket = await new Promise((done) => {
    const socket = new WebSocket(`ws://${host}/socket`);
    socket.onopen = () => done(true);
    socket.onerror = () => done(false);
  });
  return {picture, state, blind, socket};
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1400, 900), (390, 844)], ids=["desktop", "phone"])
def test_it_fits_desktop_and_phone(browser, run, size, scheme, tmp_path):
    context = browser.new_context(viewport=dict(zip(("width", "height"), size)), color_scheme=scheme,
                                  has_touch=size[0] < 500)
    page = context.new_page()
    page.goto(run.link)
    until(page, "document.querySelector('#why').textContent === '' && rates.length > 20")
    page.click("#chain summary")
    until(page, "document.querySelector('#steps').children.length > 0")
    # Nothing is wider than the window, and what is pressed is large enough for a finger.
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for button in page.query_selector_all("button:visible, #snapshot"):
        box = button.bounding_box()
        assert box["height"] >= 40 and box["width"] >= 40
    target = os.environ.get("SPROCKET_SCREENSHOT")
    if target and (size, scheme) == ((1400, 900), "light"):
        page.set_viewport_size({"width": 1300, "height": 660})
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=str(tmp_path / "shown.png"))
        # As many colours as the README needs.
        Image.open(tmp_path / "shown.png").convert("RGB").quantize(128).save(target, optimize=True)
    page.screenshot(path=str(tmp_path / "page.png"), full_page=True)
    context.close()


def test_ten_tabs_at_once(browser, run):
    """Each tab has one connection that lasts, so that the tenth has a picture and its buttons work."""
    context = browser.new_context()
    context.set_default_timeout(LIMIT * 1000)
    tabs = [context.new_page() for _ in range(10)]
    for tab in tabs:
        tab.goto(run.link)
    tabs[-1].bring_to_front()
    until(tabs[-1], "rates.length > 10")
    answer = tabs[-1].evaluate("ask({request: 'control', name: 'lens', value: 0.5})")
    assert json.loads(json.dumps(answer))["ok"]
    context.close()
