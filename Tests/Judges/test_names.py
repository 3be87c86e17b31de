"""The table of AVFoundation's names: each of ours in it exists."""
import re

import pytest

from declarations import declared, public_names
from program import ROOT

TABLE = ROOT / "docs" / "avfoundation.md"
NAME = re.compile(r"[A-Z]\w*(?:\.\w+)*")
# Beginnings of names that are not ours, in notes.
FOREIGN = ("AV", "UI", "CM", "CG", "PH")


@pytest.fixture(scope="module")
def known():
    return public_names("SprocketCapture")


def rows():
    """Line number and cells of each row of each table."""
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        if line.startswith("|") and not line.startswith("| ---"):
            cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
            if cells[1] != "Sprocket":
                yield number, line, cells


def test_each_row_has_a_name_or_says_why_not():
    count = 0
    for number, line, _ in rows():
        count += 1
        cells = re.fullmatch(r"\| (.+?) \| (.+?) \|(.*)\|", line)
        assert cells, f"line {number} is not a row of three cells"
        ours, note = cells[2], cells[3].strip()
        if "`" not in ours:
            assert ours == "none" or ours.startswith("Swift: "), f"line {number}: {ours}"
            assert note or ours != "none", f"line {number} does not say why there is none"
    assert count > 250


def test_each_of_our_names_exists(known):
    wrong = []
    for number, _, cells in rows():
        for name in re.findall(r"`([^`]*)`", cells[1]):
            if not NAME.fullmatch(name) or name not in known:
                wrong.append(f"line {number}: {name}")
        for name in re.findall(r"`([^`]*)`", " ".join(cells[2:])):
            is_ours = NAME.fullmatch(name) and "." in name and not name.startswith(FOREIGN)
            if is_ours and name not in known:
                wrong.append(f"line {number}, in the note: {name}")
    assert not wrong, f"{TABLE.name} has names that do not exist:\n" + "\n".join(wrong)


def test_public_declarations_are_found():
    found = declared('''
        public struct A<T>: P { // public var no: Int
          public let a, b: Int
          public private(set) var c = "}\\(f("{"))"
          var hidden = 0
          public enum E: String { case one, two(x: (Int, Int), y: Int), three = "{" }
          enum Hidden { case four }
          public init?(_ x: Int) { let local = { 1 }; switch x { case 0: break; default: break } }
          public static func `default`() {}
        }
        extension A where T: Q { public class B { open func m() { func local() {} } } }
        public protocol R { func required(); associatedtype V }
        public extension A.B { var e: Int { 1 } }
    ''')
    assert found == {"A", "A.a", "A.b", "A.c", "A.E", "A.E.one", "A.E.two", "A.E.three", "A.init",
                     "A.default", "A.B", "A.B.m", "R", "R.required", "R.V", "A.B.e"}


def test_what_is_not_public_is_not_known(known):
    assert {"CaptureSession.start", "FrameRecord.captured", "ExposureReport.offset"} <= known
    assert not {"CaptureSession.shape", "OutputCore.link.isEnabled", "CaptureDevice.Kind.scene"} & known
