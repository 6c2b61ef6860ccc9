"""Cards, Croissant and the manifest as a build writes them: last, over all exports, from tables of the warehouse."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import assay
from assay.errors import AssayError
from assay.exporting import FILES, files_table, inputs_sha256, rules_json, size_and_hash
from assay.mixes import export as mixes
from assay.mixes.pairs import PAIRS
from assay.mixes.pairs import SCHEMA as PAIR_ROWS
from assay.mixes.rows import SCHEMA as MIX_ROWS
from assay.names import shown
from assay.provenance.cards import MIXES_CARD, Rows, card_table, rendered
from assay.provenance.code import code_of
from assay.provenance.croissant import DataFile, croissant
from assay.provenance.hub import Split, head
from assay.provenance.manifest import manifest
from assay.steps.warehouse import step_of_a_model
from assay.steps.writing import whole, writing
from assay.teacher.export import FOLDER as TEACHER_FOLDER
from assay.teacher.export import ROWS as TEACHER_ROWS

MANIFEST_FILE = "MANIFEST.json"
CARD_FILE, CROISSANT_FILE = "README.md", "croissant.json"
_LIBRARIES = ("duckdb", "pyarrow", "tokenizers")
_COMPOSITION = (
    "mix n_rows share_of_rows n_train_turns first_train_turn last_train_turn n_tokens n_trained_tokens "
    "median_row_tokens n_over_limit recovery_share n_validation_rows"
).split()
_COVERAGE = "failure_class description n_failures share_of_failures covered_by n_rows n_train_turns".split()
_PAIR_LEDGER = "step reason pairs".split()
_PAIRS_NOTE = (
    "Two sides of one rollout of which one scored higher. `prompt` is what both share, `chosen` and `rejected` are the "
    "first reply in which they part; the scores are those of the whole sides."
)
_LEDGER = "mix step reason rows turns".split()
_AUDIT = """
    mix, verdict, reason, count(*) as n_rows, sum(n_tokens)::bigint as n_tokens, sum(n_trained_turns)::bigint
    as n_trained_turns, sum(n_trained_tokens)::bigint as n_trained_tokens, sum(n_boundary_merges)::bigint
    as n_boundary_merges, count(*) filter (where over_limit) as n_over_limit
