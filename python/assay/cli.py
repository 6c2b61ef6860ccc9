"""The command line `assay`.

Each command imports what does its work when it is called, so that `assay --help` stays fast.
"""

import os
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from assay import __version__
from assay.errors import AssayError
from assay.names import shown

EXIT_CODES = (
    "Exit codes: 0 fine; 1 a fault in the data or a failed gate; 2 what was asked cannot be done (an option, a name, "
    "a file, a variable); 130 stopped by Ctrl-C."
)


class Commands(TyperGroup):
    """The commands, and the one place where what goes wrong in any of them becomes a sentence and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run one command; its integer result is the exit code."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except AssayError as error:
            code = _say(str(error), 2)
        except KeyboardInterrupt:
            code = _say("stopped", 130)
        except BrokenPipeError:
            # A reader such as `head` went away; python would complain again while it closes the stream.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        except Exception as error:
            if hasattr(error, "exit_code"):  # usage, or the end after --help
                raise
            if ctx.params.get("debug"):
                traceback.print_exc()
            words = shown(f"{type(error).__name__}: {error}".partition("\n")[0])
            code = _say(f"a fault of assay itself, {words} (assay --debug COMMAND shows where)", 1)
        raise typer.Exit(code or 0)


def _say(sentence: str, code: int) -> int:
    print(f"assay: {sentence}", file=sys.stderr)
    return code


app = typer.Typer(
    cls=Commands,
    name="assay",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _example(line: str) -> str:
    return f"Example: [bold]{line}[/bold]"


def _version(asked: bool) -> None:
    if asked:
        print(f"assay {__version__}")
        raise typer.Exit


@app.callback(epilog=f"{_example('assay harvest sn120 raw && ASSAY_RAW_ROOT=raw assay build')}\n\n{EXIT_CODES}")
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version and end")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="show where a fault of assay itself came from")] = False,
) -> None:
    """Weigh evidence about agents in SQL: fetch what is published, build the warehouse, ask, export."""


@app.command(epilog=_example("assay harvest sn97 raw --base https://duels.example --since 2026-05-01 --dry-run"))
def harvest(
    source: Annotated[str, typer.Argument(metavar="sn97|sn120|mini-coder", help="what to fetch")],
    raw_root: Annotated[
        Path | None, typer.Argument(help="the raw tree to bring up to date (default: ASSAY_RAW_ROOT)")
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="where it is published: http(s)://, s3://bucket/prefix, or a folder")
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"], help="only what is newer, in UTC")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="at most this many entries of a listing")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="list what would be fetched and write nothing")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="hash again what is there, and mend it")] = False,
    workers: Annotated[int, typer.Option(min=1, max=64, help="objects under way at a time")] = 8,
    epoch: Annotated[
        list[int] | None, typer.Option(help="sn120: this older epoch of the corpus too (repeatable)")
    ] = None,
    mirror: Annotated[
        bool, typer.Option("--mirror", help="sn97: the base is a mirror that keeps the published paths")
    ] = False,
    endpoint: Annotated[str | None, typer.Option(help="address of an S3-compatible server")] = None,
    repository: Annotated[str | None, typer.Option(help="mini-coder: the dataset repository of the hub")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="the summary as one JSON object")] = False,
) -> int:
    """Fetch what a source publishes and the raw tree has not; one that was stopped goes on where it was.

    The token of a hub that asks for one is read from HF_TOKEN.
    """
    from assay.harvest import command

    chosen = {
        "since": since and since.replace(tzinfo=UTC),
        "limit": limit,
        "dry_run": dry_run,
        "verify": verify,
        "workers": workers,
        "epochs": tuple(epoch or ()),
        "mirror": mirror,
        "endpoint": endpoint,
        "token": os.environ.get("HF_TOKEN") or None,
    }
    if repository is not None:
        chosen["repository"] = repository
    return command.run(source, raw_root, base, chosen, as_json)


@app.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    epilog=_example("assay build --select artifacts+ --vars 'ruleset: v4_0821'"),
)
def build(
    ctx: typer.Context,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="show dbt's own log instead")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="hash every file of the raw tree again")] = False,
) -> int:
    """Build the warehouse from the raw tree and say what came of it; every other option is that of `dbt build`.

    Where nothing changed since the last whole build, nothing is built.
    """
    from assay.build import command

    return command.run(ctx.args, verbose, verify)


@app.command(epilog=_example("assay land raw --out landed"))
def land(
    raw_root: Annotated[Path, typer.Argument(help="the raw tree")],
    out: Annotated[Path, typer.Option(help="folder for the parquet files")],
    workers: Annotated[int | None, typer.Option(min=1, help="processes; default: one a core")] = None,
    max_line_megabytes: Annotated[int, typer.Option(min=1, help="longer lines are quarantined unread")] = 256,
    follow_links_out_of_raw_root: Annotated[
        bool,
        typer.Option("--follow-links-out-of-raw-root", help="read what links to places outside RAW_ROOT name"),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="the summary as one JSON object")] = False,
) -> int:
    """Read a raw tree into typed parquet files and list what could not be read."""
    from assay.landing import command

    return command.run(raw_root, out, workers, max_line_megabytes, follow_links_out_of_raw_root, as_json)


@app.command(epilog=_example("assay explain credit/run-a/42#r1/king"))
def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ROW_OR_TURN",
            help="a row (credit/<run>/<sample>#r<rollout>/<side>, finish_mini/<file>#<line>), or a turn of a duel "
            "(<run>/<sample>#r<rollout>/<side>/<turn>) or of a trajectory (<file>#<line>/<turn>), with or without its "
            "mix; or a JSON object with such a name or with the columns of a key",
        ),
    ],
    db: Annotated[
        str | None, typer.Option(metavar="FILE", help="the warehouse (default: ASSAY_DB, else warehouse.duckdb)")
    ] = None,
) -> int:
    """Say why a row is in the mixes, or at which gate a row or turn left."""
    from assay import explain as command

    return command.run(name, db)


@app.command(epilog=_example("assay export --mix final_v2 --format trl --split train"))
def export(
    mix: Annotated[str, typer.Option(help="which mix, or final_v1, final_v2, or pairs")],
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="for which trainer: axolotl, llamafactory-v0, llamafactory-v1, ms-swift, prompt-completion, slime, "
            "tinker, trl, verl; of pairs: axolotl-dpo, llamafactory-dpo, trl-dpo",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="the file to write (default: below mixes/formats of the exports)")
    ] = None,
    split: Annotated[str, typer.Option(help="rows of one split alone: all, train or validation")] = "all",
    exports: Annotated[
        Path | None, typer.Option(help="where a build wrote its exports (default: ASSAY_EXPORTS)")
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option(help="the tokenizer that proved the masks (default: as in a build)")
    ] = None,
    max_row_tokens: Annotated[
        int | None,
        typer.Option(
            help="context to train with; a target that ends behind it is left out (default: what the longest row has)"
        ),
    ] = None,
) -> int:
    """Write a training mix in the form a trainer reads."""
    from assay.mixes import command

    return command.run(command.Request(mix, format_, out, split, exports, tokenizer, max_row_tokens))


@app.command(epilog=_example("assay conformance vectors --only credit_turns"))
def conformance(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="folder with *.jsonl vectors, at any depth")],
    only: Annotated[str | None, typer.Option(metavar="FN", help="run the vectors of this function alone")] = None,
) -> int:
    """Run conformance vectors against assay's own rules."""
    from assay.conformance import command

    return command.run(directory, only)


@app.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=False,
    epilog=_example("assay sample --out raw --runs 20 --samples 100 --seed 1"),
)
def sample(ctx: typer.Context) -> int:
    """Write an invented raw tree, the same bytes for the same seed; all options are the generator's own."""
    import subprocess

    homes = (Path(__file__).parents[2], Path.cwd())
    found = next((place for home in homes if (place := home / "bench" / "generator" / "__main__.py").is_file()), None)
    if found is None:
        raise AssayError(
            "the generator of samples is bench/generator of assay's repository, which an installed package does not "
            "hold: run the command in a clone"
        )
    return subprocess.run([sys.executable, str(found), *ctx.args], check=False).returncode


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code (`EXIT_CODES`)."""
    try:
        app(args=argv, prog_name="assay")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
