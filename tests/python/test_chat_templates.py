"""Any published chat template renders; none can hang the build, outgrow it, or reach Python."""

import datetime
import time

import pytest
from assay import chat_templates
from assay.chat_templates import ChatTemplate, TemplateRefusedError
from assay.errors import AssayError

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Mend {{ it }}"},
    {"role": "assistant", "content": "<think>\nhm\n</think>\n\nDone"},
]


@pytest.mark.parametrize(
    ("template", "printed"),
    [
        ("{% for m in messages %}{{ m.role ~ ':' ~ m['content'] }};{% endfor %}", None),
        ("{{ messages[::-1][0].role }}", "assistant"),
        ("{% macro say(m) %}<{{ m.content }}>{% endmacro %}{{ say(messages[1]) }}", "<Mend {{ it }}>"),
        ("{% if tools %}{% for t in tools %}{{ t | tojson }}{% endfor %}{% else %}none{% endif %}", "none"),
        ("{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}", "3"),
        ("{{ messages[2].content.split('</think>')[-1].lstrip('\n') }}", "Done"),
        ("{% for m in messages %}{% if loop.index0 == 1 %}{% break %}{% endif %}{{ m.role }}{% endfor %}", "system"),
        ("{% for m in messages %}{% generation %}{{ m.role[0] }}{% endgeneration %}{% endfor %}", "sua"),
        ("{% set x %}a{% for i in range(3) %}b{% endfor %}{% endset %}{{ x | upper }}", "ABBB"),
        (
            "{{ bos_token }}{{ messages | map(attribute='role') | join('+') }}{{ eos_token }}",
            "system+user+assistant</s>",
        ),
        ("{{ {'a': [1, 'é']} | tojson(indent=2) }}", '{\n  "a": [\n    1,\n    "é"\n  ]\n}'),
        (
            "{{ {'b': '<é>', 'a': [1]} | tojson(ensure_ascii=True, separators=(',', ':'), sort_keys=True) }}",
            '{"a":[1],"b":"<\\u00e9>"}',
        ),
        ("{{ [1, {}] | tojson(indent='\t') }}{{ '<&>' | tojson }}", '[\n\t1,\n\t{}\n]"<&>"'),
        # As templates of gpt-oss, Mistral Small 3, Granite 3 and Llama 3 ask for the date.
        ("{{ strftime_now is defined }}{{ strftime_now('%Y-%m-%d') }}", "True2025-01-01"),
        (
            "{%- set today = strftime_now('%B %d, %Y') %}{{ today }} {{ strftime_now('%-d %b') }}",
            "January 01, 2025 1 Jan",
        ),
        ("{{ dict(a=1, b=[2]) | tojson }}", '{"a": 1, "b": [2]}'),
        ("  {% if true %}\n  yes\n  {% endif %}\nend", "  yes\nend"),
        ("{% set rest = [messages[0]] + messages[1:] %}{{ rest | length }}{{ [1, 'a', (2,)] }}", "3[1, 'a', (2,)]"),
        ("{% for a, b in [('x', 1), ('y', 2)] %}{{ a }}{{ b }}{% endfor %}{{ '-' * 3 }}{{ [0] * 2 }}", "x1y2---[0, 0]"),
        (
            "{{ ['b', 'a'] | sort | join(',') }}{{ messages | map(attribute='role') | list }}",
            "a,b['system', 'user', 'assistant']",
        ),
        (
            "{% set ns = namespace(last='none') %}{% for m in messages[1:] %}{% set ns.last = m.role %}"
            "{{ m.content.split('{')[0] ~ '|' }}{% endfor %}{{ ns.last }}",
            "Mend |<think>\nhm\n</think>\n\nDone|assistant",
        ),
    ],
)
def test_what_published_templates_use_is_understood(template: str, printed: str | None) -> None:
    rendered = ChatTemplate(template, {"eos_token": "</s>"}).render(MESSAGES)
    assert rendered == (printed if printed is not None else "".join(f"{m['role']}:{m['content']};" for m in MESSAGES))


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "loops further"),
        ("{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}", "recursion|loops further"),
        ("{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}", "recursion|loops further"),
        ("{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}", "loops further"),
        ("{% set n = namespace(x='ab') %}{% for a in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}", "more than"),
        ("{% set n = namespace(x='ab') %}{% for a in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}", "more than"),
        (
            "{% set n = namespace(x=3) %}{% for a in range(999) %}{% set n.x = n.x * n.x %}{% endfor %}",
            "count that far",
        ),
        ("{{ 9 ** 99999999 }}", r"may not use \*\*"),
        ("{{ 'x' * 1000000000 }}", "more than"),
        ("{{ ['x' * 1000000] * 1000 | join }}", "cannot be rendered|more than"),
        ("{{ [[1] * 100000] * 100000 }}", "more than"),
        ("{{ [[1] * 100000] * 100000 == [[1] * 100000] * 100000 }}", "more than"),
        ("{% set x = [1] %}" + "{% set x = [x, x] %}" * 60 + "{{ x }}", "more than"),
        ("{% set x = {'a': 1} %}" + "{% set x = {'a': x, 'b': x} %}" * 60 + "{{ x | tojson }}", "more than"),
        ("{% set x = (1,) %}" + "{% set x = (x, x) %}" * 60 + "{{ 'a' ~ x }}", "more than"),
        (
            "{% set n = namespace(x=[1]) %}{% for a in range(60) %}{% set n.x = [n.x] + [n.x] %}{% endfor %}",
            "more than",
        ),
        ("{% set n = namespace(x=[]) %}{{ [n] * 1000000 }}", "namespace"),
        ("{{ [1] * 100000000 }}", "more than"),
        ("{{ ('x' * 40000000) | list | length }}", "more than"),
        ("{{ ('x' * 40000000) | sort | length }}", "more than"),
        ("{{ (['x' * 1000000] * 1000) | join('') }}", "more than"),
        ("{{ ('x' * 10000).replace('x', 'y' * 10000) }}", "more than"),
        ("{{ ('x' * 10000) | replace('x', 'y' * 10000) }}", "more than"),
        ("{{ 'y'.join(['x' * 1000000] * 1000) }}", "more than"),
        ("{{ '%1000000000d' % 1 }}", "may not use %"),
        ("{{ '{:>1000000000}'.format(1) }}", "format"),
        ("{{ 'x'.ljust(1000000000) }}", "ljust"),
        ("{{ 'x' | center(1000000000) }}", "center"),
        ("{{ [1] | tojson(indent=1000000000) }}", "indent that far"),
        ("{{ [1] | tojson(indent=' ' * 1000) }}", "indent that far"),
        ("{{ [1, 2] | tojson(separators=('x' * 40000000, ':')) }}", "more than"),
        # Every one of a million lines would begin with 9,000 blanks.
        ("{% set x = [1] * 999999 %}" + "{% set x = [x] %}" * 90 + "{{ x | tojson(indent=100) }}", "more than"),
        ("{{ strftime_now('%1000000000Y') }}", "format a date like that"),
        ("{{ strftime_now('%Y' * 1000) }}", "format a date like that"),
        ("{{ strftime_now(7) }}", "format a date like that"),
        ("{% set x = dict(a=1) %}" + "{% set x = dict(a=x, b=x) %}" * 60 + "{{ x | tojson }}", "more than"),
        ("{{ 'a\nb' | indent(1000000000) }}", "indent that far"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{% include 'x' %}", "another one"),
        ("{{ raise_exception('system role not supported') }}", "system role not supported"),
        ("{{ messages[9].content }}", "cannot be rendered"),
        ("{{ messages[0].content.split('') }}", "cannot be rendered"),
        ("{{ messages[0].content - 1 }}", "cannot be rendered"),
        ("{{ unclosed", "cannot be read"),
    ],
)
def test_a_template_that_harms_or_breaks_is_refused_within_seconds(template: str, reason: str) -> None:
    started = time.monotonic()
    with pytest.raises(TemplateRefusedError, match=reason):
        ChatTemplate(template).render(MESSAGES)
    assert time.monotonic() - started < 20


