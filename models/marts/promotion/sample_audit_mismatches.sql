with audited as (

    select * from {{ ref('int_samples_audited') }}

),

episodes as (

    select * from {{ ref('episodes') }}
    where experiment = 'dump'

),

sampled as (

    select
        fixture,
        checkpoint,
        experiment
    from {{ ref('checkpoint_samples') }}
    where experiment = 'dump' and status = 'sampled'

),

stated_against_shown as (

    select
        fixture,
        artifact_id,
        line,
        checkpoint,
        'prompt' as field,
        array_to_string(prompt, ' ') as stated,
        prompt_fault as found
    from audited
    where prompt_fault is not null
    {%- for field in ['category', 'refused', 'correct'] %}
    union all
    select
        fixture,
        artifact_id,
        line,
        checkpoint,
        '{{ field }}' as field,
        cast({{ field }}_stated as varchar) as stated,
        cast({{ field }} as varchar) as found
    from audited
    where
        prompt_fault is null
        and {{ field }}_stated is distinct from {{ field }}
    {%- endfor %}

),

-- The same queries and seed through the sampler once more: what a dump says the policy did, it must do again.
again as (

    select
        audited.fixture,
        audited.artifact_id,
        audited.line,
        audited.checkpoint,
        'episode' as field,
        array_to_string(audited.prompt || audited.scratchpad || ['<ans>'] || audited.answer, ' ') as stated,
        coalesce(
            array_to_string(episodes.prompt || episodes.scratchpad || ['<ans>'] || episodes.answer, ' '),
            'no such query'
        ) as found
    from audited
    inner join sampled on audited.fixture = sampled.fixture and audited.checkpoint = sampled.checkpoint
    left join episodes
        on
            audited.fixture = episodes.fixture
            and audited.checkpoint = episodes.checkpoint
            and audited.query = episodes.query
    where
        audited.prompt is distinct from episodes.prompt
        or audited.scratchpad is distinct from episodes.scratchpad
        or audited.answer is distinct from episodes.answer

),

mismatches as (

    select * from stated_against_shown
    union all
    select * from again

),

sample_audit_mismatches as (

    select
        fixture,
        artifact_id,
        line,
        checkpoint,
        field,
        stated,
        found,
        artifact_id || ', line ' || line || ': ' || case field
            when 'prompt' then found
            when 'episode' then 'the episode is not the one that the checkpoint gives for this query and seed'
            else field || ' is stated as ' || coalesce(stated, 'nothing') || ', the episode shows ' || found
        end as reason
    from mismatches

)

select * from sample_audit_mismatches
order by fixture, artifact_id, line, field