"""

_SETTINGS_NOTE = (
    "`tokenizer`, `tokenizer_sha256` and `template_sha256` name what proved the masks; `template_date` is the day that "
    "the chat template was told where it asks for today (`strftime_now`). Empty: no tokenizer was named."
)

Relations = Mapping[str, duckdb.DuckDBPyRelation]
_File = dict[str, Any]


@step_of_a_model(FILES)
def manifest_step(
    session: duckdb.DuckDBPyConnection, exports: str, tables: Relations, settings: Mapping[str, str]
) -> duckdb.DuckDBPyRelation:
    """Write what describes the exports below `exports` and return the table of `FILES`, over all exports.

    `tables` are the tables of files (mix_export, teacher_export, promotion_record), those that the cards show, and
    artifacts; `settings` the licence and the ruleset.
    """
    root = Path(exports)
    files = _exported(root, tables)
    texts = _described(root, files, tables, settings)
    with writing(root):
        root.mkdir(parents=True, exist_ok=True)
        with whole(*(root / name for name in texts)) as parts:
            for part, text in zip(parts, texts.values(), strict=True):
                part.write_text(text, encoding="utf-8", newline="\n")
        inputs = {name: file["inputs_sha256"] for file in files for name in [str(file["file"]).split("/")[0]]}
        files += [_own(root, name, inputs.get(name.split("/")[0], ""), settings) for name in texts]
        text = manifest(files, _build(tables), _versions(), _inputs(tables), _rulesets(tables), settings["ruleset"])
        with whole(root / MANIFEST_FILE) as parts:
            parts[0].write_text(text, encoding="utf-8", newline="\n")
        files.append(_own(root, MANIFEST_FILE, "", settings))
    listed = sorted(files, key=lambda file: str(file["file"]))
    return session.from_arrow(files_table([tuple(file[name] for name in FILES.names) for file in listed]))


def _exported(root: Path, tables: Relations) -> list[_File]:
    """Files that the export models wrote, each still as it was written."""
    promotion = inputs_sha256(tables["artifacts"], ("gateway",))
    files: list[_File] = []
    for name in ("mix_export", "teacher_export", "promotion_record"):
        for row in tables[name].order("file").to_arrow_table().to_pylist():
            files.append({"n_rows": None, "rules": "{}", "inputs_sha256": promotion, **row})
    for file in files:
        path = root / file["file"]
        # Its hash is read again: a manifest that repeats what was once written would vouch for what is there now.
        try:
            is_as_written = path.is_file() and size_and_hash(path) == (file["bytes"], file["sha256"])
        except OSError as error:
            raise AssayError(f"{shown(path)} cannot be read: {error.strerror or error}") from None
        if not is_as_written:
            raise AssayError(f"{shown(path)} is not as the build wrote it: build its export again")
    return files


def _described(root: Path, files: list[_File], tables: Relations, settings: Mapping[str, str]) -> dict[str, str]:
    """Cards and Croissant by the names of their files."""
    by_name = {str(file["file"]): file for file in files}
    judges = _rows(tables["answers"].project("judge_model").distinct())
    named = ", ".join(sorted({str(row["judge_model"]) for row in judges if row["judge_model"]})) or "none"
    planned = _rows(tables["mix_plan"].order("position"), ordered=True)
    plan = [str(row["mix"]) for row in planned]
    held = {mix: [mix] for mix in (*plan, PAIRS)}
    held |= {final: [str(row["mix"]) for row in planned if row[f"in_{final}"]] for final in mixes.FINALS}
    schemas = {name: PAIR_ROWS if name == PAIRS else MIX_ROWS for name in held}
    mix_files = [
        DataFile(name, by_name[f"{mixes.FOLDER}/{name}"]["bytes"], by_name[f"{mixes.FOLDER}/{name}"]["sha256"])
        for name in (*mixes.file_names(plan), *mixes.pair_files())
    ]
    mix_card = rendered(
        MIXES_CARD,
        head=_mix_head(root, held, schemas, by_name, settings["dataset_license"]),
        tables=_card_tables(tables, by_name, settings),
        tokenizer=_rules(by_name)["tokenizer"],
    )
    mix_croissant = croissant(
        name="assay-training-mixes",
        description="Conversations of coding agents in which single turns train, chosen by credit that judges gave.",
        license_name=settings["dataset_license"],
        version=assay.__version__,
        files=mix_files,
        record_sets={name: (f"{name}.jsonl", schema) for name, schema in schemas.items()},
        responsible={
            "dataCollection": "Cut from published duel artifacts and agent trajectories; no text was added or changed.",
            "dataAnnotationProtocol": f"Answers of judge models, whose explanations cite turns. Judges: {named}.",
            "dataBiases": "Credit is a judge's: what judges cite is over-represented, and early turns are cited more.",
            "dataLimitations": "A turn that trains was credited in its own context; it was never executed again.",
        },
    )
    teacher_files = [
        DataFile(name, by_name[f"{TEACHER_FOLDER}/{name}"]["bytes"], by_name[f"{TEACHER_FOLDER}/{name}"]["sha256"])
        for name in ("sft_rows.jsonl", "sft_rows.parquet")
    ]
    teacher_croissant = croissant(
        name="assay-teacher-references",
        description="Prompt and completion of one turn a row, chosen from several references of a teacher model.",
        license_name=settings["dataset_license"],
        version=assay.__version__,
        files=teacher_files,
        record_sets={"sft_rows": ("sft_rows.jsonl", TEACHER_ROWS)},
        responsible={
            "dataCollection": "Teacher references of published duel records, repaired and filtered by named rules.",
            "dataBiases": "The reference with the highest lift among those of the commonest first token is taken.",
            "dataLimitations": "No completion was executed; its command was only parsed.",
        },
    )
    return {
        f"{mixes.FOLDER}/{CARD_FILE}": mix_card,
        f"{mixes.FOLDER}/{CROISSANT_FILE}": json.dumps(mix_croissant, indent=2) + "\n",
        f"{TEACHER_FOLDER}/{CROISSANT_FILE}": json.dumps(teacher_croissant, indent=2) + "\n",
    }


def _mix_head(
    root: Path,
    finals: Mapping[str, list[str]],
    schemas: Mapping[str, pa.Schema],
    by_name: Mapping[str, _File],
    license_name: str,
) -> str:
    configurations: dict[str, list[Split]] = {}
    for name, held in finals.items():
        for split in mixes.SPLITS:
            named = [f"{mix}.{split}.parquet" for mix in held]
            files = [file for file in named if by_name[f"{mixes.FOLDER}/{file}"]["n_rows"]]
            listed = [by_name[f"{mixes.FOLDER}/{file}"] for file in files]
            size = sum(_uncompressed(root / mixes.FOLDER / file) for file in files)
            n_bytes, n_rows = (sum(file[column] for file in listed) for column in ("bytes", "n_rows"))
            configurations.setdefault(name, []).append(Split(split, tuple(files), n_bytes, size, n_rows))
    last = list(finals)[-1]
    n_rows = sum(split.n_rows for split in configurations[last])
    return head(license_name, schemas, configurations, last, n_rows)


def _uncompressed(path: Path) -> int:
    metadata = pq.read_metadata(path)
    return sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))


def _card_tables(tables: Relations, by_name: Mapping[str, _File], settings: Mapping[str, str]) -> list[dict[str, Any]]:
    rules = _rules(by_name)
    plain = {name: value for name, value in rules.items() if not isinstance(value, list)}
    said = [{"setting": name, "value": value} for name, value in sorted({**plain, **settings}.items())]
    composition = _rows(tables["mix_composition"].order("mix_position").project(", ".join(_COMPOSITION)), ordered=True)
    coverage = _rows(tables["mix_coverage"].order("position").project(", ".join(_COVERAGE)), ordered=True)
    ledger = tables["drop_ledger"].order("mix_position, step_order, reason")
    counted = ", ".join(f'"{name}"' for name in _LEDGER)
    audit = tables["mask_audit"].aggregate(_AUDIT, "mix, verdict, reason")
    return [
        card_table("Composition", composition, _COMPOSITION),
        card_table("What failures the mixes cover", coverage, _COVERAGE),
        card_table("From candidate to file", _rows(ledger.project(counted), ordered=True), _LEDGER),
        card_table("Preference pairs", _rows(tables["pair_ledger"]), _PAIR_LEDGER, _PAIRS_NOTE),
        card_table("Mask audit of the candidate rows", _rows(audit)),
        card_table("Plan", [{**row, "seed": str(row["seed"])} for row in rules["mix_plan"]]),
        card_table("Settings", said, note=_SETTINGS_NOTE),
    ]


def _rules(by_name: Mapping[str, _File]) -> dict[str, Any]:
    """What the mixes were made under."""
    rules: dict[str, Any] = json.loads(by_name[f"{mixes.FOLDER}/{mixes.AUDIT_FILE}"]["rules"])
    return rules


def _rows(relation: duckdb.DuckDBPyRelation, ordered: bool = False) -> Rows:
    rows: list[dict[str, Any]] = (relation if ordered else relation.order("all")).to_arrow_table().to_pylist()
    return rows


def _own(root: Path, name: str, inputs: str, settings: Mapping[str, str]) -> _File:
    size, digest = size_and_hash(root / name)
    rules = rules_json(settings)
    return {"file": name, "bytes": size, "sha256": digest, "n_rows": None, "rules": rules, "inputs_sha256": inputs}


def _build(tables: Relations) -> dict[str, str]:
    """What two builds of the same files have in common, as in `builds.builds`; dbt works in the project's folder."""
    sources = [str(source) for (source,) in tables["artifacts"].project("source").distinct().fetchall()]
    return {**asdict(code_of(Path.cwd())), "inputs_sha256": inputs_sha256(tables["artifacts"], sources)}


def _versions() -> dict[str, str]:
    return {"assay": assay.__version__, **{name: version(name) for name in _LIBRARIES}}


def _inputs(tables: Relations) -> Rows:
    sources = _rows(tables["artifacts"].aggregate("source, count(*) as n_files, sum(bytes)::bigint as bytes", "source"))
    return [{**row, "sha256": inputs_sha256(tables["artifacts"], (str(row["source"]),))} for row in sources]


def _rulesets(tables: Relations) -> Rows:
    return _rows(tables["duels"].aggregate("ruleset_id, count(*) as n_runs", "ruleset_id"))
