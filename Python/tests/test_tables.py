"""Lines of reports as columns."""
import json

import numpy as np
import pytest

import sprocket

BIG = 2**60 + 1
LINES = [
    {"sequence": 0, "epoch": 0, "captured_ns": BIG, "clock": "monotonic", "fate": "delivered", "gain": 1,
     "focus": {"score": 1, "grid": [1, 2.5], "state": "sharp"}, "motion": {"dark": False},
     "events": [{"kind": "x"}]},
    {"sequence": 2, "epoch": 0, "captured_ns": None, "clock": None, "fate": "missing"},
    {"sequence": 3, "epoch": 1, "captured_ns": BIG + 2, "clock": "monotonic", "fate": "late",
     "stage": "latedrop",
     "gain": 1.5, "focus": {"score": None, "grid": [None, 4], "state": "blurred"}, "motion": {"dark": True}},
]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "reports.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES) + '{"sequence": 4, "epo')
    return sprocket.reports(path)


def test_each_kind_of_value_has_its_type(table):
    assert table["sequence"].tolist() == [0, 2, 3] and table["sequence"].dtype == np.int64
    assert table["fate"].tolist() == ["delivered", "missing", "late"]
    assert table["captured_ns"].tolist() == [BIG, None, BIG + 2]
    np.testing.assert_array_equal(table["gain"], [1, np.nan, 1.5])
    np.testing.assert_array_equal(table["focus.score"], [1, np.nan, np.nan])
    np.testing.assert_array_equal(table["focus.grid"], [[1, 2.5], [np.nan, np.nan], [np.nan, 4]])
    assert table["motion.dark"].tolist() == [False, None, True]
    assert table["stage"].tolist() == [None, None, "latedrop"]
    assert "events" not in table and table.lines[0]["events"] and len(table.lines) == 3


def test_an_unknown_column_is_told_with_those_there_are(table):
    with pytest.raises(sprocket.NoSuchItem, match="there is no column focus.scor; there are: sequence, "):
        table["focus.scor"]


def test_what_is_no_file_of_reports_is_told(tmp_path):
    (tmp_path / "a.txt").write_text("1\n")
    with pytest.raises(sprocket.Error, match="a.txt:1 is no line of --reports"):
        sprocket.reports(tmp_path / "a.txt")
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(sprocket.Error, match="a.txt:1 is no line of --reports"):
        sprocket.reports(tmp_path / "a.txt")
    (tmp_path / "b.txt").write_text("")
    assert len(sprocket.reports(tmp_path / "b.txt")) == 0


def test_a_file_that_is_not_there_or_cannot_be_read_is_told(tmp_path):
    for read in (sprocket.reports, sprocket.Dump):
        with pytest.raises(sprocket.Error, match="there is no file .*nothing") as error:
            read(tmp_path / "nothing")
        assert isinstance(error.value, FileNotFoundError)
        with pytest.raises(sprocket.Error, match="cannot be read: Is a directory"):
            read(tmp_path)


def test_pandas_has_the_same(table):
    pandas = pytest.importorskip("pandas")
    frame = table.to_pandas()
    assert frame["captured_ns"].tolist()[::2] == [BIG, BIG + 2] and frame["captured_ns"].isna()[1]
    assert list(frame.columns) == list(table) and isinstance(frame, pandas.DataFrame)


def test_without_pandas_one_sentence_says_what_to_install(table, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(sprocket.Error, match="pip install pandas"):
        table.to_pandas()
