-- Reads the sampled files where they lie: they are the one home of the tokens.
with samples as (

    select * from {{ ref('checkpoint_samples') }}

),

sampled as (

    select * from {{ landed('steps', 'policy_episodes', made_by='checkpoint_samples') }}

),

episodes as (

    select
        samples.fixture,
        samples.checkpoint,
        samples.experiment,
        samples.condition,
        sampled.query,
        samples.checkpoint_sha256,
        samples.n,
        samples.seed,
        sampled.category,
        sampled.restricted,
        sampled.prompt,
        sampled.continuation,
        sampled.scratchpad,
        sampled.answer,
        sampled.ended,
        sampled.refused,
        sampled.correct,
        sampled.malformed,
        sampled.states_observed,
        sampled.states_unobserved,
        sampled.states_preserve,
        sampled.states_refuse
    from samples
    inner join sampled
        on
            samples.checkpoint_sha256 = sampled.checkpoint_sha256
            and samples.experiment = sampled.experiment
            and samples.condition = sampled.condition
            and samples.n = sampled.n
            and samples.seed = sampled.seed

)

select * from episodes
