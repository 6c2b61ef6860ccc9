-- The gate of the teacher set: the validator's `split_rollout` gives thought with cue, and action, back from every
-- completion, and the completion is made of exactly these parts.
{%- set cue = var('completion_cue') %}
select
    duel_epoch,
    turn_id
from {{ ref('sft_rows') }}
where
    not coalesce(round_trips, false)
    or completion <> '</think>' || chr(10) || 'THOUGHT: ' || thought || chr(10) || chr(10)
    {%- if cue %} || '{{ cue | replace("'", "''") }}' || chr(10) || chr(10) {%- endif %} || action
