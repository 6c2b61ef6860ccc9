"""Read by a trainer's documented rule, every format trains exactly the turns that the mask says, and nothing else.

The rules are written down again here from the trainers' documentation (contract: exports, 3a). Where a trainer renders
with a chat template, so does the rule, with a real tokenizer.
"""

import ast
import json
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from assay.mixes.formats import FORMATS
from assay.mixes.formats.base import Setting, UnfitRowError, training_template, turn_ending
from assay.mixes.rows import RowRecord
from assay.mixes.tokenizer import AuditTokenizer
from mix_inputs import CONVERSATION, PLAIN_TEMPLATE, STRIPPING_TEMPLATE, bundled, row, with_template

Row = dict[str, Any]
Labelled = tuple[list[int], list[bool]]
STOP = "<|im_end|>"

# Contents that quote each other and the frame, begin or end in blanks, or are short enough to occur anywhere.
ROWS = [
    row(*((role, content, place in (2, 4)) for place, (role, content) in enumerate(CONVERSATION))),
    row(("system", "ls", False), ("user", "assistant\nls", False), ("assistant", "ls", False), ("user", "a", False),
        ("assistant", "ls", True), ("user", "ls", False), ("assistant", " ls ", False)),
    row(("user", "go", False), ("assistant", "<think>\nhm\n</think>\n\n```bash\npwd\n```", True)),
    row(("system", "s", False), ("user", "naïve \U0001f600", False), ("assistant", "日本", True), ("user", "", False),
        ("assistant", "\u2028é", True)),
]  # fmt: skip
TEMPLATES = {"plain": PLAIN_TEMPLATE, "opens a thought": bundled().template_source}


def _setting(tokenizer: AuditTokenizer, template_file: str | None = None) -> Setting:
    return Setting(tokenizer, "credit.jsonl", "assay_credit", 4096, template_file)


def _rows(name: str, canonical: RowRecord, tokenizer: AuditTokenizer) -> list[Row]:
    made = FORMATS[name].rows(canonical, _setting(tokenizer))
    return json.loads(json.dumps(list(made))) if FORMATS[name].schema is None else list(made)


def _trained(canonical: RowRecord) -> list[str]:
    return [message.content for message in canonical.messages if message.train]


def _learnt(tokenizer: AuditTokenizer, labelled: Labelled) -> list[str]:
    """The texts of the stretches of tokens that train."""
    runs: list[list[int]] = []
    before = False
    for identifier, trains in zip(*labelled, strict=True):
        if trains and not before:
            runs.append([])
        if trains:
            runs[-1].append(identifier)
        before = trains
    return [tokenizer.decode(run) for run in runs]


def _text(tokenizer: AuditTokenizer, messages: list[Row], prompt: bool = False) -> str:
    return tokenizer.template.render(messages, add_generation_prompt=prompt)


def _ids(tokenizer: AuditTokenizer, messages: list[Row], prompt: bool = False) -> list[int]:
    return list(tokenizer.encode(_text(tokenizer, messages, prompt)).ids)


def _whole(canonical: RowRecord) -> list[Row]:
    return [{"role": message.role, "content": message.content} for message in canonical.messages]


def _by_message(tokenizer: AuditTokenizer, messages: list[Row], trains: Callable[[Row], bool]) -> Labelled:
    """Trainers that decide message by message: the content and the stop token behind it, found between two renders."""
    text = _text(tokenizer, messages)
    encoding = tokenizer.encode(text)
    mask = [False] * len(encoding.ids)
    for place, message in enumerate(messages):
        if trains(message):
            start = len(_text(tokenizer, messages[:place])) + len(f"<|im_start|>{message['role']}\n")
            end = start + len(message["content"]) + len(STOP)
            assert text[start:end] == message["content"] + STOP
            for token in range(len(mask)):
                first, behind = encoding.token_to_chars(token)
                mask[token] = mask[token] or (first >= start and behind <= end)
    return list(encoding.ids), mask


def _axolotl(tokenizer: AuditTokenizer, exported: Row) -> Labelled:
    """A flag on the message decides; without one the role would, and `roles_to_train` is empty."""
    return _by_message(tokenizer, exported["messages"], lambda message: bool(message.get("train", False)))


def _ms_swift(tokenizer: AuditTokenizer, exported: Row) -> Labelled:
    """Assistants alone may train; a flag that is null or absent leaves it to the strategy, which trains all of them."""

    def trains(message: Row) -> bool:
        return message["role"] == "assistant" and message.get("loss") is not False

    return _by_message(tokenizer, exported["messages"], trains)


