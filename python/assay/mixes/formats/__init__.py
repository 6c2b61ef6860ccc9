"""What each trainer reads: an adapter a module, each a pure function of a canonical row (contract: exports, 3a)."""

from assay.mixes.formats import (
    axolotl,
    axolotl_dpo,
    llamafactory_dpo,
    llamafactory_v0,
    llamafactory_v1,
    ms_swift,
    prompt_completion,
    slime,
    tinker,
    trl,
    trl_dpo,
    verl,
)
from assay.mixes.formats.base import Format

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (axolotl, trl, ms_swift, llamafactory_v0, llamafactory_v1, slime, tinker, verl, prompt_completion)
}

PAIR_FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT for module in (trl_dpo, axolotl_dpo, llamafactory_dpo)
}
"""Those of preference pairs."""
