"""slime: `step_loss_mask` 0 or 1 on every message; absent would mean 1."""

import shlex
from collections.abc import Iterator

from assay.mixes.formats.base import Format, Row, Setting, notes, with_flag
from assay.mixes.rows import RowRecord


def rows(row: RowRecord, setting: Setting) -> Iterator[Row]:
    """One row; only an assistant's mask is asked for, the others carry 0 all the same."""
    yield {"messages": with_flag(row, "step_loss_mask", 1, 0)}


def snippet(setting: Setting) -> str:
    """Arguments of a training script."""
    return (
        f"{notes(setting, True)}"
        "SFT_ARGS=(\n"
        "  --rollout-function-path slime.rollout.sft_rollout.generate_rollout\n"
        f"  --prompt-data {shlex.quote(setting.data_file)}\n"
        "  --input-key messages\n"
        "  --loss-type sft_loss\n"
        "  --calculate-per-token-loss  # every trained token counts alike, however many its row has\n"
        "  --disable-compute-advantages-and-returns\n"
        "  --debug-train-only  # nothing is generated: no inference engine is started\n"
        ")\n"
    )


FORMAT = Format("slime", ".jsonl", ".sh", False, rows, snippet, masks_generation_prompt=True)
