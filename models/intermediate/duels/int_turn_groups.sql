with turns as (

    select * from {{ ref('turns') }}

),

looked_back as (

    select
        eval_run_id,
        sample_id,
        rollout,
        side,
        turn,
        source,
        phase,
        command_kind,
        command_kind_first_word,
        credit_split,
        credit_full,
        credit_split_extended,
        follows_failure,
        failures_before,
        repeats_before,
        lag(fail_reason) over (partition by side_id order by turn) as reason_before
    from turns

),

-- A turn is counted under every heading that holds it; `exposure` is what the turns before it came to.
int_turn_groups as (

    select
        looked_back.eval_run_id,
        looked_back.sample_id,
        looked_back.rollout,
        looked_back.side,
        looked_back.turn,
        looked_back.credit_split,
        looked_back.credit_full,
        looked_back.credit_split_extended,
        struct_extract(headings.heading, 'dimension') as dimension,
        struct_extract(headings.heading, 'value') as value
    from looked_back
    cross join
        unnest([
            { 'dimension': 'all', 'value': 'all' },
            { 'dimension': 'behaviour', 'value': looked_back.command_kind },
            { 'dimension': 'first_word', 'value': looked_back.command_kind_first_word },
            { 'dimension': 'turn', 'value': cast(looked_back.turn as varchar) },
            { 'dimension': 'source', 'value': coalesce(looked_back.source, 'unknown') },
            { 'dimension': 'phase', 'value': coalesce(looked_back.phase, 'unknown') },
            { 'dimension': 'side', 'value': looked_back.side },
            {
                'dimension': 'window',
                'value': case
                    when looked_back.turn <= 4 then '1-4'
                    when looked_back.turn <= 8 then '5-8'
                    when looked_back.turn <= 12 then '9-12'
                    when looked_back.turn <= 16 then '13-16'
                    when looked_back.turn <= 32 then '17-32'
                    else '33+'
                end
            },
            {
                'dimension': 'exposure',
                'value': case
                    when looked_back.turn = 1 then 'first turn'
                    when looked_back.follows_failure then 'after a failure'
                    when not looked_back.follows_failure then 'after a success'
                    else 'after no observation'
                end
            },
            {
                'dimension': 'exposure',
                'value': case
                    when looked_back.failures_before >= 3 then 'after 3 or more failures'
                    when looked_back.failures_before = 2 then 'after 2 failures'
                    when looked_back.failures_before = 1 then 'after 1 failure'
                end
            },
            {
                'dimension': 'exposure',
                'value': case when looked_back.follows_failure then 'after ' || looked_back.reason_before end
            },
            { 'dimension': 'exposure', 'value': case when looked_back.repeats_before >= 2 then 'after repeats' end }
        ]) as headings (heading)
    where struct_extract(headings.heading, 'value') is not null

)

select * from int_turn_groups
