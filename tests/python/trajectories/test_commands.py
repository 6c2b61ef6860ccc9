"""Which command a turn executes, and what kind it is. Source: definitions."""

import csv
import time
from pathlib import Path

import pytest
from assay.trajectories.commands import CommandKinds, KindRule, bash_block_count, executed_command
from assay.trajectories.shell_text import stages, visible, without_preamble

SEED = Path(__file__).parents[3] / "seeds" / "command_kinds.csv"


@pytest.fixture(scope="module")
def kinds() -> CommandKinds:
    with SEED.open(encoding="utf-8", newline="") as file:
        return CommandKinds(
            KindRule(row["scheme"], int(row["position"]), row["kind"], row["field"], row["pattern"])
            for row in csv.DictReader(file)
        )


def kind(kinds: CommandKinds, command: str | None, scheme: str = "behaviour", submits: bool = False) -> str:
    return kinds.classify(command, submits).kinds[scheme]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("no block at all", None),
        ("THOUGHT: look\n\n```bash\nls -la\n```", "ls -la"),
        ("```sh \nls\n```", "ls"),
        ("```BASH\nls\n```", None),
        ("```shell\nls\n```", None),
        ("```\nls\n```", "ls"),
        ("```\nfirst bare\n```\n```bash\nsecond\n```", "second"),
        # The fence that ends the python block begins nothing.
        ("```python\nprint(1)\n```\nprose\n```\nls\n```", "ls"),
        ("```python\nprint(1)\n```\nprose only", None),
        ("```bash\n\n```", ""),
        ("```bash\nnever closed", None),
        ("```bash\r\nls\r\n```", None),
    ],
)
def test_the_executed_command_is_the_first_shell_block_else_the_first_bare_one(text: str, command: str | None) -> None:
    assert executed_command(text) == command


def test_a_tagged_block_that_comes_first_counts_only_where_the_harness_takes_it() -> None:
    text = "<execute_bash>\nls\n</execute_bash>\n```bash\npwd\n```"
    assert executed_command(text) == "pwd"
    assert executed_command(text, takes_tagged=True) == "ls"
    assert executed_command("```bash\npwd\n```\n<execute_bash>ls</execute_bash>", takes_tagged=True) == "pwd"


def test_bash_blocks_are_counted_and_others_are_not() -> None:
    assert bash_block_count("```bash\na\n```\n```sh\nb\n```\n```python\nc\n```\n```\nd\n```") == 2
    assert bash_block_count("```bash\na") == 0


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (None, "none"),
        ("", "none"),
        ("# only a comment", "none"),
        ("cat -n src/a.py", "cat -n"),
        ("cat -An a.py", "cat -n"),
        ("nl -ba a.py | sed -n '1,20p'", "cat -n"),
        ("cat a.py | sed -n '1,20p'", "cat"),
        ("sed -n '1,20p' a.py", "sed -n"),
        ("sed -i 's/a/b/' a.py", "edit"),
        ("sed -i.bak 's/a/b/' a.py", "edit"),
        ("sed 's/a/b/' a.py", "other"),
        ("grep -rn total src", "grep -r"),
        ("grep -n total --recursive src", "grep -r"),
        ("rg total", "grep -r"),
        ("egrep -R total .", "grep -r"),
        ("grep -n total a.py", "grep"),
        ("pytest -q", "pytest/python"),
        ("python3.11 -m pytest", "pytest/python"),
        ("python -c 'print(1)'", "pytest/python"),
        ("pythonista", "other"),
        ("find . -name '*.py'", "find/ls"),
        ("ls -la", "find/ls"),
        ("head -50 a.py", "cat"),
        ("git diff", "git"),
        ("git apply fix.patch", "edit"),
        ("patch -p1 < fix.patch", "edit"),
        ("perl -pi -e 's/a/b/' a.py", "edit"),
        ("cat > src/a.py <<'EOF'\nx = 1\nEOF", "edit"),
        ("cat > /tmp/a.py <<'EOF'\nx = 1\nEOF", "cat"),
        ("cat > $OUT <<'EOF'\nx\nEOF", "cat"),
        ("echo x > notes", "other"),
        ("echo x >> ./notes", "edit"),
        ("python run.py 2> err.log", "pytest/python"),
        ("python run.py &> all.log", "pytest/python"),
        ("python run.py 2>&1", "pytest/python"),
        ("echo 'a > b.py'", "other"),
        ("echo x | tee src/a.py", "edit"),
        ("echo x | tee /tmp/a.py", "other"),
        ("cp a.py src/b.py", "edit"),
        ("cp a.py /tmp/b.py", "other"),
        ("mv old.py new.py", "edit"),
        ("python - <<'EOF'\nopen('a.py', 'w').write('x')\nEOF", "edit"),
        ("python - <<'EOF'\nPath('a.py').write_text('x')\nEOF", "edit"),
        ("python - <<'EOF'\nopen('a.py').read()\nEOF", "pytest/python"),
        ("cat > r.md <<'E'\n```py\nx > y.py\n```\nE", "edit"),
        ("cd /testbed && cat -n a.py", "cat -n"),
        ("# look\n\ncd src && # then\nls", "other"),
        ("cd a && cd b && ls", "other"),
        ("timeout 10 pytest", "other"),
        ("sudo ls", "other"),
        ("FOO=1 pytest", "other"),
        ("/usr/bin/python x.py", "other"),
        ("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "submit_like"),
        ("echo SUBMIT_TASK_0123ABCD && git diff", "submit_like"),
        ("echo SUBMIT_TASK_0123ABCDE", "other"),
        ("grep COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT a.py", "grep"),
        ("<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE", "edit"),
    ],
)
def test_the_first_simple_command_decides_the_kind(kinds: CommandKinds, command: str | None, expected: str) -> None:
    assert kind(kinds, command) == expected


