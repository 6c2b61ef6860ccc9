"""Read by a preference trainer's documented rule, exactly one reply of each side trains, behind the same context."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from assay.cli import main
from assay.mixes.formats import PAIR_FORMATS
from assay.mixes.formats.base import Setting, UnfitRowError, training_template
from assay.mixes.pairs import PairMessage, PairMeta, PairRecord
from assay.mixes.rows import encoded
from assay.mixes.tokenizer import AuditTokenizer, identity_of
from mix_inputs import BUNDLED, CONVERSATION, PLAIN_TEMPLATE, bundled, with_template

STOP = "<|im_end|>"
TEMPLATES = {"plain": PLAIN_TEMPLATE, "opens a thought": bundled().template_source}


def _pair(
    *prompt: tuple[str, str],
    chosen: str = "Now the change.",
    rejected: str = "Look again.",
    row_id: str = "pairs/a",
    split: str = "train",
    tokens: int | None = 70,
) -> PairRecord:
    texts = [PairMessage(*message) for message in prompt]
    one, other = ([PairMessage("assistant", reply)] for reply in (chosen, rejected))
    return PairRecord(row_id, texts, one, other, "pairs", PairMeta(split, 0.9, 0.2, ["loop"], tokens, 60))


PAIRS = [
    _pair(*CONVERSATION[:4]),
    # Replies that quote the frame, each other and the prompt, or begin with a blank.
    _pair(("user", "ls"), chosen="ls", rejected="assistant\nls"),
    _pair(("system", "s"), ("user", "naïve"), chosen=" 日本 \U0001f600", rejected="<think>\nhm\n</think>\n\nls"),
]


def _trained(tokenizer: AuditTokenizer, prompt: str, whole: str) -> str:
    """What is behind the tokens of the prompt, which must begin those of both together."""
    before, both = tokenizer.encode(prompt).ids, tokenizer.encode(whole).ids
    assert both[: len(before)] == before
    return tokenizer.decode(both[len(before) :])


def _trl(tokenizer: AuditTokenizer, exported: dict[str, Any]) -> list[tuple[str, str]]:
    """The prompt is rendered with its generation prompt, and again with each side; the difference trains."""
    asked = tokenizer.template.render(exported["prompt"], add_generation_prompt=True)
    whole = [tokenizer.template.render([*exported["prompt"], *exported[side]]) for side in ("chosen", "rejected")]
    return [(text, _trained(tokenizer, asked, text)) for text in whole]


def _axolotl(tokenizer: AuditTokenizer, exported: dict[str, Any]) -> list[tuple[str, str]]:
    """Each reply is rendered behind a made-up message and cut out from its content on, white space at the end gone."""
    asked = tokenizer.template.render(exported["messages"], add_generation_prompt=True)
    made = []
    for side in ("chosen", "rejected"):
        alone = tokenizer.template.render([{"role": "user", "content": "[[dummy_message]]"}, exported[side]])
        reply = alone[alone.index(f"assistant\n{exported[side]['content']}") + len("assistant\n") :].rstrip()
        made.append((asked + reply + "\n", _trained(tokenizer, asked, asked + reply)))
    return made


def _llamafactory(tokenizer: AuditTokenizer, exported: dict[str, Any]) -> list[tuple[str, str]]:
    """A template of its own prints turns by their names; the reply and the stop token train."""
    names = {"system": "system", "human": "user", "gpt": "assistant"}
    talk = [{"role": names[one["from"]], "content": one["value"]} for one in exported["conversations"]]
    assert [one["role"] for one in talk if one["role"] != "system"][::2] == ["user"] * ((len(talk) + 1) // 2)
    before = "".join(f"<|im_start|>{one['role']}\n{one['content']}{STOP}\n" for one in talk) + "<|im_start|>assistant\n"
    replies = [exported[side]["value"] + STOP for side in ("chosen", "rejected")]
    return [(before + reply + "\n", _trained(tokenizer, before, before + reply)) for reply in replies]


RULES = {"trl-dpo": _trl, "axolotl-dpo": _axolotl, "llamafactory-dpo": _llamafactory}
# What TRL learns behind the stop token: the line break that the template puts there.
ENDINGS = {"trl-dpo": f"{STOP}\n"}


def _setting(tokenizer: AuditTokenizer | None, template_file: str | None = None, file: str = "pairs.jsonl") -> Setting:
    return Setting(tokenizer, file, "assay_pairs", 4096 if tokenizer else None, template_file)


def test_every_format_has_its_rule() -> None:
    assert set(RULES) == set(PAIR_FORMATS)


@pytest.mark.parametrize("pair", PAIRS, ids=["a talk", "quotes", "letters"])
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("name", RULES)
def test_exactly_one_reply_of_each_side_trains(name: str, template: str, pair: PairRecord) -> None:
    tokenizer = with_template(TEMPLATES[template])
    reader = tokenizer
    if PAIR_FORMATS[name].masks_generation_prompt:
        made = training_template(tokenizer.template_source, tokenizer)
        reader = tokenizer if made is None else with_template(made)
    (exported,) = json.loads(json.dumps(list(PAIR_FORMATS[name].rows(pair, _setting(tokenizer)))))
    found = RULES[name](reader, exported)
    ending = ENDINGS.get(name, STOP)
    assert [learnt for _, learnt in found] == [side[0].content + ending for side in (pair.chosen, pair.rejected)]
    # The model reads what was audited.
    prompt = [{"role": one.role, "content": one.content} for one in pair.prompt]
    audited = [
        tokenizer.template.render([*prompt, {"role": "assistant", "content": side[0].content}])
        for side in (pair.chosen, pair.rejected)
    ]
    assert [text for text, _ in found] == audited


@pytest.mark.parametrize(
    "prompt",
    [
        (("user", "a"), ("user", "b")),
        (("user", "a"), ("assistant", "b")),
        (("assistant", "a"),),
        (("system", "a"),),
        (("user", "a"), ("tool", "b"), ("user", "c")),
    ],
)
def test_llamafactory_is_given_no_talk_that_does_not_alternate(prompt: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(UnfitRowError, match="do not take turns"):
        list(PAIR_FORMATS["llamafactory-dpo"].rows(_pair(*prompt), _setting(None)))


def test_axolotl_is_given_no_role_without_a_name() -> None:
    with pytest.raises(UnfitRowError, match="none of system, user, assistant and tool"):
        list(PAIR_FORMATS["axolotl-dpo"].rows(_pair(("developer", "a")), _setting(None)))


@pytest.mark.parametrize("file_name", ["pairs.jsonl", "it's $(id); a b.jsonl", '- "x" \\ é.jsonl'])
@pytest.mark.parametrize("is_known", [True, False], ids=["tokenizer", "none"])
@pytest.mark.parametrize("name", PAIR_FORMATS)
def test_every_configuration_is_well_formed_and_names_its_file(name: str, is_known: bool, file_name: str) -> None:
    made = PAIR_FORMATS[name]
    template = "own.jinja" if is_known and made.masks_generation_prompt else None
    snippet = made.snippet(_setting(bundled() if is_known else None, template, file_name))
    assert ("4096" in snippet) == is_known
    assert ("MAX_ROW_TOKENS" in snippet) == (not is_known)
    assert ("own.jinja" in snippet) == (template is not None)
    if made.snippet_ending == ".py":
        constants = [node.value for node in ast.walk(ast.parse(snippet)) if isinstance(node, ast.Constant)]
        assert file_name in constants
    elif made.snippet_ending == ".json":
        assert json.loads(snippet)["dataset_info.json"]["assay_pairs"]["file_name"] == file_name
    else:
        assert yaml.safe_load(snippet)["datasets"][0]["path"] == file_name


def test_pairs_are_exported_as_a_mix_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "exports" / "mixes"
    folder.mkdir(parents=True)
    pairs = [_pair(*CONVERSATION[:4]), _pair(("user", "a"), ("user", "b"), row_id="pairs/b", split="validation")]
    (folder / "pairs.jsonl").write_bytes(b"".join(encoded(pair) + b"\n" for pair in pairs))
    (folder / "mask_audit.jsonl").write_text(json.dumps({"id": "one", **vars(identity_of(BUNDLED))}) + "\n")
    words = ["export", "--exports", str(tmp_path / "exports"), "--tokenizer", str(BUNDLED), "--mix", "pairs"]
    assert main([*words, "--format", "axolotl"]) == 2
    assert "no format of pairs is called axolotl; there are trl-dpo, axolotl-dpo" in capsys.readouterr().err
    assert main([*words, "--format", "llamafactory-dpo"]) == 0
    said = capsys.readouterr()
    assert "2 rows became 1 rows" in said.out
    assert "1 of the rows read are held out for validation" in said.out
    assert "1 rows were left out, since llamafactory-dpo cannot read them" in said.err
    assert main([*words, "--format", "trl-dpo", "--split", "train"]) == 0
    made = folder / "formats" / "pairs.train.trl-dpo.jsonl"
    (line,) = made.read_text().splitlines()
    assert json.loads(line)["chosen"] == [{"role": "assistant", "content": "Now the change."}]
    assert "max_length=70" in made.with_name(f"{made.name}.config.py").read_text()
    capsys.readouterr()
    assert main([*words, "--format", "trl-dpo", "--max-row-tokens", "69"]) == 0
    assert "2 targets were left out, since a context of 69 tokens" in capsys.readouterr().err
