"""The tokenizer folder as the audit needs it: template, tokenizer, control tokens and the token that ends a turn."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay.chat_templates import TODAY, ChatTemplate
from assay.errors import AssayError
from assay.names import shown
from assay.tokenizer_folder import (
    TokenizerFailedError,
    chat_template_of,
    named_folder,
    named_tokens_of,
    tokenizing,
)

BUNDLED = Path("tests/fixtures/raw/tokenizer")
"""Below the project's folder, where a build runs; small, and of no model."""


@dataclass(frozen=True)
class Identity:
    """What proves a mask; all null where no tokenizer with a chat template is named.

    A name for people, SHA-256 (hex) of `tokenizer.json` and of the chat template's text, and the day (ISO) that the
    template takes for today.
    """

    tokenizer: str | None = None
    tokenizer_sha256: str | None = None
    template_sha256: str | None = None
    template_date: str | None = None


def tokenizer_folder(setting: str, raw_root: str) -> Path | None:
    """The tokenizer folder of a build: what the setting names, else that of the raw tree; null without one.

    Raises AssayError when the setting names no tokenizer, or one without a chat template.
    """
    if not setting:
        own = Path(raw_root) / "tokenizer"
        return own if (own / "tokenizer.json").is_file() and chat_template_of(own) is not None else None
    folder = named_folder(setting)
    if chat_template_of(folder) is None:
        raise AssayError(
            f"the tokenizer folder {shown(folder)} has no chat template: name one that has it beside tokenizer.json"
        )
    return folder


def identity_of(folder: Path | None, today: str = TODAY.isoformat()) -> Identity:
    """Name and hash what lies in a tokenizer folder.

    Raises AssayError when a file cannot be read or `today` is no day.
    """
    template = None if folder is None else chat_template_of(folder)
    if folder is None or template is None:
        return Identity()
    _day(today)
    hashed, bundled = _hash_of(folder), _hash_of(BUNDLED)
    if hashed == bundled:
        name = "toy tokenizer of the bundled sample"
    else:
        # The hub's cache writes a model's name into one of its folders.
        cached = [part for part in folder.absolute().parts if part.startswith("models--")]
        near = folder.resolve().parts[-2:]
        name = cached[-1].removeprefix("models--").replace("--", "/") if cached else "/".join(near)
    digest = hashlib.sha256(template.encode("utf-8", "surrogatepass")).hexdigest()
    return Identity(shown(name), hashed, digest, today)


def _hash_of(folder: Path) -> str | None:
    path = folder / "tokenizer.json"
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
    except OSError as error:
        raise AssayError(f"{shown(path)} cannot be read: {error.strerror or error}") from None


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise AssayError(f"var chat_template_date is {shown(text)}, not a day like {TODAY.isoformat()}") from None


class AuditTokenizer:
    """A tokenizer with its chat template, control tokens and stop token."""

    def __init__(
        self, document: dict[str, Any], template: str, named_tokens: dict[str, str], today: date = TODAY
    ) -> None:
        """Take the `tokenizer.json` document, the template's source, and the texts of `eos_token` and the like.

        Raises AssayError when the library refuses the document.
        """
        # Every process of the pool has a core of its own; threads inside it would only get in the way.
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        from tokenizers import Tokenizer

        # A published file may cut or fill what it is given, and its post-processor trims offsets; the audit adds no
        # special tokens and needs every character's place.
        plain = {**document, "truncation": None, "padding": None, "post_processor": None}
        try:
            with tokenizing():
                self._tokenizer = Tokenizer.from_str(json.dumps(plain, ensure_ascii=False))
        except TokenizerFailedError as error:
            raise AssayError(f"the tokenizer cannot be read: {error}") from None
        self.template_source, self.named_tokens = template, dict(named_tokens)
        self.today = today
        self.template = ChatTemplate(template, named_tokens, today)
        self.stop_token = named_tokens.get("eos_token")
        added = [token for token in document.get("added_tokens") or [] if token.get("special")]
        control = sorted((str(token["content"]) for token in added if token.get("content")), key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, control))) if control else None
        self.control_ids = frozenset(
            int(token["id"]) for token in added if not (token.get("normalized") or token.get("lstrip"))
        )
        self.stop_id = self._tokenizer.token_to_id(self.stop_token) if self.stop_token else None

    def encode(self, text: str) -> Any:
        """Return the library's encoding of a rendered conversation, with offsets and without added special tokens.

        Raises TokenizerFailedError when the library gives up on it.
        """
        with tokenizing():
            return self._tokenizer.encode(text, add_special_tokens=False)

    def decode(self, identifiers: Sequence[int]) -> str:
        """Return the text of token ids, special tokens included; raises TokenizerFailedError like `encode`."""
        with tokenizing():
            return str(self._tokenizer.decode(list(identifiers), skip_special_tokens=False))

    def token(self, identifier: int) -> str:
        """Return a token as the vocabulary writes it."""
        return str(self._tokenizer.id_to_token(identifier))

    def n_control_tokens(self, text: str) -> int:
        """Count the control tokens that a text would turn into when it is encoded as part of a conversation."""
        return sum(1 for _ in self._control.finditer(text)) if self._control else 0


@lru_cache(maxsize=2)
def load(folder: Path, identity: Identity) -> AuditTokenizer:
    """Load the tokenizer folder of an identity, which makes sure that a changed file is loaded again."""
    path = folder / "tokenizer.json"
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise AssayError(f"the tokenizer folder {shown(folder)} cannot be read: {error}") from None
    if not isinstance(document, dict):
        raise AssayError(f"the tokenizer {shown(path)} is not a JSON object")
    template = chat_template_of(folder)
    if template is None:
        raise AssayError(f"the tokenizer folder {shown(folder)} has no chat template")
    return AuditTokenizer(document, template, named_tokens_of(folder), _day(str(identity.template_date)))
