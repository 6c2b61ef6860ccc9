with answers as (

    select * from {{ ref('answers') }}

),

-- Explanations of judged sides; a zeroed side's explanation is the machine's, not a judge's.
explained as (

    select
        answers.sample_id,
        struct_extract(headings.heading, 'answers') as answers,
        struct_extract(headings.heading, 'form') as form,
        struct_extract(headings.heading, 'n_cited') as n_cited,
        struct_extract(headings.heading, 'n_valid') as n_valid
    from answers
    cross join
        unnest([
            { 'answers': 'all', 'form': 'strict', 'n_cited': answers.n_cited, 'n_valid': answers.n_cited_valid },
            {
                'answers': 'all',
                'form': 'extended',
                'n_cited': answers.n_cited_extended,
                'n_valid': answers.n_cited_extended_valid
            },
            {
                'answers': case when answers.is_yes then 'yes' else 'not yes' end,
                'form': 'strict',
                'n_cited': answers.n_cited,
                'n_valid': answers.n_cited_valid
            },
            {
                'answers': case when answers.is_yes then 'yes' else 'not yes' end,
                'form': 'extended',
                'n_cited': answers.n_cited_extended,
                'n_valid': answers.n_cited_extended_valid
            }
        ]) as headings (heading)
    where answers.is_counted and not answers.zeroed and answers.is_explained

),

by_sample as (

    select
        answers,
        form,
        sample_id,
        count(*) as n_explanations,
        count(*) filter (where n_valid > 0) as n_cited,
        count(*) filter (where n_cited = 0) as n_uncited,
        count(*) filter (where n_cited > 0 and n_valid = 0) as n_only_dangling,
        count(*) filter (where n_valid > 1) as n_several,
        sum(n_cited - n_valid) as n_dangling
    from explained
    group by answers, form, sample_id

),

totals as (

    select
        answers,
        form,
        count(*) as n_samples,
        sum(n_explanations) as n_explanations,
        sum(n_cited) as n_cited,
        sum(n_uncited) as n_uncited,
        sum(n_only_dangling) as n_only_dangling,
        sum(n_several) as n_several,
        sum(n_dangling) as n_dangling,
        {{ safe_div('sum(n_cited)', 'sum(n_explanations)') }} as cited_share
    from by_sample
    group by answers, form

),

squares as (

    select
        by_sample.answers,
        by_sample.form,
        {{ exact_sum('power(by_sample.n_cited - totals.cited_share * by_sample.n_explanations, 2)') }} as cited_squares
    from by_sample
    inner join totals
        on
            by_sample.answers = totals.answers
            and by_sample.form = totals.form
    group by by_sample.answers, by_sample.form

),

with_errors as (

    select
        totals.*,
        {{ clustered_standard_error('squares.cited_squares', 'totals.n_samples', 'totals.n_explanations') }}
            as cited_share_se
    from totals
    inner join squares
        on
            totals.answers = squares.answers
            and totals.form = squares.form

),

with_effective as (

    select
        *,
        {{ effective_trials('cited_share', 'cited_share_se', 'n_explanations', 'n_samples') }} as n_effective
    from with_errors

),

citation_coverage as (

    select
        answers,
        form,
        n_samples,
        cast(n_explanations as bigint) as n_explanations,
        cast(n_cited as bigint) as n_cited,
        cited_share,
        cited_share_se,
        {{ wilson_low('cited_share * n_effective', 'n_effective') }} as cited_share_low,
        {{ wilson_high('cited_share * n_effective', 'n_effective') }} as cited_share_high,
        cast(n_uncited as bigint) as n_uncited,
        cast(n_only_dangling as bigint) as n_only_dangling,
        cast(n_several as bigint) as n_several,
        cast(n_dangling as bigint) as n_dangling
    from with_effective

)

select * from citation_coverage
order by answers asc, form asc
