{#
    A judge's answer as a double in [0, 1]; null where the scale is unknown or there is no answer.

    Takes the scale (see `answer_scale`), the answer as text and the value of its letter (seed `letter_grades`), null
    for an answer that is no letter. Contract: sn97, b.5.

    Usage: {{ answer_value('answer_scale', 'answer_text', 'letter_grades.value') }} as answer_value
#}
{% macro answer_value(answer_scale, answer_text, letter_value) -%}
    case
            when {{ answer_scale }} = 'graded_20' then {{ letter_value }}
            when {{ answer_scale }} = 'binary' and {{ answer_text }} = 'true' then 1
            when {{ answer_scale }} = 'binary' and {{ answer_text }} = 'false' then 0
            when {{ answer_scale }} in ('binary', 'number') then try_cast({{ answer_text }} as double)
        end
{%- endmacro %}
