with questions as (

    select * from {{ ref('questions') }}

),

-- A question is seen under every heading that holds it.
headed as (

    select
        questions.eval_run_id,
        questions.sample_id,
        questions.rollout,
        questions.question_id,
        questions.value_king,
        questions.value_challenger,
        questions.difference,
        questions.separates,
        struct_extract(headings.heading, 'dimension') as dimension,
        struct_extract(headings.heading, 'value') as value
    from questions
    cross join
        unnest([
            { 'dimension': 'all', 'value': 'all' },
            { 'dimension': 'tag', 'value': coalesce(questions.plain_tag, 'untagged') },
            { 'dimension': 'requires', 'value': coalesce(questions.requires, 'unknown') },
            { 'dimension': 'category', 'value': questions.category },
            { 'dimension': 'source', 'value': coalesce(questions.source, 'unknown') },
            { 'dimension': 'phase', 'value': coalesce(questions.phase, 'unknown') }
        ]) as headings (heading)
    where struct_extract(headings.heading, 'value') is not null

),

by_sample as (

    select
        dimension,
        value,
        sample_id,
        count(*) as n_questions,
        count(value_king) + count(value_challenger) as n_answers,
        {{ exact_sum('coalesce(value_king, 0.0) + coalesce(value_challenger, 0.0)') }} as sum_value,
        count(difference) as n_pairs,
        count(*) filter (where separates) as n_separating,
        {{ exact_sum('coalesce(difference, 0.0)') }} as sum_difference
    from headed
    group by dimension, value, sample_id

),

{{ clustered_ratios(['dimension', 'value'], ['n_questions', 'n_answers', 'n_pairs', 'n_separating'], [], [
    {'name': 'yes_rate', 'of': 'sum_value', 'over': 'n_answers', 'rate': true},
    {'name': 'separating_rate', 'of': 'n_separating', 'over': 'n_pairs', 'rate': true},
    {'name': 'mean_difference', 'of': 'sum_difference', 'over': 'n_pairs'},
]) }},

-- Discrimination: how a question's answer goes with the same side's answers to its other questions.
items as (

    select
        dimension,
        value,
        eval_run_id,
        sample_id,
        rollout,
        unnest(['king', 'challenger']) as side,
        unnest([value_king, value_challenger]) as item
    from headed

),

side_totals as (

    select
        eval_run_id,
        sample_id,
        rollout,
        side,
        count(item) as n_items,
        {{ exact_sum('item') }} as sum_items
    from items
    where dimension = 'all'
    group by eval_run_id, sample_id, rollout, side

),

rests as (

    select
        items.dimension,
        items.value,
        items.item,
        (side_totals.sum_items - items.item) / (side_totals.n_items - 1) as rest
    from items
    inner join side_totals
        on
            items.eval_run_id = side_totals.eval_run_id
            and items.sample_id = side_totals.sample_id
            and items.rollout = side_totals.rollout
            and items.side = side_totals.side
    where items.item is not null and side_totals.n_items > 1

),

means as (

    select
        dimension,
        value,
        {{ exact_sum('item') }} / count(*) as mean_item,
        {{ exact_sum('rest') }} / count(*) as mean_rest
    from rests
    group by dimension, value

),

deviations as (

    select
        rests.dimension,
        rests.value,
        rests.item - means.mean_item as of_item,
        rests.rest - means.mean_rest as of_rest
    from rests
    inner join means on rests.dimension = means.dimension and rests.value = means.value

),

correlations as (

    select
        dimension,
        value,
        {{ safe_div(
            exact_sum('of_item * of_rest'),
            'sqrt(' ~ exact_sum('power(of_item, 2)') ~ ' * ' ~ exact_sum('power(of_rest, 2)') ~ ')'
        ) }} as discrimination
    from deviations
    group by dimension, value

),

question_difficulty as (

    select
        measured.dimension,
        measured.value,
        measured.n_samples,
        measured.n_questions,
        measured.n_answers,
        measured.yes_rate,
        measured.yes_rate_se,
        measured.yes_rate_low,
        measured.yes_rate_high,
        1.0 - measured.yes_rate as difficulty,
        measured.n_pairs,
        measured.n_separating,
        measured.separating_rate,
        measured.separating_rate_se,
        measured.separating_rate_low,
        measured.separating_rate_high,
        measured.mean_difference,
        measured.mean_difference_se,
        correlations.discrimination
    from measured
    left join correlations on measured.dimension = correlations.dimension and measured.value = correlations.value

)

select * from question_difficulty
