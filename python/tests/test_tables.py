"""Tables in the hands of others."""

from __future__ import annotations

import subprocess
import sys

import paceline
import pandas
import polars
import pyarrow
import pyarrow.csv
import pytest
from conftest import TINY


def test_flows_are_those_of_the_file() -> None:
    run = paceline.run(TINY, out="run")
    ours = pyarrow.table(run.flows)
    theirs = pyarrow.csv.read_csv("run/flows.csv")
    assert ours.column_names == theirs.column_names == run.flows.columns
    assert ours.to_pydict() == theirs.to_pydict() == run.flows.to_dict()
    assert len(run.flows) == 3
    assert run.flows["src"] == [1, 2, 3]
    assert "3 rows: flow_id, label" in repr(run.flows)
    with pytest.raises(KeyError, match="there is no column `sise`"):
        run.flows["sise"]


def test_series_are_those_of_the_file() -> None:
    import pyarrow.parquet

    run = paceline.run(TINY, out="run")
    file = pyarrow.parquet.read_table("run/series.parquet").to_pylist()
    for name, table in run.series.items():
        assert pyarrow.table(table).to_pylist() == [row for row in file if row["metric"] == name]
    assert sum(len(table) for table in run.series.values()) == len(file) > 100
    assert {"queue_bytes", "goodput_bps"} <= run.series.keys()


def test_columns_are_not_copied() -> None:
    flows = paceline.run(TINY).flows
    addresses = [
        [buffer.address for buffer in pyarrow.table(flows)["size_bytes"].chunk(0).buffers() if buffer]
        for _ in range(2)
    ]
    assert addresses[0] == addresses[1] and addresses[0]


def test_pandas_and_polars_read_them() -> None:
    run = paceline.run(TINY)
    frame = run.flows.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and frame["size_bytes"].sum() == 150_000
    assert (frame["status"] == "completed").all()
    frame = polars.DataFrame(run.flows)
    assert frame["size_bytes"].sum() == 150_000 and frame["label"].to_list() == ["incast"] * 3
    assert run.flows.to_polars().equals(frame)
    assert pyarrow.schema(run.flows) == pyarrow.table(run.flows).schema


def test_tables_outlive_their_run() -> None:
    table = pyarrow.table(paceline.run(TINY).flows)
    assert table["size_bytes"].to_pylist() == [50_000] * 3


def test_many_flows_come_in_parts() -> None:
    """More than a part has; labels are the same in all of them."""
    flows = {
        "label": "short",
        "poisson": {"load": 0.3, "sizes": [{"size": "100B", "share": 1.0}], "to": "1ms"},
    }
    run = paceline.run({**TINY, "duration": "1s", "workload": [flows], "record": {"accounts": "off"}})
    assert len(run.flows) > 1 << 17
    table = pyarrow.table(run.flows)
    assert table["flow_id"].to_pylist() == list(range(len(run.flows)))
    assert polars.DataFrame(run.flows)["label"].unique().to_list() == ["short"]
    assert run.flows.to_pandas()["label"].unique().tolist() == ["short"]


def test_pyarrow_is_not_needed() -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
import paceline, polars
from conftest import TINY
flows = paceline.run(TINY).flows
assert polars.DataFrame(flows)["size_bytes"].sum() == 150_000
assert flows.to_pandas()["size_bytes"].sum() == 150_000
"""
    from conftest import ROOT

    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT / "python" / "tests")
