"""Invented repositories: files of numbered lines, a defect in one of them, and the task that reports it."""

import random
from dataclasses import dataclass
from functools import cache

_NOUNS = (
    "anchor basin canal delta ember fjord gauge harbor inlet jetty kelp ledge marsh notch ocean pier quay reef shoal "
    "tide vane wharf yawl zenith"
).split()
_VERBS = "parse merge split count format resolve collect validate convert shorten rotate publish".split()
_MODULES = "store parser report config schedule client validate formatting".split()
REPOSITORIES = 40
LINES_A_FILE = 160


@dataclass(frozen=True)
class Issue:
    """A task: the package, its defect and where that stands."""

    number: int
    package: str
    path: str
    symbol: str
    line: int
    test_path: str
    files: dict[str, list[str]]

    @property
    def instance_id(self) -> str:
        """Owner, repository and pull request, as public benchmarks write them."""
        return f"invented__{self.package}-{1000 + self.number}"

    def task(self, submit: str, words: int) -> str:
        """The text of the user's message; `words` of log lines make it as long as wanted."""
        log = " ".join(f"{_VERBS[i % 12]}:{_NOUNS[i * 7 % 24]}={i * 37 % 911}" for i in range(words))
        return (
            f"The function `{self.symbol}` of {self.path} gives a wrong number for an empty {self.package}.\n"
            f"Tests are in {self.test_path}. Work in /testbed, one command a reply.\n\n"
            f"Log of the failing run:\n{log}\n\n"
            f"When you are done: `{submit}`"
        )


@cache
def repository(index: int) -> tuple[str, dict[str, list[str]]]:
    """Package name and files of one repository."""
    rng = random.Random(f"repository:{index}")
    package = f"{_NOUNS[index % 24]}{_NOUNS[(index * 5 + 3) % 24]}"
    files = {}
    for module in _MODULES:
        lines = [f'"""{module.title()} of {package}."""', ""]
        while len(lines) < LINES_A_FILE:
            verb, noun, number = rng.choice(_VERBS), rng.choice(_NOUNS), rng.randrange(10_000)
            lines += [
                f"def {verb}_{noun}_{number}(records, limit={number % 97}):",
                f'    """Return the {noun} of each record, at most `limit` of them."""',
                f"    found = [record[{noun!r}] for record in records if record.get({verb!r}) is not None]",
                f"    return sorted(found, key=lambda value: (value % {number + 2}, value))[:limit]",
                "",
            ]
        files[f"{package}/{module}.py"] = lines[:LINES_A_FILE]
    return package, files


def issue(number: int) -> Issue:
    """Task `number`; the same number is the same task in every run."""
    package, files = repository(number % REPOSITORIES)
    rng = random.Random(f"issue:{number}")
    path = f"{package}/{rng.choice(_MODULES)}.py"
    line = rng.choice([at for at, text in enumerate(files[path], 1) if text.startswith("def ")])
    symbol = files[path][line - 1].removeprefix("def ").partition("(")[0]
    return Issue(number, package, path, symbol, line, f"tests/test_{path.split('/')[1]}", files)
