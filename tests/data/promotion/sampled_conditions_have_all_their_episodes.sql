with counted as (

    select
        fixture,
        checkpoint,
        experiment,
        condition,
        count(*) as n_episodes,
        count(distinct query) as n_queries
    from {{ ref('episodes') }}
    group by fixture, checkpoint, experiment, condition

)

select
    samples.fixture,
    samples.checkpoint,
    samples.experiment,
    samples.condition,
    samples.status,
    samples.n,
    counted.n_episodes
from {{ ref('checkpoint_samples') }} as samples
left join counted
    on
        samples.fixture = counted.fixture
        and samples.checkpoint = counted.checkpoint
        and samples.experiment = counted.experiment
        and samples.condition = counted.condition
where
    case samples.status
        when 'sampled' then counted.n_episodes is distinct from samples.n or counted.n_queries <> samples.n
        else counted.n_episodes is not null or samples.reason is null
    end
