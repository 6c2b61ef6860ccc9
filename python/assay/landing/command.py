"""`assay land`: the landing step by itself, to look at a raw tree without building the warehouse."""

import json
from pathlib import Path
from typing import Any

from assay.landing.rows import QUARANTINE_TABLE
from assay.landing.run import Report, land_tree
from assay.names import shown


def run(
    raw_root: Path, out: Path, workers: int | None, max_line_megabytes: int, follow_links_out: bool, as_json: bool
) -> int:
    """Land the tree and print what was found."""
    report = land_tree(raw_root, out, workers, max_line_megabytes, follow_links_out)
    if as_json:
        print(json.dumps(as_object(report)))
        return 0
    print(summary(report))
    if report.reasons:
        print(f"  every quarantined line with file, place and reason: {shown(out / QUARANTINE_TABLE)}")
    return 0


def as_object(report: Report) -> dict[str, Any]:
    """The same facts for a script."""
    sources: dict[str, dict[str, int]] = {}
    for row in report.artifacts:
        counts = sources.setdefault(row["source"], dict.fromkeys(("files", "bytes", "lines", "quarantined"), 0))
        counts["files"] += 1
        counts["bytes"] += row["bytes"]
        counts["lines"] += row["n_lines"] or 0
        counts["quarantined"] += row["n_quarantined"] or 0
    return {
        "sources": sources,
        "quarantined": report.reasons,
        "not_read": {"links_out_of_raw_root": report.links_out, "strangers": report.strangers},
        "files_read": report.n_read,
        "bytes_read": report.bytes_read,
        "seconds": round(report.seconds, 3),
    }


def summary(report: Report) -> str:
    """What was found, a line a source, and what was not read."""
    lines = [
        f"landed {report.n_read} of {len(report.artifacts)} files ({report.bytes_read / 1e6:.1f} MB) "
        f"in {report.seconds:.1f} s; the others had not changed"
        if report.n_read < len(report.artifacts)
        else f"landed {report.n_read} files ({report.bytes_read / 1e6:.1f} MB) in {report.seconds:.1f} s"
    ]
    for source in dict.fromkeys(row["source"] for row in report.artifacts):
        rows = [row for row in report.artifacts if row["source"] == source]
        replaced = sum(row["n_surrogates_replaced"] or 0 for row in rows)
        lines.append(
            f"  {source}: {len(rows)} files, {sum(row['n_lines'] or 0 for row in rows)} lines, "
            f"{sum(row['n_quarantined'] or 0 for row in rows)} quarantined"
            + (f", {replaced} halves of surrogate pairs replaced" if replaced else "")
        )
        unrecognised = [row["artifact_id"] for row in rows if row["status"] == "unrecognised"]
        if unrecognised:
            lines.append(f"    not recognised: {_some(unrecognised)}")
    for reason, count in report.reasons.items():
        lines.append(f"  quarantined as {reason}: {count}")
    if report.links_out:
        lines.append(
            f"  not read, since they are links that lead out of the raw root: {_some(report.links_out)} "
            "(--follow-links-out-of-raw-root, or the var follow_links_out_of_raw_root, reads them)"
        )
    if report.strangers:
        lines.append(f"  not part of a raw tree, not read: {_some(report.strangers)}")
    return "\n".join(lines)


def _some(names: list[str]) -> str:
    first = ", ".join(map(shown, names[:5]))
    return first if len(names) <= 5 else f"{first} and {len(names) - 5} more"
