"""tinker-cookbook: `trainable` on every message, required with `TrainOnWhat.CUSTOMIZED` and forbidden otherwise."""

from collections.abc import Iterator

from assay.mixes.formats.base import Format, Row, Setting, notes, with_flag
from assay.mixes.rows import RowRecord


def rows(row: RowRecord, setting: Setting) -> Iterator[Row]:
    """One row; every message says whether it is trainable."""
    yield {"messages": with_flag(row, "trainable", True, False)}


def snippet(setting: Setting) -> str:
    """The data set's builder."""
    return (
        f"{notes(setting)}"
        "from tinker_cookbook.renderers import TrainOnWhat\n"
        "from tinker_cookbook.supervised.data import FromConversationFileBuilder\n"
        "from tinker_cookbook.supervised.types import ChatDatasetBuilderCommonConfig\n\n"
        "common = ChatDatasetBuilderCommonConfig(\n"
        "    model_name_for_tokenizer=MODEL,\n"
        "    renderer_name=RENDERER,\n"
        f"    max_length={setting.length},\n"
        "    batch_size=BATCH_SIZE,\n"
        "    train_on_what=TrainOnWhat.CUSTOMIZED,\n"
        ")\n"
        f"dataset = FromConversationFileBuilder(common_config=common, file_path={setting.data_file!r})\n"
    )


FORMAT = Format("tinker", ".jsonl", ".py", False, rows, snippet)
