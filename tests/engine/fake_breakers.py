"""A circuit breaker that remembers what it was asked."""


class Breakers:
    def __init__(self, *, moves=False):
        self.moves = moves
        self.until = None
        self.looked, self.counted = [], []

    async def blocked(self, tool):
        self.looked.append(tool)
        return self.until

    async def note(self, tool, ok):
        self.counted.append((tool, ok))
        return ("closed" if ok else "opened", 5, 9) if self.moves else None
