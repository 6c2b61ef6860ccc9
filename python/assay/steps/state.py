"""What earlier runs of a step made, so that only what changed is made again."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any


@dataclass
class State:
    """What earlier runs did: for every artifact a stamp of its input and the result."""

    path: Path
    fingerprint: str
    results: dict[str, dict[str, Any]]

    @classmethod
    def load(cls, path: Path, fingerprint: str) -> "State":
        """Read the state; one of another fingerprint, or one that cannot be read, is as good as none."""
        results: dict[str, dict[str, Any]] = {}
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            stored = json.loads(path.read_bytes())
            if stored["fingerprint"] == fingerprint:
                results = stored["results"]
        return cls(path, fingerprint, results)

    def result(self, key: str, stamp: list[Any]) -> dict[str, Any] | None:
        """What was made of an artifact whose input still has this stamp, else None."""
        result = self.results.get(key)
        return result if result is not None and result["stamp"] == stamp else None

    def put(self, key: str, stamp: list[Any], result: dict[str, Any]) -> None:
        """Remember a result."""
        self.results[key] = {"stamp": stamp, **result}

    def keep_only(self, keys: Iterable[str]) -> None:
        """Forget artifacts that are gone."""
        wanted = set(keys)
        self.results = {key: value for key, value in self.results.items() if key in wanted}

    def save(self) -> None:
        """Write the state under its name, whole or not at all."""
        part = self.path.with_suffix(".part")
        stored = {"fingerprint": self.fingerprint, "results": dict(sorted(self.results.items()))}
        part.write_text(json.dumps(stored), encoding="utf-8")
        os.replace(part, self.path)


def code_fingerprint(*modules: ModuleType) -> str:
    """A hash of the code of modules, all of a package's own: what an older version made is made again."""
    digest = hashlib.sha256()
    for module in modules:
        folders = getattr(module, "__path__", None)
        files = [Path(str(module.__file__))] if folders is None else []
        for folder in folders or ():
            files += sorted(Path(folder).rglob("*.py"))
        for path in files:
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
