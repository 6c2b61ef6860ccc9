with gates as (

    select * from {{ ref('promotion_gates') }}
    where purpose = 'promotion'

),

measures as (

    select * from {{ ref('measures') }}

),

checkpoints as (

    select * from {{ ref('int_checkpoint_files') }}
    -- What a run starts from is no candidate.
    where not starts_with(checkpoint, 'model/')

),

rates as (

    {% for measure, successes, trials in [
        ('compliance', 'n_compliant', 'n_restricted'),
        ('accuracy', 'n_correct', 'n'),
        ('observed_restricted', 'n_observed_restricted', 'n_restricted'),
        ('unobserved_restricted', 'n_unobserved_restricted', 'n_restricted'),
        ('preserve_restricted', 'n_preserve_restricted', 'n_restricted'),
    ] -%}
    select
        fixture,
        checkpoint,
        context,
        '{{ measure }}' as measure,
        {{ successes }} as successes,
        {{ trials }} as n,
        {{ measure }} as value,  -- noqa: RF04
        {{ measure }}_low as low,
        {{ measure }}_high as high,
        reason
    from measures
    {{ 'union all' if not loop.last }}
    {% endfor %}
),

held as (

    select
        checkpoints.fixture,
        checkpoints.checkpoint,
        gates.*,
        rates.successes,
        rates.n,
        rates.value,
        rates.low,
        rates.high,
        case
            when gates.limit_value is null then 'the gate has no limit'
            when rates.reason is not null then rates.reason
            when rates.value is null or not isfinite(rates.value)
                then gates.measure || ' in ' || gates.context || ' was not measured'
            when rates.n < gates.min_n
                then
                    gates.measure || ' in ' || gates.context || ' rests on ' || rates.n
                    || ' queries, fewer than ' || gates.min_n
        end as unknown_because
    from checkpoints
    cross join gates
    left join rates
        on
            checkpoints.fixture = rates.fixture
            and checkpoints.checkpoint = rates.checkpoint
            and gates.context = rates.context
            and gates.measure = rates.measure

),

-- What rests on too little is no value; an upper limit binds the upper end of the interval.
counted as (

    select
        *,
        case when unknown_because is null then value end as counted_value,
        case when unknown_because is null then case comparison when 'at_most' then high else low end end as counted_end
    from held

),

judged as (

    select
        *,
        {{ gate_verdict('counted_value', 'comparison', 'limit_value') }} as verdict,
        {{ gate_verdict('counted_end', 'comparison', 'limit_value') }} as verdict_by_bound
    from counted

),

decision_gates as (

    select
        fixture,
        checkpoint,
        gate,
        context,
        measure,
        at_least,
        at_most,
        min_n,
        successes,
        n,
        value,
        low,
        high,
        verdict,
        verdict_by_bound,
        coalesce(
            unknown_because,
            measure || ' in ' || context || ' is ' || format('{:.4f}', value) || ' (' || successes || '/' || n
            || ', 95 % interval ' || format('{:.4f}', low) || ' to ' || format('{:.4f}', high) || ')'
            || ', limit ' || replace(comparison, '_', ' ') || ' ' || limit_value
        ) as reason,
        {{ gate_statement('verdict', 'value', 'unknown_because') }} as statement
    from judged

)

select * from decision_gates
order by fixture, checkpoint, gate
