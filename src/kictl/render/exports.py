"""Exported records in every format, record by record: what is written is never held whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import IO, Any, Final

from kictl import canonical
from kictl.render import csv, markdown
from kictl.workflow.exporting import Columns, Sheet

Writer = Callable[[Sheet, IO[bytes]], None]


def jsonl(sheet: Sheet, stream: IO[bytes]) -> None:
    """An object on each line: the members of its head, then its own."""
    for batch in sheet.batches:
        for row in batch.rows:
            stream.write(canonical.to_json({**batch.head, **row}) + b"\n")


def one_json(sheet: Sheet, stream: IO[bytes]) -> None:
    """One object: what is said of the whole, and `groups`, each with its head and its `rows`."""
    start = {"export": sheet.name, **sheet.about}
    stream.write(canonical.to_json(start)[:-1] + b',"groups":[')
    for number, batch in enumerate(sheet.batches):
        stream.write(b",\n" * bool(number) + canonical.to_json(batch.head)[:-1] + b"," * bool(batch.head))
        stream.write(b'"rows":[')
        for place, row in enumerate(batch.rows):
            stream.write((b",\n" if place else b"\n") + canonical.to_json(row))
        stream.write(b"]}")
    stream.write(b"]}\n")


def as_csv(sheet: Sheet, stream: IO[bytes]) -> None:
    """RFC 4180, formulas defused: the columns of the head, then those of the record."""
    columns = {**sheet.head, **sheet.columns}
    rows = ([_text(value, columns[name]) for name, value in row.items()] for row in _rows(sheet))
    for line in csv.lines(list(columns), rows):
        stream.write(line.encode())


def as_markdown(sheet: Sheet, stream: IO[bytes]) -> None:
    """A table for each head, escaped."""

    def write(*lines: str) -> None:
        stream.write("".join(f"{line}\n" for line in lines).encode())

    write(f"## {sheet.name}", "", *_facts(sheet.about), "")
    for batch in sheet.batches:
        if batch.head:
            title = " · ".join(str(batch.head[name]) for name in ("definition", "gpu", "stack") if batch.head.get(name))
            write(f"### {markdown.escape(title)}", "", *_facts(batch.head), "")
        numeric = [kind in ("integer", "number") for kind in sheet.columns.values()]
        write(markdown.line([markdown.escape(name) for name in sheet.columns]))
        write(markdown.line(["---:" if right else ":---" for right in numeric]))
        for row in batch.rows:
            write(markdown.line([_cell(row[name], kind) for name, kind in sheet.columns.items()]))
        write("")


def as_parquet(sheet: Sheet, stream: IO[bytes]) -> None:
    """One file, what is said of the whole in its metadata; manifests are JSON text. UsageError without pyarrow."""
    from kictl.render import parquet

    columns = {**sheet.head, **sheet.columns}
    rows = ({name: _parquet(value, columns[name]) for name, value in row.items()} for row in _rows(sheet))
    about = {name: value for name, value in {"export": sheet.name, **sheet.about}.items() if value is not None}
    parquet.write(columns, rows, about, stream)


FORMATS: Final[dict[str, Writer]] = {
    "jsonl": jsonl,
    "json": one_json,
    "csv": as_csv,
    "markdown": as_markdown,
    "parquet": as_parquet,
}


def _rows(sheet: Sheet) -> Iterator[dict[str, Any]]:
    """Records with their head in front, in the order of the columns."""
    for batch in sheet.batches:
        yield from (_in_order(sheet.head, batch.head) | _in_order(sheet.columns, row) for row in batch.rows)


def _in_order(columns: Columns, values: dict[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in columns}


def _facts(facts: dict[str, Any]) -> list[str]:
    return [
        f"{markdown.escape(name)}: {markdown.escape(str(value))}  "
        for name, value in facts.items()
        if value is not None
    ]


def _cell(value: Any, kind: str) -> str:
    return "" if value is None else markdown.escape(str(_text(value, kind)))


def _text(value: Any, kind: str) -> Any:
    """A value as a cell; JSON in ASCII, so that nothing in it has to be escaped a second time."""
    return json.dumps(value, separators=(",", ":")).replace("\x7f", "\\u007f") if kind == "json" else value


def _parquet(value: Any, kind: str) -> Any:
    return canonical.to_json(value).decode() if kind == "json" else value
