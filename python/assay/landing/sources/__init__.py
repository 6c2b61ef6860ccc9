"""Which file is what: one module a source, each with `classify(parts)`.

`parts` are the path's names below the source's folder; the answer is a kind and the facts the path tells, or None.
"""

from collections.abc import Callable

from assay.landing.kinds import Facts, Kind
from assay.landing.sources import gateway, mini_coder, sn97, sn120, tokenizer, trajectories

Classifier = Callable[[tuple[str, ...]], tuple[Kind, Facts] | None]

SOURCES: dict[str, Classifier] = {
    "sn97": sn97.classify,
    "sn120": sn120.classify,
    "mini_coder": mini_coder.classify,
    "gateway": gateway.classify,
    "trajectories": trajectories.classify,
    "tokenizer": tokenizer.classify,
}
"""The folders of the raw tree, by name."""
