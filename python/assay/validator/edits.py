"""Whether a turn edits the repository, as the measurement gate of V4 sees it (contract sn97 b.5, d)."""

import re

from assay.validator.fences import TAGGED_OR_BARE_FENCE, fenced_blocks

_OUTSIDE = r"(?!/dev/|/tmp/)"
_PATH_CHAR = r"[\w./~-]"
_WORD = r"[\w./-]+"

# Each is one way of writing to a file of the repository; scratch folders and devices do not count.
_EDIT = re.compile(
    "|".join(
        (
            r"sed\s+-i",
            rf"(?<![-=0-9&])>>?\s*{_OUTSIDE}(?={_PATH_CHAR}*[./]){_PATH_CHAR}",
            rf"tee\s+{_OUTSIDE}{_PATH_CHAR}",
            rf"cat\s*>>?\s*{_OUTSIDE}{_PATH_CHAR}",
            rf"(?:cp|mv)\s+{_WORD}\s+{_OUTSIDE}{_WORD}",
            r"git\s+apply",
            r"patch\s+-p",
            r"applypatch",
            r"str_replace",
            r">{7}\s*REPLACE",
            r"(?:perl|ruby)\s+-[a-zA-Z]*i\b",
            r"\.(?:write_text|write_bytes|writelines)\s*\(",
            r"shutil\.(?:copy|copyfile|copy2|move)\s*\(",
            r"os\.(?:replace|rename)\s*\(",
        )
    )
)
# Calls whose arguments decide; they are looked for between two closing brackets, which keeps the search
# linear.
_DECIDING_CALLS = (
    (re.compile(r"open\s*\("), re.compile(r"['\"][wa]\+?['\"]")),
    (re.compile(r"fileinput\.input\("), re.compile("inplace")),
)


def command_edits(command: str) -> bool:
    """Say whether a command holds one of the gate's edit patterns."""
    if _EDIT.search(command):
        return True
    for part in command.split(")"):
        for call, argument in _DECIDING_CALLS:
            head = call.search(part)
            if head and argument.search(part, head.end()):
                return True
    return False


def edited_in_turn(text: str | None) -> bool:
    """Say whether any bash, sh or bare block of a turn edits the repository."""
    return any(command_edits(body) for _, body in fenced_blocks(text or "", TAGGED_OR_BARE_FENCE))
