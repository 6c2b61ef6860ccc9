"""Just enough of the shell's grammar to know what of a command line is code, and what is text it carries."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

# What may hide a separator or a redirect: quoted text, an escaped character, a comment, a here-document. An
# unclosed quote matches none of these and stays an ordinary character.
_TOKEN = re.compile(
    r"""'[^']*'
      | "(?:\\.|[^"\\])*"
      | \\.
      | (?:(?<=\s)|^)\#[^\n]*
      | <<<
      | <<(?P<dash>-?)[ \t]*(?P<quote>['"\\]?)(?P<word>[A-Za-z_][\w.-]*)
      | \n""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_SEPARATOR = re.compile(r"\|\||&&|\|&?|;|\n")
_LEADING_COMMENTS = re.compile(r"(?:[ \t]*#[^\n]*(?:\n|$)|[ \t]*\n)+")
_LEADING_CD = re.compile(r"\s*cd[ \t]+(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s;&|'\"]+)[ \t]*&&\s*")
_HIDDEN = "_"


@dataclass(frozen=True)
class Stages:
    """The first simple command of a command line, and the second stage of its pipe (empty without a pipe)."""

    first: str
    second: str


def without_preamble(command: str) -> str:
    """Remove leading comment lines and one leading `cd DIR &&`; a comment after the `cd` stays."""
    text = command
    comments = _LEADING_COMMENTS.match(text)
    if comments:
        text = text[comments.end() :]
    directory = _LEADING_CD.match(text)
    return (text[directory.end() :] if directory else text).strip()


def visible(command: str) -> str:
    """Hide what is quoted, escaped, a comment or a here-document's body; every character keeps its place."""
    pieces: list[str] = []
    done = 0
    for begin, end in _hidden_spans(command):
        pieces.append(command[done:begin])
        pieces.append("".join("\n" if character == "\n" else _HIDDEN for character in command[begin:end]))
        done = end
    pieces.append(command[done:])
    return "".join(pieces)


def stages(command: str) -> Stages:
    """Split off the first simple command, up to the first `|`, `|&`, `||`, `&&`, `;` or line end that is code."""
    shown = without_here_document_lines(command)
    first = _SEPARATOR.search(shown)
    if first is None:
        return Stages(command.strip(), "")
    second = ""
    if first.group() in ("|", "|&"):
        following = _SEPARATOR.search(shown, first.end())
        second = command[first.end() : following.start() if following else len(command)].strip()
    return Stages(command[: first.start()].strip(), second)


def without_here_document_lines(command: str) -> str:
    """`visible`, with the line ends inside hidden text hidden too, so that they separate nothing."""
    pieces: list[str] = []
    done = 0
    for begin, end in _hidden_spans(command):
        pieces.append(command[done:begin] + _HIDDEN * (end - begin))
        done = end
    pieces.append(command[done:])
    return "".join(pieces)


@lru_cache(maxsize=1)  # the rules ask one after the other of the same command
def _hidden_spans(command: str) -> tuple[tuple[int, int], ...]:
    return tuple(_found_hidden_spans(command))


def _found_hidden_spans(command: str) -> Iterator[tuple[int, int]]:
    """Yield disjoint spans in order: quoted text without its quotes, escapes, comments, here-document bodies."""
    waiting: list[tuple[str, bool]] = []
    position = 0
    while token := _TOKEN.search(command, position):
        position = token.end()
        text = token.group()
        if text == "\n":
            # The bodies of the line's here-documents follow, in the order of their operators.
            for word, strip_tabs in waiting:
                end = _body_end(command, position, word, strip_tabs)
                if end > position:
                    yield position, end
                position = end
            waiting.clear()
        elif token.group("word"):
            waiting.append((token.group("word"), bool(token.group("dash"))))
            if token.group("quote") in ("'", '"') and command.startswith(token.group("quote"), position):
                position += 1
        elif text[0] in "'\"":
            if len(text) > 2:
                yield token.start() + 1, token.end() - 1
        elif text != "<<<":
            yield token.start(), token.end()


def _body_end(command: str, begin: int, word: str, strip_tabs: bool) -> int:
    """Where the line after a here-document's terminator begins; the end of the text where none stands."""
    terminator = re.compile(rf"^{chr(92) + 't*' if strip_tabs else ''}{re.escape(word)}[ \t]*$", re.MULTILINE)
    found = terminator.search(command, begin)
    return min(found.end() + 1, len(command)) if found else len(command)
