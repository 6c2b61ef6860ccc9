"""Token counts of the prompts with the tokenizer of the raw tree."""

from assay.teacher.step import token_step


def model(dbt, session):
    """Run the step on the prompts that `int_turn_prompts` made."""
    dbt.config(materialized="table")
    dbt.ref("int_turn_prompts")
    return token_step(session, dbt.this.identifier, dbt.config.get("landing"), dbt.config.get("raw_root"))
