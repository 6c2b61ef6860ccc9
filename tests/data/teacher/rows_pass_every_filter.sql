-- What the card of the set promises of each row, asked of the rows themselves.
select
    duel_epoch,
    turn_id
from {{ ref('sft_rows') }}
where
    not coalesce(
        teacher_lift > 0
        and length(thought) >= {{ var('min_thought_characters') }}
        and n_prefix_tokens <= {{ var('max_prompt_tokens') }}
        and not regexp_matches(thought, '</?think>|<returncode>|</?output>')
        and starts_with(action, '```bash' || chr(10))
        and ends_with(completion, chr(10) || '```')
        and regexp_matches(prompt, '<think>\s*$'),
        false
    )
