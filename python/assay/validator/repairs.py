"""Our own rules for teacher references: format repairs and normalised commands (contract sn120 C.2, C.4,
C.5).
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from assay.validator.rollouts import FENCE_HEAD, FENCE_TAIL

_LABEL = "THOUGHT:"
_THINK_OPEN = "<think>"
_THINK_CLOSE = "</think>"

FLAGS = (
    "multi_bash_first",
    "think_reopened",
    "label_debris",
    "second_label",
    "prefix_merged",
    "prefix_dropped",
    "think_tag_inside",
    "stray_tag",
    "orphan_token",
)
# Words in capitals that begin a sentence of their own and are no debris of a label.
REAL_WORDS = frozenset(
    "API BUG CSS ERROR FIX FIXME HTML HTTP IMPORTANT INFO JSON NOTE OK PLAN PR SQL STEP TASK TEST TODO URL "
    "WARNING".split()
)

_THINK_TAG = re.compile(r"</?think>")
_STRAY_TAG = re.compile(r"</?(?:thinking|thought|format_example|response_example|example|reasoning)>")
_ANY_TAG = re.compile(r"</?[a-z_]+>")
_GLUED_CAPITALS = re.compile(r"[A-Z]{1,8}")
_LEADING_DEBRIS = re.compile(
    r"(?:(?:THO)+UGHT|(?:THO)+|THOUGH|THOUG|THOU|TH|T|HOUGHT|OUGHT|UGHT)(?::|(?=\n|\Z|</?[a-z_]+>))"
)
_ORPHAN = re.compile(r"([A-Z]{2}[A-Za-z]*):\s+")
_WORD = re.compile(r"[A-Za-z]{2,}")
_SENTENCE_ENDS = tuple(".!?:)]}\"'”’»")
_MANY_LINE_ENDS = re.compile(r"\n{3,}")

_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*(?:['\"\\][ \t]*)?[A-Za-z_]")
_LEADING_CD = re.compile(r"\s*cd\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\S+?)\s*&&\s*")
_SHELL_BLANKS = " \t\r\n"
_SHELL_PIECE = re.compile(r"""([^ \t\r\n'"\\]+)|'([^']*)'|"((?>(?:[^"\\]+|\\.)*))"|\\(.)""", re.DOTALL)
_DOUBLE_QUOTED_ESCAPE = re.compile(r"""\\(["\\])""")
WORKING_FOLDERS = ("/testbed", "/app/task_file", "/workspace")
WORD_SEPARATOR = "\x1f"
LINE_SEPARATOR = "\x1e"


@dataclass(frozen=True)
class Repaired:
    """A reference after its repairs: thought, action (fence included) and the flags in the order they arose."""

    thought: str
    action: str
    flags: tuple[str, ...]


def first_token(command: str) -> str:
    """Return the first run of characters that are not white space, or the empty string."""
    words = command.split(None, 1)
    return words[0] if words else ""


def _closed_block(text: str) -> tuple[int, int] | None:
    begin = text.find(FENCE_HEAD)
    end = text.find(FENCE_TAIL, begin + len(FENCE_HEAD)) if begin >= 0 else -1
    return (begin, end + len(FENCE_TAIL)) if end >= 0 else None


def _without_reopened_think(thought: str) -> str:
    position = len(thought) - len(thought.lstrip())
    while thought.startswith(_THINK_OPEN, position) and not thought.startswith(
        _THINK_CLOSE, position + len(_THINK_OPEN)
    ):
        position += len(_THINK_OPEN)
        while position < len(thought) and thought[position].isspace():
            position += 1
    return thought[position:]


class _Prefix:
    """The text before a label, in the parts it was merged from, and whether it is worth keeping."""

    def __init__(self, part: str, limits: tuple[int, int]) -> None:
        self.parts = [part]
        self._limits = limits
        self._characters = 0
        self._words = 0
        self._ends_sentence = False
        self._weigh(part)

    def _weigh(self, part: str) -> None:
        cleaned = _ANY_TAG.sub("", part).strip()
        debris = _LEADING_DEBRIS.match(cleaned)
        if debris:
            cleaned = cleaned[debris.end() :].strip()
        self._characters += len(cleaned)
        self._words += len(_WORD.findall(cleaned))
        self._ends_sentence = cleaned.endswith(_SENTENCE_ENDS)

    def merge(self, part: str) -> None:
        self.parts.append(part)
        self._weigh(part)

    def is_substantive(self) -> bool:
        return self._ends_sentence and self._characters >= self._limits[0] and self._words >= self._limits[1]

    def is_debris(self) -> bool:
        piece = self.parts[0].lstrip()
        if len(self.parts) > 1 or not piece:
            return False
        return bool(_GLUED_CAPITALS.fullmatch(piece)) or piece in _LABEL

    def text(self) -> str:
        return "\n".join(part.strip() for part in self.parts)


