with answers as (

    select * from {{ ref('answers') }}

),

-- Explanations of judged sides; a zeroed side's explanation is the machine's, not a judge's.
explained as (

    select
        answers.sample_id,
        unnest(['all', case when answers.is_yes then 'yes' else 'not yes' end]) as answers,
        struct_extract(readings.reading, 'form') as form,
        struct_extract(readings.reading, 'n_cited') as n_cited,
        struct_extract(readings.reading, 'n_valid') as n_valid
    from answers
    cross join
        unnest([
            { 'form': 'strict', 'n_cited': answers.n_cited, 'n_valid': answers.n_cited_valid },
            {
                'form': 'extended',
                'n_cited': answers.n_cited_extended,
                'n_valid': answers.n_cited_extended_valid
            }
        ]) as readings (reading)
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

{{ clustered_ratios(
    ['answers', 'form'],
    ['n_explanations', 'n_cited', 'n_uncited', 'n_only_dangling', 'n_several', 'n_dangling'],
    [],
    [{'name': 'cited_share', 'of': 'n_cited', 'over': 'n_explanations', 'rate': true}],
) }},

citation_coverage as (

    select
        answers,
        form,
        n_samples,
        n_explanations,
        n_cited,
        cited_share,
        cited_share_se,
        cited_share_low,
        cited_share_high,
        n_uncited,
        n_only_dangling,
        n_several,
        n_dangling
    from measured

)

select * from citation_coverage
order by answers asc, form asc
