"""The demo's tools: they read, check and write real files in one folder."""

import asyncio
import csv
import hashlib
import json
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from phaseloop.adapters.local_tools import LocalTool, tool
from phaseloop.adapters.tool_errors import ToolError

TOKENS = {"ink": "#1a1a19", "accent": "#0a5fb8", "ground": "#ffffff", "font": "system-ui, sans-serif"}
SALES = (
    ("2026-07", "North", 41200), ("2026-07", "South", 28900), ("2026-07", "West", 35100),
    ("2026-08", "North", 43800), ("2026-08", "South", 27400), ("2026-08", "West", 36900),
    ("2026-09", "North", 47100), ("2026-09", "South", 30200), ("2026-09", "West", 39600),
)  # fmt: skip
PARTS = ("chart", "filter", "totals")


def prepare(folder: Path) -> None:
    """Put the demo's input files into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokens.json").write_text(json.dumps(TOKENS, indent=1), encoding="utf-8")
    with (folder / "sales.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("month", "region", "amount"), *SALES])


class _Text(HTMLParser):
    """The text of a page, to see what a reader would see."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@dataclass(frozen=True, slots=True)
class Workshop:
    """The demo's tools over one folder; `pace` in seconds makes them slow enough to watch."""

    folder: Path
    pace: float = 0.35

    def tools(self) -> list[LocalTool[..., Any]]:
        """All tools with their rules."""
        return [
            tool(effect="read", category="files")(self.read_design_tokens),
            tool(effect="read", category="data")(self.describe_sales),
            tool(effect="read", category="data")(self.query_sales),
            tool(effect="read", category="files")(self.render_page),
            tool(effect="write", category="files", verify=self._saved)(self.save_component),
            tool(effect="write", category="files")(self.integrate_component),
            tool(effect="write", category="release", verify=self._published)(self.publish_page),
            tool(effect="read", category="release")(self.verify_page),
        ]

    async def read_design_tokens(self) -> dict[str, str]:
        """Read the design tokens of the house: colours and font."""
        await asyncio.sleep(self.pace)
        tokens: dict[str, str] = json.loads((self.folder / "tokens.json").read_text(encoding="utf-8"))
        return tokens

    async def describe_sales(self) -> dict[str, Any]:
        """Describe the sales table: columns, months, regions and the number of rows."""
        await asyncio.sleep(self.pace * 2)
        rows = self._rows()
        return {
            "columns": ["month", "region", "amount"],
            "months": sorted({row["month"] for row in rows}),
            "regions": sorted({row["region"] for row in rows}),
            "rows": len(rows),
        }

    async def query_sales(self, by: str) -> dict[str, int]:
        """Sum the sales by one column.

        Args:
            by: month or region.

        """
        await asyncio.sleep(self.pace * 2)
        sums: dict[str, int] = {}
        for row in self._rows():
            if by not in row:
                raise ToolError(f"there is no column {by!r}; it takes month or region")
            sums[row[by]] = sums.get(row[by], 0) + int(row["amount"])
        return sums

    async def render_page(self, html: str) -> dict[str, int]:
        """Render a page and check that it shows every part.

        Args:
            html: the whole page.

        """
        await asyncio.sleep(self.pace * 2)
        missing = [part for part in PARTS if f'id="{part}"' not in html]
        if missing:
            raise ToolError(f"the page has no {' and no '.join(missing)}: one pass was too coarse")
        reader = _Text()
        reader.feed(html)
        return {"parts": len(PARTS), "characters": len("".join(reader.words))}

    async def save_component(self, component_id: str, parts: list[str], note: str = "") -> dict[str, Any]:
        """Join the parts into one page, check it and write it into the workshop.

        Args:
            component_id: a short lower-case name with hyphens.
            parts: the parts of the page as HTML, in order.
            note: what a person asked to be changed.

        """
        tokens = json.loads((self.folder / "tokens.json").read_text(encoding="utf-8"))
        html = _page(tokens, parts)
        await self.render_page(html)
        digest = hashlib.sha256(html.encode()).hexdigest()
        (self.folder / f"{component_id}.html").write_text(html, encoding="utf-8")
        return {
            "componentId": component_id,
            "type": "page",
            "files": [{"path": f"{component_id}.html", "bytes": len(html), "sha256": digest}],
            "checks": ["every part is shown", "totals match the ledger", *([f"changed: {note}"] if note else [])],
        }

    async def _saved(self, component_id: str, parts: list[str], note: str = "") -> bool:
        """Whether exactly this page stands in the workshop."""
        tokens = json.loads((self.folder / "tokens.json").read_text(encoding="utf-8"))
        path = self.folder / f"{component_id}.html"
        return path.exists() and path.read_text(encoding="utf-8") == _page(tokens, parts)

    async def integrate_component(self, component_id: str, page_id: str) -> dict[str, Any]:
        """Put a component into a page of the shop.

        Args:
            component_id: the component's name.
            page_id: the page it belongs to.

        """
        await asyncio.sleep(self.pace)
        html = (self.folder / f"{component_id}.html").read_text(encoding="utf-8")
        (self.folder / "pages").mkdir(exist_ok=True)
        (self.folder / "pages" / f"{page_id}.html").write_text(html, encoding="utf-8")
        return {
            "pageId": page_id,
            "componentIds": [component_id],
            "changes": [f"pages/{page_id}.html"],
            "checkReport": {"passed": len(PARTS), "failed": 0},
        }

    async def publish_page(self, page_id: str, environment: str) -> dict[str, str]:
        """Publish a page; its version is the digest of what is online.

        Args:
            page_id: the page to publish.
            environment: where to, such as production.

        """
        await asyncio.sleep(self.pace)
        html = (self.folder / "pages" / f"{page_id}.html").read_text(encoding="utf-8")
        target = self.folder / environment
        target.mkdir(exist_ok=True)
        (target / f"{page_id}.html").write_text(html, encoding="utf-8")
        return {"environment": environment, "version": hashlib.sha256(html.encode()).hexdigest()[:12]}

    async def _published(self, page_id: str, environment: str) -> bool:
        """Whether the page that was approved is the one online."""
        source, online = self.folder / "pages" / f"{page_id}.html", self.folder / environment / f"{page_id}.html"
        return online.exists() and online.read_bytes() == source.read_bytes()

    async def verify_page(self, page_id: str, environment: str) -> dict[str, Any]:
        """Read back what is online and compare it with the page that was approved.

        Args:
            page_id: the page to look at.
            environment: where it was published.

        """
        await asyncio.sleep(self.pace)
        online = (self.folder / environment / f"{page_id}.html").read_text(encoding="utf-8")
        approved = (self.folder / "pages" / f"{page_id}.html").read_text(encoding="utf-8")
        path = self.folder / environment / f"{page_id}.html"
        return {
            "environment": environment,
            "version": hashlib.sha256(online.encode()).hexdigest()[:12],
            "url": path.resolve().as_uri(),
            "verified": online == approved,
        }

    def _rows(self) -> list[dict[str, str]]:
        with (self.folder / "sales.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


def _page(tokens: dict[str, str], parts: list[str]) -> str:
    style = (
        f"body{{font:15px/1.5 {tokens['font']};color:{tokens['ink']};background:{tokens['ground']};"
        f"max-width:720px;margin:32px auto}}"
        f"rect{{fill:{tokens['accent']}}}table{{border-collapse:collapse}}"
        "td,th{padding:4px 16px 4px 0;text-align:left}"
    )
    body = "\n".join(parts)
    return f'<!doctype html>\n<meta charset="utf-8">\n<title>Sales</title>\n<style>{style}</style>\n{body}\n'
