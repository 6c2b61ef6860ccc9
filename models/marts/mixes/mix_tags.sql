{# A pair is one earned answer that cites the turn; a turn that three answers cite counts three times. #}
with files as (

    select * from {{ ref('mix_files') }}

),

mix_turns as (

    select * from {{ ref('mix_turns') }}
    where train

),

pairs as (

    select
        files.file,
        unnest(mix_turns.tags) as tag
    from files
    inner join mix_turns on files.mix = mix_turns.mix and files.row_id = mix_turns.row_id

),

counted as (

    select
        file,
        tag,
        count(*) as n_pairs
    from pairs
    group by file, tag

),

totalled as (

    select
        *,
        sum(n_pairs) over (partition by file) as n_file_pairs
    from counted

),

mix_tags as (

    select
        file as mix,
        tag,
        n_pairs,
        {{ safe_div('n_pairs', 'n_file_pairs') }} as share_of_pairs,
        {{ wilson_low('n_pairs', 'n_file_pairs') }} as share_low,
        {{ wilson_high('n_pairs', 'n_file_pairs') }} as share_high
    from totalled

)

select * from mix_tags
order by mix asc, n_pairs desc, tag asc
