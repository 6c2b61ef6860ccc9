"""The mask audit as a build runs it: in a process of its own, with its result as views of the warehouse."""

import json
import os
import sys
from pathlib import Path

import duckdb

from assay.artifactwise import writing
from assay.errors import AssayError
from assay.landing.step import SCHEMA, leave_fault, publish, run_apart
from assay.mixes.progress import is_watched
from assay.mixes.run import OUTPUTS, ROWS, ROWS_TABLE, audit_tree

INPUT_FOLDER = "mix_input"
REPORT_FILE = "mix_audit.json"
_LISTED = """
    select
        mix,
        row_id,
        list(text_message_index order by message_index) as message_indexes,
        coalesce(list(text_message_index order by message_index) filter (where train), []) as trained
    from messages
    group by mix, row_id
"""


def audit_step(
    session: duckdb.DuckDBPyConnection,
    landing: str,
    raw_root: str,
    max_row_tokens: int,
    rows: duckdb.DuckDBPyRelation,
    messages: duckdb.DuckDBPyRelation,
) -> duckdb.DuckDBPyRelation:
    """Audit the candidate rows with the tokenizer below `raw_root` and return the verdicts, one a row.

    `rows` has mix, row_id, text_source, text_artifact_id, text_line, text_side; `messages` mix, row_id, message_index,
    text_message_index, train. A fault is left in the warehouse; the result is then empty.
    """
    path = Path(landing) / INPUT_FOLDER / "candidates.parquet"
    report = Path(landing) / REPORT_FILE
    request = {
        "rows": str(path),
        "landing": landing,
        "tokenizer": str(Path(raw_root) / "tokenizer"),
        "max_row_tokens": max_row_tokens,
        "workers": int(os.environ.get("ASSAY_THREADS") or 0) or None,
        "watched": is_watched(),
    }
    try:
        with writing(Path(landing)):
            path.parent.mkdir(parents=True, exist_ok=True)
            report.unlink(missing_ok=True)
            listed = messages.query("messages", _LISTED)
            key = "mix, row_id, text_source, text_artifact_id, text_line, text_side"
            joined = rows.project(key).set_alias("candidates").join(listed.set_alias("listed"), "mix, row_id")
            joined.write_parquet(str(path), compression="zstd")
        fault = run_apart(["-m", "assay.mixes.step"], json.dumps(request))
    except AssayError as error:
        fault = str(error)
    leave_fault(session, fault)
    if fault is not None:
        return session.from_arrow(ROWS.empty_table())
    print(json.loads(report.read_text(encoding="utf-8"))["sentence"])
    publish(session, landing, OUTPUTS)
    return session.sql(f"select * from {SCHEMA}.{ROWS_TABLE} order by mix, row_id")


def main() -> int:
    """Do what the request on standard input says; a fault is one sentence on standard error."""
    request = json.load(sys.stdin)
    landing = Path(request["landing"])
    try:
        report = audit_tree(
            Path(request["rows"]),
            landing,
            Path(request["tokenizer"]),
            request["max_row_tokens"],
            request["workers"],
            request["watched"],
        )
        with writing(landing):
            said = {**vars(report), "sentence": report.sentence()}
            (landing / REPORT_FILE).write_text(json.dumps(said), encoding="utf-8")
    except (AssayError, ValueError) as error:
        print(f"assay: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
