"""The one exception that is meant for a person."""


class AssayError(Exception):
    """A fault the user can act on; its text is one clear sentence that names the file and the reason."""
