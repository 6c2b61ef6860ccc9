"""The tokenizer folder as the audit needs it: template, tokenizer, control tokens and the token that ends a turn."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay.chat_templates import ChatTemplate
from assay.errors import AssayError
from assay.names import shown
from assay.tokenizer_folder import chat_template_of, named_tokens_of

BUNDLED = Path("tests/fixtures/raw/tokenizer")
"""Below the project's folder, where a build runs; small, and of no model."""


@dataclass(frozen=True)
class Identity:
    """SHA-256 (hex) of `tokenizer.json` and of the chat template's text; null where there is none."""

    tokenizer_sha256: str | None
    template_sha256: str | None

    @property
    def is_complete(self) -> bool:
        """Whether a mask can be audited with it at all."""
        return self.tokenizer_sha256 is not None and self.template_sha256 is not None


def tokenizer_folder(setting: str, raw_root: str) -> Path:
    """The tokenizer folder of a build: the setting where there is one, else that of the raw tree, else the bundled one.

    Whoever trains another model sets it to that model's; the audit's tables name the hash of what was used.
    """
    if setting:
        return Path(setting)
    own = Path(raw_root) / "tokenizer"
    return own if (own / "tokenizer.json").is_file() else BUNDLED


def identity_of(folder: Path) -> Identity:
    """Hash what lies in a tokenizer folder; raises AssayError when a file is there and cannot be read."""
    path = folder / "tokenizer.json"
    template = chat_template_of(folder)
    try:
        tokenizer = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
    except OSError as error:
        raise AssayError(f"{shown(path)} cannot be read: {error.strerror or error}") from None
    hashed = None if template is None else hashlib.sha256(template.encode("utf-8", "surrogatepass")).hexdigest()
    return Identity(tokenizer, hashed)


class AuditTokenizer:
    """A tokenizer with its chat template, control tokens and stop token."""

    def __init__(self, document: dict[str, Any], template: str, named_tokens: dict[str, str]) -> None:
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
            self._tokenizer = Tokenizer.from_str(json.dumps(plain, ensure_ascii=False))
        except Exception as error:  # the library raises nothing more precise
            raise AssayError(f"the tokenizer cannot be read: {error}") from None
        self.template_source, self.named_tokens = template, dict(named_tokens)
        self.template = ChatTemplate(template, named_tokens)
        self.stop_token = named_tokens.get("eos_token")
        added = [token for token in document.get("added_tokens") or [] if token.get("special")]
        control = sorted((str(token["content"]) for token in added if token.get("content")), key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, control))) if control else None
        self.control_ids = frozenset(
            int(token["id"]) for token in added if not (token.get("normalized") or token.get("lstrip"))
        )
        self.stop_id = self._tokenizer.token_to_id(self.stop_token) if self.stop_token else None

    def encode(self, text: str) -> Any:
        """Return the library's encoding of a rendered conversation, with offsets and without added special tokens."""
        return self._tokenizer.encode(text, add_special_tokens=False)

    def decode(self, identifiers: Sequence[int]) -> str:
        """Return the text of token ids, special tokens included."""
        return str(self._tokenizer.decode(list(identifiers), skip_special_tokens=False))

    def token(self, identifier: int) -> str:
        """Return a token as the vocabulary writes it."""
        return str(self._tokenizer.id_to_token(identifier))

    def n_control_tokens(self, text: str) -> int:
        """Count the control tokens that a text would turn into when it is encoded as part of a conversation."""
        return sum(1 for _ in self._control.finditer(text)) if self._control else 0


@lru_cache(maxsize=2)
def load(folder: Path, identity: Identity) -> AuditTokenizer:
    """Load a complete tokenizer folder; `identity` makes sure that a changed file is loaded again."""
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
    return AuditTokenizer(document, template, named_tokens_of(folder))
