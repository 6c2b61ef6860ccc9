{#
    Nothing is lost on the way in: for every artifact of a kind, lines in the file = rows in the model + lines in
    quarantine. Fails for every artifact where that does not hold, and for every artifact known to one side only.

    The three numbers come from three parts: `n_lines` was counted by the reader of lines (blank ones are no lines),
    rows are counted in the staging model, and quarantined lines in `quarantine`. For a model that is the primary table
    of its kind: one row a line.

    Usage (on a model): lines_are_accounted_for: {arguments: {source_name: sn97, kind: generated_samples}}
#}
{% test lines_are_accounted_for(model, source_name, kind, artifacts=none, quarantine=none) %}

    with files as (

        select
            artifact_id,
            n_lines
        from {{ artifacts or ref('artifacts') }}
        where source = '{{ source_name }}' and kind = '{{ kind }}'

    ),

    refused as (

        select
            artifact_id,
            count(distinct line) as n_refused
        from {{ quarantine or ref('quarantine') }}
        group by artifact_id

    ),

    staged as (

        select
            artifact_id,
            count(*) as n_staged
        from {{ model }}
        group by artifact_id

    )

    select
        coalesce(files.artifact_id, staged.artifact_id) as artifact_id,
        files.n_lines,
        coalesce(staged.n_staged, 0) as n_staged,
        coalesce(refused.n_refused, 0) as n_refused
    from files
    full outer join staged on files.artifact_id = staged.artifact_id
    left join refused on coalesce(files.artifact_id, staged.artifact_id) = refused.artifact_id
    where files.n_lines is distinct from coalesce(staged.n_staged, 0) + coalesce(refused.n_refused, 0)

{% endtest %}
