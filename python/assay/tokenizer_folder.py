"""A tokenizer's folder: where it lies, its chat template, the tokens that may name, and faults of the library."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.names import shown

_NAMED_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token")


class TokenizerFailedError(ValueError):
    """The tokenizer library gave up on a text; the message says why."""


@contextlib.contextmanager
def tokenizing() -> Iterator[None]:
    """Turns every fault of the tokenizer library into TokenizerFailedError, a panic of its own core too."""
    try:
        yield
    except BaseException as error:
        # A panic, such as of a pattern that runs into its limit, is no `Exception`, and its class cannot be imported.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise TokenizerFailedError(shown(error)) from None
        raise


def named_folder(setting: str) -> Path:
    """The folder of the tokenizer that a person names by it, by its `tokenizer.json`, or by a model of the hub's cache.

    A model of the cache is `models--<organisation>--<name>`, its files lie in `snapshots/<revision>`: the revision
    that `refs/main` names is taken, else the only one. Raises AssayError when there is no `tokenizer.json`.
    """
    path = Path(os.path.expanduser(setting))  # noqa: PTH111 - the other one raises where there is no such home
    if path.name == "tokenizer.json" and path.is_file():
        return path.parent
    if (path / "tokenizer.json").is_file():
        return path
    revisions = sorted(file.parent for file in path.glob("snapshots/*/tokenizer.json"))
    with contextlib.suppress(OSError, ValueError):
        revision = path / "snapshots" / (path / "refs" / "main").read_text(encoding="utf-8").strip()
        if revision in revisions:
            return revision
    if len(revisions) > 1:
        raise AssayError(f"{shown(path)} holds {len(revisions)} revisions: name one of the folders in its snapshots")
    if not revisions:
        raise AssayError(f"there is no tokenizer {shown(path)}: name a tokenizer.json or a folder that holds one")
    return revisions[0]


def chat_template_of(folder: Path) -> str | None:
    """Return the chat template of a tokenizer folder, or null when it has none.

    `chat_template.jinja` comes first, then `additional_chat_templates/default.jinja`, then `chat_template` of
    `tokenizer_config.json`: a text, or a list of named ones of which `default` is taken. Raises AssayError when a file
    is there and cannot be read.
    """
    for name in ("chat_template.jinja", "additional_chat_templates/default.jinja"):
        template = folder / name
        try:
            if template.is_file():
                return template.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise AssayError(f"the chat template {shown(template)} cannot be read: {error}") from None
    published = _settings_of(folder).get("chat_template")
    if isinstance(published, list):
        named = [one for one in published if isinstance(one, dict) and one.get("name") == "default"]
        published = named[0].get("template") if named else None
    return published if isinstance(published, str) else None


def named_tokens_of(folder: Path) -> dict[str, str]:
    """Return what a chat template may name besides its messages: `bos_token`, `eos_token` and the like.

    Read from `tokenizer_config.json`, where each is a text or an object with the text as `content`; one that is null
    or absent is left out, and prints as nothing. Raises AssayError when the file is there and cannot be read.
    """
    settings = _settings_of(folder)
    named: dict[str, str] = {}
    for name in _NAMED_TOKENS:
        token = settings.get(name)
        content = token.get("content") if isinstance(token, dict) else token
        if isinstance(content, str):
            named[name] = content
    return named


def _settings_of(folder: Path) -> dict[str, Any]:
    path = folder / "tokenizer_config.json"
    try:
        settings = json.loads(path.read_bytes()) if path.is_file() else {}
    except (OSError, ValueError, RecursionError) as error:
        raise AssayError(f"the tokenizer settings {shown(path)} cannot be read: {error}") from None
    if not isinstance(settings, dict):
        raise AssayError(f"the tokenizer settings {shown(path)} are not a JSON object")
    return settings