def test_the_budget_grows_with_the_messages() -> None:
    # Walking over all messages for every message is what real templates do, and is no endless loop.
    template = "{% for a in messages %}{% for b in messages %}{% endfor %}{% endfor %}fine"
    assert ChatTemplate(template).render([{"role": "user", "content": "a"}] * 1000) == "fine"


def test_a_template_may_not_print_without_end() -> None:
    with pytest.raises(TemplateRefusedError, match="more than 40"):
        ChatTemplate("{% for m in messages %}{{ m.content }}{% endfor %}").render([{"content": "x" * 30}] * 2, limit=40)


def test_the_date_of_today_is_the_one_that_was_set() -> None:
    template = ChatTemplate("{{ strftime_now('%Y-%m-%d') }}", today=datetime.date(2026, 7, 9))
    assert template.render([]) == "2026-07-09"


SLOW = "{% set x = 'ab' * 900000 %}{% for a in range(9000) %}{% if x.upper() == 'a' %}{% endif %}{% endfor %}fine"


def test_a_template_that_takes_long_a_render_stops_the_build_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_templates, "SECONDS", 0.2)
    template = ChatTemplate(SLOW)
    started = time.thread_time()
    with pytest.raises(AssayError, match=r"the chat template took 0 seconds and more .* first 1 renders: use another"):
        template.render(MESSAGES)
    assert time.thread_time() - started < 2


def test_the_budget_of_time_is_that_of_all_renders_together(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 7))  # every look at it is seven seconds later
    monkeypatch.setattr(time, "thread_time", lambda: next(clock))
    template = ChatTemplate("fine")
    with pytest.raises(AssayError, match=r"within its first \d renders"):
        for _ in range(9):
            assert template.render([]) == "fine"
    clock = iter(range(0, 10_000, 7))
    template = ChatTemplate("fine")
    for _ in range(100):  # as many messages as give reason to
        assert template.render([{"content": "a"}] * 3000) == "fine"
