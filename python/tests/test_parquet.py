"""Parquet files: others read ours, and we read theirs."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Callable

import duckdb
import polars
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest

STAR = """
duration = "1ms"
[topology.star]
hosts = 4
rate = "100Gbps"
delay = "1us"
[cc]
scheme = "hpcc"
[record]
queue = "1us"
rates = "10us"
"""
INCAST = '[[workload]]\nlabel = "incast"\nincast = { fan-in = 3, receiver = 4, size = "50KB" }\n'
TRACE = '[[workload]]\ntrace = { file = "trace.parquet", ignore = ["yes"] }\n'
ROWS = 300


def run(command: Path, scenario: str, *options: str) -> str:
    Path("my.toml").write_text(scenario)
    words = [str(command), "run", "my.toml", "--quiet", "--force", *options]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_others_read_what_is_written(command: Path) -> None:
    run(command, STAR + INCAST, "--out", "text")
    run(command, STAR + INCAST, "--out", "run", "--format", "parquet")
    text = pyarrow.csv.read_csv("text/flows.csv").to_pylist()
    assert pyarrow.parquet.read_table("run/flows.parquet").to_pylist() == text
    for path in ["run/flows.parquet", "run/series.parquet"]:
        rows = pyarrow.parquet.read_table(path)
        assert rows.num_rows > 2
        assert polars.read_parquet(path).to_dicts() == rows.to_pylist()
        assert duckdb.read_parquet(path).to_arrow_table().to_pylist() == rows.to_pylist()
    metadata = pyarrow.parquet.read_metadata("run/series.parquet").metadata
    assert sorted(metadata) == [b"resolution", b"scenario", b"scheme", b"seed", b"version"]


def flows() -> pyarrow.Table:
    """A trace: columns of all kinds, with a value missing now and then."""
    rows = range(ROWS)
    return pyarrow.table(
        {
            "start_us": pyarrow.array([i / 4 for i in rows], pyarrow.float64()),
            "src": pyarrow.array([1 + i % 3 for i in rows], pyarrow.uint8()),
            "dst": pyarrow.array([4 for _ in rows], pyarrow.int32()),
            "size_bytes": pyarrow.array([1000 + i for i in rows], pyarrow.int64()),
            "priority": pyarrow.array([3 if i % 5 else None for i in rows], pyarrow.int64()),
            "label": pyarrow.array([["a", "bé", "c"][i % 3] for i in rows]),
            "delay_us": pyarrow.array([i % 2 / 2 for i in rows], pyarrow.float32()),
            "yes": pyarrow.array([i % 7 == 0 for i in rows]),
        }
    )


def by_duckdb(table: pyarrow.Table, path: str, **options: Any) -> None:
    duckdb.from_arrow(table).write_parquet(path, **options)


def by_duckdb_of_version_2(table: pyarrow.Table, path: str) -> None:
    duckdb.from_arrow(table).query("flows", f"COPY (SELECT size_bytes FROM flows) TO '{path}' (PARQUET_VERSION v2)")


def by_polars(table: pyarrow.Table, path: str, **options: Any) -> None:
    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)
    frame.write_parquet(path, **options)


by_pyarrow = pyarrow.parquet.write_table
SOUND: list[tuple[Callable[..., None], dict[str, Any]]] = [
    (by_pyarrow, {}),
    (by_pyarrow, {"data_page_version": "2.0", "row_group_size": 100}),
    (by_pyarrow, {"use_dictionary": False, "write_batch_size": 8, "data_page_size": 64}),
    (by_pyarrow, {"compression": "none", "version": "1.0"}),
    (by_polars, {"compression": "snappy"}),
    (by_polars, {"compression": "uncompressed", "row_group_size": 100}),
    (by_duckdb, {}),
    (by_duckdb, {"compression": "uncompressed", "row_group_size": 100}),
]


def test_what_others_write_is_read(command: Path) -> None:
    pyarrow.csv.write_csv(flows(), "trace.csv")
    run(command, STAR + TRACE.replace(".parquet", ".csv"), "--out", "text")
    expected = Path("text/flows.csv").read_text()
    assert len(expected.splitlines()) == ROWS + 1
    for write, options in SOUND:
        write(flows(), "trace.parquet", **options)
        run(command, STAR + TRACE, "--out", "run")
        assert Path("run/flows.csv").read_text() == expected, (write, options)


ODD = pyarrow.array([[1]] * ROWS)
DATES = pyarrow.array([0] * ROWS, pyarrow.timestamp("us"))
REFUSED: list[tuple[Callable[[], None], str]] = [
    (lambda: by_polars(flows(), "trace.parquet"), "compressed with ZSTD: expected SNAPPY, or UNCOMPRESSED"),
    (
        lambda: by_duckdb_of_version_2(flows(), "trace.parquet"),
        "column `size_bytes`: its encoding is DELTA_BINARY_PACKED: expected PLAIN or RLE_DICTIONARY",
    ),
    (lambda: by_pyarrow(flows().append_column("odd", ODD), "trace.parquet"), "column `odd` is nested"),
    (lambda: by_pyarrow(flows().append_column("at", DATES), "trace.parquet"), "column `at` has timestamps"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_is_not_read_is_named(command: Path, case: int) -> None:
    write, message = REFUSED[case]
    write()
    Path("my.toml").write_text(STAR + TRACE)
    done = subprocess.run([str(command), "run", "my.toml"], capture_output=True, text=True)
    said = " ".join(done.stderr.replace("│", " ").split())
    assert done.returncode == 2 and "trace.parquet" in said and message in said, done.stderr
