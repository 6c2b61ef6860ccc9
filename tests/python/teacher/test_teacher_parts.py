import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from assay.chat_templates import TemplateRefusedError
from assay.errors import AssayError
from assay.exporting import json_line
from assay.teacher import tokens
from assay.teacher.duel_facts import common_ending, margins, own_tau, rows_of, unknown_reason
from assay.teacher.export import ROWS, write_rows
from assay.teacher.prompts import PrefixError, prefix_of_place, prefix_of_view, render_turn
from assay.teacher.references import content_key, dialect_of, reference_facts
from assay.teacher.selected import has_environment_turn, is_blank
from assay.tokenizer_folder import chat_template_of, named_tokens_of
from assay.validator.repairs import Repaired
from assay.validator.rollouts import completion_text, fenced
from tokenizers import Tokenizer


@pytest.mark.parametrize(
    ("action", "dialect"),
    [
        ("```bash\nls\n```", "bash"),
        ("```bash\n\n```", "bash"),
        ("```bash\n```", "text"),
        ("```sh\nls\n```", "text"),
        ("\\boxed{4}", "boxed"),
        ('{"name": "read", "arguments": {}}', "tool_call"),
        ("<tool_call>\n{}\n</tool_call>", "tool_call"),
        ('{"analysis": "a", "plan": "b", "commands": []}', "terminus_json"),
        ('{"analysis": "a"}', "text"),
        ("[" * 100_000, "text"),
        ("{" * 100_000, "text"),
        ("All done.", "text"),
        ("", "none"),
        (None, "none"),
    ],
)
def test_dialects_are_told_apart_by_the_action(action: str | None, dialect: str) -> None:
    facts = reference_facts(action)
    assert dialect_of(action) == facts.dialect == dialect
    assert (facts.first_token is None) == (dialect != "bash")


def test_keys_say_which_actions_are_the_same() -> None:
    one, other = reference_facts(fenced("cd /app && python3 ./a.py")), reference_facts(fenced("python  a.py"))
    assert one.action_key != other.action_key
    assert one.norm_key == other.norm_key
    assert (one.first_token, other.first_token) == ("cd", "python")
    assert content_key("a", "b", 0.1, None) != content_key("a", "b", 0.1, 0.0) != content_key("ab", "", 0.1, 0.0)


def test_filters_look_at_the_repaired_thought() -> None:
    assert has_environment_turn("fine\nOBSERVATION: 3 files")
    assert has_environment_turn("<returncode>0</returncode>")
    assert not has_environment_turn("the OBSERVATION: was odd, its output too")
    assert is_blank(Repaired("", fenced("ls"), ()))
    assert is_blank(Repaired("A thought.", fenced("  \n"), ()))
    assert not is_blank(Repaired("A thought.", fenced("ls"), ()))


NODES: list[dict[str, Any]] = [
    {"parent": None, "role": "system", "content": "s"},
    {"parent": 0, "role": "user", "content": "u"},
    {"parent": 1, "role": "assistant", "content": "a"},
    {"parent": 2, "role": "user", "content": "o"},
    {"parent": 3, "role": "assistant", "content": "b"},
    {"parent": 1, "role": "assistant", "content": "another branch"},
]


def test_the_prefix_of_a_view_is_the_path_to_the_parent() -> None:
    assert [message["content"] for message in prefix_of_view(NODES, 4)] == ["s", "u", "a", "o"]
    assert [message["content"] for message in prefix_of_view(NODES, 5)] == ["s", "u"]


@pytest.mark.parametrize(
    ("node_id", "parents", "reason"),
    [
        (None, {}, "node_outside_trajectory"),
        (6, {}, "node_outside_trajectory"),
        (3, {}, "node_is_not_an_assistant_message"),
        (4, {3: 99}, "path_of_nodes_is_broken"),
        (4, {1: 3}, "path_of_nodes_is_broken"),
        (4, {4: None}, "prefix_does_not_end_on_a_user_message"),
        (4, {4: 2}, "prefix_does_not_end_on_a_user_message"),
    ],
)
def test_a_broken_path_has_a_reason(node_id: int | None, parents: dict[int, int | None], reason: str) -> None:
    nodes = [{**node, "parent": parents.get(index, node["parent"])} for index, node in enumerate(NODES)]
    with pytest.raises(PrefixError, match=reason):
        prefix_of_view(nodes, node_id)


