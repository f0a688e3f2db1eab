"""Rows of the data set as a Parquet file; it needs the extra `parquet`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, BinaryIO, Final, assert_never

import pyarrow as pa
from pyarrow import parquet

from service.simulation.dataset import COLUMNS, Json, Scalar, Type

_SCALARS: Final = {
    Scalar.STRING: pa.string(),
    Scalar.INTEGER: pa.int32(),
    Scalar.BOOLEAN: pa.bool_(),
}

ROWS_OF_A_GROUP: Final = 20_000
"""Rows held in memory at a time, and those of a row group."""


def arrow_type(type_: Type) -> Any:
    """Return the type of Arrow for a type of a column."""
    match type_:
        case Scalar():
            return _SCALARS[type_]
        case (element,):
            return pa.list_(arrow_type(element))
        case dict():
            return pa.struct([(name, arrow_type(of)) for name, of in type_.items()])
        case _:
            assert_never(type_)


def schema() -> Any:
    """Return the schema of the file: the columns in their order."""
    return pa.schema([(name, arrow_type(column.type)) for name, column in COLUMNS.items()])


def write_parquet(rows: Iterable[Json], file: BinaryIO) -> None:
    """Write rows as one Parquet file; the same rows and version of pyarrow give the same bytes."""
    left = iter(rows)
    with parquet.ParquetWriter(file, schema(), compression="zstd", version="2.6") as writer:
        while group := list(islice(left, ROWS_OF_A_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema()))
