"""The page: what browsers and other programs get of a run, what they may ask, and who gets nothing."""
import json
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request

import cv2
import pytest

from program import LIMIT, SPROCKET, fates, one_sentence, read_summary, sprocket, wait_for

SCENE = ["--source", "scene", "--size", "320x240", "--source-set", "shake=0"]


class Page:
    """A run with a page, at a port that the system chooses."""

    def __init__(self, folder, *options, address="0", source=SCENE):
        self.folder = folder
        self.log = folder / "log"
        self.process = subprocess.Popen(
            [SPROCKET, "run", *source, "--page", address, "--duration", "120s", "--summary",
             folder / "summary.json", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log.open("w"), cwd=folder)
        wait_for(lambda: "page: " in self.log.read_text(), self.process)
        self.link = re.search(r"page: (\S+)", self.log.read_text())[1]
        match = re.match(r"http://([^/]+)/", self.link)
        self.host = match and match[1]
        self.at = match and self.link.split("?")[0].rstrip("/")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(LIMIT) in (0, 1)

    def get(self, path, method="GET", body=None, **headers):
        """(status, headers, body)"""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.at + path, data=body, method=method, headers=headers)
        try:
            with urllib.request.build_opener(NoRedirects).open(request, timeout=LIMIT) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def json(self, path):
        status, _, body = self.get(path)
        assert status == 200, body
        return json.loads(body)

    def ask(self, to="/ask", **request):
        status, _, body = self.get(to, "POST", json.dumps(request).encode(), Content_Type="application/json")
        return json.loads(body) if status == 200 else (status, body.decode())

    def end(self):
        self.process.terminate()
        assert self.process.wait(LIMIT) == 0, self.log.read_text()
        return read_summary(self.folder / "summary.json")


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


@pytest.fixture
def page(tmp_path):
    with Page(tmp_path, "--auto-exposure", "continuous", "--movie", "m.mov", "--on-demand") as page:
        yield page


def size(jpeg):
    import numpy
    return cv2.imdecode(numpy.frombuffer(jpeg, "u1"), cv2.IMREAD_COLOR).shape[:2]


def test_a_snapshot_is_a_frame_exposed_after_the_asking(page):
    for path in ("/snapshot.jpg", "/snapshot", "/?action=snapshot"):
        asked = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        status, headers, body = page.get(path)
        assert (status, headers["Content-Type"], size(body)) == (200, "image/jpeg", (240, 320))
        assert int(headers["X-Captured-Ns"]) >= asked
        assert headers["Cache-Control"] == "no-store"


def test_nothing_is_made_while_nobody_watches(page):
    wait_for(lambda: page.json("/state.json")["produced"] > 30, page.process)
    assert page.json("/state.json")["sinks"]["page"]["delivered"] == 0
    page.get("/snapshot.jpg")
    # Of those who watch, no record is kept: they are no files.
    assert page.ask(request="recordings") == {"ok": True, "recordings": []}
    page.process.terminate()
    page.process.wait(LIMIT)
    summary = read_summary(page.folder / "summary.json")
    assert not summary.get("recordings")
    assert 1 <= summary["sinks"]["page"]["delivered"] < summary["produced"]
    assert sum(fates(summary["sinks"]["page"]).values()) == summary["produced"]


@pytest.mark.parametrize("path", ["/stream.mjpg", "/stream", "/?action=stream"])
def test_a_stream_plays_in_other_programs(page, path):
    shown = subprocess.run(
        ["ffprobe", "-v", "error", "-f", "mpjpeg", "-read_intervals", "%+#20", "-show_entries",
         "frame=width,height", "-of", "csv=p=0", page.at + path],
        capture_output=True, timeout=LIMIT, text=True)
    assert shown.stdout.split().count("320,240") >= 10, shown.stderr
    film = cv2.VideoCapture(page.at + path)
    assert [film.read()[1].shape for _ in range(10)] == [(240, 320, 3)] * 10
    film.release()
    raw = subprocess.run(["curl", "-sN", "-m", "2", page.at + path], capture_output=True,
                         timeout=LIMIT).stdout
    parts = raw.split(b"\r\n--sprocketframe\r\nContent-Type: image/jpeg\r\n\r\n")
    assert len(parts) > 10
    # The next part's header is there as soon as a picture is, since browsers draw it then.
    assert all(part.endswith(b"\xff\xd9") for part in parts[1:-1])


