"""The manifest: every exported file with its hash, its rows, and what it was made from and under."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

VERSION = 1


def manifest(
    files: Sequence[Mapping[str, Any]],
    build: Mapping[str, str],
    versions: Mapping[str, str],
    inputs: Sequence[Mapping[str, Any]],
    rulesets: Sequence[Mapping[str, Any]],
    ruleset: str,
) -> str:
    """The manifest as JSON text with a line end; the same rows give the same text.

    `files` have file, bytes, sha256, n_rows, rules (JSON text) and inputs_sha256; `build` the hashes of code, seeds and
    inputs; `inputs` are sources of the raw tree with their number of files, bytes and hash; `rulesets` what runs were
    judged by; `ruleset` the one that was set.
    """
    listed = [
        {
            "file": file["file"],
            "bytes": file["bytes"],
            "sha256": file["sha256"],
            "rows": file["n_rows"],
            "ruleset": ruleset or "each run by the rules of its own date",
            "inputs_sha256": file["inputs_sha256"],
            "settings": json.loads(file["rules"]),
        }
        for file in sorted(files, key=lambda file: str(file["file"]))
    ]
    document = {
        "manifest_version": VERSION,
        "build": dict(build),
        "versions": dict(sorted(versions.items())),
        "inputs": list(inputs),
        "rulesets": list(rulesets),
        "files": listed,
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
