"""Duel runs of every era: generated samples, scores, verdicts, listings and pre-eval faults."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from assay.sample import rules
from assay.sample.agent import Agent, Side, system_prompt, task_text
from assay.sample.judge import Question, explain, question_pool
from assay.sample.world import Issue, issues
from assay.sample.writing import Output, Written, digest_hex, json_document, json_line, uuid_of, write_file

Record = dict[str, Any]

GLM = "z-ai/glm-5.2"
GLM_FLASH = "z-ai/glm-5.3-flash"
THREE_JUDGES = (GLM, "qwen/qwen3.5-397b-a17b", "deepseek/deepseek-v3.2")
PROVIDERS = {GLM: "z-ai", GLM_FLASH: "parasail", THREE_JUDGES[1]: "together", THREE_JUDGES[2]: "fireworks"}


@dataclass(frozen=True)
class Era:
    """What an era of the contract's version table fixes."""

    name: str
    start: datetime
    horizons: tuple[int, ...]
    judges: tuple[str, ...]
    margin: float
    scoring_mode: str = "binary"
    loop: tuple[str, float, int] | None = None
    truncation: bool = False
    abandonment: bool = False
    reserved: bool = False
    legacy: bool = False
    documents: bool = True
    protocol: bool = False
    amputation: bool = False
    rollouts: int = 1
    token_limit: int = 16384
    two_wins: bool = False
    fails: bool = False


def _day(month: int, day: int, hour: int = 9) -> datetime:
    return datetime(2026, month, day, hour, tzinfo=UTC)


_V4 = {
    "horizons": (12, 16),
    "judges": (GLM,),
    "margin": 0.025,
    "loop": ("loop-v1", 0.5, 4),
    "truncation": True,
    "reserved": True,
    "protocol": True,
    "amputation": True,
    "two_wins": True,
}
_V5: dict[str, Any] = _V4 | {
    "judges": (GLM_FLASH,),
    "loop": ("loop-v3", 0.61, 5),
    "abandonment": True,
    "documents": False,
    "token_limit": 4096,
}

# The order of a cycle. V4, the era most data comes from, is first, so that it leads a short list of runs.
ERAS: tuple[Era, ...] = (
    Era("V4", _day(8, 21), **_V4),  # type: ignore[arg-type]
    Era("V0", _day(7, 1), (1,), THREE_JUDGES, 0.03, "glm_categories", legacy=True),
    Era("V1", _day(7, 24), (8,), THREE_JUDGES, 0.03, legacy=True),
    Era("V2", _day(8, 5), (8,), THREE_JUDGES, 0.03, truncation=True),
    Era(
        "V3",
        _day(8, 19),
        (8, 12, 16),
        (GLM,),
        0.025,
        loop=("loop-v1", 0.5, 4),
        truncation=True,
        two_wins=True,
    ),
    Era("V5a", _day(9, 1), **_V5),
    Era("V5b", _day(9, 12), **(_V5 | {"scoring_mode": "graded_20", "rollouts": 2})),
    Era("failed", _day(8, 22), **(_V4 | {"fails": True})),  # type: ignore[arg-type]
)
ERA_NAMES = tuple(era.name for era in ERAS)

_MINUTES_BETWEEN_RUNS = 10
_MINUTES_OF_AN_ERA = 2300

_SOURCES = (
    # source, observation format, share in percent
    ("mini-coder", "returncode", 52),
    ("open-swe-traces", "openhands", 22),
    ("swe-hero", "swe_agent", 20),
    ("mini-coder-rs", "returncode", 6),
)
_ODDITIES = (
    "no_bash",
    "unclosed",
    "markdown",
    "two_blocks",
    "nul",
    "emoji",
    "quote_code",
    "clip",
    "u2028",
)


@dataclass(frozen=True)
class Plan:
    """Everything that fixes one run."""

    seed: int
    index: int
    occurrence: int
    era: Era
    samples: int
    pool: int
    scale: str

    @property
    def run_id(self) -> str:
        """The run's identifier."""
        return uuid_of(f"{self.seed}:run:{self.index}")

    @property
    def submission_id(self) -> str:
        """Two successive runs of an era belong to one submission: a coronation needs two wins."""
        return uuid_of(f"{self.seed}:submission:{self.era.name}:{self.occurrence // 2}")

    @property
    def challenger(self) -> int:
        """Number of the challenger model."""
        return ERA_NAMES.index(self.era.name) * 100 + self.occurrence // 2

    @property
    def finished_at(self) -> datetime:
        """When the run ended."""
        minutes = 60 + self.occurrence * _MINUTES_BETWEEN_RUNS % _MINUTES_OF_AN_ERA
        return self.era.start + timedelta(minutes=minutes)

    @property
    def prefix(self) -> str:
        """Key prefix of the run's objects."""
        return f"albedo-eval-service/submissions/{self.submission_id}/eval/{self.run_id}"


@dataclass
class Summary:
    """What the listings need to know of a finished run."""

    plan: Plan
    verdict: Record
    king_by_judge: dict[str, float]
    files: dict[str, Written] = field(default_factory=dict)


