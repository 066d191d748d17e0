"""What every store promises about leases, locks and breakers; inherit it together with `LogContract`."""

import asyncio

import pytest


class LeaseContract:
    """Needs `store` and the `clock` it was opened with, as `LogContract` sets them up."""

    def test_a_lease_dies_five_seconds_after_the_last_heartbeat(self):
        async def main():
            leases, seen = self.store.leases, []
            await leases.take("r", "w1")
            for step in (0, 4999, 1, 1):
                self.clock.now += step
                seen.append(await leases.holder("r"))
            await leases.beat("w1")
            seen.append(await leases.holder("r"))
            self.clock.now += 4999
            seen.append(await leases.holder("r"))
            return seen

        assert asyncio.run(main()) == ["w1", "w1", None, None, "w1", "w1"]

    def test_the_last_to_take_a_run_has_it_and_only_the_holder_can_leave(self):
        async def main():
            leases = self.store.leases
            await leases.take("r", "w1")
            await leases.take("r", "w2")
            await leases.leave("r", "w1")
            held = await leases.holder("r")
            await leases.leave("r", "w2")
            return held, await leases.holder("r"), await leases.holder("never")

        assert asyncio.run(main()) == ("w2", None, None)

    def test_long_lived_workers_are_listed_while_they_live(self):
        async def main():
            leases = self.store.leases
            await leases.beat("b", "worker")
            await leases.beat("a", "serve")
            await leases.beat("run")
            await leases.take("r", "a")  # must not forget that it serves
            both = await leases.servers()
            self.clock.now += 4000
            await leases.beat("b")
            self.clock.now += 2000
            return both, await leases.servers()

        assert asyncio.run(main()) == (["a", "b"], ["b"])

    def test_what_long_dead_workers_had_is_forgotten(self):
        async def main():
            leases = self.store.leases
            await leases.take("r", "gone")
            self.clock.now += 60_001
            await leases.beat("w")
            await leases.beat("gone")  # it was only asleep, and its lease is gone all the same
            return await leases.holder("r")

        assert asyncio.run(main()) is None

    def test_a_key_has_one_holder_at_a_time_in_order_of_asking(self):
        order = []
        inside = []

        async def one(n):
            async with self.store.locks.hold("calendar:a", "w"):
                inside.append(n)
                assert len(inside) == 1
                order.append(n)
                await asyncio.sleep(0)
                inside.remove(n)

        async def main():
            await asyncio.gather(*(one(n) for n in range(20)))

        asyncio.run(main())
        assert order == list(range(20))

    def test_other_keys_are_free(self):
        async def main():
            async with self.store.locks.hold("a", "w"), self.store.locks.hold("b", "w"):
                return True

        assert asyncio.run(asyncio.wait_for(main(), 10))

    def test_a_lock_is_released_when_its_body_raises_or_is_cancelled(self):
        async def raises():
            async with self.store.locks.hold("k", "w"):
                raise ValueError("body")

        async def hangs(ready):
            async with self.store.locks.hold("k", "w"):
                ready.set()
                await asyncio.Event().wait()

        async def main():
            with pytest.raises(ValueError, match="body"):
                await raises()
            ready = asyncio.Event()
            holding = asyncio.create_task(hangs(ready))
            await ready.wait()
            waiting = asyncio.create_task(hangs(asyncio.Event()))
            await asyncio.sleep(0)
            for task in (waiting, holding):
                task.cancel()
            await asyncio.gather(waiting, holding, return_exceptions=True)
            async with self.store.locks.hold("k", "w"):
                return True

        assert asyncio.run(asyncio.wait_for(main(), 10))

    @pytest.mark.parametrize("steps", range(6))
    def test_a_lock_asked_for_and_given_up_at_any_moment_is_free(self, steps):
        async def main():
            async def take():
                async with self.store.locks.hold("k", "w"):
                    await asyncio.Event().wait()

            task = asyncio.create_task(take())
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            async with self.store.locks.hold("k", "w"):
                return True

        assert asyncio.run(asyncio.wait_for(main(), 10))

    def test_five_failures_in_a_row_open_a_breaker_for_a_minute(self):
        async def main():
            breakers = self.store.breakers
            moved = [await breakers.note("t", False) for _ in range(4)]
            free = await breakers.blocked("t")
            moved.append(await breakers.note("t", False))
            return moved, free, await breakers.blocked("t"), await breakers.blocked("other")

        moved, free, blocked, other = asyncio.run(main())
        until = self.clock.now + 60_000
        assert moved == [None] * 4 + [("opened", 5, until)]
        assert (free, blocked, other) == (None, until, None)

    def test_a_success_between_failures_starts_the_count_again(self):
        async def main():
            for ok in [False] * 4 + [True] + [False] * 4:
                assert await self.store.breakers.note("t", ok) is None
            return await self.store.breakers.blocked("t")

        assert asyncio.run(main()) is None

    async def _open_breaker(self):
        for _ in range(5):
            await self.store.breakers.note("t", False)
        return self.store.breakers

    def test_a_half_open_breaker_lets_one_call_through_and_its_success_closes_it(self):
        async def main():
            breakers = await self._open_breaker()
            self.clock.now += 60_000
            looks = await asyncio.gather(*(breakers.blocked("t") for _ in range(3)))
            closed = await breakers.note("t", True)
            return looks, closed, await breakers.blocked("t"), await breakers.note("t", True)

        looks, closed, after, again = asyncio.run(main())
        assert sorted(looks, key=str) == [self.clock.now + 60_000] * 2 + [None]
        assert (closed, after, again) == (("closed", 5, 0), None, None)

    def test_a_failed_probe_opens_the_breaker_again(self):
        async def main():
            breakers = await self._open_breaker()
            self.clock.now += 60_000
            assert await breakers.blocked("t") is None
            self.clock.now += 10
            return await breakers.note("t", False), await breakers.blocked("t")

        until = 1_000_000 + 60_010 + 60_000
        assert asyncio.run(main()) == (("opened", 6, until), until)

    def test_a_straggler_that_fails_moves_nothing(self):
        async def main():
            breakers = await self._open_breaker()
            self.clock.now += 10
            return await breakers.note("t", False), await breakers.blocked("t")

        assert asyncio.run(main()) == (None, 1_000_000 + 60_000)

    def test_a_probe_that_never_reports_is_followed_by_another(self):
        async def main():
            breakers = await self._open_breaker()
            self.clock.now += 60_000
            seen = [await breakers.blocked("t"), await breakers.blocked("t")]
            self.clock.now += 60_000
            return [*seen, await breakers.blocked("t")]

        assert asyncio.run(main()) == [None, 1_000_000 + 120_000, None]
