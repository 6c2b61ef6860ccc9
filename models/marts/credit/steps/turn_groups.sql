{%- set ends = var('turn_window_ends') -%}
{%- set many = var('many_failures') -%}
{%- set stuck = var('repeats_of_being_stuck') -%}
with looked_back as (

    select
        *,
        lag(fail_reason) over (partition by side_id order by turn) as reason_before
    from {{ ref('turns') }}

),

-- A turn is counted under every heading that holds it; `exposure` is what the turns before it came to.
turn_groups as (

    select
        looked_back.turn_id,
        looked_back.sample_id,
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
                    {% for last_turn in ends %}
                    when looked_back.turn <= {{ last_turn }}
                        then '{{ ends[loop.index0 - 1] + 1 if not loop.first else 1 }}-{{ last_turn }}'
                    {% endfor %}
                    else '{{ ends[-1] + 1 }}+'
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
                    when looked_back.failures_before >= {{ many }} then 'after {{ many }} or more failures'
                    when looked_back.failures_before = 1 then 'after 1 failure'
                    when looked_back.failures_before > 1
                        then 'after ' || looked_back.failures_before || ' failures'
                end
            },
            {
                'dimension': 'exposure',
                'value': case when looked_back.follows_failure then 'after ' || looked_back.reason_before end
            },
            {
                'dimension': 'exposure',
                'value': case when looked_back.repeats_before >= {{ stuck }} then 'after repeats' end
            }
        ]) as headings (heading)
    where struct_extract(headings.heading, 'value') is not null

)

select * from turn_groups
