"""Parquet files; the only module that knows pyarrow, which is an extra."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import IO, Any, Final

from kictl.errors import UsageError

GROUP: Final = 20_000
"""Records of one row group, the most that are held."""


def write(
    columns: Mapping[str, str], rows: Iterable[Mapping[str, Any]], about: Mapping[str, str], to: IO[bytes]
) -> None:
    """Writes one file. `columns` are names and types: text, integer, number, flag or json; `about` is its metadata.

    Raises UsageError where pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        hint = "install it with kictl: pip install 'kictl[parquet]'"
        raise UsageError("writing Parquet needs pyarrow", code="no_pyarrow", hint=hint) from error
    types = {
        "text": pa.string(),
        "json": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "flag": pa.bool_(),
    }
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()], metadata=dict(about))
    remaining = iter(rows)
    with parquet.ParquetWriter(to, schema, compression="zstd") as writer:
        while group := list(islice(remaining, GROUP)):
            writer.write_table(pa.Table.from_pylist(group, schema=schema))
