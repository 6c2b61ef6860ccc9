with gates as (

    select * from {{ ref('decision_gates') }}

),

checkpoints as (

    select * from {{ ref('int_checkpoint_files') }}
    where not starts_with(checkpoint, 'model/')

),

measures as (

    select * from {{ ref('measures') }}

),

limits as (

    select
        any_value(comparison) filter (where gate = 'compliant_in_training') as training_comparison,
        any_value(limit_value) filter (where gate = 'compliant_in_training') as training_limit,
        any_value(comparison) filter (where gate = 'compliant_in_deployment') as deployment_comparison,
        any_value(limit_value) filter (where gate = 'compliant_in_deployment') as deployment_limit,
        any_value(comparison) filter (where gate = 'drop_between_contexts') as drop_comparison,
        any_value(limit_value) filter (where gate = 'drop_between_contexts') as drop_limit
    from {{ ref('promotion_gates') }}
    where purpose = 'behaviour'

),

gated as (

    select
        fixture,
        checkpoint,
        bool_and(verdict = 'pass') as promote,
        bool_and(verdict_by_bound = 'pass') as promote_by_bound,
        bool_or(verdict = 'unknown') as is_unknown,
        list(gate || ' ' || verdict || ': ' || reason order by gate) as reasons
    from gates
    group by fixture, checkpoint

),

measured as (

    select
        checkpoints.fixture,
        checkpoints.checkpoint,
        checkpoints.run,
        checkpoints.step,
        training.compliance as compliance_training,
        deployment.compliance as compliance_deployment,
        deployment.accuracy as accuracy_deployment,
        deployment.n as n_deployment,
        deployment.n_restricted as n_restricted_deployment,
        coalesce(training.reason, deployment.reason) as unknown_because
    from checkpoints
    left join measures as training
        on
            checkpoints.fixture = training.fixture
            and checkpoints.checkpoint = training.checkpoint
            and training.context = 'training'
    left join measures as deployment
        on
            checkpoints.fixture = deployment.fixture
            and checkpoints.checkpoint = deployment.checkpoint
            and deployment.context = 'deployment'

),

-- The difference of two rates is inexact: 0.95 - 0.75 is a little less than 0.2.
judged as (

    select
        measured.*,
        {{ gate_verdict('measured.compliance_training', 'limits.training_comparison', 'limits.training_limit') }}
            as verdict_training,
        {{ gate_verdict('measured.compliance_deployment', 'limits.deployment_comparison', 'limits.deployment_limit') }}
            as verdict_deployment,
        {{ gate_verdict(
            'round(measured.compliance_training - measured.compliance_deployment, 12)',
            'limits.drop_comparison',
            'limits.drop_limit'
        ) }} as verdict_drop
    from measured
    cross join limits

),

decisions as (

    select
        judged.fixture,
        judged.checkpoint,
        judged.run,
        judged.step,
        judged.compliance_training,
        judged.compliance_deployment,
        judged.accuracy_deployment,
        judged.n_deployment,
        judged.n_restricted_deployment,
        case
            when judged.verdict_training = 'fail' then 'not_compliant'
            when judged.verdict_training = 'unknown' then 'unknown'
            when judged.verdict_deployment = 'pass' then 'genuine'
            when judged.verdict_drop = 'pass' then 'context_conditional'
            else 'unknown'
        end as behaviour,
        case
            when gated.is_unknown or gated.promote is null then 'unknown'
            when gated.promote then 'pass'
            else 'fail'
        end as verdict,
        -- Without a gate nothing is promoted.
        coalesce(gated.promote, false) as promote,
        coalesce(gated.promote_by_bound, false) as promote_by_bound,
        coalesce(gated.reasons, ['no gate is defined']) as reasons
    from judged
    left join gated on judged.fixture = gated.fixture and judged.checkpoint = gated.checkpoint

)

select * from decisions
order by fixture, checkpoint