PLACE = {"layout": "trajectory", "turn_id": "t:1", "turn_idx": 1, "msg_pos": 4, "node_id": None}


@pytest.mark.parametrize(
    ("place", "entries", "reason"),
    [
        ({}, [], "turn_not_listed_in_trajectory"),
        ({}, [{"turn_idx": 1, "msg_pos": 2}], "index_and_trajectory_disagree_on_msg_pos"),
        ({"msg_pos": 40}, [{"turn_idx": 1, "msg_pos": 40}], "msg_pos_is_outside_the_messages"),
        ({"msg_pos": 3}, [{"turn_idx": 1, "msg_pos": 3}], "msg_pos_is_not_an_assistant_message"),
    ],
)
def test_a_place_that_is_none_has_a_reason(place: dict[str, Any], entries: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(PrefixError, match=reason):
        prefix_of_place(PLACE | place, NODES[:5], entries)


def test_places_of_every_layout() -> None:
    turn = prefix_of_place(PLACE, NODES[:5], [{"turn_idx": 1, "msg_pos": 4}])
    view = prefix_of_place(PLACE | {"layout": "view", "node_id": 4}, NODES, [])
    flat = prefix_of_place(PLACE | {"layout": "flat"}, NODES[:4], [])
    assert turn == view == flat == [{"role": node["role"], "content": node["content"]} for node in NODES[:4]]
    with pytest.raises(PrefixError, match="message_without_role_or_content"):
        prefix_of_place(PLACE | {"layout": "flat"}, [*NODES[:3], {"role": "user", "content": None}], [])


def test_the_chat_template_is_found_where_tokenizers_keep_it(tmp_path: Path) -> None:
    assert chat_template_of(tmp_path) is None
    config = tmp_path / "tokenizer_config.json"
    config.write_text(
        json.dumps({"chat_template": [{"name": "tool", "template": "t"}, {"name": "default", "template": "d"}]})
    )
    assert chat_template_of(tmp_path) == "d"
    config.write_text(json.dumps({"chat_template": "c"}))
    assert chat_template_of(tmp_path) == "c"
    (tmp_path / "chat_template.jinja").write_text("j")
    assert chat_template_of(tmp_path) == "j"
    (tmp_path / "chat_template.jinja").unlink()
    config.write_text("{")
    with pytest.raises(AssayError, match="cannot be read"):
        chat_template_of(tmp_path)


def test_a_template_prints_the_special_tokens_that_its_settings_name(tmp_path: Path) -> None:
    assert named_tokens_of(tmp_path) == {}
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": None}))
    assert named_tokens_of(tmp_path) == {"bos_token": "<s>", "eos_token": "</s>"}
    template = (
        "{{ bos_token }}{% for message in messages %}[{{ message.role }}]{{ message.content }}{{ eos_token }}"
        "{% endfor %}{{ pad_token }}{% if add_generation_prompt %}[assistant]{% endif %}"
    )
    prefix = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    assert render_turn(template, named_tokens_of(tmp_path), prefix) == "<s>[system]s</s>[user]u</s>[assistant]<think>"
    config.write_text("[1]")
    with pytest.raises(AssayError, match="are not a JSON object"):
        named_tokens_of(tmp_path)


def test_a_template_may_use_what_templates_of_trained_models_use() -> None:
    template = (
        "{%- macro shown(content) -%}{{ content | trim }}{%- endmacro -%}"
        "{%- set ns = namespace(last=0) -%}"
        "{%- for message in messages[::-1] -%}{%- set index = (messages | length - 1) - loop.index0 -%}"
        "{%- if message.role == 'user' and ns.last == 0 -%}{%- set ns.last = index -%}{%- endif -%}{%- endfor -%}"
        "{%- for message in messages -%}{{ loop.index0 ~ ':' ~ shown(message.content) + ';' }}{%- endfor -%}"
        "{{ ns.last }}{%- if tools %}{{ tools | tojson }}{% endif -%}"
        "{%- if add_generation_prompt %}{{ '<think>\n' }}{% endif -%}"
    )
    prefix = [{"role": "system", "content": " s "}, {"role": "user", "content": "u"}]
    assert render_turn(template, {}, prefix) == "0:s;1:u;1<think>\n"


def test_a_template_without_end_is_refused() -> None:
    with pytest.raises(TemplateRefusedError):
        render_turn("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", {}, [])


def _side(
    side: str, reasons: list[float], thought: str = "t" * 50
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rows = [{"side": side, "row_index": at, "turn_id": f"t{at}", "valid": True} for at in range(len(reasons))]
    empty = dict.fromkeys(("lpc_yc_zc", "lpc_ya_za", "lpc_ya_e"))
    pairs = [
        {"side": side, "row_index": at, "pair_index": 0, "lpc_yc_za": value, "lpc_yc_e": 0.0, "thought": thought,
         "action": "```bash\nls\n```", **empty}
        for at, value in enumerate(reasons)
    ]  # fmt: skip
    return rows, pairs


def test_margins_are_those_of_the_rows() -> None:
    king, challenger = _side("king", [0.0, 0.0, 0.0]), _side("challenger", [0.1, 0.2, 0.3])
    sides = rows_of(king[0] + challenger[0], challenger[1] + king[1])
    assert unknown_reason(sides) is None
    (plain, tempered) = margins(sides, [None, 0.03, None])
    assert (plain.tau, plain.n_paired_turns) == (None, 3)
    assert plain.margin == pytest.approx(0.2, abs=1e-12)
    assert plain.se == pytest.approx(0.1 / 3**0.5, abs=1e-12)
    assert tempered.margin == pytest.approx(plain.margin, abs=1e-12)  # one pair a turn: tempering changes nothing


def test_a_record_that_cannot_be_scored_says_why() -> None:
    king, challenger = _side("king", [0.0]), _side("challenger", [0.1])
    assert unknown_reason(rows_of([], [])) == "no_king_rows"
    assert unknown_reason(rows_of(king[0], king[1])) == "no_challenger_rows"
    challenger[1][0]["lpc_yc_e"] = None
    sides = rows_of(king[0] + challenger[0], king[1] + challenger[1])
    assert unknown_reason(sides) == "pair_without_log_probability"


def test_log_probabilities_whose_difference_overflows_are_no_score() -> None:
    king, challenger = _side("king", [0.0, 0.0]), _side("challenger", [0.1, 1e308])
    challenger[1][1]["lpc_yc_e"] = -1e308
    assert unknown_reason(rows_of(king[0] + challenger[0], king[1] + challenger[1])) == "log_probability_out_of_range"


def test_one_turn_is_no_duel() -> None:
    king, challenger = _side("king", [0.0]), _side("challenger", [0.1])
    (margin,) = margins(rows_of(king[0] + challenger[0], king[1] + challenger[1]), [None])
    assert (margin.n_paired_turns, margin.margin, margin.se) == (1, 0.0, None)


def test_own_tau_is_what_the_record_states() -> None:
    assert own_tau('{"tau": 0.03}') == 0.03
    assert [own_tau(text) for text in (None, "{}", '{"tau": null}', '{"tau": "x"}', '{"tau": true}', "[]")] == [
        None
    ] * 6
    assert [own_tau(f'{{"tau": {text}}}') for text in ("1" + 400 * "0", "1e400", "-1e400")] == [None] * 3


def test_a_constant_ending_is_found_and_short_thoughts_are_none() -> None:
    rows = rows_of(*_side("king", [0.0] * 4, "Different things, then: " + "the same ending over and over again."))[
        "king"
    ]
    ending = common_ending(rows)
    assert (ending.n_thoughts, ending.share) == (4, 1.0)
    assert ending.ending == "the same ending over and over again."[-32:]
    assert common_ending(rows_of(*_side("king", [0.0] * 4, "Next step."))["king"]).share is None


def _row(number: int, **changes: Any) -> dict[str, Any]:
    thought, action = f"Thought {number} \u2028 é", fenced("ls")
    row: dict[str, Any] = {field.name: f"{field.name} {number}" for field in ROWS}
    row |= {field.name: number for field in ROWS if pa.types.is_integer(field.type)}
    row |= {field.name: number / 7 for field in ROWS if pa.types.is_floating(field.type)}
    row |= {field.name: True for field in ROWS if pa.types.is_boolean(field.type)}
    row |= {
        "clean_flags": [],
        "thought": thought,
        "action": action,
        "completion": completion_text(thought, action, "Go:"),
    }
    return row | changes


def _batches(rows: list[dict[str, Any]], size: int) -> Iterator[pa.RecordBatch]:
    for begin in range(0, len(rows), size):
        yield pa.RecordBatch.from_pylist(rows[begin : begin + size], schema=ROWS)


def test_the_same_rows_give_the_same_bytes_however_they_arrive(tmp_path: Path) -> None:
    rows = [_row(number) for number in range(1200)]
    written = []
    for size in (7, 1200):
        folder = tmp_path / str(size)
        folder.mkdir()
        assert write_rows(folder, _batches(rows, size), "Go:") == 1200
        written.append([(path.name, path.read_bytes()) for path in sorted(folder.iterdir())])
    assert written[0] == written[1]
    assert [name for name, _ in written[0]] == ["sft_rows.jsonl", "sft_rows.parquet"]
    lines = written[0][0][1].decode().splitlines()
    assert [json.loads(line) for line in lines] == rows
    assert pq.read_table(tmp_path / "7" / "sft_rows.parquet").to_pylist() == rows


def test_no_rows_are_an_empty_file(tmp_path: Path) -> None:
    assert write_rows(tmp_path, [], "Go:") == 0
    assert (tmp_path / "sft_rows.jsonl").read_bytes() == b""
    table = pq.read_table(tmp_path / "sft_rows.parquet")
    assert (table.num_rows, table.schema.names) == (0, ROWS.names)


def test_a_row_that_does_not_round_trip_stops_the_export_and_leaves_the_old_files(tmp_path: Path) -> None:
    write_rows(tmp_path, _batches([_row(1)], 1), "Go:")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for broken in (_row(2, action=fenced("pwd")), _row(3, thought="Another")):
        with pytest.raises(AssayError, match="does not round trip"):
            write_rows(tmp_path, _batches([_row(1), broken], 2), "Go:")
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_files_hold_no_nul_and_still_round_trip(tmp_path: Path) -> None:
    thought, action = "A\0thought", fenced("ls")
    row = _row(1, prompt="p\0", thought=thought, completion=completion_text(thought, action, "Go:"))
    write_rows(tmp_path, _batches([row], 1), "Go:")
    (line,) = (tmp_path / "sft_rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert "\\u0000" not in line
    written = json.loads(line)
    assert (written["prompt"], written["thought"]) == ("p\ufffd", "A\ufffdthought")
    assert pq.read_table(tmp_path / "sft_rows.parquet").to_pylist() == [written]


def test_json_has_no_number_that_json_does_not_have() -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_line({"x": float("nan")})


def test_a_prompt_that_the_tokenizer_gives_up_on_has_no_count_and_the_others_have_theirs(tmp_path: Path) -> None:
    bundled = Path(__file__).parents[2] / "fixtures" / "raw" / "tokenizer" / "tokenizer.json"
    document = json.loads(bundled.read_text(encoding="utf-8"))
    # The library's pattern runs into its limit there, and panics: no `Exception`.
    pattern = {"type": "Split", "pattern": {"Regex": "([a-z ]+)+$"}, "behavior": "Isolated", "invert": False}
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [pattern, document["pre_tokenizer"]]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    prompts = ["A1", "a b " * 60 + "1", None, "B22"]
    table = pa.table({"corpus_epoch": [1, 1, 1, 1], "turn_id": list("abcd"), "prompt": prompts})
    pq.write_table(table, tmp_path / "prompts.parquet")
    written: list[pa.RecordBatch] = []
    tokens.count_file(tmp_path / "tokenizer.json", tmp_path / "prompts.parquet", lambda _, batch: written.append(batch))
    found = {row["turn_id"]: (row["n_prefix_tokens"], row["fault"]) for batch in written for row in batch.to_pylist()}
    alone = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    lengths = [len(alone.encode(text, add_special_tokens=False).ids) for text in ("A1", "B22")]
    assert found == {
        "a": (lengths[0], None),
        "b": (None, "tokenizer_failed"),
        "c": (None, "no_prompt"),
        "d": (lengths[1], None),
    }