def test_a_stream_plays_in_gstreamer(page):
    result = subprocess.run(
        ["gst-launch-1.0", "-v", "souphttpsrc", f"location={page.at}/stream.mjpg", "num-buffers=60", "!",
         "multipartdemux", "!", "jpegdec", "!", "fakesink", "silent=false"],
        capture_output=True, timeout=LIMIT, text=True)
    assert result.stdout.count("chain") >= 3, result.stderr


def test_requests_are_the_control_sockets(page):
    assert page.ask(request="control", name="gain", value=2)["controls"] == {"gain": 2}
    assert page.ask(request="record")["ok"]
    wait_for(lambda: any(one.get("bytes") for one in page.json("/state.json")["recording"]), page.process)
    assert page.ask(request="stop")["ok"]
    wait_for((page.folder / "m.mov").exists, page.process)
    assert page.ask(request="set", stage="meter", settings={"point": "0.25/0.75"})["ok"]
    unknown = page.ask(request="bogus")
    assert unknown["ok"] is False and "bogus" in unknown["error"]


@pytest.mark.parametrize("request_", [
    {"request": "quit"}, {"request": "record", "path": "/tmp/x.mov"}, {"request": "next", "path": "x.mov"},
    {"request": "reconfigure", "attach": [{"kind": "null"}]}, {"request": "reconfigure", "source": "scene"},
    {"request": "record", "sink": "page"}, {"request": "photo", "at_frame": 1_000_000},
])
def test_a_page_ends_no_run_and_names_no_files(page, request_):
    answer = page.ask(**request_)
    assert answer["ok"] is False, answer
    assert page.process.poll() is None


def test_a_point_is_the_sensors(tmp_path):
    with Page(tmp_path, "--stage", "crop:region=0.5/0.5/0.5/0.5") as page:
        assert page.ask("/point", x=0.5, y=0.5)[0] == 400  # Nobody sees a picture.
        stream = urllib.request.urlopen(page.at + "/stream.mjpg", timeout=LIMIT)
        stream.read(20_000)
        found = page.ask("/point", x=0.5, y=0.5)
        assert found["x"] == pytest.approx(0.75, abs=0.005) and found["y"] == pytest.approx(0.75, abs=0.005)
        assert page.ask("/point", x=1.5, y=0.5)[0] == 400
        stream.close()


