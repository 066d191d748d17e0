"""Article 000's demonstration: a goal in; the plan, the results, the score and whether it re-planned out.

    python examples/article_000/run.py 调研竞品，输出对比报告，给出落地建议

Needs no model and no network.
"""

import sys

from phaseloop.roles.orchestrator import Orchestrator, OrchestratorResult

GOAL = "调研竞品，输出对比报告，给出落地建议"


def lines_of(result: OrchestratorResult) -> list[str]:
    """What the article's page shows, line by line."""
    return [
        *(f"{task.id}. {task.description}" for task in result.plan),
        *result.results,
        f"评审分: {result.score}",
        "本次发生了重规划" if result.replanned else "一次通过，未触发重规划",
    ]


def main(goal: str) -> None:
    """Run the three roles once through and print what came out."""
    print("\n".join(lines_of(Orchestrator().run(goal))))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else GOAL)
