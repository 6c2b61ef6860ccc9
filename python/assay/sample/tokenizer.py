"""A small byte-level BPE tokenizer, learned from the invented texts, and a ChatML template."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from assay.sample.agent import task_text
from assay.sample.world import issues, repositories
from assay.sample.writing import Written, write_file

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = 512

# Python's `re` knows no `\p{L}`; these pieces are close to GPT-2's, and a merge is valid whatever it came from.
_PIECES = re.compile(r" ?[^\W\d_]+| ?\d+| ?[^\s\w]+|_+|\s+(?!\S)|\s+")

CHAT_TEMPLATE = (
    "{%- for message in messages %}\n"
    "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}\n"
    "{{- '<|im_start|>assistant\\n<think>\\n' }}\n"
    "{%- endif %}\n"
)


def byte_alphabet() -> list[str]:
    """The printable character that stands for each of the 256 bytes in a byte-level vocabulary."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    characters, shift = [], 0
    for byte in range(256):
        if byte in printable:
            characters.append(chr(byte))
        else:
            characters.append(chr(256 + shift))
            shift += 1
    return characters


def learn_merges(texts: Iterator[str], count: int) -> list[tuple[str, str]]:
    """Byte-pair merges by frequency; a tie goes to the smaller pair, so the result is always the same."""
    alphabet = byte_alphabet()
    frequency: Counter[str] = Counter()
    for text in texts:
        frequency.update(_PIECES.findall(text))
    words = [
        ([alphabet[byte] for byte in piece.encode()], times) for piece, times in sorted(frequency.items()) if times > 3
    ]
    pairs: Counter[tuple[str, str]] = Counter()
    where: dict[tuple[str, str], set[int]] = {}
    for index, (symbols, times) in enumerate(words):
        for pair in pairwise(symbols):
            pairs[pair] += times
            where.setdefault(pair, set()).add(index)
    merges: list[tuple[str, str]] = []
    while len(merges) < count and pairs:
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        if pairs[best] <= 0:
            break
        merges.append(best)
        joined = best[0] + best[1]
        for index in sorted(where.pop(best)):
            symbols, times = words[index]
            for pair in pairwise(symbols):
                pairs[pair] -= times
            merged, place = [], 0
            while place < len(symbols):
                if tuple(symbols[place : place + 2]) == best:
                    merged.append(joined)
                    place += 2
                else:
                    merged.append(symbols[place])
                    place += 1
            words[index] = (merged, times)
            for pair in pairwise(merged):
                pairs[pair] += times
                where.setdefault(pair, set()).add(index)
        del pairs[best]
    return merges


def tokenizer_json() -> bytes:
    """The `tokenizer.json` document."""

    def texts() -> Iterator[str]:
        for repository in repositories("small"):
            yield from repository.files.values()
        for issue in issues("small")[::12]:
            yield task_text(issue, "full", "echo done")

    merges = learn_merges(texts(), MERGES)
    vocabulary: dict[str, int] = {}
    for token in [*byte_alphabet(), *(left + right for left, right in merges)]:
        vocabulary.setdefault(token, len(vocabulary))
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": len(vocabulary) + index,
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for index, token in enumerate(SPECIAL_TOKENS)
        ],
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": None,
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocabulary,
            "merges": [list(pair) for pair in merges],
        },
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def write(root: Path) -> Iterator[Written]:
    """Write `tokenizer/{tokenizer.json,chat_template.jinja,tokenizer_config.json}`."""
    folder = root / "tokenizer"
    settings = {
        "add_prefix_space": False,
        "bos_token": None,
        "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "model_max_length": 32768,
        "pad_token": "<|endoftext|>",
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    yield write_file(folder / "tokenizer.json", tokenizer_json())
    yield write_file(folder / "chat_template.jinja", CHAT_TEMPLATE.encode())
    yield write_file(folder / "tokenizer_config.json", json.dumps(settings, indent=2).encode() + b"\n")
