"""The tokenizer folder: listed and hashed, not landed; its readers load the files themselves."""

from assay.landing.kinds import Facts, Kind

_TOKENIZER = Kind("tokenizer", "tokenizer", "hash_only")


def classify(parts: tuple[str, ...]) -> tuple[Kind, Facts] | None:
    """Every file of the folder is part of the tokenizer."""
    return _TOKENIZER, {}
