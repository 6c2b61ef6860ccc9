"""The pages of docs/rules lead somewhere, and comments point to them and to nothing that nobody can open."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "rules").glob("*.md"))
MENTION = re.compile(r"docs/rules/([\w-]+\.md)(?:#([\w-]+))?")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SIX_RULES = (
    "failed observation",
    "eligibility of a side",
    "escape",
    "deployment limit",
    "margin interval",
    "V5 against V4 loops",
)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def faults_of_link(page: Path, target: str) -> str | None:
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists():
        return f"{page.name}: {target} does not exist"
    if anchor and anchor not in anchors(file):
        return f"{page.name}: {target} has no such section"
    return None


def texts() -> dict[str, str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    kept = (".py", ".sql", ".yml", ".csv", ".md", ".toml")
    names = [name for name in listed.stdout.split("\0") if name.endswith(kept) and (ROOT / name).is_file()]
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in names}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file_and_a_section(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    assert [fault for target in targets if (fault := faults_of_link(page, target))] == []


def test_a_link_to_nowhere_would_be_found() -> None:
    assert faults_of_link(PAGES[0], "nowhere.md") is not None
    assert faults_of_link(PAGES[0], "turns.md#no-such-section") is not None
    assert faults_of_link(PAGES[0], "turns.md#failed-observation") is None


def test_every_mention_of_a_page_leads_to_a_section() -> None:
    faults = [
        f"{name}: {match.group(0)}"
        for name, text in texts().items()
        for match in MENTION.finditer(text)
        if not (ROOT / "docs" / "rules" / match[1]).exists()
        or (match[2] and match[2] not in anchors(ROOT / "docs" / "rules" / match[1]))
    ]
    assert faults == []


@pytest.mark.parametrize("rule", SIX_RULES)
def test_the_index_leads_from_a_rule_to_its_file(rule: str) -> None:
    index = ROOT / "docs" / "rules" / "README.md"
    (row,) = [line for line in index.read_text(encoding="utf-8").splitlines() if f"**{rule}**" in line]
    files = [target for target in LINK.findall(row) if not target.partition("#")[0].endswith(".md")]
    assert files
    assert all((index.parent / target).resolve().is_file() for target in files)
