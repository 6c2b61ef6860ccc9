import pytest
from assay.validator.chat_templates import TemplateRefusedError, render_prompt

MESSAGES = [{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "Mend {{ it }}"}]


def test_messages_are_printed_as_they_are() -> None:
    template = (
        "{%- for message in messages %}\n"
        "  {%- if loop.first %}[{% endif %}{{ message['role'] + ':' + message.content | trim }};\n"
        "{%- endfor %}{% if add_generation_prompt %}{{ 'go' }}{% endif %}"
    )
    assert render_prompt(template, MESSAGES) == "[system:Be brief.;user:Mend {{ it }};go"


def test_common_idioms_of_templates_are_understood() -> None:
    template = (
        "{% set ns = namespace(last='none') %}{% set rest = messages[1:] %}"
        "{% for message in rest %}{% set ns.last = message.role %}{{ message.content.split('{')[0] ~ '|' }}{% endfor %}"
        "{{ ns.last }}"
    )
    assert render_prompt(template, MESSAGES) == "Mend |user"


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{% for number in range(9) %}{% endfor %}",
        "{% for a in 'x' * 99 %}{% endfor %}",
        "{{ 'x' * 1000000000 }}",
        "{{ 9 ** 99999999 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ 'x'.ljust(1000000000) }}",
        "{{ 'x' | center(1000000000) }}",
        "{% set a = 'xx' %}{% set a = a + a %}",
        "{% set a = 'xx' %}{% set a = a ~ a %}",
        "{% set a %}x{% endset %}",
        "{% set a = [a, a] %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% include 'x' %}",
        "{% for a in messages recursive %}{{ loop(messages) }}{% endfor %}",
        "{% for a in messages %}{% for b in messages %}{% for c in messages %}{% endfor %}{% endfor %}{% endfor %}",
        "{% for c in messages[0].content %}{% endfor %}",
        "{% set messages = messages[0].content %}{% for c in messages %}{% endfor %}",
        "{% set m = messages %}{% set m = m[0].content %}{% for c in m %}{% endfor %}",
        "{% for messages in messages %}{% for c in messages %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(a='x') %}{% set ns.a = ns.a + ns.a %}",
        "{% set ns = namespace(a='x' + 'y') %}",
        "{{ raise_exception('no') }}",
        "{{ unclosed",
        "{{ messages[0].content - 1 }}",
        "{{ missing.attribute }}",
        "{{ messages[0].content.split('') }}",
        "{{ messages[0].content[1:2:0] }}",
    ],
)
def test_templates_that_could_harm_or_cannot_be_rendered_are_refused(template: str) -> None:
    with pytest.raises(TemplateRefusedError):
        render_prompt(template, MESSAGES)


def test_a_template_may_not_print_without_end() -> None:
    with pytest.raises(TemplateRefusedError, match="more than 40"):
        render_prompt("{% for m in messages %}{{ m.content }}{% endfor %}", [{"content": "x" * 30}] * 2, limit=40)
