with tasks as (

    select distinct instance_id
    from {{ ref('mix_sides') }}

),

-- `owner__repo-N` and what data sets append to `owner__repo`: a commit after a dot, or a number after a dash.
named as (

    select
        instance_id,
        {{ regex_group('instance_id', '^([A-Za-z0-9_.-]+?)__', 1) }} as owner,
        {{ regex_group('instance_id', '__([A-Za-z0-9_-]+?)(?:-[0-9]+(?:_interface)?$|[.])', 1) }} as repository,
        {{ regex_group('lower(instance_id)', '^(.+?)(?:_interface)?$', 1) }} as task
    from tasks

),

-- A task that also states an interface is published under the id of the task with `_interface` after it.
listed as (

    select
        benchmark,
        instance_id,
        {{ regex_group('lower(instance_id)', '^(.+?)(?:_interface)?$', 1) }} as task
    from {{ ref('benchmark_instances') }}

),

mix_benchmark_hits as (

    select
        named.instance_id,
        'instance' as hit,
        listed.benchmark,
        listed.instance_id as benchmark_key
    from named
    inner join listed on named.task = listed.task
    union all
    select
        named.instance_id,
        'repository' as hit,
        benchmark_repositories.benchmark,
        benchmark_repositories.repository as benchmark_key
    from named
    inner join {{ ref('benchmark_repositories') }} as benchmark_repositories
        on lower(named.owner || '/' || named.repository) = lower(benchmark_repositories.repository)

)

select * from mix_benchmark_hits
