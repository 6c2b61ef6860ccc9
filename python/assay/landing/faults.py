"""Why a line was refused: the closed list of reasons that `staging.quarantine` shows."""

REASONS = {
    "invalid_utf8": "the bytes are not UTF-8",
    "invalid_json": "the text is not one JSON value",
    "duplicate_key": "an object names the same key twice, so that readers would disagree about its value",
    "not_an_object": "the JSON value is not an object",
    "non_finite_number": "a number is NaN or infinite",
    "number_out_of_range": "a number does not fit its declared type",
    "wrong_type": "a field does not have its declared type",
    "missing_field": "a field that identifies the record is missing or null",
    "nothing_read": "no message of the trajectory has text or a call",
    "too_many_answers": "the questions of a line times its judge records are more than any run asks",
    "nested_too_deeply": "the JSON value is nested deeper than the reader goes",
    "foreign_file": "the file is of another kind than its name says; nothing of it is read",
    "too_many_lines": "the file has more lines than are read; those before are kept",
    "too_many_refused": "so many lines of the file are refused that the rest is not read; those before are kept",
    "line_too_long": "the line, or a row of a parquet file, is longer than max_line_megabytes",
    "truncated_gzip": "the gzip stream ends early; the whole lines before the cut are kept",
    "invalid_gzip": "the gzip stream is damaged; the whole lines before the damage are kept",
    "invalid_parquet": "the parquet file cannot be read",
    "invalid_safetensors": "the header of the safetensors file is not sound",
    "not_key_value": "the log line is not key=value",
}


class RefusedError(Exception):
    """A line that is not landed: `reason` is a key of `REASONS`, `detail` says where and what."""

    def __init__(self, reason: str, detail: str = "") -> None:
        """Keep the reason apart from the detail, since people group by the one and read the other."""
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
