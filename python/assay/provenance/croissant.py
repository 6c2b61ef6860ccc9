"""Croissant metadata of an exported set: its files with their hashes, and the fields of its records as JSON-LD.

Source: the Croissant format specification 1.0 and its vocabulary for responsible AI (contract: exports, 3c).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_CONFORMS = ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"]
_FORMATS = {".jsonl": "application/jsonlines", ".parquet": "application/x-parquet"}
_TYPES = {pa.string(): "sc:Text", pa.int64(): "sc:Integer", pa.float64(): "sc:Float", pa.bool_(): "sc:Boolean"}


@dataclass(frozen=True)
class DataFile:
    """A file of the set: its name, bytes and SHA-256 (hex)."""

    name: str
    n_bytes: int
    sha256: str


def croissant(
    name: str,
    description: str,
    license_name: str,
    version: str,
    files: Sequence[DataFile],
    record_sets: Mapping[str, tuple[str, pa.Schema]],
    responsible: Mapping[str, str],
) -> dict[str, Any]:
    """The metadata as a JSON-LD object.

    `record_sets` maps a record set's name to the file of JSON lines that holds its records, with their schema;
    `responsible` maps properties of the RAI vocabulary to their texts.
    """
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS,
        "name": name,
        "description": description,
        "license": license_name,
        "version": version,
        "isLiveDataset": False,
        **{f"rai:{key}": value for key, value in responsible.items()},
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": file.name,
                "name": file.name,
                "contentUrl": file.name,
                "contentSize": f"{file.n_bytes} B",
                "encodingFormat": next(kind for ending, kind in _FORMATS.items() if file.name.endswith(ending)),
                "sha256": file.sha256,
            }
            for file in files
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": record_set,
                "name": record_set,
                "field": [made for field in schema for made in _fields([field], record_set, file_name, field.name, "")],
            }
            for record_set, (file_name, schema) in record_sets.items()
        ],
    }


def _fields(
    fields: Sequence[pa.Field], parent: str, file_name: str, column: str, path: str
) -> Iterator[dict[str, Any]]:
    """Fields below a column; `path` leads from the column's value to theirs."""
    for field in fields:
        identity, kind = f"{parent}/{field.name}", field.type
        is_column = identity.count("/") == 1
        place = "" if is_column else f"{path}.{field.name}" if path else field.name
        if pa.types.is_list(kind) and not is_column:
            # Readers of the format cannot read a list within a struct; it is in the file and not in the record set.
            continue
        repeated = pa.types.is_list(kind)
        if repeated:
            kind, place = kind.value_type, f"{place}[*]"
        made: dict[str, Any] = {"@type": "cr:Field", "@id": identity, "name": identity}
        if repeated:
            made["repeated"] = True
        if pa.types.is_struct(kind):
            made["subField"] = list(_fields(list(kind), identity, file_name, column, place))
        else:
            made["dataType"] = _TYPES[kind]
            made["source"] = {"fileObject": {"@id": file_name}, "extract": {"column": column}}
            if place not in ("", "[*]"):
                made["source"]["transform"] = {"jsonPath": place}
        yield made
