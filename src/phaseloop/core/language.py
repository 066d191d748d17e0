"""Which language a text is written in, as far as our own texts care: Chinese or not (contract section 10)."""

import re

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA_OR_HANGUL = re.compile(r"[\u3041-\u30ff\uac00-\ud7af]")
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f\u0370-\u052f]+")
_CHINESE_MARK = re.compile(r"[，。、；：！？]")


def is_chinese(text: str) -> bool:
    """Whether `text` is written in Chinese script.

    A Han character weighs as much as a word of an alphabet, so `调研 Kubernetes` is Chinese and
    `Translate 你好 into English` is not. Kana or Hangul make it another language. A text without
    letters is told by its punctuation.
    """
    if _KANA_OR_HANGUL.search(text):
        return False
    han, words = len(_HAN.findall(text)), len(_WORD.findall(text))
    if han == words == 0:
        return bool(_CHINESE_MARK.search(text))
    return han >= words


def language_of(text: str) -> str:
    """`zh` for Chinese script, else `en`: the keys of a text by language (`core.process.Text`)."""
    return "zh" if is_chinese(text) else "en"
