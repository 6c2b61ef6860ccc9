with sides as (

    select * from {{ ref('sides') }}

),

mix_sides as (

    select * from {{ ref('credit_mix_sides') }}

),

mini_trajectories as (

    select * from {{ ref('stg_mini_coder__trajectories') }}

),

-- A sample id names a row of a data set; where that shard was landed, its row says which task it is.
int_mix_duel_sides as (

    select
        sides.side_id,
        sides.eval_run_id,
        sides.sample_id,
        sides.rollout,
        sides.side,
        sides.artifact_id,
        sides.line,
        sides.model,
        sides.text_source,
        sides.n_turns,
        sides.score,
        sides.is_counted,
        mix_sides.passes,
        mix_sides.rank_in_sample,
        coalesce(
            mini_trajectories.instance_id,
            sides.shard || ':' || cast(sides.dataset_row as varchar),
            sides.sample_id
        ) as instance_id
    from sides
    left join mix_sides
        on
            sides.eval_run_id = mix_sides.eval_run_id
            and sides.sample_id = mix_sides.sample_id
            and sides.rollout = mix_sides.rollout
            and sides.side = mix_sides.side
    left join mini_trajectories
        on
            sides.source = 'mini-coder'
            and replace(sides.shard, 'mini-coder/', 'mini_coder/') = mini_trajectories.artifact_id
            and sides.dataset_row + 1 = mini_trajectories.line

)

select * from int_mix_duel_sides
