with turns as (

    select * from {{ ref('turns') }}

),

answers as (

    select * from {{ ref('answers') }}
    where is_counted

),

coverage as (

    select * from {{ ref('citation_coverage') }}

),

variants as (

    select
        turns.eval_run_id,
        turns.sample_id,
        turns.rollout,
        turns.side,
        turns.turn,
        turns.command_kind,
        turns.follows_failure,
        turns.leaves_repeats,
        struct_extract(readings.reading, 'credit_rule') as credit_rule,
        struct_extract(readings.reading, 'citation_form') as citation_form,
        struct_extract(readings.reading, 'credit') as credit
    from turns
    cross join
        unnest([
            { 'credit_rule': 'split', 'citation_form': 'strict', 'credit': turns.credit_split },
            { 'credit_rule': 'full', 'citation_form': 'strict', 'credit': turns.credit_full },
            { 'credit_rule': 'split', 'citation_form': 'extended', 'credit': turns.credit_split_extended },
            { 'credit_rule': 'full', 'citation_form': 'extended', 'credit': turns.credit_full_extended }
        ]) as readings (reading)

),

figures as (

    select
        credit_rule,
        citation_form,
        count(*) as n_turns,
        count(*) filter (where credit > 0) as n_earning,
        {{ exact_sum('credit') }} as credit,
        {{ exact_sum('credit', 'turn <= 3') }} as credit_first_three,
        {{ exact_sum('credit', 'turn = 1') }} as credit_first,
        count(*) filter (where turn = 1) as n_first,
        count(*) filter (where follows_failure) as n_after_failure,
        count(*) filter (where follows_failure and credit > 0) as n_recovery,
        count(*) filter (where not follows_failure) as n_after_success,
        count(*) filter (where not follows_failure and credit > 0) as n_earning_after_success,
        count(*) filter (where turn >= 2 and credit > 0 and (coalesce(follows_failure, false) or leaves_repeats))
            as n_escape
    from variants
    group by credit_rule, citation_form

),

kinds as (

    select
        credit_rule,
        citation_form,
        command_kind,
        {{ exact_sum('credit') }} as credit,
        count(*) as n_turns
    from variants
    group by credit_rule, citation_form, command_kind

),

earned as (

    select
        {{ exact_sum('earned_weight') }} as weight,
        {{ exact_sum('earned_weight', 'n_cited_valid = 0') }} as uncited_strict,
        {{ exact_sum('earned_weight', 'n_cited_extended_valid = 0') }} as uncited_extended
    from answers

),

credit_sensitivity as (

    select
        struct_extract(headings.heading, 'headline') as headline,
        figures.credit_rule,
        figures.citation_form,
        struct_extract(headings.heading, 'value') as value
    from figures
    cross join earned
    cross join
        unnest([
            { 'headline': 'credit', 'value': figures.credit },
            { 'headline': 'mean_credit', 'value': {{ safe_div('figures.credit', 'figures.n_turns') }} },
            { 'headline': 'mean_credit of turn 1', 'value': {{ safe_div('figures.credit_first', 'figures.n_first') }} },
            {
                'headline': 'share of credit on turns 1 to 3',
                'value': {{ safe_div('figures.credit_first_three', 'figures.credit') }}
            },
            { 'headline': 'earn_rate', 'value': {{ safe_div('figures.n_earning', 'figures.n_turns') }} },
            {
                'headline': 'earn_rate after a failure',
                'value': {{ safe_div('figures.n_recovery', 'figures.n_after_failure') }}
            },
            {
                'headline': 'earn_rate after a success',
                'value': {{ safe_div('figures.n_earning_after_success', 'figures.n_after_success') }}
            },
            { 'headline': 'recovery_turns', 'value': cast(figures.n_recovery as double) },
            { 'headline': 'escape_turns', 'value': cast(figures.n_escape as double) },
            {
                'headline': 'share of earned weight without a valid citation',
                'value': case figures.citation_form
                    when 'strict' then {{ safe_div('coalesce(earned.uncited_strict, 0.0)', 'earned.weight') }}
                    else {{ safe_div('coalesce(earned.uncited_extended, 0.0)', 'earned.weight') }}
                end
            }
        ]) as headings (heading)
    union all
    select
        'mean_credit of ' || command_kind as headline,
        credit_rule,
        citation_form,
        {{ safe_div('credit', 'n_turns') }} as value
    from kinds
    union all
    select
        'share of explanations with a valid citation, '
        || coverage.answers || ' answers' as headline,
        rules.credit_rule,
        coverage.form as citation_form,
        coverage.cited_share as value
    from coverage
    cross join (values ('split'), ('full')) as rules (credit_rule)

)

select * from credit_sensitivity
order by headline asc, citation_form desc, credit_rule desc
