"""Encodes rows of any table as JSON, and decodes them with a check of every value against its column's type."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import JSON, BigInteger, Boolean, Column, Float, Integer, String, Uuid

from tercet.models.base import UtcDateTime
from tercet.web.numbers import LARGEST, LARGEST_BYTES
from tercet.web.texts import fault_of_text

Row = dict[str, Any]


def encode(row: Mapping[str, Any]) -> bytes:
    """Return a row as a line of NDJSON."""
    return json.dumps(row, ensure_ascii=False, default=_encode_value).encode() + b"\n"


def _encode_value(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def decode(expected: Iterable[Column[Any]], raw: Any) -> Row:
    """Return a row with values for the database; raise ValueError with the name of a wrong column."""
    if not isinstance(raw, dict):
        raise ValueError("is not a JSON object")
    columns = {column.name: column for column in expected}
    if unknown := sorted(raw.keys() - columns.keys()):
        raise ValueError(f"has the column '{unknown[0]}', which this version of Tercet does not know: update it")
    row = {}
    for name, value in raw.items():
        try:
            row[name] = _decode_value(columns[name], value)
        except ValueError as error:
            raise ValueError(f"column '{name}' {error}") from None
    missing = [name for name, column in columns.items() if name not in row and _is_required(column)]
    if missing:
        raise ValueError(f"lacks the column '{missing[0]}'")
    return row


def _is_required(column: Column[Any]) -> bool:
    return not column.nullable and column.default is None and column.server_default is None


def _decode_value(column: Column[Any], value: Any) -> Any:
    if value is None:
        if not column.nullable:
            raise ValueError("is empty")
        return None
    for kind, reader in _READERS.items():
        if isinstance(column.type, kind):
            return reader(column, value)
    raise AssertionError(f"no reader for columns of {column.type!r}")


def _time(_: Column[Any], value: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"holds {value!r:.40}, not a time") from None
    if moment.tzinfo is None:
        raise ValueError("holds a time without its zone")
    return moment


def _uuid(_: Column[Any], value: Any) -> UUID:
    try:
        return UUID(value)
    except (AttributeError, TypeError, ValueError):
        raise ValueError(f"holds {value!r:.40}, not a UUID") from None


def _json(column: Column[Any], value: Any) -> Any:
    default: Any = column.default
    expected = type(default.arg(None)) if default is not None and default.is_callable else (dict, list)
    if not isinstance(value, expected):
        raise ValueError(f"holds {value!r:.40}, which is of another type")
    return value


def _boolean(_: Column[Any], value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"holds {value!r:.40}, not true or false")
    return value


def _whole(column: Column[Any], value: Any) -> int:
    largest = LARGEST_BYTES if isinstance(column.type, BigInteger) else LARGEST
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > largest:
        raise ValueError(f"holds {value!r:.40}, not a whole number up to {largest}")
    return value


def _number(_: Column[Any], value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"holds {value!r:.40}, not a finite number")
    return float(value)


def _text(column: Column[Any], value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"holds {value!r:.40}, not a text")
    longest = getattr(column.type, "length", None)
    if longest is not None and len(value) > longest:
        raise ValueError(f"holds {len(value)} characters; at most {longest} fit")
    if fault := fault_of_text(value):
        raise ValueError(fault)
    return value


_READERS: dict[type, Callable[[Column[Any], Any], Any]] = {
    UtcDateTime: _time,
    Uuid: _uuid,
    JSON: _json,
    Boolean: _boolean,
    Integer: _whole,
    Float: _number,
    String: _text,
}
