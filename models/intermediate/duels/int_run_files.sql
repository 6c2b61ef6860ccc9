{%- set run_id = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}' -%}
-- The surer source first: a verdict and a request are about one run, a line of another file about its own.
with statements as (

    select
        artifact_id,
        stated_eval_run_id,
        1 as preference
    from {{ ref('stg_sn97__verdicts') }}
    union all
    select
        artifact_id,
        stated_eval_run_id,
        2 as preference
    from {{ ref('stg_sn97__requests') }}
    union all
    select
        artifact_id,
        stated_eval_run_id,
        3 as preference
    from {{ ref('stg_sn97__generated_samples') }}
    where format = 'current'
    union all
    select
        artifact_id,
        stated_eval_run_id,
        4 as preference
    from {{ ref('stg_sn97__progress_events') }}

),

-- What most lines of a file state.
stated as (

    select
        artifact_id,
        preference,
        stated_eval_run_id
    from statements
    where stated_eval_run_id is not null
    group by artifact_id, preference, stated_eval_run_id
    qualify row_number() over (partition by artifact_id order by count(*) desc, stated_eval_run_id asc) = 1

),

files as (

    select
        artifacts.artifact_id,
        artifacts.kind,
        artifacts.content_sha256,
        stated.preference,
        stated.stated_eval_run_id,
        regexp_replace(artifacts.artifact_id, '/[^/]*$', '') as folder,
        regexp_extract(artifacts.artifact_id, '([^/]*)/[^/]*$', 1) as folder_name
    from {{ ref('artifacts') }} as artifacts
    left join stated on artifacts.artifact_id = stated.artifact_id
    where
        artifacts.source = 'sn97'
        and artifacts.kind in ('verdicts', 'requests', 'generated_samples', 'scoring_results')
        and artifacts.n_rows > 0

),

folders as (

    select
        folder,
        folder_name,
        count(*) as n_files,
        count(stated_eval_run_id) > 0 as says_its_run,
        coalesce(
            min_by(stated_eval_run_id, (preference, artifact_id)) filter (where stated_eval_run_id is not null),
            case when regexp_full_match(folder_name, '{{ run_id }}', 'i') then folder_name end
        ) as eval_run_id
    from files
    group by folder, folder_name

),

-- A run counts by one folder: the one that bears its id, else the fuller one, else the first in name order.
counted_folders as (

    select
        eval_run_id,
        folder
    from folders
    where eval_run_id is not null
    qualify
        row_number() over (
            partition by eval_run_id
            order by folder_name <> eval_run_id asc, n_files desc, folder asc
        ) = 1

),

placed as (

    select
        files.artifact_id,
        files.kind,
        files.folder,
        files.content_sha256,
        files.stated_eval_run_id,
        folders.eval_run_id,
        folders.n_files,
        folders.says_its_run,
        counted_folders.folder as counted_folder,
        coalesce(
            files.folder = counted_folders.folder
            and coalesce(files.stated_eval_run_id = folders.eval_run_id, true),
            false
        ) as may_count
    from files
    inner join folders on files.folder = folders.folder
    left join counted_folders on folders.eval_run_id = counted_folders.eval_run_id

),

numbered as (

    select
        *,
        row_number() over (partition by may_count, folder, kind order by artifact_id) as nth_of_kind,
        first_value(artifact_id) over (
            partition by kind, content_sha256
            order by not may_count asc, not says_its_run asc, n_files desc, artifact_id asc
        ) as first_of_content
    from placed

),

-- Scoring lines state no run. In a folder where nothing else states one, a file that is a copy of another says nothing
-- of its own; in the folder of a run that says its name, equal lines are that run's.
judged as (

    select
        artifact_id,
        kind,
        folder,
        eval_run_id,
        case when first_of_content <> artifact_id then first_of_content end as copy_of,
        case
            when eval_run_id is null then 'nothing states its eval run, and its folder is not named as one'
            when folder <> counted_folder then 'the run counts by the folder ' || counted_folder
            when not may_count then 'it states the eval run ' || stated_eval_run_id || ', its folder another'
            when nth_of_kind > 1 then 'its folder has another file of its kind'
            when first_of_content <> artifact_id and not says_its_run then 'the same file lies in another folder'
        end as fault
    from numbered

),

int_run_files as (

    select
        artifact_id,
        kind,
        folder,
        eval_run_id,
        fault is null as is_counted,
        copy_of,
        fault || case when copy_of is null then '' else '; a copy of ' || copy_of end as reason
    from judged

)

select * from int_run_files
