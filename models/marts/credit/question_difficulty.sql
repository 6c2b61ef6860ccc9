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

totals as (

    select
        dimension,
        value,
        count(*) as n_samples,
        count(*) filter (where n_answers > 0) as n_answer_samples,
        count(*) filter (where n_pairs > 0) as n_pair_samples,
        sum(n_questions) as n_questions,
        sum(n_answers) as n_answers,
        {{ safe_div(exact_sum('sum_value'), 'sum(n_answers)') }} as yes_rate,
        sum(n_pairs) as n_pairs,
        sum(n_separating) as n_separating,
        {{ safe_div('sum(n_separating)', 'sum(n_pairs)') }} as separating_rate,
        {{ safe_div(exact_sum('sum_difference'), 'sum(n_pairs)') }} as mean_difference
    from by_sample
    group by dimension, value

),

squares as (

    select
        by_sample.dimension,
        by_sample.value,
        {{ exact_sum('power(by_sample.sum_value - totals.yes_rate * by_sample.n_answers, 2)') }} as yes_squares,
        {{ exact_sum('power(by_sample.n_separating - totals.separating_rate * by_sample.n_pairs, 2)') }}
            as separating_squares,
        {{ exact_sum('power(by_sample.sum_difference - totals.mean_difference * by_sample.n_pairs, 2)') }}
            as difference_squares
    from by_sample
    inner join totals
        on
            by_sample.dimension = totals.dimension
            and by_sample.value = totals.value
    group by by_sample.dimension, by_sample.value

),

with_errors as (

    select
        totals.*,
        {{ clustered_standard_error('squares.yes_squares', 'totals.n_answer_samples', 'totals.n_answers') }}
            as yes_rate_se,
        {{ clustered_standard_error('squares.separating_squares', 'totals.n_pair_samples', 'totals.n_pairs') }}
            as separating_rate_se,
        {{ clustered_standard_error('squares.difference_squares', 'totals.n_pair_samples', 'totals.n_pairs') }}
            as mean_difference_se
    from totals
    inner join squares
        on
            totals.dimension = squares.dimension
            and totals.value = squares.value

),

with_effective as (

    select
        *,
        {{ effective_trials('yes_rate', 'yes_rate_se', 'n_answers', 'n_answer_samples') }} as n_effective_answers,
        {{ effective_trials('separating_rate', 'separating_rate_se', 'n_pairs', 'n_pair_samples') }}
            as n_effective_pairs
    from with_errors

),

-- Discrimination: how a question's answer goes with the same side's answers to its other questions.
side_values as (

    select
        eval_run_id,
        sample_id,
        rollout,
        question_id,
        dimension,
        value,
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
        count(*) as n_items,
        {{ exact_sum('item') }} as sum_items
    from side_values
    where dimension = 'all' and item is not null
    group by eval_run_id, sample_id, rollout, side

),

items as (

    select
        side_values.dimension,
        side_values.value,
        side_values.eval_run_id,
        side_values.sample_id,
        side_values.rollout,
        side_values.side,
        side_values.question_id,
        side_values.item,
        (side_totals.sum_items - side_values.item) / (side_totals.n_items - 1) as rest
    from side_values
    inner join side_totals
        on
            side_values.eval_run_id = side_totals.eval_run_id
            and side_values.sample_id = side_totals.sample_id
            and side_values.rollout = side_totals.rollout
            and side_values.side = side_totals.side
    where side_values.item is not null and side_totals.n_items > 1

),

item_means as (

    select
        dimension,
        value,
        {{ exact_sum('item') }} / count(*) as mean_item,
        {{ exact_sum('rest') }} / count(*) as mean_rest
    from items
    group by dimension, value

),

correlations as (

    select
        items.dimension,
        items.value,
        {{ exact_sum('(items.item - item_means.mean_item) * (items.rest - item_means.mean_rest)') }} as products,
        {{ exact_sum('power(items.item - item_means.mean_item, 2)') }} as item_squares,
        {{ exact_sum('power(items.rest - item_means.mean_rest, 2)') }} as rest_squares
    from items
    inner join item_means
        on
            items.dimension = item_means.dimension
            and items.value = item_means.value
    group by items.dimension, items.value

),

question_difficulty as (

    select
        with_effective.dimension,
        with_effective.value,
        with_effective.n_samples,
        cast(with_effective.n_questions as bigint) as n_questions,
        cast(with_effective.n_answers as bigint) as n_answers,
        with_effective.yes_rate,
        with_effective.yes_rate_se,
        {{ wilson_low('with_effective.yes_rate * with_effective.n_effective_answers',
            'with_effective.n_effective_answers') }} as yes_rate_low,
        {{ wilson_high('with_effective.yes_rate * with_effective.n_effective_answers',
            'with_effective.n_effective_answers') }} as yes_rate_high,
        1.0 - with_effective.yes_rate as difficulty,
        cast(with_effective.n_pairs as bigint) as n_pairs,
        cast(with_effective.n_separating as bigint) as n_separating,
        with_effective.separating_rate,
        with_effective.separating_rate_se,
        {{ wilson_low('with_effective.separating_rate * with_effective.n_effective_pairs',
            'with_effective.n_effective_pairs') }} as separating_rate_low,
        {{ wilson_high('with_effective.separating_rate * with_effective.n_effective_pairs',
            'with_effective.n_effective_pairs') }} as separating_rate_high,
        with_effective.mean_difference,
        with_effective.mean_difference_se,
        {{ safe_div('correlations.products', 'sqrt(correlations.item_squares * correlations.rest_squares)') }}
            as discrimination
    from with_effective
    left join correlations
        on
            with_effective.dimension = correlations.dimension
            and with_effective.value = correlations.value

)

select * from question_difficulty
