"""Building blocks of plain lines: quotations, first issues, amounts of a limit."""

from phaseloop.cli.figures import count, cut, duration, money, printable
from phaseloop.cli.screen import Screen

Line = str
QUOTE_CELLS = 100


def quote(text: str, screen: Screen) -> str:
    """`text` in quotation marks, cut to one line."""
    inner = cut(printable(text), QUOTE_CELLS)
    return f"“{inner}”" if screen.language == "zh" else f'"{inner}"'


def said(*parts: str) -> Line:
    """The parts that are there, two blanks between them."""
    return "  ".join(part for part in parts if part)


def first(issues: tuple[str, ...], screen: Screen) -> str:
    """The first issue, and how many more there are."""
    for issue in issues[:1]:
        return quote(issue, screen) + (f" (+{len(issues) - 1})" if len(issues) > 1 else "")
    return ""


def amount(kind: str, value: float, screen: Screen) -> str:
    """An amount in the unit of its limit: tokens, dollars, seconds, or a bare number."""
    if kind in ("tokens", "budget_tokens"):
        return count(value)
    if kind in ("cost_usd", "budget_usd"):
        return money(value)
    if kind in ("seconds", "timeout"):
        return duration(value * 1000, screen.language)
    return f"{value:g}"
