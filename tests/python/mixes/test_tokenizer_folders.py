"""Which tokenizer proves the masks: a folder, its file, or a model of the hub's cache; never a guess."""

import json
from pathlib import Path

import pytest
from assay.errors import AssayError
from assay.mixes.tokenizer import Identity, identity_of, load, tokenizer_folder
from assay.tokenizer_folder import chat_template_of, named_tokens_of
from dbt_project import REPOSITORY
from mix_inputs import BUNDLED, PLAIN_TEMPLATE, write_tokenizer

TOY = "toy tokenizer of the bundled sample"
TEMPLATES: dict[str, dict[str, object]] = {
    "text": {"chat_template": PLAIN_TEMPLATE},
    "named": {
        "chat_template": [{"name": "tool_use", "template": "x"}, {"name": "default", "template": PLAIN_TEMPLATE}]
    },
}


def _cached(cache: Path, *revisions: str, main: str = "") -> Path:
    """A model in the hub's cache: files are links to blobs."""
    model = cache / "models--acme--coder-7b"
    made = write_tokenizer(cache / "made", PLAIN_TEMPLATE)
    (made / "tokenizer.json").write_bytes((made / "tokenizer.json").read_bytes() + b"\n")
    (model / "blobs").mkdir(parents=True)
    for revision in revisions:
        (model / "snapshots" / revision).mkdir(parents=True)
        for file in made.iterdir():
            blob = model / "blobs" / f"{revision}-{file.name}"
            blob.write_bytes(file.read_bytes())
            (model / "snapshots" / revision / file.name).symlink_to(Path("..") / ".." / "blobs" / blob.name)
    if main:
        (model / "refs").mkdir()
        (model / "refs" / "main").write_text(main)
    return model


def test_a_raw_tree_without_a_tokenizer_has_none(tmp_path: Path) -> None:
    assert tokenizer_folder("", str(tmp_path)) is None
    assert identity_of(None) == Identity(None, None, None, None)
    write_tokenizer(tmp_path / "tokenizer")
    assert tokenizer_folder("", str(tmp_path)) == tmp_path / "tokenizer"
    (tmp_path / "tokenizer" / "chat_template.jinja").unlink()
    assert tokenizer_folder("", str(tmp_path)) is None  # nothing can be rendered


def test_the_bundled_one_is_called_what_it_is_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    assert identity_of(BUNDLED).tokenizer == TOY
    assert identity_of(write_tokenizer(tmp_path / "qwen", PLAIN_TEMPLATE)).tokenizer == TOY
    assert tokenizer_folder("", str(BUNDLED.parent)) == BUNDLED


def test_a_tokenizer_is_named_by_its_folder_or_its_file(tmp_path: Path) -> None:
    folder = write_tokenizer(tmp_path / "mine")
    (folder / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes() + b"\n")
    assert tokenizer_folder(str(folder), "") == folder
    assert tokenizer_folder(str(folder / "tokenizer.json"), "") == folder
    assert identity_of(folder).tokenizer == f"{tmp_path.name}/mine"


@pytest.mark.parametrize("below", ["", "snapshots/abc", "snapshots/abc/tokenizer.json"])
def test_a_model_of_the_hubs_cache_is_found_through_its_links(tmp_path: Path, below: str) -> None:
    model = _cached(tmp_path, "abc", main="abc")
    folder = tokenizer_folder(str(model / below), "")
    assert folder == model / "snapshots" / "abc"
    identity = identity_of(folder)
    assert identity.tokenizer == "acme/coder-7b"
    assert load(folder, identity).template_source == PLAIN_TEMPLATE


def test_of_several_revisions_the_one_that_main_names_is_taken_and_none_is_guessed(tmp_path: Path) -> None:
    assert tokenizer_folder(str(_cached(tmp_path / "a", "abc", "def", main="def\n")), "").name == "def"  # type: ignore[union-attr]
    for main in ("", "../../made", "gone"):
        with pytest.raises(AssayError, match="holds 2 revisions: name one"):
            tokenizer_folder(str(_cached(tmp_path / f"b{len(main)}", "abc", "def", main=main)), "")


@pytest.mark.parametrize("name", ["gone", "empty", "empty/other.json", "~nobody-of-that-name"])
def test_a_name_of_nothing_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "other.json").write_text("{}")
    with pytest.raises(AssayError, match=r"there is no tokenizer .*: name a tokenizer\.json or a folder"):
        tokenizer_folder(name if name.startswith("~") else str(tmp_path / name), "")


def test_a_named_tokenizer_without_a_template_is_one_sentence(tmp_path: Path) -> None:
    folder = write_tokenizer(tmp_path / "base")
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(AssayError, match="has no chat template: name one that has it beside"):
        tokenizer_folder(str(folder), "")


@pytest.mark.parametrize("form", [*TEMPLATES, "file", "additional"])
def test_a_template_is_found_in_every_form_that_is_published(tmp_path: Path, form: str) -> None:
    folder = write_tokenizer(tmp_path / "model")
    (folder / "chat_template.jinja").unlink()
    if form == "file":
        (folder / "chat_template.jinja").write_text(PLAIN_TEMPLATE)
    elif form == "additional":
        (folder / "additional_chat_templates").mkdir()
        (folder / "additional_chat_templates" / "tool_use.jinja").write_text("x")
        (folder / "additional_chat_templates" / "default.jinja").write_text(PLAIN_TEMPLATE)
    else:
        (folder / "tokenizer_config.json").write_text(
            json.dumps({**TEMPLATES[form], "sep_token": {"content": "<sep>"}})
        )
        assert named_tokens_of(folder) == {"sep_token": "<sep>"}
    assert chat_template_of(folder) == PLAIN_TEMPLATE
