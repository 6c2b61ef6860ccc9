with sft_rows as (

    select
        duel_epoch as corpus_epoch,
        source,
        language,
        phase,
        case when len(clean_flags) = 0 then 'clean' else 'repaired' end as clean,
        teacher_lift,
        turn_id
    from {{ ref('sft_rows') }}

),

valued as (

    {% for dimension in ['source', 'language', 'phase', 'clean'] -%}
    select
        corpus_epoch,
        '{{ dimension }}' as dimension,
        {{ dimension }} as value,
        teacher_lift,
        turn_id
    from sft_rows
    {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

sft_mix as (

    select
        corpus_epoch,
        dimension,
        value,
        count(*) as n_rows,
        {{ safe_div('count(*)', 'sum(count(*)) over (partition by corpus_epoch, dimension)') }} as share,
        {{ safe_div('fsum(teacher_lift order by turn_id)', 'count(*)') }} as mean_teacher_lift
    from valued
    group by corpus_epoch, dimension, value

)

select * from sft_mix
order by corpus_epoch asc, dimension asc, n_rows desc, value asc
