-- Asked of the turns themselves and not of the gates: a repeated command, another number of blocks than one, a think
-- that is not closed or a second target with the same command never trains.
with mix_turns as (

    select * from {{ ref('mix_turns') }}
    where train

),

side_turns as (

    select * from {{ ref('int_turns') }}

),

audited as (

    select * from {{ ref('mask_audit_turns') }}

),

audited_rows as (

    select * from {{ ref('mask_audit') }}

),

trained as (

    select
        mix_turns.mix,
        mix_turns.row_id,
        mix_turns.turn,
        mix_turns.role,
        side_turns.is_repeat,
        side_turns.n_bash_blocks,
        side_turns.think_state,
        audited.verdict,
        -- Without a tokenizer nothing was decoded.
        coalesce(audited.decoded_equal, audited_rows.tokenizer is null) as is_decoded,
        -- A turn whose block is empty has no command, and equals no other.
        case
            when side_turns.command_key is not null
                then count(*) over (partition by mix_turns.mix, mix_turns.row_id, side_turns.command_key)
        end as n_targets_of_command
    from mix_turns
    left join side_turns on mix_turns.turn_id = side_turns.turn_id
    left join audited
        on
            mix_turns.mix = audited.mix
            and mix_turns.row_id = audited.row_id
            and mix_turns.message_index = audited.message_index
    left join audited_rows on mix_turns.mix = audited_rows.mix and mix_turns.row_id = audited_rows.row_id

)

select
    mix,
    row_id,
    turn
from trained
where
    role <> 'assistant'
    or is_repeat is distinct from false
    or n_bash_blocks is distinct from 1
    or coalesce(think_state, 'unclosed') = 'unclosed'
    or verdict is distinct from 'pass'
    or is_decoded is distinct from true
    or n_targets_of_command > 1
