"""The stage `codes` on films of codes that Debian's encoders drew, beside `zbarimg` and OpenCV."""
import base64
import json
import subprocess
import xml.etree.ElementTree as ElementTree

import cv2
import numpy as np
import pytest

from program import LIMIT, one_sentence, sprocket

WIDTH, HEIGHT = 640, 480
BARS = {"ean13": ("EANX", "590123412345"), "ean8": ("EANX", "9638507"), "upca": ("UPCA", "03600029145"),
        "upce": ("UPCE", "0425261"), "code128": ("CODE128", "Sprocket-128"), "code39": ("CODE39", "FRAME39"),
        "code93": ("CODE93", "Frame93"), "i25": ("C25INTER", "12345670"), "codabar": ("CODABAR", "A40156B"),
        "databar": ("DBAR_OMN", "0950110153001"), "databar_expanded": ("DBAR_EXP", "[01]09501101530003")}
PAYLOADS = [b"Sprocket", b'"\\/\t\x1f\x7f', b"a\0b\xff\0c", "Grüße, 世界".encode(),
            bytes(7 * i % 256 for i in range(2900))]


def qr(payload, folder, level="L"):
    """A code of one pixel per module, without border."""
    source, path = folder / "payload", folder / "code.png"
    source.write_bytes(payload)
    subprocess.run(["qrencode", "-8", "-s", "1", "-m", "0", "-l", level, "-r", source, "-o", path],
                   check=True, timeout=LIMIT)
    return cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)


def bars(kind, folder):
    """The bars of a code, one pixel per module, 40 high."""
    name, data = BARS[kind]
    path = folder / "code.png"
    subprocess.run(["zint", "-b", name, "-d", data, "-o", path, "--scale", "0.5", "--notext", "--height",
                    "40"], check=True, timeout=LIMIT, stdout=subprocess.DEVNULL)
    row = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)[10]
    dark = np.flatnonzero(row < 128)
    return np.tile(row[dark[0]:dark[-1] + 1], (40, 1))


def drawn(picture, code, module, degrees=0, middle=(WIDTH / 2, HEIGHT / 2)):
    """Draws a code into the picture; returns its corners from the top left on, with the clock."""
    height, width = code.shape
    turn = np.deg2rad(degrees)
    matrix = module * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    shift = np.array(middle) - matrix @ [(width - 1) / 2, (height - 1) / 2]
    # Enlarged without smoothing first, so that modules have sharp borders.
    factor = 8
    large = np.kron(code, np.ones((factor, factor), np.uint8))
    fine = np.column_stack([matrix / factor, shift - matrix @ np.full(2, 0.5 - 0.5 / factor)])
    # OpenCV's maps have whole numbers in the middle of pixels, as ours have.
    warped = cv2.warpAffine(large, fine, picture.shape[::-1], flags=cv2.INTER_LINEAR, borderValue=255)
    np.minimum(picture, np.maximum(warped, 20), out=picture)
    ends = [(-0.5, -0.5), (width - 0.5, -0.5), (width - 0.5, height - 0.5), (-0.5, height - 0.5)]
    return np.array([matrix @ end + shift for end in ends])


def blank(width=WIDTH, height=HEIGHT):
    return np.full((height, width), 210, np.uint8)


def found(pictures, folder, *stages, types="all"):
    """What the stage reports of each picture."""
    path = folder / "film.mkv"
    height, width = pictures[0].shape
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "gray", "-s",
                    f"{width}x{height}", "-r", "25", "-i", "-", "-c:v", "ffv1", path],
                   input=b"".join(picture.tobytes() for picture in pictures), check=True, timeout=LIMIT)
    before = [part for stage in stages for part in ("--stage", stage)]
    lines = sprocket("run", "--source", f"file:{path}", *before, "--stage",
                     f"codes:interval=0s,types={types}", "--reports", "-", "--quiet").stdout.splitlines()
    reports = [json.loads(line)["codes"] for line in lines]
    assert len(reports) == len(pictures)
    return reports


def zbarimg(picture, folder):
    """What zbarimg reads in a picture: pairs of its name of the type, and the text."""
    path = folder / "picture.png"
    cv2.imwrite(str(path), picture)
    text = subprocess.run(["zbarimg", "-q", "--xml", "-Sdisable=0", "-Scodabar.enable", "-Si25.enable", path],
                          capture_output=True, timeout=LIMIT).stdout
    space = "{http://zbar.sourceforge.net/2008/barcode}"
    return [(symbol.get("type"), symbol.find(space + "data").text)
            for symbol in ElementTree.fromstring(text).iter(space + "symbol")]


def distance(code, corners):
    return np.abs(np.array(code["corners"]).reshape(4, 2) - corners).max()


def payload(code):
    if code["text"] is None:
        return base64.b64decode(code["base64"])
    assert code["base64"] is None
    return code["text"].encode()