def _llamafactory_v1(tokenizer: AuditTokenizer, exported: Row) -> Labelled:
    """Content is a list of parts; the weight of a message counts, 1.0 where it has none."""
    messages = [
        {**message, "content": "".join(part["value"] for part in message["content"] if part["type"] == "text")}
        for message in exported["messages"]
    ]
    return _by_message(tokenizer, messages, lambda message: message.get("loss_weight", 1.0) > 0)


def _tinker(tokenizer: AuditTokenizer, exported: Row) -> Labelled:
    """Customised training asks every message, and refuses a row in which one does not say."""
    assert all(isinstance(message["trainable"], bool) for message in exported["messages"])
    return _by_message(tokenizer, exported["messages"], lambda message: bool(message["trainable"]))


def _sole(tokenizer: AuditTokenizer, prompt: bool) -> list[int]:
    return _ids(tokenizer, [{"role": "user", "content": "x"}], prompt)


def _slime(tokenizer: AuditTokenizer, exported: Row) -> Labelled:
    """Every message is rendered by itself; of an assistant's as many tokens are masked as the generation prompt has."""
    prompt = len(_sole(tokenizer, True)) - len(_sole(tokenizer, False))
    identifiers: list[int] = []
    mask: list[bool] = []
    for message in exported["messages"]:
        own = _ids(tokenizer, [message])
        trains = message["role"] == "assistant" and message.get("step_loss_mask", 1) == 1
        identifiers += own
        mask += [trains and token >= prompt for token in range(len(own))]
    return identifiers, mask


def _verl(tokenizer: AuditTokenizer, exported: Row) -> Labelled:
    """All assistant messages train, each rendered by itself without the generation prompt; the whole must agree."""
    prompt = len(_sole(tokenizer, True)) - len(_sole(tokenizer, False))
    identifiers: list[int] = []
    mask: list[bool] = []
    for message in exported["messages"]:
        own = _ids(tokenizer, [message])
        identifiers += own
        mask += [message["role"] == "assistant" and token >= prompt for token in range(len(own))]
    assert identifiers == _ids(tokenizer, exported["messages"])
    return identifiers, mask


def _trl(tokenizer: AuditTokenizer, exported: Row) -> Labelled:
    """The prompt with its generation prompt is masked, by number of tokens; what is behind it trains."""
    prompt = _ids(tokenizer, exported["prompt"], prompt=True)
    whole = _ids(tokenizer, [*exported["prompt"], *exported["completion"]])
    return whole, [token >= len(prompt) for token in range(len(whole))]


