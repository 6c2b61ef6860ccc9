import random
import shutil
from pathlib import Path

import pytest
from assay.teacher import shell_syntax
from assay.teacher.shell_syntax import Verdict, check_commands, parses, plainly_valid, shell_version

BASH = shutil.which("bash") or "bash"
PIECES = (
    "ls -la cd /x && || | ; \n 'a b' \"x $Y\" 2>&1 > f 2>/dev/null < f=1 a[1]=2 [ ] { } {} \\; $X ~ *.py if then fi "
    "for in do "
    "done ! time case esac [[ ]] % é \\ function select '' \"\" ' \" = -f coproc & $ ${X} # until a\\ $( ` ( )"
).split(" ")


@pytest.mark.parametrize(
    "command",
    [
        "ls -la src && cat 'a file.py' | head -20",
        'grep -rn "def $NAME" . 2>/dev/null || echo none; pwd\n',
        "find . -name '*.py' -exec sed -n 1,5p {} \\;",
        "FOO=1 python3 -m pytest tests/test_a.py::test_b > out.txt 2>&1",
        "",
    ],
)
def test_plain_commands_need_no_bash(command: str) -> None:
    assert plainly_valid(command)
    assert parses(BASH, command).valid is True


@pytest.mark.parametrize(
    "command",
    [
        "echo 'open",
        "ls &&",
        "| cat",
        "if true",
        "cat <<EOF\nx\nEOF",
        "a; ; b",
        "echo $(ls)",
        "esac",
        "a[",
        "ls >",
        "f()",
    ],
)
def test_what_is_not_plain_is_left_to_bash(command: str) -> None:
    assert not plainly_valid(command)


def test_the_fast_check_never_says_yes_where_bash_says_no() -> None:
    generator = random.Random(5)
    accepted = 0
    for _ in range(1500):
        length = generator.randint(1, 8)
        command = "".join(generator.choice(PIECES) + generator.choice(["", " ", " "]) for _ in range(length))
        if plainly_valid(command):
            accepted += 1
            assert parses(BASH, command).valid is True, command
    assert accepted > 100


def test_nothing_is_executed(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    command = f"x=$(touch {touched}); touch {touched}; eval 'touch {touched}'"
    assert check_commands([command], tmp_path)[command].valid is True
    assert not touched.exists()


def test_verdicts_name_the_version_and_are_kept_by_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = "echo $(ls)", "sed -n '1,5p"
    first = check_commands([good, bad], tmp_path)
    assert (first[good].valid, first[bad].valid) == (True, False)
    assert first[good].checked_by == f"bash {shell_version(BASH)}"

    def refuse(*_: object) -> Verdict:
        raise AssertionError("asked again")

    monkeypatch.setattr(shell_syntax, "parses", refuse)
    assert check_commands([good, bad], tmp_path) == first


def test_a_bash_of_another_version_is_not_asked(tmp_path: Path) -> None:
    plain, other = "ls", "echo $(ls)"
    verdicts = check_commands([plain, other], tmp_path, pinned_version="1.14")
    assert verdicts[plain] == Verdict(True, "precheck")
    assert verdicts[other].valid is None
    assert verdicts[other].fault == f"bash_is_{shell_version(BASH)}_not_1.14"
    major = (shell_version(BASH) or "").partition(".")[0]
    assert check_commands([other], tmp_path, pinned_version=major)[other].valid is True


def test_a_nul_is_never_valid_and_a_long_command_is_checked() -> None:
    assert parses(BASH, "ls\0-la") == Verdict(False, "rule")
    assert not plainly_valid("ls\0-la")
    assert not plainly_valid("echo '\0'")
    long_command = "echo '" + "x" * 100_000 + "'"
    assert plainly_valid(long_command)
    assert parses(BASH, long_command).valid is True
    assert parses(BASH, "x" * (5 << 20)).fault == "command_too_long_to_check"


def test_a_check_that_takes_too_long_is_unknown(tmp_path: Path) -> None:
    sleeper = tmp_path / "bash"
    sleeper.write_text("#!/bin/sh\nexec sleep 5\n")
    sleeper.chmod(0o755)
    assert parses(str(sleeper), "ls", seconds=0.2) == Verdict(None, "bash", "shell_check_timed_out")


def test_a_broken_cache_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / shell_syntax.CACHE_FILE).write_bytes(b"no parquet")
    assert check_commands(["echo $(ls)"], tmp_path)["echo $(ls)"].valid is True
