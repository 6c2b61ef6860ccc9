-- Seed `mix_steps` gives an order to the gates of seed `gate_limits`; it may neither leave one out nor invent one.
with steps as (

    select
        mix,
        gate
    from {{ ref('mix_steps') }}
    where mix in ('credit', 'escape_duel') and unit in ('side', 'turn') and limit_value is null

),

gate_limits as (

    select * from {{ ref('gate_limits') }}

),

asked as (

    select
        'credit' as mix,
        gate
    from gate_limits
    where credit_mix
    union all
    select
        'escape_duel' as mix,
        gate
    from gate_limits
    where escape_mix

)

(
    select
        mix,
        gate,
        'has no place among the steps' as fault
    from asked
    except
    select
        mix,
        gate,
        'has no place among the steps' as fault
    from steps
)
union all
(
    select
        mix,
        gate,
        'is no gate of the mix' as fault
    from steps
    except
    select
        mix,
        gate,
        'is no gate of the mix' as fault
    from asked
)
