"""Streams rows as Parquet, where pyarrow is installed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from tercet.errors import Invalid
from tercet.web.zip_stream import Sink

MISSING = "Parquet needs pyarrow, which this server does not have: pip install 'tercet[parquet]'."


def parquet_pieces(pages: Iterable[Mapping[str, Sequence[Any]]], types: Mapping[str, str]) -> Iterator[bytes]:
    """Return the pieces of a Parquet file, a row group for each page of columns; `types` are names that pyarrow knows.

    Raise Invalid at once where pyarrow is not installed.
    """
    if find_spec("pyarrow") is None:
        raise Invalid(MISSING)
    return _write(pages, types)


def _write(pages: Iterable[Mapping[str, Sequence[Any]]], types: Mapping[str, str]) -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {"time": pa.timestamp("ms", tz="UTC")}
    fields = [(name, kinds.get(kind) or pa.type_for_alias(kind)) for name, kind in types.items()]
    schema = pa.schema(fields)
    sink = Sink()
    with parquet.ParquetWriter(pa.PythonFile(sink, mode="w"), schema) as writer:
        for page in pages:
            writer.write_table(pa.table(dict(page), schema=schema))
            yield sink.drain()
    yield sink.drain()