def plans(seed: int, runs: int, samples: int, scale: str, eras: Sequence[str]) -> list[Plan]:
    """The runs in order, cycling through the chosen eras."""
    chosen = [era for era in ERAS if not eras or era.name in eras]
    pool = max(24, samples, min(4000, runs * samples // 6))
    return [
        Plan(seed, index, index // len(chosen), chosen[index % len(chosen)], samples, pool, scale)
        for index in range(runs)
    ]


# ---- one dataset row


@dataclass
class Row:
    """One dataset row: a task, where the candidate takes over, and the reference trajectory after that."""

    sample_id: str
    issue: Issue
    form: str
    phase: str
    taken: int
    agent: Agent
    context: list[Record]
    reference: Side


def _weighted(rng: random.Random, table: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    roll = rng.uniform(0, sum(row[-1] for row in table))
    for row in table:
        roll -= row[-1]
        if roll <= 0:
            return row
    return table[-1]


def dataset_row(seed: int, number: int, scale: str) -> Row:
    """Row `number` of the invented dataset; the same row gives the same task wherever it is used.

    Its context holds the submission marker `@SUBMIT@`, which a run replaces by its own command.
    """
    rng = random.Random(f"{seed}:row:{number}")
    tasks = issues(scale)
    issue = tasks[rng.randrange(len(tasks))]
    source, form, _ = _weighted(rng, _SOURCES)
    phase = _weighted(rng, (("cold", 65), ("pre_edit", 15), ("at_edit", 20)))[0]
    agent = Agent(
        issue,
        random.Random(f"{seed}:row:{number}:reference"),
        skill=0.93,
        form=form,
        scale=scale,
        submit_command="echo @SUBMIT@",
    )
    before: list[Agent] = []
    whole = agent.play(14, [], before)
    first_edit = next((i for i, p in enumerate(whole.played, 1) if p.kind == "edit"), 3)
    taken = {"cold": rng.randint(1, 2), "pre_edit": max(1, first_edit - 2), "at_edit": first_edit}[phase]
    taken = min(taken, 8 if scale == "full" else 3, max(1, len(whole.played) - 2))
    context = [{"role": turn["role"], "content": turn["content"]} for turn in whole.turns[: 2 * taken]]
    rest = Side(whole.turns, whole.played[taken:], whole.bodies[taken:])
    shard = 100 + number % 23
    sample_id = f"{source}/data/train-{shard:05d}.parquet:{number * 7 % 1300}:{taken}"
    return Row(sample_id, issue, form, phase, taken, before[taken], context, rest)


def submission(salt: str, sample_id: str, protocol: bool) -> tuple[str, str, str]:
    """(marker, command, rewrite mode) of a sample (contract b.4); before V4 the canonical command."""
    native = f"echo {rules.CANONICAL_MARKER} && git add -A && git diff --cached"
    if not protocol:
        return rules.CANONICAL_MARKER, native, ""
    rng = random.Random(f"{salt}:{sample_id}")
    nonce = "SUBMIT_TASK_" + digest_hex(f"{salt}:{sample_id}", 8).upper()
    markers = rules.MARKERS | {"nonce": nonce}
    marker = markers[rng.choice(sorted(markers))]
    command = f"echo {marker}" + rules.TAILS[rng.choice(sorted(rules.TAILS))]
    roll = rng.random()
    if roll < 0.25:
        return rules.CANONICAL_MARKER, native, "original"
    if roll < 0.29:
        return "", "", "failed"
    return marker, command, "replaced" if roll < 0.85 else "added" if roll < 0.95 else "replaced_command_only"


# ---- one sample


@dataclass
class Draft:
    """One generated sample before it is scored."""

    row: Row
    sample_id: str
    rollout: int
    context: list[Record]
    sides: dict[str, Side | None]
    errors: dict[str, str | None]
    marker: str
    command: str
    mode: str


def chat_prompt(turns: Sequence[Record]) -> str:
    """The templated prompt of the first scored turn: ChatML, an open assistant block at the end."""
    blocks = [f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in turns]
    return "".join(blocks) + "<|im_start|>assistant\n"


def _deal(
    rng: random.Random, plan: Plan
) -> tuple[dict[tuple[int, str], str], dict[tuple[int, str], set[str]], set[int]]:
    """Styles and oddities by (line, side), and broken lines; a short run gets few, many runs get them all."""
    era = plan.era
    lines = plan.samples * era.rollouts
    slots = [(line, side) for line in range(lines) for side in ("challenger", "previous_king")]
    rng.shuffle(slots)
    wanted: list[tuple[str, float]] = []
    if era.name in ("V1", "V2"):
        wanted = [("truncated", 0.02)]
    elif era.name == "V3":
        wanted = [("loop", 0.05), ("truncated", 0.02), ("terse", 0.02)]
    elif era.name == "V4":
        wanted = [("loop", 0.05), ("truncated", 0.015), ("reserved", 0.01), ("amputated", 0.03)]
    elif era.name == "V5a":
        wanted = [("loop", 0.05), ("abandoned", 0.02), ("amputated", 0.02)]
    elif era.name == "V5b":
        wanted = [("loop", 0.05), ("abandoned", 0.02), ("reserved", 0.01), ("truncated", 0.01)]
    if plan.samples >= 20 and era.name not in ("V0", "failed"):
        wanted += [("alternate", 0.01), ("terse", 0.01)]
    styles: dict[tuple[int, str], str] = {}
    for name, share in wanted:
        for _ in range(max(1, round(share * len(slots)))):
            if slots and len(styles) < len(slots):
                styles[slots.pop()] = name
    broken = _broken_lines(rng, plan, styles)
    free = [slot for slot in slots if slot[0] not in broken]
    odd: dict[tuple[int, str], set[str]] = {}
    if era.horizons == (1,) or not free:
        return styles, odd, broken
    names = list(_ODDITIES)
    start = plan.index * 3
    few = plan.samples < 10
    for offset in range(3 if few else len(names)):
        name = names[(start + offset) % len(names)]
        for _ in range(1 if few else max(1, round(0.025 * len(free)))):
            place = offset % len(free) if few else rng.randrange(len(free))
            odd.setdefault(free[place], set()).add(name)
    if era.abandonment:
        for _ in range(max(1, round(0.02 * len(free)))):
            odd.setdefault(free[rng.randrange(len(free))], set()).add("retry")
    return styles, odd, broken


def _broken_lines(rng: random.Random, plan: Plan, styles: dict[tuple[int, str], str]) -> set[int]:
    """Lines whose generation fails on one side; a run stays above the valid fraction."""
    allowed = plan.samples * plan.era.rollouts // 5
    if plan.era.name not in ("V2", "V4", "V5a", "V5b", "failed") or not allowed:
        return set()
    styled = {line for line, _ in styles}
    clean = [line for line in range(plan.samples * plan.era.rollouts) if line not in styled]
    return set(rng.sample(clean, min(allowed, len(clean), max(1, round(0.01 * plan.samples)))))


def drafts(plan: Plan) -> Iterator[Draft]:
    """Play every sample of a run, in request order."""
    era = plan.era
    rng = random.Random(f"{plan.seed}:run:{plan.index}:samples")
    numbers = rng.sample(range(plan.pool), plan.samples)
    styles, odd, broken = _deal(rng, plan)
    salt = sample_seed(plan)
    quality = 0.2 * rng.random()
    king_skill, challenger_skill = 0.38 + 0.2 * rng.random(), 0.32 + quality * 1.6
    line = -1
    for number in numbers:
        row = dataset_row(plan.seed, number, plan.scale)
        marker, command, mode = submission(salt, row.sample_id, era.protocol)
        typed = command or f"echo {rules.CANONICAL_MARKER}"
        start = [
            {"role": "system", "content": system_prompt(row.issue)},
            {"role": "user", "content": task_text(row.issue, plan.scale, typed)},
        ]
        context = start + row.context
        for rollout in range(1, era.rollouts + 1):
            line += 1
            sample_id = row.sample_id + (f"#r{rollout}" if era.rollouts > 1 else "")
            stream = random.Random(f"{plan.seed}:run:{plan.index}:line:{line}")
            # At small scale the shortest horizon comes twice as often: fewer turns, same strata.
            horizon = stream.choice(era.horizons + (era.horizons[:1] if plan.scale == "small" else ()))
            errors: dict[str, str | None] = {"previous_king": None, "challenger": None}
            if line in broken:
                side = stream.choice(("previous_king", "challenger"))
                errors[side] = stream.choice(
                    (
                        "missing_generation",
                        f"missing_observation_turn_{stream.randint(2, 9)}",
                        f"missing_generation_turn_{stream.randint(2, 9)}",
                        "sample_missing_for_simulation",
                        "ReadTimeout: vllm did not answer within 600 s",
                    )
                )
            sides: dict[str, Side | None] = {}
            for side, skill in (("previous_king", king_skill), ("challenger", challenger_skill)):
                if errors[side]:
                    sides[side] = None
                    continue
                agent = row.agent.fork(
                    random.Random(f"{plan.seed}:run:{plan.index}:line:{line}:{side}"),
                    skill=min(0.97, max(0.03, stream.gauss(skill, 0.22))),
                    submit_command=typed,
                    style=styles.get((line, side), "plain"),
                    odd=frozenset(odd.get((line, side), ())),
                    token_limit=era.token_limit,
                    tagged=era.name == "V5b",
                )
                sides[side] = agent.play(horizon, context)
            yield Draft(row, sample_id, rollout, context, sides, errors, marker, command, mode)


def generated_record(plan: Plan, draft: Draft) -> Record:
    """The line of `generated-samples.jsonl`."""
    era = plan.era
    record: Record = {
        "eval_run_id": plan.run_id,
        "sample_id": draft.sample_id,
        "prompt": chat_prompt(draft.context),
        "king_error": draft.errors["previous_king"],
        "chal_error": draft.errors["challenger"],
    }
    if era.protocol:
        record |= {
            "submit_marker": draft.marker,
            "submit_command": draft.command,
            "rewrite_mode": draft.mode,
        }
    for side, played in draft.sides.items():
        if era.name == "V0":
            # One reply a side, before conversations existed: the output is the reply itself.
            record[f"{side}_output"] = played.turns[-1]["content"] if played else ""
            continue
        record[f"{side}_turns"] = played.turns if played else None
        if era.documents:
            record[f"{side}_output"] = rules.render_document(played.turns) if played else ""
    return record


# ---- scoring


def _select(rng: random.Random, era: Era, row: Row, pool: list[Question]) -> list[Question]:
    by_tag: dict[str, list[Question]] = {}
    for question in pool:
        by_tag.setdefault(question.behavior or question.tag, []).append(question)
    take: list[Question] = []

    def some(tag: str, low: int, high: int) -> None:
        held = by_tag.get(tag, [])
        take.extend(rng.sample(held, min(len(held), rng.randint(low, high))))

    if era.name == "V5b":
        for tag, low, high in (("explore", 2, 4), ("action", 2, 4), ("claims", 2, 3), ("verification", 2, 3)):
            some(tag, low, high)
        return take
    some("explore", 2, 5)
    some("action", 2, 4)
    some("verification", 1, 3)
    some("economy", 1, 2)
    some("grounding", 1, 3)
    some("claims", 1, 3)
    if era.name in ("V2", "V3"):
        some("continuity", 1, 1)
    if era.name == "V3":
        for name in {
            "cold": ("precision_reads", "issue_anchored_narrowing"),
            "pre_edit": ("anchored_edit", "no_waste"),
            "at_edit": ("targeted_verification", "no_waste"),
        }[row.phase]:
            some(name, 1, 1)
    elif era.name not in ("V1", "V2"):
        some("anchored_edit", 0, 1)
    rng.shuffle(take)
    return take


_V2_TAGS = {"grounding": "explore", "claims": ""}


def _stored_question(era: Era, question: Question, number: int, step: int) -> Record:
    record: Record = {"id": f"q_{number:02d}", "text": question.text, "example_bad": question.bad}
    if era.name != "V5b":
        record["requires"] = question.requires
    if era.name in ("V1", "V2"):
        record["category"] = question.category
    if era.name == "V1":
        return record
    if era.name == "V2":
        record["tag"] = "" if question.behavior else _V2_TAGS.get(question.tag, question.tag)
        return record
    tag = f"behavior:{question.behavior}" if question.behavior else f"reference:{question.tag}"
    if era.name == "V3" and question.tag in ("grounding", "claims"):
        tag = "reference:explore" if question.tag == "grounding" else "reference:action"
    record["tag"] = tag
    if question.evidence:
        record |= {"evidence": question.evidence[:80], "step": step}
    if era.name == "V5a":
        record["weight"] = rules.TAG_WEIGHTS_V4.get(tag, 0.5 if tag.startswith("reference:") else 0.0)
    if era.name == "V5b":
        ladder = ("explore", "claims", "action", "verification").index(question.tag) + 1
        statements = (
            "The defect site is known.",
            "The cause is stated.",
            "The value is corrected.",
            "The change is checked.",
        )
        record |= {
            "milestone": f"m{ladder}",
            "milestone_statement": statements[ladder - 1],
            "rung": number,
            "weight": rules.TAG_WEIGHTS_V5B.get(tag, 0.5),
        }
    return record


def weights(era: Era, stored: Sequence[Record]) -> dict[str, float]:
    """Weight of every question of a line under the era's rule; V1 has its own rate."""
    if era.name in ("V5a", "V5b"):
        return {q["id"]: float(q["weight"]) for q in stored}
    if era.amputation:
        return {q["id"]: rules.TAG_WEIGHTS_V4.get(q["tag"], 0.0) for q in stored}
    return {q["id"]: 1.0 for q in stored}


@dataclass
class Judged:
    """What one side is worth: its records, its score, and whether every judge could be read."""

    records: list[Record]
    score: float | None
    amputated: bool
    parse_ok: bool


def _zeroed(era: Era, side: str, model: str, stored: Sequence[Record], reason: str) -> Record:
    graded = era.scoring_mode == "graded_20"
    record: Record = {
        "side": side,
        "judge_model": model,
        "provider": None,
        "answers": {q["id"]: "A" if graded else "0" for q in stored},
        "explanations": {q["id"]: reason for q in stored},
        "yes_rate": 0.0,
        "parse_ok": True,
        "error": None,
    }
    if graded:
        record |= {"scores": {q["id"]: 0.0 for q in stored}, "distributions": {}}
    return record


def _grade(rng: random.Random, yes: bool, strong: bool) -> tuple[str, dict[str, float], float]:
    centre = rng.randint(15, 19) if yes and strong else rng.randint(10, 17) if yes else rng.randint(0, 7)
    raw = {centre: 0.55 + 0.4 * rng.random()}
    for offset in (-2, -1, 1, 2):
        place = centre + offset
        if 0 <= place <= 19 and rng.random() < 0.6:
            raw[place] = 0.15 * rng.random() ** 2
    total = sum(raw.values())
    distribution = {rules.LETTERS[place]: round(p / total, 4) for place, p in sorted(raw.items()) if p / total >= 0.001}
    mass = sum(distribution.values())
    score = round(sum(rules.letter_value(letter) * p for letter, p in distribution.items()) / mass, 6)
    return rules.LETTERS[centre], distribution, score


def _prose_words(side: Side) -> int:
    words = 0
    for turn in side.turns:
        if turn.get("score_target"):
            words += len("".join(turn["content"].split("```")[::2]).split())
    return words


def _blocks(document: str, side: Side) -> list[str]:
    """The candidate blocks of a document, split by the rule only where a text could mislead it."""
    if document.count("------") == 2 * sum(not turn.get("retry_feedback") for turn in side.turns):
        return [turn["content"].rstrip() for turn in side.turns if turn.get("score_target")]
    return rules.strict_blocks(document)


def _muted(side: Side) -> bool:
    return _prose_words(side) < 10 * len(side.played)


def _edited(side: Side) -> bool:
    return any(f[0] == "edit" and f[2] != "none" for p in side.played for f in p.facts)


def judge_side(
    plan: Plan,
    draft: Draft,
    name: str,
    side: Side,
    questions: Sequence[Question],
    stored: Sequence[Record],
    rng: random.Random,
    *,
    gate: bool,
    unreadable: bool,
    bound: int,
) -> Judged:
    """Judge one side the way the era does: zeroing first, then answers, gate, rates, halving."""
    era = plan.era
    document = rules.render_document(side.turns, drop_feedback=not era.documents)
    # Reading the whole document is only worth it where some turn starts that way.
    suspect = any("</think>" in turn["content"][:40] for turn in side.turns if turn.get("score_target"))
    halved = era.amputation and suspect and rules.amputated(document)
    reason = rules.corruption(document, truncated=era.truncation, abandoned=era.abandonment, reserved=era.reserved)
    extra: Record = {}
    if reason:
        extra = {"corrupted": True, "corruption_reason": reason}
    elif era.loop:
        variant, ratio, run = era.loop
        commands = rules.loop_commands(_blocks(document, side), side.bodies, variant)
        loop = rules.loop_verdict(commands, ratio, run)
        if loop:
            reason = loop["explanation"]
            extra = {"looped": True, "loop_reasons": loop["reasons"], "loop_commands": loop["commands"]}
    if reason:
        return Judged([_zeroed(era, name, model, stored, reason) | extra for model in era.judges], 0.0, halved, True)
    found = [question.find(side.played) for question in questions]
    words = _prose_words(side)
    truth = [words < bound if q.size_bound else bool(t) for q, t in zip(questions, found, strict=True)]
    edited = _edited(side)
    last = side.played[-1]
    idle = not any(f[0] in ("edit", "submit") for f in last.facts)
    muted = _muted(side)
    weight = weights(era, stored)
    records: list[Record] = []
    for judge_number, model in enumerate(era.judges):
        record: Record = {
            "side": name,
            "judge_model": model,
            "provider": PROVIDERS[model],
            "error": None,
            "parse_ok": True,
        }
        if unreadable and judge_number == 0:
            nothing: dict[str, None] = {q["id"]: None for q in stored}
            record |= {"answers": nothing, "explanations": {q["id"]: "" for q in stored}, "yes_rate": None}
            record |= {"parse_ok": False, "error": rng.choice(("HTTP 502", "JSONDecodeError: no object"))}
            if era.scoring_mode == "graded_20":
                record |= {"scores": {}, "distributions": {}}
            records.append(record)
            continue
        answers: dict[str, str] = {}
        explanations: dict[str, str] = {}
        scores: dict[str, float] = {}
        distributions: dict[str, dict[str, float]] = {}
        for question, held, turns, right in zip(questions, stored, found, truth, strict=True):
            yes = right if rng.random() > 0.07 else not right
            measured = f"MEASUREMENTS say {words} words." if question.size_bound else ""
            explanations[held["id"]] = explain(rng, yes, turns, side, measured)
            if era.scoring_mode == "graded_20":
                letter, distribution, score = _grade(rng, yes, len(turns) > 0)
                answers[held["id"]], distributions[held["id"]], scores[held["id"]] = letter, distribution, score
            else:
                answers[held["id"]] = "1" if yes else "0"
        if gate:
            for question, held in zip(questions, stored, strict=True):
                if (muted and question.size_bound) or (not edited and question.avoidance):
                    answers.pop(held["id"])
                elif idle and question.requires == "action":
                    answers[held["id"]] = "0"
        record |= {"answers": answers, "explanations": explanations}
        if era.scoring_mode == "graded_20":
            record |= {"scores": scores, "distributions": distributions}
            record["yes_rate"] = rules.yes_rate((weight[i], scores[i]) for i in scores)
        elif era.name == "V1":
            record["yes_rate"] = rules.yes_rate_v1(
                (q["category"], q["requires"], float(answers[q["id"]])) for q in stored if q["id"] in answers
            )
        else:
            record["yes_rate"] = rules.yes_rate((weight[i], float(a)) for i, a in answers.items())
        if era.abandonment:
            disputed = rng.choice((0, 0, 0, 1))
            record |= {"repeats": 2 if disputed else 1, "repeats_held": 1, "disputed": disputed}
        records.append(record)
    mean = rules.mean6([r["yes_rate"] for r in records if r["yes_rate"] is not None])
    if mean is not None and halved:
        mean = rules.round6(mean * 0.5)
    return Judged(records, mean, halved, all(r["parse_ok"] for r in records))


def _reference_text(row: Row, scale: str) -> str:
    steps, number, limit = [], 0, 900 if scale == "full" else 120
    for turn in row.reference.turns:
        if turn["role"] == "assistant":
            number += 1
            steps.append(f"REFERENCE STEP {number}:\n{turn['content'].replace('@SUBMIT@', rules.CANONICAL_MARKER)}")
        else:
            steps.append(
                f"ENVIRONMENT OBSERVATION:\n{turn['content'][:limit].replace('@SUBMIT@', rules.CANONICAL_MARKER)}"
            )
    return "\n\n".join(steps if scale == "full" else steps[:2])


def _question_source(plan: Plan, draft: Draft, rng: random.Random, count: int, gate: bool) -> Record:
    era = plan.era
    model = era.judges[0]
    if era.name == "V5b":
        return {"model": model, "n_questions": count, "question_mode": "milestone_ladder", "provider": PROVIDERS[model]}
    source: Record = {
        "provider": PROVIDERS[model],
        "model": model,
        "n_questions": count,
        "question_mode": "sota_anchored",
    }
    if era.name in ("V1", "V2"):
        return source
    source |= {
        "sample_phase": draft.row.phase,
        "behavior_questions_kept": rng.randint(0, 2),
        "reference_made_edit": True,
        "enforcement_drops": {
            "read_cap": rng.randint(0, 2),
            "unfolded_avoid": rng.randint(0, 1),
            "no_edit_dead_weight": rng.randint(0, 2),
        },
        "span_check": {"ok": count},
        "reference_trajectory": _reference_text(draft.row, plan.scale),
        "discarded_questions": [
            {
                "stage": "reference_prune",
                "reason": "reference_answered_no",
                "text": "Does the candidate run the whole test suite?",
                "origin": "content",
                "detail": "not run",
            }
        ][: rng.randint(0, 1)],
        "reference_model": model,
    }
    if era.name != "V3":
        source["reference_self_score"] = round(rng.uniform(0.75, 1.0), 6)
    if not gate:
        source["pruned_out"] = rng.randint(0, 4)
    return source


_V0_METRICS = ("correctness", "progress", "grounding", "format")
_V0_CATEGORIES = ("work_correctness", "progress", "grounding")


def _score_v0(plan: Plan, draft: Draft, rng: random.Random) -> Record:
    """A line of the first era: metrics per judge instead of questions."""
    results, means = [], {}
    for name, side in draft.sides.items():
        assert side is not None
        quality = 0.2 + 0.5 * (side.played[-1].returncode == 0) + 0.2 * (len(side.played[-1].facts) > 1)
        of_side = []
        for model in plan.era.judges:
            metrics = {m: round(min(1.0, max(0.0, rng.gauss(quality, 0.12))), 2) for m in _V0_METRICS}
            mean = rules.round6(sum(metrics.values()) / len(metrics))
            of_side.append(mean)
            results.append(
                {
                    "side": name,
                    "judge_model": model,
                    "provider": PROVIDERS[model],
                    "metric_scores": metrics,
                    "judge_mean": mean,
                    "parse_ok": True,
                    "error": None,
                }
            )
        means[name] = of_side
    sample = sum(means["challenger"]) / 3 - sum(means["previous_king"]) / 3
    return {
        "sample_id": draft.sample_id,
        "sample_score": rules.round6(sample),
        "order": rng.choice((["previous_king", "challenger"], ["challenger", "previous_king"])),
        "categories": list(_V0_CATEGORIES),
        "category_source": {"model": GLM, "provider": PROVIDERS[GLM]},
        "judge_results": results,
        "scoring_mode": plan.era.scoring_mode,
    }


def scoring_record(plan: Plan, draft: Draft, line: int, trouble: str) -> Record:
    """The line of `scoring-results.jsonl`; `trouble` is `""`, `unavailable` or `unreadable`."""
    era = plan.era
    rng = random.Random(f"{plan.seed}:run:{plan.index}:judge:{line}")
    if era.name == "V0":
        return _score_v0(plan, draft, rng)
    base = draft.sample_id.split("#r")[0]
    if trouble == "unavailable":
        return {
            "sample_id": base,
            "questions": [],
            "king_score": None,
            "challenger_score": None,
            "judge_results": [],
            "scored": False,
            "scoring_mode": era.scoring_mode,
            "error": "QuestionScoringUnavailable: reference unavailable: upstream answered 502",
        }
    # Both rollouts of a sample are asked the same questions.
    asked = random.Random(f"{plan.seed}:run:{plan.index}:questions:{base}")
    bound = asked.choice((250, 300, 400, 500))
    pool = question_pool(draft.row.issue, bound)
    questions = _select(asked, era, draft.row, pool)
    # The gate acts where pruning failed; lines on which it has something to act on fail a little more often.
    idle = any(side is not None and (not _edited(side) or _muted(side)) for side in draft.sides.values())
    gate = era.name in ("V2", "V3", "V4", "failed") and asked.random() < (0.8 if idle else 0.08)
    if gate:
        questions += [q for q in pool if (q.avoidance or q.size_bound) and q not in questions]
    stored = [
        _stored_question(era, question, number, asked.randint(1, max(1, len(draft.row.reference.played))))
        for number, question in enumerate(questions, start=1)
    ]
    judged = {}
    for name, side in draft.sides.items():
        assert side is not None
        judged[name] = judge_side(
            plan,
            draft,
            name,
            side,
            questions,
            stored,
            rng,
            gate=gate,
            unreadable=trouble == "unreadable" and name == "previous_king",
            bound=bound,
        )
    king, challenger = judged["previous_king"], judged["challenger"]
    record: Record = {
        "sample_id": base,
        "questions": stored,
        "king_score": king.score,
        "challenger_score": challenger.score,
        "judge_results": king.records + challenger.records,
        "scored": king.parse_ok and challenger.parse_ok and king.score is not None and challenger.score is not None,
        "scoring_mode": era.scoring_mode,
        "question_source": _question_source(plan, draft, rng, len(stored), gate),
    }
    if era.amputation:
        record |= {"king_amputated_thinking": king.amputated, "chal_amputated_thinking": challenger.amputated}
    return record


# ---- one run


def sample_seed(plan: Plan) -> str:
    """The run's sample seed, which also salts its submission markers."""
    return "0x" + digest_hex(f"{plan.seed}:sample-seed:{plan.index}", 12)


def king_of(era: Era) -> Record:
    """The reigning model of an era."""
    version = 7 + sum(1 for other in ERAS if other.start < era.start and not other.fails)
    digest = digest_hex(f"king:{version}")
    return {
        "king_version": version,
        "model_uri": f"hf://invented-king{version:02d}/albedo-qwen3.6-35b-crown{version}@{digest[:40]}",
        "model_hash": "sha256:" + digest_hex(f"king-weights:{version}"),
        "uid": 3 + version,
        "hotkey": "5K" + digest_hex(f"king-key:{version}", 46),
    }


def challenger_of(number: int) -> Record:
    """An invented challenger model."""
    shade = ("amber", "teal", "coral", "slate", "olive", "indigo")[number % 6]
    digest = digest_hex(f"challenger:{number}")
    return {
        "model_uri": f"hf://invented-miner{number:03d}/albedo-qwen3.6-35b-{shade}@{digest[:40]}",
        "model_hash": "sha256:" + digest_hex(f"challenger-weights:{number}"),
        "uid": 20 + number % 200,
        "hotkey": "5C" + digest_hex(f"challenger-key:{number}", 46),
    }


_TOPOLOGY = {
    "accelerator": "B200",
    "previous_king": ["0", "1", "2", "3"],
    "challenger": ["4", "5", "6", "7"],
    "tensor_parallel_size_per_model": 4,
}
FILES = {
    "generated_samples": ("generated-samples.jsonl", "application/x-ndjson", "GENERATED_SAMPLES"),
    "scoring_results": ("scoring-results.jsonl", "application/x-ndjson", "SCORING_RESULTS"),
    "judge_results": ("judge-results.jsonl", "application/x-ndjson", "JUDGE_RESULTS"),
    "transcript": ("duel-transcript.jsonl", "application/x-ndjson", "EVAL_TRANSCRIPT"),
    "progress": ("progress.jsonl", "application/x-ndjson", "REMOTE_PROGRESS"),
    "remote_logs": ("remote-logs.txt", "text/plain", "REMOTE_LOGS"),
    "request": ("request.json", "application/json", ""),
    "verdict": ("verdict.json", "application/json", "EVAL_VERDICT"),
}
_BATCH = 32


@dataclass
class Tally:
    """Running numbers of one run."""

    lines: list[str] = field(default_factory=list)
    king_errors: list[int] = field(default_factory=list)
    challenger_errors: list[int] = field(default_factory=list)
    scored_lines: list[str] = field(default_factory=list)
    scored: list[bool] = field(default_factory=list)
    failed_judges: list[int] = field(default_factory=list)
    king: list[float] = field(default_factory=list)
    challenger: list[float] = field(default_factory=list)
    rates: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    metrics: dict[str, list[float]] = field(default_factory=dict)

    def add_score(self, plan: Plan, record: Record) -> None:
        """Count one scoring line."""
        self.scored_lines.append(record["sample_id"])
        results = record["judge_results"]
        self.failed_judges.append(sum(1 for r in results if not r["parse_ok"]))
        if plan.era.name == "V0":
            self.scored.append(True)
            for result in results:
                self.rates.setdefault((result["side"], result["judge_model"]), []).append(result["judge_mean"])
                if result["side"] == "challenger":
                    for metric, value in result["metric_scores"].items():
                        self.metrics.setdefault(metric, []).append(value)
            for side, into in (("previous_king", self.king), ("challenger", self.challenger)):
                into.append(sum(r["judge_mean"] for r in results if r["side"] == side) / len(plan.era.judges))
            return
        self.scored.append(record["scored"])
        if not record["scored"]:
            return
        self.king.append(record["king_score"])
        self.challenger.append(record["challenger_score"])
        for result in results:
            if result["yes_rate"] is not None:
                self.rates.setdefault((result["side"], result["judge_model"]), []).append(result["yes_rate"])


def _troubles(plan: Plan, rng: random.Random, line: int, spent: int) -> str:
    """Which scoring fault a line has; succeeded runs stay above the valid fraction."""
    if plan.era.fails:
        return ("unavailable", "unreadable", "", "unreadable")[line % 4]
    total = plan.samples * plan.era.rollouts
    # Generation faults take up to a hundredth; leave room for them.
    if plan.era.name == "V0" or spent + 1 > (total - max(1, round(0.01 * plan.samples))) // 5:
        return ""
    if rng.random() < max(0.02, 1.5 / total):
        return rng.choice(("unavailable", "unreadable"))
    return ""


def _request(plan: Plan, bases: Sequence[str]) -> Record:
    king, challenger = king_of(plan.era), challenger_of(plan.challenger)
    return {
        "eval_run_id": plan.run_id,
        "submission_id": plan.submission_id,
        "challenger": {key: challenger[key] for key in ("model_uri", "model_hash")},
        "previous_king": {key: king[key] for key in ("model_uri", "model_hash", "king_version")},
        "dataset": {
            "version": "mini-coder+open-swe+smith-rs+hero-v1",
            "manifest_uri": "s3://albedo/datasets/manifest.json",
            "manifest_hash": digest_hex("manifest"),
            "sample_count": plan.samples,
            "sample_seed": sample_seed(plan),
            "sampling_algo": "multi-source-manifest-sample-v1",
            "generation_batch_size": _BATCH,
            "scoring_batch_size": _BATCH,
            "sample_ids": list(bases),
        },
        "scoring": {
            "judge_config_hash": "sha256:" + digest_hex("judges:" + ",".join(plan.era.judges)),
            "judge_count": len(plan.era.judges),
            "allowed_scores": [0.0, 1.0],
        },
        "gpu_request": {
            "accelerator": "B200",
            "min_gpus": 8,
            "preferred_gpus": 8,
            "challenger_gpu_count": 4,
            "previous_king_gpu_count": 4,
            "tensor_parallel_size_per_model": 4,
        },
        "artifact_prefix": f"s3://albedo/{plan.prefix}",
    }


def _progress(plan: Plan, tally: Tally) -> list[Record]:
    events: list[Record] = [
        {"type": "eval_started", "message": "Remote eval run accepted", "remote_run_id": plan.run_id},
        {"type": "category_prep_started", "sample_count": plan.samples},
        {"type": "category_prep_done", "category_prep_id": "prep-0001", "state": "started"},
        {"type": "model_resolution_started", "models": ["challenger", "previous_king"]},
        {
            "type": "generation_started",
            "generation_batch_size": _BATCH,
            "gpu_topology": _TOPOLOGY,
            "sample_count": plan.samples,
        },
    ]
    for batch, start in enumerate(range(0, len(tally.lines), _BATCH), start=1):
        piece = slice(start, start + _BATCH)
        events.append(
            {
                "type": "generation_batch_done",
                "batch_id": f"gen-{batch:04d}",
                "state": "succeeded",
                "models": ["challenger", "previous_king"],
                "gpu_ids": [str(gpu) for gpu in range(8)],
                "sample_ids": tally.lines[piece],
                "generated_sample_count": len(tally.lines[piece]),
                "king_errors": sum(tally.king_errors[piece]),
                "chal_errors": sum(tally.challenger_errors[piece]),
            }
        )
    events.append({"type": "scoring_started", "scoring_batch_size": _BATCH})
    for batch, start in enumerate(range(0, len(tally.scored_lines), _BATCH), start=1):
        piece = slice(start, start + _BATCH)
        events.append(
            {
                "type": "scoring_batch_done",
                "batch_id": f"score-{batch:04d}",
                "state": "succeeded",
                "allowed_scores": [0.0, 1.0],
                "category_generation_errors": 0,
                "judge_config_hash": "sha256:" + digest_hex("judges:" + ",".join(plan.era.judges)),
                "judge_count": len(plan.era.judges),
                "judge_errors": sum(tally.failed_judges[piece]),
                "sample_ids": tally.scored_lines[piece],
                "scored_sample_count": sum(tally.scored[piece]),
                "scoring_modes": [plan.era.scoring_mode],
            }
        )
    return [{"sequence": number, "eval_run_id": plan.run_id} | event for number, event in enumerate(events, start=1)]


def _verdict(plan: Plan, tally: Tally) -> Record:
    """Aggregate a run (contract b.5): six decimals, win by plain floating point."""
    era = plan.era
    total, valid = len(tally.scored), sum(tally.scored)
    record: Record = {
        "type": "verdict",
        "eval_run_id": plan.run_id,
        "state": "succeeded",
        "challenger_won": None,
        "score_challenger": None,
        "score_king": None,
        "judge_count": len(era.judges),
        "allowed_scores": [0.0, 1.0],
        "valid_turns": valid,
        "total_turns": len(tally.lines),
        "generated_sample_count": len(tally.lines),
        "scored_sample_count": valid,
        "king_vllm_errors": sum(tally.king_errors),
        "chal_vllm_errors": sum(tally.challenger_errors),
        "judge_errors": sum(tally.failed_judges),
        "required_win_margin": era.margin,
        "gpu_topology": _TOPOLOGY,
        "score_breakdown": {"by_judge": {}, "by_metric": {}},
        "scoring_mode": None,
        "fault_class": None,
        "fault_code": None,
        "fault_message": None,
        "retryable": None,
    }
    if total == 0 or valid / total < 0.8:
        record |= {
            "state": "failed",
            "fault_class": "PROVIDER_FAULT",
            "fault_code": "scoring_invalid",
            "fault_message": f"Only {valid}/{total} samples valid (< 80%)",
            "retryable": True,
        }
        return record
    king, challenger = rules.mean6(tally.king), rules.mean6(tally.challenger)
    assert king is not None and challenger is not None
    by_judge = {m: rules.mean6(tally.rates[("challenger", m)]) for m in era.judges}
    by_metric = {metric: rules.mean6(values) for metric, values in tally.metrics.items()}
    record |= {
        "score_challenger": challenger,
        "score_king": king,
        "challenger_won": challenger - king >= era.margin,
        "scoring_mode": era.scoring_mode,
        "score_breakdown": {"by_judge": by_judge, "by_metric": by_metric},
    }
    return record


def write_run(root: Path, plan: Plan) -> Summary:
    """Write one run's folder line by line and return what the listings need."""
    folder = root / "sn97" / "runs" / plan.run_id
    tally = Tally()
    rng = random.Random(f"{plan.seed}:run:{plan.index}:trouble")
    files: dict[str, Written] = {}
    spent = 0
    with (
        Output(folder / "generated-samples.jsonl") as generated,
        Output(folder / "scoring-results.jsonl") as scoring,
    ):
        legacy = _LegacyFiles(folder) if plan.era.legacy else None
        for line, draft in enumerate(drafts(plan)):
            record = generated_record(plan, draft)
            generated.write(json_line(record))
            if legacy:
                legacy.transcript.write(json_line(record | {"target": _target(draft)}))
            tally.lines.append(draft.sample_id)
            tally.king_errors.append(draft.errors["previous_king"] is not None)
            tally.challenger_errors.append(draft.errors["challenger"] is not None)
            if any(draft.errors.values()):
                continue
            trouble = _troubles(plan, rng, line, spent)
            spent += trouble != ""
            scored = scoring_record(plan, draft, line, trouble)
            scoring.write(json_line(scored))
            tally.add_score(plan, scored)
            if legacy:
                for result in scored["judge_results"]:
                    legacy.judges.write(
                        json_line(
                            result
                            | {
                                "eval_run_id": plan.run_id,
                                "sample_id": scored["sample_id"],
                                "order": scored.get("order"),
                                "sample_score": scored.get("sample_score"),
                            }
                        )
                    )
        if legacy:
            files["judge_results"], files["transcript"] = legacy.close()
    files["generated_samples"], files["scoring_results"] = generated.written(), scoring.written()
    bases = list(dict.fromkeys(sample_id.split("#r")[0] for sample_id in tally.lines))
    verdict = _verdict(plan, tally)
    events = _progress(plan, tally)
    files["progress"] = write_file(folder / "progress.jsonl", b"".join(json_line(event) for event in events))
    logs = {
        "remote_run_id": plan.run_id,
        "eval_run_id": plan.run_id,
        "state": verdict["state"],
        "events": len(events),
        "king_vllm_errors": verdict["king_vllm_errors"],
        "chal_vllm_errors": verdict["chal_vllm_errors"],
        "judge_errors": verdict["judge_errors"],
    }
    if verdict["fault_code"]:
        logs |= {"fault_code": verdict["fault_code"], "fault_message": verdict["fault_message"]}
    text = "".join(f"{name}={value}\n" for name, value in logs.items())
    files["remote_logs"] = write_file(folder / "remote-logs.txt", text.encode())
    files["request"] = write_file(folder / "request.json", json_document(_request(plan, bases)))
    verdict["artifacts"] = {name: f"s3://albedo/{plan.prefix}/{FILES[name][0]}" for name in files}
    verdict["artifact_metadata"] = {
        name: {
            "uri": f"s3://albedo/{plan.prefix}/{FILES[name][0]}",
            "bucket": "albedo",
            "object_key": f"{plan.prefix}/{FILES[name][0]}",
            "sha256": f"sha256:{written.sha256}",
            "size_bytes": written.size,
            "content_type": FILES[name][1],
        }
        for name, written in files.items()
    }
    files["verdict"] = write_file(folder / "verdict.json", json_document(verdict))
    king_rates = {
        model: sum(rates) / len(rates)
        for (side, model), rates in tally.rates.items()
        if side == "previous_king" and plan.era.name != "V0"
    }
    return Summary(plan, verdict, king_rates, files)


class _LegacyFiles:
    """The two files that only the first eras have."""

    def __init__(self, folder: Path) -> None:
        self.judges = Output(folder / "judge-results.jsonl")
        self.transcript = Output(folder / "duel-transcript.jsonl")

    def close(self) -> tuple[Written, Written]:
        for output in (self.judges, self.transcript):
            output.__exit__(None, None, None)
        return self.judges.written(), self.transcript.written()


def _target(draft: Draft) -> str | None:
    """The dataset's own next assistant turn."""
    replies = [turn["content"] for turn in draft.row.reference.turns if turn["role"] == "assistant"]
    if draft.row.taken >= len(replies):
        return None
    return str(replies[draft.row.taken]).replace("@SUBMIT@", rules.CANONICAL_MARKER)


# ---- listings

_BASE_URL = "https://s3.hippius.com/albedo"


def _stamp(moment: datetime) -> str:
    return moment.isoformat()


def write_listings(root: Path, seed: int, scale: str, summaries: Sequence[Summary]) -> dict[str, Written]:
    """Write the pre-eval faults, `dashboard.json` and `state.json`; return what was written."""
    files: dict[str, Written] = {}
    newest = max((s.plan.finished_at for s in summaries), default=_day(8, 22)) + timedelta(minutes=12)
    fails = []
    for kind in _FAULT_KINDS:
        listed, written = _write_fault(root, seed, scale, kind)
        fails.append(listed)
        files[f"sanity {kind}"] = written
    succeeded = [s for s in summaries if s.verdict["state"] == "succeeded"]
    for summary in summaries:
        if summary.verdict["state"] == "succeeded":
            continue
        challenger = challenger_of(summary.plan.challenger)
        fails.append(
            {
                "submission_id": summary.plan.submission_id,
                "eval_run_id": summary.plan.run_id,
                "model_uri": challenger["model_uri"],
                "hotkey": challenger["hotkey"],
                "uid": challenger["uid"],
                "state": "TERMINAL_INFRA_FAILED",
                "fault_class": summary.verdict["fault_class"],
                "fault_code": summary.verdict["fault_code"],
                "fault_message": summary.verdict["fault_message"],
                "model_hash": challenger["model_hash"],
                "updated_at": _stamp(summary.plan.finished_at),
                "artifacts": {},
            }
        )
    ordered = sorted(succeeded, key=lambda s: (s.plan.finished_at, s.plan.index))
    margins: dict[str, list[float]] = {}
    wins: dict[str, int] = {}
    for summary in ordered:
        verdict = summary.verdict
        margins.setdefault(summary.plan.submission_id, []).append(verdict["score_challenger"] - verdict["score_king"])
    crowned: dict[int, int] = {}
    for summary in ordered:
        key = summary.plan.submission_id
        wins[key] = wins.get(key, 0) + bool(summary.verdict["challenger_won"])
        needed = 2 if summary.plan.era.two_wins else 1
        if summary.verdict["challenger_won"] and wins[key] == needed:
            crowned[summary.plan.index] = king_of(summary.plan.era)["king_version"] + 1
    entries = [_listed(s, margins, crowned) for s in reversed(ordered)][:200]
    reigning = king_of(max((s.plan.era for s in ordered), key=lambda e: e.start, default=ERAS[0]))
    dashboard = {
        "updated_at": _stamp(newest),
        "chain": {"netuid": 97, "judge_models": list(THREE_JUDGES)},
        "stats": {"evaluated": len(margins)},
        "reign": {
            "members": [
                {
                    "king_version": reigning["king_version"],
                    "model_uri": reigning["model_uri"],
                    "model_hash": reigning["model_hash"],
                    "hotkey": reigning["hotkey"],
                    "uid": reigning["uid"],
                    "weight_bps": 10000,
                    "score_challenger": None,
                    "score_king": None,
                    "eval_run_id": None,
                    "is_king": True,
                }
            ]
        },
        "current_eval": None,
        "queue": [],
        "eval_runs": entries,
        "fails": fails,
    }
    stages = ("hippius_validate", "pre_eval", "eval")
    state = {
        "updated_at": _stamp(newest),
        "counts": {stage: {"running": 0, "queued": 0} for stage in stages},
        "stages": {stage: {"running": [], "queued": []} for stage in stages},
    }
    for name, value in (("dashboard.json", dashboard), ("state.json", state)):
        files[name] = write_file(root / "sn97" / "data" / name, _site_json(value))
    return files


def _site_json(value: Record) -> bytes:
    """The site's own form: two spaces, keys as given, no final line end."""
    import json

    return json.dumps(value, indent=2, ensure_ascii=True).encode("ascii")


def _listed(summary: Summary, margins: dict[str, list[float]], crowned: dict[int, int]) -> Record:
    plan, verdict = summary.plan, summary.verdict
    king, challenger = king_of(plan.era), challenger_of(plan.challenger)
    types = {FILES[name][2]: FILES[name][0] for name in summary.files if FILES[name][2]}
    record = {
        "eval_run_id": plan.run_id,
        "submission_id": plan.submission_id,
        "challenger_won": verdict["challenger_won"],
        "coronated": plan.index in crowned,
        "king_version": crowned.get(plan.index),
        "score_challenger": verdict["score_challenger"],
        "score_king": verdict["score_king"],
        "win_margin": verdict["score_challenger"] - verdict["score_king"],
        "pass_margins": margins[plan.submission_id],
        "finished_at": _stamp(plan.finished_at),
        "model_uri": challenger["model_uri"],
        "hotkey": challenger["hotkey"],
        "uid": challenger["uid"],
        "total_turns": verdict["total_turns"],
        "valid_turns": verdict["valid_turns"],
    }
    if plan.era.rollouts > 1:
        record["sample_count"] = plan.samples
    return record | {
        "chal_vllm_errors": verdict["chal_vllm_errors"],
        "king_vllm_errors": verdict["king_vllm_errors"],
        "scored_sample_count": verdict["scored_sample_count"],
        "judge_errors": verdict["judge_errors"],
        "required_win_margin": verdict["required_win_margin"],
        "scoring_mode": verdict["scoring_mode"],
        "score_breakdown": {
            "by_judge": verdict["score_breakdown"]["by_judge"],
            "by_judge_king": summary.king_by_judge,
            "by_metric": verdict["score_breakdown"]["by_metric"],
            "by_category": {},
        },
        "king": {key: king[key] for key in ("king_version", "model_uri", "uid", "hotkey")},
        "artifacts": {kind: f"{_BASE_URL}/{plan.prefix}/{file}" for kind, file in sorted(types.items())},
    }


_FAULT_KINDS = ("loop", "no_submission_no_edit", "reserved_token", "empty_reply")


def _write_fault(root: Path, seed: int, scale: str, kind: str) -> tuple[Record, Written]:
    """One pre-eval rejection: three samples of up to 32 turns, the reason computed from them."""
    import json

    number = 900 + _FAULT_KINDS.index(kind)
    submission_id = uuid_of(f"{seed}:sanity:{kind}")
    challenger = challenger_of(number)
    responses, prompts, per_sample = [], [], []
    first_reason = ""
    for sample in range(3):
        row = dataset_row(seed, 10_000 + 10 * number + sample, scale)
        _, command, _ = submission(submission_id, row.sample_id, True)
        typed = command or f"echo {rules.CANONICAL_MARKER}"
        styles = {"loop": "loop", "reserved_token": "reserved", "no_submission_no_edit": "idle"}
        style = styles.get(kind, "plain")
        agent = row.agent.fork(
            random.Random(f"{seed}:sanity:{kind}:{sample}"),
            skill=0.5,
            submit_command=typed,
            style=style if sample == 0 or style != "reserved" else "plain",
        )
        start = [
            {"role": "system", "content": system_prompt(row.issue)},
            {"role": "user", "content": task_text(row.issue, scale, typed)},
        ]
        side = agent.play(32 if scale == "full" else 4, start + row.context)
        if kind == "empty_reply" and sample == 0:
            last = [t for t in side.turns if t.get("score_target")][-1]
            last["content"] = ""
        document = rules.render_document(side.turns)
        reason = _fault_reason(kind, side, document)
        first_reason = first_reason or reason
        prompts.append(chat_prompt(start + row.context))
        responses.append(document)
        per_sample.append(
            {
                "prompt_excerpt": row.issue.fault.title,
                "passed": not reason,
                "reason": reason or f"finished in {len(side.played)} turns",
                "injection": False,
                "infra": False,
                "rechecked": False,
                "votes": [],
            }
        )
    moment = _stamp(_day(8, 22, 6) + timedelta(minutes=number - 900))
    record = {
        "submission_id": submission_id,
        "repo": challenger["model_uri"].split("@")[0],
        "digest": challenger["model_hash"],
        "fault_code": "failed",
        "reason": first_reason,
        "decision_mode": "veto",
        "gate": {
            "passed": False,
            "reason": first_reason,
            "infra_fault": False,
            "llm_gate": "failed",
            "decision_mode": "veto",
            "per_sample": per_sample,
        },
        "prompts": prompts,
        "responses": responses,
        "checked_at": moment,
    }
    folder = challenger["model_hash"].replace(":", "_")
    path = root / "sn97" / "sanity" / submission_id / folder / "fault.json"
    written = write_file(path, json.dumps(record, ensure_ascii=True).encode("ascii"))
    listed = {
        "submission_id": submission_id,
        "eval_run_id": None,
        "model_uri": challenger["model_uri"],
        "hotkey": challenger["hotkey"],
        "uid": challenger["uid"],
        "state": "TERMINAL_INVALID",
        "fault_class": "MINER_FAULT",
        "fault_code": "failed",
        "fault_message": first_reason,
        "model_hash": challenger["model_hash"],
        "updated_at": moment,
        "artifacts": {"SANITY_RESULT": f"{_BASE_URL}/sanity/{submission_id}/{folder}/fault.json"},
    }
    return listed, written


def _fault_reason(kind: str, side: Side, document: str) -> str:
    """Why a pre-eval sample fails, empty when it passes; first hit wins."""
    if any(turn.get("score_target") and not turn["content"] for turn in side.turns):
        return "heuristic: empty response"
    for token in rules.RESERVED_TOKENS:
        if token in document:
            return f"heuristic: reserved template token in output: {token}"
    edited = any(f[0] == "edit" for p in side.played for f in p.facts)
    if kind == "no_submission_no_edit" and not edited and not side.submitted:
        return "heuristic: no submission and no edit"
    commands = rules.loop_commands(rules.strict_blocks(document), None, "loop-v1")
    ratio, run = rules.loop_numbers(commands)
    if ratio >= 0.5:
        return f"heuristic: tail_check: looping: duplicate command ratio {ratio:.2f}"
    if run >= 4:
        return f"heuristic: tail_check: looping: same command repeated {run}x consecutively"
    return ""
