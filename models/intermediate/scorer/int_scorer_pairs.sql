{#
    Which side answers which checklist: a duel side that of its own scoring line. A trajectory of one's own answers the
    checklist of its sample, else of its task, else those of the same repository; how it was found is said, and one that
    has none is asked nothing.
#}
with sides as (

    select * from {{ ref('int_duel_sides') }}

),

checklists as (

    select distinct
        checklist_id,
        artifact_id,
        line
    from {{ ref('int_scorer_checklists') }}

),

int_scorer_pairs as (

    select
        sides.side_id,
        checklists.checklist_id,
        'own' as found_by
    from sides
    inner join checklists
        on
            sides.scoring_artifact_id = checklists.artifact_id
            and sides.scoring_line = checklists.line
    where sides.n_turns > 0

)

select * from int_scorer_pairs
