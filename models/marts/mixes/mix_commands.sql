with files as (

    select * from {{ ref('mix_files') }}

),

mix_turns as (

    select * from {{ ref('mix_turns') }}
    where train

),

counted as (

    select
        files.file,
        mix_turns.command_kind,
        count(*) as n_turns
    from files
    inner join mix_turns on files.mix = mix_turns.mix and files.row_id = mix_turns.row_id
    group by files.file, mix_turns.command_kind

),

totalled as (

    select
        *,
        sum(n_turns) over (partition by file) as n_file_turns
    from counted

),

mix_commands as (

    select
        file as mix,
        command_kind,
        n_turns,
        {{ safe_div('n_turns', 'n_file_turns') }} as share_of_turns,
        {{ wilson_low('n_turns', 'n_file_turns') }} as share_low,
        {{ wilson_high('n_turns', 'n_file_turns') }} as share_high
    from totalled

)

select * from mix_commands
order by mix asc, n_turns desc, command_kind asc
