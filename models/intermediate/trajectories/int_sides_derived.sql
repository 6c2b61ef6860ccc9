with generated_lines as (

    select * from {{ ref('int_generated_lines') }}
    where nth_line_of_id = 1

),

-- A line that no duel counts, as every trajectory of another source, has no name but its place.
int_sides_derived as (

    select
        coalesce(
            {{ duel_side_id('generated_lines', 'sides.side') }},
            {{ trajectory_name('sides') }} || case when sides.side = 'agent' then '' else '/' || sides.side end
        ) as side_id,
        sides.artifact_id,
        sides.line,
        sides.side,
        sides.text_source,
        sides.n_turns,
        sides.n_cmds_v1,
        sides.n_distinct_cmds_v1,
        sides.max_cmd_run_v1,
        sides.n_cmds_v2,
        sides.n_distinct_cmds_v2,
        sides.max_cmd_run_v2,
        sides.n_cmds_v3,
        sides.n_distinct_cmds_v3,
        sides.max_cmd_run_v3,
        sides.document_n_cmds_v1,
        sides.document_n_distinct_cmds_v1,
        sides.document_max_cmd_run_v1,
        sides.has_truncation_sentinel,
        sides.has_abandonment_sentinel,
        sides.reserved_token,
        sides.n_judged_blocks,
        sides.n_blocks_starting_with_close
    from {{ landed('steps', 'sides', made_by='int_turns_derived') }} as sides
    left join generated_lines
        on
            sides.artifact_id = generated_lines.artifact_id
            and sides.line = generated_lines.line

)

select * from int_sides_derived