def test_turned_codes_lie_where_they_were_drawn_and_where_opencv_sees_them(tmp_path):
    code, pictures, truths = qr(b"Sprocket", tmp_path), [], []
    for degrees in [0, 30, 45, 90, 133, 180, 270, 315]:
        pictures.append(blank())
        truths.append(drawn(pictures[-1], code, 7.3, degrees, (300.4 + degrees / 20, 222.7)))
    for picture, truth, report in zip(pictures, truths, found(pictures, tmp_path)):
        assert report["count"] == 1 and report["omitted"] == 0
        seen = report["codes"][0]
        assert (seen["type"], seen["text"], seen["bytes"]) == ("qr", "Sprocket", 8)
        assert distance(seen, truth) < 2
        text, points, _ = cv2.QRCodeDetector().detectAndDecode(picture)
        if text:
            assert text == seen["text"] and distance(seen, points[0]) < 4


@pytest.mark.parametrize("kind", BARS)
def test_bars_are_read_as_zbarimg_reads_them(kind, tmp_path):
    code, pictures, truths = bars(kind, tmp_path), [], []
    for degrees in [0, 8, 90, 180, 270]:
        pictures.append(blank())
        truths.append(drawn(pictures[-1], code, 2.6, degrees))
    for picture, truth, report in zip(pictures, truths, found(pictures, tmp_path, types=kind)):
        assert {seen["type"] for seen in report["codes"]} == {kind}
        texts = [text for _, text in zbarimg(picture, tmp_path)]
        codes = [code for code in report["codes"] if code["text"] in texts]
        # Of 2 of 5, part of a code passes for another one.
        assert len(codes) >= 1 and (len(report["codes"]) == 1 or kind == "i25")
        # The library knows the ends of some kinds within three modules; a DataBar's halves are read apart.
        if not kind.startswith("databar"):
            assert min(distance(code, truth) for code in codes) < 2 + 3 * 2.6


def test_payloads_are_exact(tmp_path):
    codes = [qr(payload, tmp_path) for payload in PAYLOADS]
    pictures = [blank(720, 720) for _ in codes]
    for picture, code in zip(pictures, codes):
        drawn(picture, code, max(3, 120 // len(code)), middle=(360, 360))
    for expected, report in zip(PAYLOADS, found(pictures, tmp_path)):
        assert [payload(code) for code in report["codes"]] == [expected]
        assert report["codes"][0]["bytes"] == len(expected)


def test_several_codes_in_noise_and_blur_are_all_found(tmp_path):
    picture = blank(960, 540)
    random = np.random.default_rng(5)
    drawn(picture, qr(b"one", tmp_path), 6, 12, (150, 150))
    drawn(picture, qr(b"two", tmp_path), 5, 200, (420, 380))
    drawn(picture, bars("ean13", tmp_path), 2.5, 0, (720, 130))
    drawn(picture, bars("code128", tmp_path), 2, 5, (720, 400))
    soft = cv2.GaussianBlur(picture, (0, 0), 1)
    noisy = np.clip(soft + random.normal(0, 8, soft.shape), 0, 255).astype(np.uint8)
    clean, rough = found([picture, noisy], tmp_path)
    expected = ["5901234123457", "Sprocket-128", "one", "two"]
    assert sorted(code["text"] for code in clean["codes"]) == expected
    texts = {code["text"] for code in rough["codes"]}
    assert texts >= {"one", "two"}
    assert texts & set(expected) == {text for _, text in zbarimg(noisy, tmp_path)} & set(expected)


def test_corners_are_the_sensors_whatever_moves_the_picture(tmp_path):
    picture = blank()
    truth = drawn(picture, qr(b"Sprocket", tmp_path), 6, 20, (330, 250))
    for stages in [["crop:region=0.1/0.1/0.8/0.8"], ["rotate:turn=90"],
                   ["crop:region=0.2/0.1/0.7/0.8", "rotate:turn=180", "resize:size=400x400,mode=letterbox"]]:
        report, = found([picture], tmp_path, *stages)
        assert report["count"] == 1, stages
        assert distance(report["codes"][0], truth) < 3, stages


def test_damaged_codes_and_noise_are_no_harm(tmp_path):
    random = np.random.default_rng(18)
    codes = [qr(PAYLOADS[0], tmp_path, "H"), *(bars(kind, tmp_path) for kind in BARS)]
    pictures = []
    for _ in range(200):
        picture = blank(320, 240)
        for _ in range(random.integers(4)):
            code = codes[random.integers(len(codes))]
            drawn(picture, code, random.uniform(1, 6), random.uniform(0, 360), random.uniform(0, 240, 2))
        for _ in range(random.integers(12)):
            x, y, w, h = random.integers(0, 200, 4)
            picture[y:y + h, x:x + w] ^= random.integers(256, dtype=np.uint8)
        mask = random.random(picture.shape) < random.choice([0, 0, 0.01, 0.2, 1])
        picture[mask] = random.integers(0, 256, mask.sum())
        pictures.append(picture)
    assert sum(report["count"] for report in found(pictures, tmp_path, types="all")) > 0


def test_unknown_types_are_refused(tmp_path):
    result = sprocket("run", "--source", "scene", "--stage", "codes:types=qr/pdf417", "--frames", "1",
                      check=False)
    assert result.returncode != 0
    text = one_sentence(result.errors)
    assert "types=qr/pdf417 is not allowed" in text and "databar_expanded" in text