def test_an_exact_submission_is_a_submission_whatever_it_looks_like(kinds: CommandKinds) -> None:
    assert kind(kinds, "cat patch.txt", submits=True) == "submit"
    assert kind(kinds, None, submits=True) == "submit"


def test_the_users_narrower_scheme_calls_a_here_document_written_with_cat_a_cat(kinds: CommandKinds) -> None:
    assert kind(kinds, "cat > a.py <<'E'\nx\nE", "first_word") == "cat"
    assert kind(kinds, "sed -i s/a/b/ a.py", "first_word") == "edit"


def test_the_second_stage_of_a_pipe_is_kept(kinds: CommandKinds) -> None:
    assert kinds.classify("cat a.py | sed -n 1,5p | head", False).second_stage == "sed"
    assert kinds.classify("pytest |& tail -5", False).second_stage == "tail"
    assert kinds.classify("cat a.py || true", False).second_stage is None
    assert kinds.classify("echo 'a | b'", False).second_stage is None


def test_a_rule_with_a_broken_pattern_is_named() -> None:
    with pytest.raises(ValueError, match="command_kinds: mine 3"):
        CommandKinds([KindRule("mine", 3, "x", "command", "(")])
    with pytest.raises(ValueError, match="unknown field nowhere"):
        CommandKinds([KindRule("mine", 3, "x", "nowhere", "x")])


def test_quotes_and_here_documents_hide_what_looks_like_code() -> None:
    assert "<<" not in visible('echo "a << b"')
    assert stages('echo "a && b" && ls').first == 'echo "a && b"'
    assert stages("cat <<'E' && ls\na && b\nE\n").first == "cat <<'E'"
    assert stages("cat <<-E\n\tx ; y\n\tE\nls").first.startswith("cat <<-E")
    assert visible("cat <<E\n> a.py\nE\necho x > b.py").count("> ") == 1
    assert visible("echo it's > a.py").endswith("> a.py"), "a lone quote is an ordinary character"
    assert visible("# don't\necho 'x' > a.py").endswith("> a.py"), "a quote in a comment opens nothing"
    assert without_preamble("# a\n# b\ncd 'my dir' && ls") == "ls"


@pytest.mark.parametrize(
    "piece",
    [
        *("'", '"', "<<E ", "\\", "#", "cd a && ", "> a.", "tee ", "-a ", "tee -", "tee -a ", "```bash\n"),
        *("open(", "open(,", "open(, ", "open( ", ")open(,", "<<<<<<< SEARCH\n", ">>>>>>> REPLACE\n"),
    ],
)
def test_a_hostile_command_of_a_hundred_thousand_characters_takes_no_longer_than_a_second(
    kinds: CommandKinds, piece: str
) -> None:
    text = piece * (100_000 // len(piece))
    started = time.process_time()
    kinds.classify(text, False)
    executed_command(text)
    assert time.process_time() - started < 5
