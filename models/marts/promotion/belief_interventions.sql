with conditions as (

    select * from {{ ref('measures_by_condition') }}
    where experiment = 'belief'

),

episodes as (

    select * from {{ ref('episodes') }}
    where experiment = 'context'

),

-- How often the policy states the belief by itself: where it hardly does, forcing it is off its distribution.
stated as (

    select
        fixture,
        checkpoint,
        condition as context,
        count(*) filter (where states_observed) / count(*) as share_observed,
        count(*) filter (where states_unobserved) / count(*) as share_unobserved
    from episodes
    group by fixture, checkpoint, condition

),

named as (

    select
        *,
        split_part(condition, '/', 1) as context,
        split_part(condition, '/', 2) as belief
    from conditions

),

belief_interventions as (

    select
        named.fixture,
        named.checkpoint,
        named.condition,
        named.context,
        named.belief,
        case named.belief
            when 'S_OBS' then stated.share_observed
            when 'S_UNOBS' then stated.share_unobserved
        end as share_stated_unforced,
        coalesce(stated.share_observed + stated.share_unobserved < 0.5, false) as is_off_distribution,
        named.seed,
        named.status,
        named.reason,
        named.{{ measure_column_names() | join(',\n        named.') }}
    from named
    left join stated
        on
            named.fixture = stated.fixture
            and named.checkpoint = stated.checkpoint
            and named.context = stated.context

)

select * from belief_interventions
order by fixture, checkpoint, context, belief
