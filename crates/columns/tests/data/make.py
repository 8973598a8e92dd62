"""Writes the files of other writers, and what pyarrow reads in all files of this folder.

usage: make.py (with pyarrow, polars and duckdb)
"""

from __future__ import annotations

import struct
from pathlib import Path

import duckdb
import polars
import pyarrow
import pyarrow.parquet

FOLDER = Path(__file__).parent
ROWS = 40


def table() -> pyarrow.Table:
    def optional(values: list[object], kind: pyarrow.DataType) -> pyarrow.Array:
        return pyarrow.array([None if i % 7 == 3 else value for i, value in enumerate(values)], kind)

    rows = range(ROWS)
    return pyarrow.table(
        {
            "int64": optional([i * 10**15 - 3 for i in rows], pyarrow.int64()),
            "int32": optional([-i for i in rows], pyarrow.int32()),
            "int8": optional([i % 3 - 1 for i in rows], pyarrow.int8()),
            "uint32": optional([2**32 - 1 - i for i in rows], pyarrow.uint32()),
            "uint64": optional([2**62 + i for i in rows], pyarrow.uint64()),
            "double": optional([i / 3 for i in rows], pyarrow.float64()),
            "float": optional([i / 8 for i in rows], pyarrow.float32()),
            "yes": optional([i % 5 < 2 for i in rows], pyarrow.bool_()),
            "few": optional([f"é{i // 9}" for i in rows], pyarrow.string()),
            "many": optional([f"text {i}" for i in rows], pyarrow.string()),
            "none": pyarrow.array([None] * ROWS, pyarrow.float64()),
        }
    )


def required(table: pyarrow.Table) -> pyarrow.Table:
    """The columns that can be whole, none of them optional."""
    full = table.drop_columns(["none"]).filter(table["int64"].is_valid())
    return full.cast(pyarrow.schema([field.with_nullable(False) for field in full.schema]))


def text_of(table: pyarrow.Table) -> str:
    def cell(value: object) -> str:
        if value is None:
            return "-"
        if isinstance(value, float):
            return struct.pack(">d", value).hex()
        return str(int(value) if isinstance(value, bool) else value)

    rows = [",".join(cell(value) for value in row.values()) for row in table.to_pylist()]
    return "\n".join([",".join(table.column_names), *rows, ""])


def main() -> None:
    whole = table()
    write = pyarrow.parquet.write_table
    write(whole, FOLDER / "pyarrow.parquet", row_group_size=16, store_schema=False)
    write(whole, FOLDER / "pyarrow-v2.parquet", data_page_version="2.0", store_schema=False)
    write(
        required(whole),
        FOLDER / "pyarrow-required.parquet",
        data_page_version="2.0",
        compression="none",
        version="1.0",
        store_schema=False,
    )
    write(
        whole,
        FOLDER / "pyarrow-plain.parquet",
        use_dictionary=False,
        write_batch_size=8,
        data_page_size=64,
        store_schema=False,
    )
    frame = polars.from_arrow(whole)
    assert isinstance(frame, polars.DataFrame)
    frame.write_parquet(FOLDER / "polars.parquet", compression="snappy", statistics=False)
    frame.write_parquet(FOLDER / "polars-plain.parquet", compression="uncompressed", data_page_size=64)
    duckdb.from_arrow(whole).write_parquet(str(FOLDER / "duckdb.parquet"))
    for path in FOLDER.glob("*.parquet"):
        path.with_suffix(".txt").write_text(text_of(pyarrow.parquet.read_table(path)))


main()
