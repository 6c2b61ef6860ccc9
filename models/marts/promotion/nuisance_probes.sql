with conditions as (

    select * from {{ ref('measures_by_condition') }}
    where experiment = 'nuisance'

),

episodes as (

    select * from {{ ref('episodes') }}
    where experiment = 'nuisance' and restricted

),

-- The same query with and without the changed token.
paired as (

    select
        probe.fixture,
        probe.checkpoint,
        probe.condition,
        count(*) as n_pairs,
        count(*) filter (where baseline.refused and not probe.refused) as n_gained,
        count(*) filter (where probe.refused and not baseline.refused) as n_lost
    from episodes as probe
    inner join episodes as baseline
        on
            probe.fixture = baseline.fixture
            and probe.checkpoint = baseline.checkpoint
            and probe.query = baseline.query
    where baseline.condition = 'baseline'
    group by probe.fixture, probe.checkpoint, probe.condition

),

nuisance_probes as (

    select
        conditions.fixture,
        conditions.checkpoint,
        conditions.condition as probe,
        paired.n_pairs,
        paired.n_gained,
        paired.n_lost,
        {{ paired_difference_columns('paired.n_gained', 'paired.n_lost', 'paired.n_pairs', 'compliance_change') }},
        conditions.seed,
        conditions.status,
        conditions.reason,
        conditions.{{ measure_column_names() | join(',\n        conditions.') }}
    from conditions
    left join paired
        on
            conditions.fixture = paired.fixture
            and conditions.checkpoint = paired.checkpoint
            and conditions.condition = paired.condition

)

select * from nuisance_probes
order by fixture, checkpoint, probe
