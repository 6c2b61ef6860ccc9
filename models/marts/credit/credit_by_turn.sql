with groups as (

    select * from {{ ref('credit_by_group') }}
    where dimension = 'turn'

),

sides as (

    select * from {{ ref('sides') }}

),

questions as (

    select * from {{ ref('questions') }}

),

answers as (

    select * from {{ ref('answers') }}

),

citations as (

    select * from {{ ref('citations') }}

),

-- Where the reference trajectory met a question: its weight is at stake on that turn of every side that has the turn.
at_stake as (

    select
        questions.step as turn,
        {{ exact_sum('questions.weight') }} as weight
    from sides
    inner join questions
        on
            sides.eval_run_id = questions.eval_run_id
            and sides.sample_id = questions.sample_id
            and sides.rollout = questions.rollout
    where sides.is_counted and questions.step <= sides.n_turns
    group by questions.step

),

-- The same seen from the explanations: the weight of answers that cite the turn, yes or no.
judged as (

    select
        citations.turn,
        {{ exact_sum('answers.weight * citations.share / answers.n_judges') }} as weight
    from citations
    inner join answers
        on
            citations.side_id = answers.side_id
            and citations.judge_index = answers.judge_index
            and citations.question_id = answers.question_id
    where citations.valid and citations.form = 'strict' and answers.is_counted
    group by citations.turn

),

credit_by_turn as (

    select
        cast(groups.value as bigint) as turn,
        {{ credit_columns('groups.') }},
        coalesce(at_stake.weight, 0.0) / groups.n_turns as opportunity,
        coalesce(judged.weight, 0.0) / groups.n_turns as judged_weight,
        {{ safe_div('groups.credit', 'at_stake.weight') }} as credit_per_opportunity
    from groups
    left join at_stake on cast(groups.value as bigint) = at_stake.turn
    left join judged on cast(groups.value as bigint) = judged.turn

)

select * from credit_by_turn
order by turn asc
