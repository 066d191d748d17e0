"""Opening a SQLite store: what is accepted, what is refused, and what is said then."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from phaseloop.adapters.sqlite_log import open_store
from phaseloop.adapters.sqlite_schema import SCHEMA
from phaseloop.core.errors import StoreUnusable
from tests.adapters.log_contract import START


@pytest.mark.parametrize("form", ["{0}", "sqlite:///{0}"])
def test_a_store_is_named_by_path_or_url(tmp_path, form, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("relative.db", str(tmp_path / "absolute.db")):
        open_store(form.format(name)).close()
        assert Path(name).exists()


@pytest.mark.parametrize("url", ["postgres://host/db", "sqlite://", "sqlite:///", "sqlite://host/x", "", "mysql://x"])
def test_a_url_that_names_no_sqlite_file_is_refused_with_the_right_form(url):
    with pytest.raises(StoreUnusable, match="write sqlite:///path, or a path"):
        open_store(url)


def test_two_stores_in_memory_know_nothing_of_each_other():
    one, two = open_store("memory:"), open_store("memory:")
    asyncio.run(one.append("r", 0, 1, [START], None))
    assert asyncio.run(two.read("r")) == []
    one.close()
    two.close()


def test_a_store_written_by_a_newer_release_is_left_alone(store_path):
    open_store(store_path).close()
    db = sqlite3.connect(store_path)
    db.execute(f"PRAGMA user_version={SCHEMA + 1}")
    db.close()
    before = Path(store_path).read_bytes()
    with pytest.raises(StoreUnusable, match=f"it has schema {SCHEMA + 1}.*upgrade phaseloop"):
        open_store(store_path)
    assert Path(store_path).read_bytes() == before


def test_a_file_that_is_no_database_is_left_alone(store_path):
    Path(store_path).write_text("my diary, not a database; long enough to have a header" * 20)
    before = Path(store_path).read_bytes()
    with pytest.raises(StoreUnusable, match="file is not a database; it is not a phaseloop store"):
        open_store(store_path)
    assert Path(store_path).read_bytes() == before


def test_a_database_of_another_program_is_left_alone(store_path):
    db = sqlite3.connect(store_path)
    db.execute("CREATE TABLE songs(title)")
    db.close()
    before = Path(store_path).read_bytes()
    with pytest.raises(StoreUnusable, match="database of another program: name another file"):
        open_store(store_path)
    assert Path(store_path).read_bytes() == before


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(StoreUnusable, match="it is a folder: name a file in it"):
        open_store(str(tmp_path))


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnusable, match="its folder cannot be made .*name a place that may be written"):
        open_store(str(tmp_path / "file" / "store.db"))


def test_a_place_where_no_file_can_be_made_is_told():
    with pytest.raises(StoreUnusable, match="unable to open database file; check that the folder exists"):
        open_store("/proc/store.db")


def test_opening_a_store_again_changes_nothing_in_it(store_path):
    open_store(store_path).close()
    before = Path(store_path).read_bytes()
    open_store(store_path).close()
    assert Path(store_path).read_bytes() == before


def test_the_file_is_in_wal_mode_and_synced_at_every_commit(open_stores):
    store = open_stores()
    link = store._writer._link
    assert link.rows("PRAGMA journal_mode") == [("wal",)]
    assert link.rows("PRAGMA synchronous") == [(2,)]
