{#
    On which scale a judge's answer stands: `binary`, `graded_20`, `number`, `unknown`; null without an answer.

    Takes the answer as text and its JSON kind (see `json_kind`). What is not clearly an answer is
    `unknown`, never guessed: "yes" is no published answer, and a number written as a text is none either, save 0
    and 1. Contract: sn97, a.5 and b.5.

    Usage: {{ answer_scale('answer_text', 'answer_kind') }} as answer_scale
#}
{% macro answer_scale(answer_text, answer_kind) -%}
    case
            when {{ answer_text }} is null then null
            when {{ answer_kind }} = 'boolean' then 'binary'
            when {{ answer_kind }} = 'string' and {{ answer_text }} in ('0', '1') then 'binary'
            when {{ answer_kind }} = 'string' and length({{ answer_text }}) = 1 and {{ answer_text }} between 'A' and 'T'
                then 'graded_20'
            when {{ answer_kind }} = 'number' and try_cast({{ answer_text }} as double) in (0, 1) then 'binary'
            when {{ answer_kind }} = 'number' and try_cast({{ answer_text }} as double) between 0 and 1 then 'number'
            else 'unknown'
        end
{%- endmacro %}
