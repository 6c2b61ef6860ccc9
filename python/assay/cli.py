"""The command line `assay`.

A command is a module with `configure(parser)` and `run(arguments) -> int`; it is imported only when it is called,
so that `assay --help` stays fast.
"""

import argparse
import importlib
import os
import sys

from assay import __version__
from assay.errors import AssayError

COMMANDS = {
    "conformance": ("assay.conformance", "run conformance vectors against assay's own rules"),
    "export": ("assay.mixes.command", "write a training mix in the form a trainer reads"),
    "explain": ("assay.explain", "say why a row is in the mixes, or at which gate a row or turn left"),
    "land": ("assay.landing.command", "read a raw tree into typed parquet files and list what could not be read"),
    "sample": ("assay.sample.command", "write an invented raw tree, the same bytes for the same seed"),
}


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 the answer is no, 2 a fault the user can act on."""
    words = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(prog="assay", description="Weigh evidence about agents in SQL.")
    parser.add_argument("--version", action="version", version=f"assay {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    chosen = next((word for word in words if not word.startswith("-")), None)
    for name, (module_name, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        if name == chosen:
            module = importlib.import_module(module_name)
            module.configure(command)
            command.set_defaults(run=module.run)
    arguments = parser.parse_args(words)
    try:
        return int(arguments.run(arguments))
    except AssayError as error:
        print(f"assay: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("assay: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # A reader such as `head` went away; python would complain again while it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
