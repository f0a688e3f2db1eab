"""Rows of the data set as a Parquet file; it needs the extra `parquet`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, BinaryIO, Final, assert_never

import pyarrow as pa
from pyarrow import parquet

from service.labs.dataset import COLUMNS, Json, Scalar, Type

_SCALARS: Final = {
    Scalar.STRING: pa.string(),
    Scalar.INTEGER: pa.int32(),
    Scalar.BOOLEAN: pa.bool_(),
}

ROW_GROUP_SIZE: Final = 20_000
"""Rows of a row group of the file; no more rows are held in memory at a time."""


def arrow_type(type_: Type) -> Any:
    """Return the Arrow type for the type of a data set column."""
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
        while group := list(islice(left, ROW_GROUP_SIZE)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema()))