def test_metrics_are_prometheus_text(page):
    status, headers, body = page.get("/metrics")
    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
    text, names = body.decode(), {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in names, "each name has its samples together"
            names[name] = kind
        elif not line.startswith("#"):
            match = re.fullmatch(
                r'(sprocket_[a-z_]+)(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+', line)
            assert match and match[1] == name, line
            assert (names[name] == "counter") == name.endswith("_total"), line
    assert len(set(text.splitlines())) == len(text.splitlines())
    assert {"sprocket_frames_total", "sprocket_sink_frames_total", "sprocket_step_seconds_total"} <= {*names}


def test_events_have_reports(page):
    raw = subprocess.run(["curl", "-sN", "-m", "2", page.at + "/events"], capture_output=True,
                         timeout=LIMIT).stdout
    lines = [line[6:] for line in raw.decode().splitlines() if line.startswith("data: {")]
    reports = [json.loads(line) for line in lines[:-1]]
    assert len(reports) > 10 and all("meter" in report for report in reports if "sequence" in report)


STRANGERS = [
    {"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
]


@pytest.mark.parametrize("headers", STRANGERS, ids=str)
@pytest.mark.parametrize("path", ["/", "/snapshot.jpg", "/stream.mjpg", "/state.json", "/events", "/metrics"])
def test_strangers_get_nothing(page, headers, path):
    assert page.get(path, **headers)[0] in (403, 421)
    before = page.json("/state.json")["controls"]["gain"]
    status, _, _ = page.get("/ask", "POST", b'{"request":"control","name":"gain","value":3}',
                            Content_Type="application/json", **headers)
    assert status in (403, 421) and page.json("/state.json")["controls"]["gain"] == before


def test_changes_are_posts_of_json(page):
    body = b'{"request":"record"}'
    assert page.get("/ask")[0] == 405
    assert page.get("/ask", "POST", body, Content_Type="text/plain")[0] == 415
    assert page.get("/ask", "POST", body, Content_Type="application/x-www-form-urlencoded")[0] == 415
    assert page.get("/ask", "POST", b"x" * 70_000, Content_Type="application/json")[0] == 413
    assert page.ask(request="recordings")["recordings"] == []


def test_policies_are_strict(page):
    _, headers, _ = page.get("/")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert headers["Referrer-Policy"] == "no-referrer" and headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Access-Control-Allow-Origin"] is None


def handshake(page, **headers):
    """The first line of the answer to a request for a WebSocket."""
    host, port = page.host.split(":")
    with socket.create_connection((host, int(port)), timeout=LIMIT) as client:
        lines = {"Host": page.host, "Origin": page.at, "Upgrade": "websocket", "Connection": "Upgrade",
                 "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", **headers}
        text = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
        client.sendall(f"GET /socket HTTP/1.1\r\n{text}\r\n".encode())
        return client.recv(4096).split(b"\r\n")[0]


def test_a_websocket_is_for_the_page_alone(page):
    assert handshake(page).startswith(b"HTTP/1.1 101")
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": None},
                    {"Sec-Fetch-Site": "cross-site"}):
        assert not handshake(page, **headers).startswith(b"HTTP/1.1 101"), headers


def test_other_machines_show_a_token(tmp_path):
    token = "correct-horse-battery"
    (tmp_path / "token").write_text(token + "\n")
    with Page(tmp_path, address=f"0.0.0.0:0,token={tmp_path / 'token'}") as page:
        assert page.get("/")[0] == page.get("/snapshot.jpg")[0] == page.get("/state.json")[0] == 401
        assert page.get("/?token=" + token[:-1] + "x")[0] == 401
        status, headers, _ = page.get("/?token=" + token)
        assert status == 303 and headers["Location"] == "/"
        cookie = headers["Set-Cookie"]
        port = page.host.split(":")[1]
        assert cookie == f"sprocket-{port}={token}; Path=/; HttpOnly; SameSite=Strict"
        assert page.get("/", Cookie=cookie.split(";")[0])[0] == 200
        assert page.get("/state.json", Authorization=f"Bearer {token}")[0] == 200
        assert page.get("/state.json?token=" + token)[0] == 401
        assert token not in page.log.read_text(), "what is no terminal may be a log"
    (tmp_path / "token").write_text("short")
    for address, reason in ((f"0,token={tmp_path / 'token'}", "16 letters"), ("0.0.0.0:0", "in a log")):
        result = sprocket("run", *SCENE, "--frames", 3, "--page", address, check=False)
        assert result.returncode != 0 and reason in one_sentence(result.errors)


def test_a_port_in_use_is_an_error(page, tmp_path):
    port = page.host.split(":")[1]
    result = sprocket("run", *SCENE, "--frames", 3, "--page", port, "--movie", tmp_path / "x.mov",
                      check=False)
    assert result.returncode == 1 and f"127.0.0.1:{port}" in result.errors
    assert not (tmp_path / "x.mov").exists()


def test_a_client_that_says_nothing_is_left(page):
    """Bytes that come one by one end no later than silence does."""
    host, port = page.host.split(":")
    with socket.create_connection((host, int(port)), timeout=30) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: ")
        client.settimeout(0.5)
        begin, isOpen = time.monotonic(), True
        while isOpen and time.monotonic() - begin < 60:
            try:
                client.sendall(b"x")
                isOpen = client.recv(100) != b""
            except TimeoutError:
                continue
            except OSError:
                isOpen = False
        assert not isOpen
    assert page.json("/state.json")["produced"] > 0


def test_clients_that_do_not_read_cost_no_frame(page):
    host, port = page.host.split(":")
    stuck = []
    for _ in range(20):
        client = socket.create_connection((host, int(port)), timeout=LIMIT)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(f"GET /stream.mjpg HTTP/1.1\r\nHost: {page.host}\r\n\r\n".encode())
        stuck.append(client)
    film = cv2.VideoCapture(page.at + "/stream.mjpg")
    assert all(film.read()[0] for _ in range(30))
    film.release()
    for client in stuck:
        client.close()
    page.process.terminate()
    assert page.process.wait(LIMIT) == 0
    summary = read_summary(page.folder / "summary.json")
    assert sum(fates(summary["sinks"]["page"]).values()) == summary["produced"]
    assert summary["sinks"]["movie"].get("behind", 0) == 0


def test_no_more_than_so_many_clients(page):
    host, port = page.host.split(":")
    clients = [socket.create_connection((host, int(port)), timeout=5) for _ in range(64)]
    time.sleep(0.2)
    extra = socket.create_connection((host, int(port)), timeout=5)
    try:
        assert extra.recv(10) == b""
    except ConnectionResetError:
        pass
    for client in clients:
        client.close()
    def answers():
        try:
            return page.get("/state.json")[0] == 200
        except OSError:
            return False

    wait_for(answers, page.process)


def test_a_unix_socket(tmp_path):
    path = tmp_path / "page.socket"
    # One is left of a run that was killed.
    with Page(tmp_path, address=f"unix:{path}") as killed:
        killed.process.kill()
        killed.process.wait(LIMIT)
        killed.process = subprocess.Popen(["true"])
        killed.process.wait(LIMIT)
    with Page(tmp_path, address=f"unix:{path}"):
        result = sprocket("run", *SCENE, "--frames", 3, "--page", f"unix:{path}", check=False)
        assert result.returncode == 1 and "cannot be served" in result.errors
        body = subprocess.run(["curl", "-s", "--unix-socket", path, "http://localhost/state.json"],
                              capture_output=True, timeout=LIMIT).stdout
        assert json.loads(body)["source"] == "scene"


@pytest.mark.parametrize("address", ["x", "70000", "127.0.0.1", "unix:", "1:2:3"])
def test_addresses_that_are_none_are_refused(address):
    result = sprocket("run", *SCENE, "--frames", 3, "--page", address, check=False)
    assert result.returncode == 2 and "page" in one_sentence(result.errors)


def test_what_a_page_watches_is_nobody_elses(page):
    """The recordings of the page itself are no files: nobody stops them."""
    stream = urllib.request.urlopen(page.at + "/stream.mjpg", timeout=LIMIT)
    stream.read(1000)
    for request in ("stop", "pause", "next"):
        for recording in range(1, 6):
            assert page.ask(request=request, recording=recording)["ok"] is False
    # More than the kernel keeps for a reader.
    assert len(stream.read(4_000_000)) == 4_000_000
    stream.close()


def websocket(page):
    host, port = page.host.split(":")
    client = socket.create_connection((host, int(port)), timeout=LIMIT)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall((f"GET /socket HTTP/1.1\r\nHost: {page.host}\r\nOrigin: {page.at}\r\n"
                    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode())
    assert client.recv(12).startswith(b"HTTP/1.1 101")
    return client


def resident(page):
    """Bytes of memory."""
    pages = open(f"/proc/{page.process.pid}/statm").read().split()[1]
    return int(pages) * 4096


@pytest.mark.parametrize("opcode, text", [(1, b"drawn"), (1, b"show"), (9, b"x" * 120)],
                         ids=["drawn", "show", "ping"])
def test_who_asks_and_does_not_read_costs_no_memory(page, opcode, text):
    page.get("/snapshot.jpg")
    before = resident(page)
    clients = [websocket(page) for _ in range(4)]
    frame = bytes([0x80 | opcode, 0x80 | len(text), 0, 0, 0, 0]) + text
    for client in clients:
        client.sendall(bytes([0x81, 0x84, 0, 0, 0, 0]) + b"show")
    for _ in range(60):
        for client in list(clients):
            try:
                client.sendall(frame * 2)
            except OSError:
                clients.remove(client)
        time.sleep(0.05)
    assert resident(page) - before < 40_000_000
    for client in clients:
        client.close()
