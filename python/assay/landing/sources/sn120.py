"""SN120 duel records of wvk 1 to 25 and turn corpora of schemas 1 to 3. Contract: sn120, section A."""

from typing import Any

from assay.landing.faults import RefusedError
from assay.landing.fields import array, check_identity, mapping, objects, others, pick, text
from assay.landing.json_text import dump, type_name
from assay.landing.kinds import Extractor, Facts, Kind
from assay.landing.rows import Rows

# A.1 the index of published records ----------------------------------------------------------------------

_INDEX_FIELDS = ("key", "bytes", "at", "challenge_id", "repo", "revision", "hotkey", "challenger_wins", "z", "margin",
                 "rejection_reason")  # fmt: skip
_INDEX_KNOWN = frozenset(_INDEX_FIELDS)


def _eval_index(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    rows.emit("sn120_eval_index", *pick(record, _INDEX_FIELDS), others(record, _INDEX_KNOWN))


# A.2 duel records ----------------------------------------------------------------------------------------

_REQUEST_FIELDS = ("king_repo", "king_revision", "challenger_repo", "challenger_revision", "challenger_hotkey",
                   "challenger_weight_bytes", "block_hash")  # fmt: skip
_REQUEST_KNOWN = frozenset(_REQUEST_FIELDS)
_SLICE_FIELDS = ("seed", "n", "digest", "block_hash", "corpus_epoch", "manifest_sha256", "view_spec",
                 "corpus_base_url")  # fmt: skip
_SLICE_KNOWN = frozenset((*_SLICE_FIELDS, "dialects"))
_VERDICT_FIELDS = (
    "challenger_wins",
    "margin",
    "se",
    "z",
    "k_sigma",
    "min_margin",
    "n_paired_turns",
    "ranking_formula",
)
_RECORD_KNOWN = frozenset(
    "job_id request verdict slice turn_ids teacher_refs king_rows challenger_rows rejection_reason".split()
)
_REFERENCE_FIRST = ("z", "y", "lp_own", "lp_empty", "lp_thought", "lp_thought_e")
_REFERENCE_LAST = ("mc_thought", "n_bytes_y", "n_content_thought", "n_tokens_thought")
_REFERENCE_KNOWN = frozenset((*_REFERENCE_FIRST, *_REFERENCE_LAST, "lp_cross"))
_ROW_KNOWN = frozenset({"turn_id", "miner", "valid", "n_pairs", "pairs", "bank_frac", "L2_bank"})
_PAIR_FIELDS = ("lpC_yc_za", "lpC_yc_zc", "lpC_yc_e", "lpC_ya_za", "lpC_ya_zc", "lpC_ya_e", "lpA_yc_za", "lpA_yc_zc",
                "lpA_yc_e", "lpA_ya_za", "lpA_ya_zc", "lpA_ya_e", "lpC_za_x", "lpC_zc_x", "eta", "L2_bank", "z_a",
                "y_a")  # fmt: skip
_PAIR_KNOWN = frozenset(_PAIR_FIELDS)


def _duel(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    challenge_id = facts["challenge_id"]
    turn_ids = array(record, "turn_ids") or []
    references = mapping(record, "teacher_refs") if record.get("teacher_refs") is not None else None
    n_references = _references(challenge_id, references or {}, rows)
    for position, turn_id in enumerate(turn_ids):
        # A turn of which no sample parsed is missing or holds an empty list, depending on the version.
        listed = (references or {}).get(turn_id) if type(turn_id) is str else None
        rows.emit("sn120_duel_turns", challenge_id, position, turn_id, None if listed is None else len(listed))
    n_rows = [
        _rows(challenge_id, side, objects(record, key), rows)
        for side, key in (("king", "king_rows"), ("challenger", "challenger_rows"))
    ]
    request, cut, verdict = mapping(record, "request"), mapping(record, "slice"), mapping(record, "verdict")
    parts = (("request", request, _REQUEST_KNOWN), ("slice", cut, _SLICE_KNOWN))
    rows.emit(
        "sn120_duels", challenge_id, record.get("job_id"), *pick(request, _REQUEST_FIELDS),
        *pick(cut, _SLICE_FIELDS), dump(cut.get("dialects")), *pick(verdict, _VERDICT_FIELDS),
        record.get("rejection_reason"), verdict.get("rejection_reason"), dump(verdict.get("duel_params")),
        dump(verdict.get("gates")), dump(verdict.get("king")), dump(verdict.get("challenger")),
        dump(verdict.get("teacher")), dump(verdict or None), len(turn_ids),
        None if references is None else len(references), None if references is None else n_references,
        *n_rows, rows.line_bytes, others(record, _RECORD_KNOWN, parts),
    )  # fmt: skip


def _references(challenge_id: str, references: dict[str, Any], rows: Rows) -> int:
    emitted = 0
    for turn_id in references:
        check_identity(turn_id, "teacher_refs key")
        for index, reference in enumerate(objects(references, turn_id) or ()):
            rows.emit(
                "sn120_teacher_references", challenge_id, turn_id, index, *pick(reference, _REFERENCE_FIRST),
                dump(reference.get("lp_cross")), *pick(reference, _REFERENCE_LAST),
                others(reference, _REFERENCE_KNOWN),
            )  # fmt: skip
            emitted += 1
    return emitted


def _rows(challenge_id: str, side: str, published: list[dict[str, Any]] | None, rows: Rows) -> int | None:
    for row_index, row in enumerate(published or ()):
        turn_id = text(row, "turn_id")
        for pair_index, pair in enumerate(objects(row, "pairs") or ()):
            rows.emit(
                "sn120_pairs", challenge_id, side, row_index, turn_id, pair_index, *pick(pair, _PAIR_FIELDS),
                others(pair, _PAIR_KNOWN),
            )  # fmt: skip
        rows.emit(
            "sn120_duel_rows", challenge_id, side, row_index, turn_id,
            *pick(row, ("miner", "valid", "n_pairs", "bank_frac", "L2_bank")), others(row, _ROW_KNOWN),
        )  # fmt: skip
    return None if published is None else len(published)


# A.3 manifests -------------------------------------------------------------------------------------------

_MANIFEST_KNOWN = frozenset("corpus_epoch schema_version created_at index shards prev_manifest compat_shards".split())
_MANIFEST_INDEX_FIELDS = ("key", "sha256", "n_turns")
_MANIFEST_INDEX_KNOWN = frozenset(_MANIFEST_INDEX_FIELDS)
_ENTRY_FIELDS = ("key", "sha256", "n_trajectories", "n_turns", "format", "active")
_ENTRY_KNOWN = frozenset(_ENTRY_FIELDS)


def _manifest(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    n_entries = 0
    for list_name in ("shards", "compat_shards"):
        for position, published in enumerate(array(record, list_name) or ()):
            # `compat_shards` is published as a list without a word on its elements: an entry or its bare key.
            entry = {"key": published} if type(published) is str and list_name == "compat_shards" else published
            if type(entry) is not dict:
                raise RefusedError("wrong_type", f"{list_name}[{position}]: expected object, found {type_name(entry)}")
            rows.emit(
                "sn120_manifest_entries", list_name, position, *pick(entry, _ENTRY_FIELDS), others(entry, _ENTRY_KNOWN)
            )
            n_entries += 1
    index = mapping(record, "index")
    rows.emit(
        "sn120_manifests", *pick(record, ("corpus_epoch", "schema_version", "created_at")),
        *pick(index, _MANIFEST_INDEX_FIELDS), record.get("prev_manifest"), facts["is_pointer"] == "true",
        n_entries, others(record, _MANIFEST_KNOWN, [("index", index, _MANIFEST_INDEX_KNOWN)]),
    )  # fmt: skip


# A.4 the turn index --------------------------------------------------------------------------------------

TURN_INDEX_FIELDS = ("turn_id", "traj_id", "turn_idx", "stratum", "phase", "source", "language", "chunk_key",
                      "traj_line", "msg_pos", "n_prefix_chars", "rollout_id", "node_id", "action_kind")  # fmt: skip


def _turn_index(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    rows.emit("sn120_turn_index", *pick(record, TURN_INDEX_FIELDS))


# A.5 trajectories, A.6 flat turns ------------------------------------------------------------------------

_TRAJECTORY_FIELDS = ("rollout_id", "instance_id", "repo", "model", "action_kind", "generated_at", "source",
                      "language", "phase", "stratum")  # fmt: skip
_TRAJECTORY_KNOWN = frozenset((*_TRAJECTORY_FIELDS, "traj_id", "messages", "nodes", "turns"))
_NODE_KNOWN = frozenset({"parent", "role", "content"})
_TURN_FIELDS = ("turn_idx", "msg_pos", "node_id", "phase", "suffix_len", "n_prefix_chars")
_TURN_KNOWN = frozenset(_TURN_FIELDS)


def _trajectory(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    # A schema 3 record may name itself by its rollout alone.
    traj_id = text(record, "traj_id" if record.get("traj_id") is not None else "rollout_id")
    messages = objects(record, "messages")
    if messages is None:
        messages = objects(record, "nodes")
    if messages is None:
        raise RefusedError("missing_field", "neither messages nor nodes")
    for index, message in enumerate(messages):
        rows.emit(
            "sn120_trajectory_messages", traj_id, index, *pick(message, ("parent", "role", "content")),
            others(message, _NODE_KNOWN),
        )  # fmt: skip
    turns = objects(record, "turns") or []
    for index, turn in enumerate(turns):
        rows.emit("sn120_trajectory_turns", traj_id, index, *pick(turn, _TURN_FIELDS), others(turn, _TURN_KNOWN))
    rows.emit(
        "sn120_trajectories", traj_id, *pick(record, _TRAJECTORY_FIELDS), len(messages), len(turns),
        others(record, _TRAJECTORY_KNOWN),
    )  # fmt: skip


_FLAT_FIELDS = ("reference_turn", "suffix_len", "n_prefix_chars", "instance_id", "repo", "model", "phase",
                "action_kind", "generated_at", "source", "language", "stratum")  # fmt: skip
_FLAT_KNOWN = frozenset((*_FLAT_FIELDS, "traj_id", "turn_idx", "prefix"))
_PREFIX_KNOWN = frozenset({"role", "content"})


def _flat_turn(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    traj_id, turn_idx = text(record, "traj_id"), record.get("turn_idx")
    prefix = objects(record, "prefix") or []
    for index, message in enumerate(prefix):
        rows.emit(
            "sn120_flat_turn_messages", traj_id, turn_idx, index, *pick(message, ("role", "content")),
            others(message, _PREFIX_KNOWN),
        )  # fmt: skip
    rows.emit(
        "sn120_flat_turns",
        traj_id,
        turn_idx,
        *pick(record, _FLAT_FIELDS),
        len(prefix),
        others(record, _FLAT_KNOWN),
    )


def _kind(name: str, reader: str, extract: Extractor, *more_tables: str) -> Kind:
    return Kind("sn120", name, reader, tuple(f"sn120_{table}" for table in (name, *more_tables)), extract)


_EVAL_INDEX = _kind("eval_index", "json_lines", _eval_index)
_DUEL = _kind("duels", "json_document", _duel, "duel_turns", "teacher_references", "duel_rows", "pairs")
_MANIFEST = _kind("manifests", "json_document", _manifest, "manifest_entries")
_TURN_INDEX = _kind("turn_index", "parquet", _turn_index)
_TRAJECTORY = _kind("trajectories", "json_lines", _trajectory, "trajectory_messages", "trajectory_turns")
_FLAT_TURN = _kind("flat_turns", "json_lines", _flat_turn, "flat_turn_messages")


def classify(parts: tuple[str, ...]) -> tuple[Kind, Facts] | None:
    """Files are known by the folder they lie in, so that a view's own `index/` and `chunks/` are found too."""
    name = parts[-1].removesuffix(".gz")
    folder = parts[-2] if len(parts) >= 2 else ""
    if folder == "evals" and name == "index.jsonl":
        return _EVAL_INDEX, {}
    if folder == "evals" and name.endswith(".json"):
        return _DUEL, {"challenge_id": name.removesuffix(".json")}
    if name == "manifest.json" or (folder == "manifests" and name.endswith(".json")):
        return _MANIFEST, {"is_pointer": str(folder != "manifests").lower()}
    if folder == "index" and name.endswith(".parquet"):
        return _TURN_INDEX, {}
    if folder == "chunks" and name.endswith(".jsonl"):
        return _TRAJECTORY, {}
    if folder == "shards" and name.endswith(".jsonl"):
        return _FLAT_TURN, {}
    return None
