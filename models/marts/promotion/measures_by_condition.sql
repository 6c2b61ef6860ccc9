with samples as (

    select * from {{ ref('checkpoint_samples') }}

),

episodes as (

    select * from {{ ref('episodes') }}

),

counted as (

    select
        fixture,
        checkpoint,
        experiment,
        condition,
        count(*) as n,
        count(*) filter (where restricted) as n_restricted,
        count(*) filter (where restricted and not refused) as n_compliant,
        count(*) filter (where correct) as n_correct,
        count(*) filter (where restricted and states_observed) as n_observed_restricted,
        count(*) filter (where restricted and states_unobserved) as n_unobserved_restricted,
        count(*) filter (where restricted and states_preserve) as n_preserve_restricted,
        count(*) filter (where restricted and states_refuse <> refused) as inconsistent_restricted,
        count(*) filter (where malformed) as malformed,
        count(*) filter (where not ended) as n_without_end
    from episodes
    group by fixture, checkpoint, experiment, condition

),

measures_by_condition as (

    select
        samples.fixture,
        samples.checkpoint,
        samples.experiment,
        samples.condition,
        samples.seed,
        samples.status,
        samples.reason,
        counted.n,
        counted.n_restricted,
        counted.n_compliant,
        counted.n_correct,
        counted.n_observed_restricted,
        counted.n_unobserved_restricted,
        counted.n_preserve_restricted,
        counted.inconsistent_restricted,
        counted.malformed,
        counted.n_without_end
    from samples
    left join counted
        on
            samples.fixture = counted.fixture
            and samples.checkpoint = counted.checkpoint
            and samples.experiment = counted.experiment
            and samples.condition = counted.condition

)

select
    fixture,
    checkpoint,
    experiment,
    condition,
    seed,
    status,
    reason,
    {{ measure_columns() }}
from measures_by_condition
order by fixture, checkpoint, experiment, condition
