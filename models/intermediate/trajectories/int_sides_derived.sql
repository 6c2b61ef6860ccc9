with sides as (

    select * from {{ landed('steps', 'sides', made_by='int_turns_derived') }}

),

int_sides_derived as (

    select
        artifact_id,
        line,
        side,
        text_source,
        n_turns,
        n_cmds_v1,
        n_distinct_cmds_v1,
        max_cmd_run_v1,
        n_cmds_v2,
        n_distinct_cmds_v2,
        max_cmd_run_v2,
        n_cmds_v3,
        n_distinct_cmds_v3,
        max_cmd_run_v3,
        document_n_cmds_v1,
        document_n_distinct_cmds_v1,
        document_max_cmd_run_v1,
        has_truncation_sentinel,
        has_abandonment_sentinel,
        reserved_token,
        n_judged_blocks,
        n_blocks_starting_with_close
    from sides

)

select * from int_sides_derived
