import pytest

from phaseloop.core.language import is_chinese, language_of


@pytest.mark.parametrize(
    "text",
    ["调研竞品，输出对比报告", "调研 Kubernetes", "3.14，1,000 元", "，。；", "用 Python 写报告", "𠀀"],
)
def test_han_script_or_its_punctuation_is_chinese(text):
    assert is_chinese(text)
    assert language_of(text) == "zh"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3.14",
        "Write a report",
        "Translate 你好 into English",
        "東京の天気",
        "서울 날씨",
        "Отчёт",
        "a,b;c",
    ],
)
def test_everything_else_is_not(text):
    assert not is_chinese(text)
    assert language_of(text) == "en"


def test_a_han_character_weighs_as_much_as_a_word():
    assert is_chinese("报告 one two")
    assert not is_chinese("报告 one two three")