def _llamafactory_v0(tokenizer: AuditTokenizer, exported: Row) -> Labelled:
    """Turns are pairs of a user's and an assistant's message; with `mask_history` the last answer alone trains."""
    messages = exported["messages"]
    talk = messages[1:] if messages[0]["role"] == "system" else messages
    assert [message["role"] for message in talk] == ["user", "assistant"] * (len(talk) // 2)
    asked = _text(tokenizer, messages[:-1]) + "<|im_start|>assistant\n"
    before, answer = tokenizer.encode(asked).ids, tokenizer.encode(messages[-1]["content"] + STOP).ids
    return [*before, *answer], [False] * len(before) + [True] * len(answer)


def _prompt_completion(tokenizer: AuditTokenizer, exported: Row) -> Labelled:
    """No template; the tokens of the prompt are masked, and must begin the tokens of both together."""
    prompt = tokenizer.encode(exported["prompt"]).ids
    whole = tokenizer.encode(exported["prompt"] + exported["completion"]).ids
    assert whole[: len(prompt)] == prompt
    return list(whole), [token >= len(prompt) for token in range(len(whole))]


RULES: dict[str, Callable[[AuditTokenizer, Row], Labelled]] = {
    "axolotl": _axolotl,
    "ms-swift": _ms_swift,
    "llamafactory-v1": _llamafactory_v1,
    "tinker": _tinker,
    "slime": _slime,
    "verl": _verl,
    "trl": _trl,
    "llamafactory-v0": _llamafactory_v0,
    "prompt-completion": _prompt_completion,
}
# What a trainer learns behind the content: most the stop token, some the line break that the template puts behind it.
ENDINGS = {"slime": f"{STOP}\n", "verl": f"{STOP}\n", "trl": f"{STOP}\n"}


def test_every_format_has_its_rule() -> None:
    assert set(RULES) == set(FORMATS)


def _for_training(name: str, tokenizer: AuditTokenizer) -> AuditTokenizer:
    """The tokenizer as the configuration beside the file says to use it."""
    if not FORMATS[name].masks_generation_prompt:
        return tokenizer
    template = training_template(tokenizer.template_source, tokenizer)
    return tokenizer if template is None else with_template(template)


@pytest.mark.parametrize("canonical", ROWS, ids=["two turns", "quotes", "a thought", "letters"])
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("name", RULES)
def test_exactly_the_trained_turns_train(name: str, template: str, canonical: RowRecord) -> None:
    tokenizer = with_template(TEMPLATES[template])
    reader = _for_training(name, tokenizer)
    exported = _rows(name, canonical, tokenizer)
    learnt = [_learnt(reader, RULES[name](reader, one)) for one in exported]
    ending = ENDINGS.get(name, STOP)
    if FORMATS[name].one_row_a_turn:
        assert learnt == [[content + ending] for content in _trained(canonical)]
    else:
        assert learnt == [[content + ending for content in _trained(canonical)]]


@pytest.mark.parametrize("name", RULES)
def test_the_model_reads_the_conversation_that_was_audited(name: str) -> None:
    tokenizer = bundled()
    reader = _for_training(name, tokenizer)
    canonical = ROWS[0]
    whole = _ids(tokenizer, _whole(canonical))
    for one in _rows(name, canonical, tokenizer):
        identifiers, _ = RULES[name](reader, one)
        assert whole[: len(identifiers)] == identifiers
        assert FORMATS[name].one_row_a_turn or len(identifiers) == len(whole)


@pytest.mark.parametrize("name", ["trl", "slime", "verl"])
def test_without_the_template_for_training_a_thought_that_is_opened_would_cost_the_start_of_every_reply(
    name: str,
) -> None:
    tokenizer = bundled()
    exported = _rows(name, ROWS[0], tokenizer)
    learnt = [text for one in exported for text in _learnt(tokenizer, RULES[name](tokenizer, one))]
    for text, content in zip(learnt, _trained(ROWS[0]), strict=True):
        kept = text.removesuffix(f"{STOP}\n")
        assert content.endswith(kept)
        assert len(kept) < len(content)


def test_the_template_for_training_renders_conversations_alike() -> None:
    tokenizer = bundled()
    template = training_template(tokenizer.template_source, tokenizer)
    assert template is not None
    other = with_template(template)
    for canonical in ROWS:
        assert _text(other, _whole(canonical)) == _text(tokenizer, _whole(canonical))
    probe = [{"role": "user", "content": "a"}]
    assert _text(other, probe, prompt=True) == _text(tokenizer, probe) + "<|im_start|>assistant\n"
    assert training_template(PLAIN_TEMPLATE, with_template(PLAIN_TEMPLATE)) is None


def test_one_row_a_turn_keeps_the_thought_that_a_template_strips_from_history() -> None:
    tokenizer = with_template(STRIPPING_TEMPLATE)
    thought = "<think>x</think>A"
    canonical = row(("user", "a", False), ("assistant", thought, True), ("user", "b", False), ("assistant", "B", True))
    first, second = _rows("prompt-completion", canonical, tokenizer)
    assert first["completion"] == thought + STOP
    assert thought not in second["prompt"]


@pytest.mark.parametrize(
    ("name", "canonical", "reason"),
    [
        ("llamafactory-v0", row(("user", "a", False), ("user", "b", False), ("assistant", "c", True)), "take turns"),
        (
            "llamafactory-v0",
            row(("assistant", "a", False), ("user", "b", False), ("assistant", "c", True)),
            "take turns",
        ),
        ("verl", row(("assistant", "c", True)), "no message stands before"),
        ("verl", row(("assistant", "a", False), ("user", "b", False), ("assistant", "c", True)), "cannot be folded"),
        ("prompt-completion", row(("user", "a", False), ("assistant", " ", True)), "empty_content"),
    ],
)
def test_a_row_that_a_trainer_cannot_read_is_named(name: str, canonical: RowRecord, reason: str) -> None:
    with pytest.raises(UnfitRowError, match=reason):
        _rows(name, canonical, with_template(PLAIN_TEMPLATE))


def test_what_stands_behind_the_last_trained_turn_costs_no_row() -> None:
    canonical = row(
        ("user", "a", False), ("assistant", "b", True), ("user", "c", False), ("user", "d", False),
        ("assistant", "e", False),
    )  # fmt: skip
    (made,) = _rows("llamafactory-v0", canonical, bundled())
    assert [message["content"] for message in made["messages"]] == ["a", "b"]


def test_slime_starts_no_inference_engine_and_weighs_every_trained_token_alike() -> None:
    words = FORMATS["slime"].snippet(_setting(bundled())).split()
    assert {"--debug-train-only", "--calculate-per-token-loss", "--loss-type"} <= set(words)


def test_flags_stand_on_every_message_with_one_type() -> None:
    flags = {"axolotl": ("train", bool), "ms-swift": ("loss", bool), "slime": ("step_loss_mask", int),
             "tinker": ("trainable", bool), "llamafactory-v1": ("loss_weight", float)}  # fmt: skip
    for name, (flag, kind) in flags.items():
        for canonical in ROWS:
            for message in (message for one in _rows(name, canonical, bundled()) for message in one["messages"]):
                assert type(message[flag]) is kind
                assert set(message) == {"role", "content", flag}


def _snippets() -> Iterator[tuple[str, str]]:
    for name, made in FORMATS.items():
        yield name, made.snippet(_setting(bundled(), "own.jinja" if made.masks_generation_prompt else None))


@pytest.mark.parametrize(("name", "snippet"), list(_snippets()))
def test_every_configuration_is_well_formed_and_names_file_and_length(name: str, snippet: str) -> None:
    assert "credit.jsonl" in snippet
    assert name == "slime" or "4096" in snippet  # its length is set where batches are packed
    assert ("own.jinja" in snippet) == FORMATS[name].masks_generation_prompt
    if FORMATS[name].snippet_ending == ".py":
        ast.parse(snippet)
    if FORMATS[name].snippet_ending == ".json":
        json.loads(snippet)


@pytest.mark.parametrize("name", FORMATS)
def test_without_a_tokenizer_no_length_and_no_template_is_made_up(name: str) -> None:
    made = FORMATS[name]
    unknown = Setting(None, "credit.jsonl", "assay_credit", None, None)
    snippet = made.snippet(unknown)
    assert name == "slime" or "MAX_ROW_TOKENS" in snippet
    assert "eot_tokens:" not in [line[:11] for line in snippet.splitlines()]
    assert "chat_template_path" not in snippet
    if made.masks_generation_prompt:
        assert "# Where the generation prompt of your chat template holds more" in snippet
    if made.needs_template:
        with pytest.raises(UnfitRowError, match="no tokenizer is named"):
            list(made.rows(ROWS[0], unknown))
    else:
        assert list(made.rows(ROWS[0], unknown)) == list(made.rows(ROWS[0], _setting(bundled())))
    if made.snippet_ending == ".py":
        ast.parse(snippet)


def _named_file(snippet: str, ending: str) -> str:
    """The data file that a configuration names, read as its trainer would read it."""
    if ending == ".sh":
        words = shlex.split(snippet, comments=True)
        return words[words.index("--prompt-data") + 1]
    if ending == ".py":
        constants = [node.value for node in ast.walk(ast.parse(snippet)) if isinstance(node, ast.Constant)]
        return next(value for value in constants if isinstance(value, str) and value.endswith(".jsonl"))
    found: list[str] = []

    def look(value: Any) -> None:
        if isinstance(value, dict | list):
            for item in value.values() if isinstance(value, dict) else value:
                look(item)
        elif isinstance(value, str) and value.endswith(".jsonl"):
            found.append(value)

    look(yaml.safe_load(snippet))
    return found[0]


@pytest.mark.parametrize("file_name", ["it's $(id); a b.jsonl", "a: [b] #c.jsonl", '- "x" \\ é.jsonl'])
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_name_cannot_break_out_of_a_configuration(name: str, file_name: str) -> None:
    setting = Setting(bundled(), file_name, "assay_credit", 4096, None)
    assert _named_file(FORMATS[name].snippet(setting), FORMATS[name].snippet_ending) == file_name


def test_what_ends_a_turn_is_named_where_it_is_not_the_stop_token() -> None:
    assert turn_ending(bundled()) == STOP
    other = with_template(PLAIN_TEMPLATE.replace("'<|im_end|>\n'", "'<|endoftext|>'"))
    assert turn_ending(other) == "<|endoftext|>"
    assert 'eot_tokens: ["<|endoftext|>"]' in FORMATS["axolotl"].snippet(_setting(other))
    assert "eot_tokens" not in FORMATS["axolotl"].snippet(_setting(bundled()))
