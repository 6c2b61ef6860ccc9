with groups as (

    select * from {{ ref('mix_duplicates') }}

),

sized as (

    select
        groups.split_group,
        count(*) as n_rows,
        min(plan.seed) as seed,
        min(plan.validation_share) as validation_share
    from groups
    inner join {{ ref('mix_plan') }} as plan on groups.mix = plan.mix
    group by groups.split_group

),

-- A hash in [0, 1) from 52 bits of the digest; a group too large to be held out whole trains.
decided as (

    select
        split_group,
        case
            when
                cast('0x' || substr(md5(cast(seed as varchar) || split_group), 1, 13) as bigint) / 4503599627370496.0
                < validation_share
                and n_rows <= {{ var('largest_validation_group') }} * sum(n_rows) over ()
                then 'validation'
            else 'train'
        end as split
    from sized

),

mix_splits as (

    select
        groups.mix,
        groups.row_id,
        groups.row_hash,
        groups.target_hash,
        groups.near_duplicate_cluster,
        groups.split_group,
        decided.split
    from groups
    inner join decided on groups.split_group = decided.split_group

)

select * from mix_splits
