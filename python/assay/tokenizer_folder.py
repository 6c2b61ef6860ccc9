"""What lies in a tokenizer folder besides the tokenizer: the chat template, and the tokens it may name."""

import json
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.names import shown

_NAMED_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token")


def chat_template_of(folder: Path) -> str | None:
    """Return the chat template of a tokenizer folder, or null when it has none.

    `chat_template.jinja` comes first, then `chat_template` of `tokenizer_config.json`: a text, or a list of named
    ones of which `default` is taken. Raises AssayError when a file is there and cannot be read.
    """
    template = folder / "chat_template.jinja"
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
    """Return what a chat template may name besides its messages: `bos_token`, `eos_token`, `pad_token`, `unk_token`.

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