def _without_labels(thought: str, flags: list[str], limits: tuple[int, int]) -> str:
    stripped = thought.lstrip()
    if stripped.startswith(_LABEL):
        thought = stripped[len(_LABEL) :].lstrip()
    first, *others = thought.split(_LABEL)
    prefix = _Prefix(first, limits)
    for number, part in enumerate(others, start=1):
        if prefix.is_debris():
            flags.append("label_debris")
            prefix = _Prefix(part, limits)
            continue
        flags.append("second_label")
        if number == len(others) and not part.strip():
            break
        if prefix.is_substantive():
            flags.append("prefix_merged")
            prefix.merge(part)
        else:
            flags.append("prefix_dropped")
            prefix = _Prefix(part, limits)
    return prefix.text()


def repair_reference(
    thought: str,
    action: str,
    real_words: Collection[str] = REAL_WORDS,
    substantive_characters: int = 20,
    substantive_words: int = 4,
) -> Repaired:
    """Return a teacher reference with its format repaired (contract C.5, steps 1 to 9 in order).

    Text before a second label is kept when it has `substantive_characters`, `substantive_words` of two letters
    and a final sentence mark. After `multi_bash_first` the action is another one than was published and scored.
    """
    flags: list[str] = []
    block = _closed_block(thought)
    if block is not None:
        flags.append("multi_bash_first")
        thought, action = thought[: block[0]], thought[block[0] : block[1]]
    reopened = _without_reopened_think(thought)
    if reopened != thought.lstrip():
        flags.append("think_reopened")
    thought = _without_labels(reopened, flags, (substantive_characters, substantive_words))
    for name, tag, replacement in (("think_tag_inside", _THINK_TAG, "\n"), ("stray_tag", _STRAY_TAG, "")):
        thought, count = tag.subn(replacement, thought)
        if count:
            flags.append(name)
    thought = thought.lstrip()
    debris = _LEADING_DEBRIS.match(thought)
    if debris:
        flags.append("label_debris")
        thought = thought[debris.end() :].lstrip()
    orphan = _ORPHAN.match(thought)
    if orphan and orphan.group(1) not in real_words:
        flags.append("orphan_token")
        thought = thought[orphan.end() :]
    thought = "\n".join(line.rstrip(" \t") for line in thought.split("\n"))
    thought = _MANY_LINE_ENDS.sub("\n\n", thought).strip()
    return Repaired(thought, action, tuple(dict.fromkeys(flags)))


def shell_words(line: str) -> list[str]:
    """Split a line into words as a POSIX shell does, without comments. Raises ValueError for an open quote.

    It says what `shlex.split` says, which takes too long for a long word.
    """
    words: list[str] = []
    pieces: list[str] = []
    position = 0
    while position < len(line):
        if line[position] in _SHELL_BLANKS:
            if pieces:
                words.append("".join(pieces))
                pieces = []
            position += 1
            continue
        piece = _SHELL_PIECE.match(line, position)
        if piece is None:
            raise ValueError("no closing quotation, or nothing to escape")
        plain, single, double, escaped = piece.groups()
        if double is not None:
            plain = _DOUBLE_QUOTED_ESCAPE.sub(r"\1", double)
        pieces.append(next(text for text in (plain, single, escaped) if text is not None))
        position = piece.end()
    return [*words, "".join(pieces)] if pieces else words


def _normalised_word(word: str) -> str:
    for folder in WORKING_FOLDERS:
        if word == folder or word.startswith(folder + "/"):
            word = word[len(folder) + 1 :] or "."
            break
    while word.startswith("./"):
        word = word[2:].lstrip("/") or "."
    return "python" if word == "python3" else word


def normalised_command(command: str) -> str:
    """Return a command in the form under which two of them count as the same (contract C.4).

    A command with a here-document is compared as written, one that the word splitter cannot read with its
    white space collapsed; all others word by word, without one leading `cd`, working folders and `./`.
    """
    if _HEREDOC.search(command):
        return f"RAW{WORD_SEPARATOR}{command}"
    cd = _LEADING_CD.match(command)
    rest = command[cd.end() :] if cd else command
    try:
        lines = [shell_words(line) for line in rest.strip().split("\n")]
    except ValueError:
        return f"RAW{WORD_SEPARATOR}{' '.join(command.split())}"
    words = (WORD_SEPARATOR.join(map(_normalised_word, line)) for line in lines)
    return f"TOK{WORD_SEPARATOR}{LINE_SEPARATOR.join(words)}"
