"""Every way to put a ledger back, as docs/operate.md lists them: who notices, and after how many answers.

Each row of that table is one test here, with a real SQLite file or a real PostgreSQL cluster. A server answers, the
ledger is put back, and whoever is named must refuse before one more new answer leaves, or with the first.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw
import pytest
from postgres import Cluster, running_cluster
from stand_in import StandInRun, questions, serving

from mapl import Client
from mapl.errors import LedgerError, LedgerRolledBack, ServiceError
from mapl.release.ledger.head_mark import HeadMark
from mapl.release.ledger.opening import open_ledger
from mapl.service.watching.witness import NotedHead, Witness

SOME, MORE = 3, 5


@dataclass
class Site:
    """A run's folder with its note, a disk elsewhere with a witness, a ledger's address, and a client's file."""

    folder: Path
    elsewhere: Path
    url: str

    @contextmanager
    def served(self, *, witness: bool = False, noted: bool = True) -> Iterator[Any]:
        files = [NotedHead(self.folder / "ledger.head")] if noted else []
        files += [NotedHead(self.elsewhere / "witness", needed=True)] if witness else []
        ledger = open_ledger(self.url)
        with closing(ledger), serving(StandInRun(), ledger, witness=Witness(files)) as running:
            yield running

    def client(self, served: Any, key: str) -> Client:
        return Client(served.url, key, witness=self.elsewhere / "seen", retries=0)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    for name in ("folder", "elsewhere"):
        (tmp_path / name).mkdir()
    return Site(tmp_path / "folder", tmp_path / "elsewhere", f"sqlite:///{tmp_path}/folder/ledger.sqlite")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as running:
        yield running


@pytest.fixture
def in_cluster(site: Site, cluster: Cluster) -> Site:
    site.url = f"{cluster.address}&schema={uuid4().hex}"
    return site


def sqlite(path: Path) -> apsw.Connection:
    return apsw.Connection(str(path))


def shell_backup(path: Path, to: Path) -> None:
    """Do what `.backup` and `.restore` of the sqlite3 shell do."""
    source, target = sqlite(path), sqlite(to)
    with target.backup("main", source, "main") as work:
        work.step(-1)
    source.close()
    target.close()


def asked(client: Client, n: int) -> list[str | None]:
    """Ask `n` questions of which the first ones were asked before."""
    return list(client.ask(questions(n)).labels)


def refused(client: Client, n: int = SOME + MORE + 1) -> None:
    """Expect that the server answers nothing new, and says why."""
    with pytest.raises(LedgerRolledBack, match=r"put back to an earlier state.*status 503"):
        asked(client, n)


def not_started(site: Site, **how: Any) -> None:
    with pytest.raises(LedgerRolledBack, match="put back to an earlier state"), site.served(**how):
        pass


# SQLite, while the server runs.


def test_sqlite_running_restored_by_the_shell(site: Site) -> None:
    file = site.folder / "ledger.sqlite"
    with site.served(noted=False) as served, site.client(served, key := served.key()) as client:
        asked(client, SOME)
        shell_backup(file, site.elsewhere / "old")
        asked(client, SOME + MORE)
        shell_backup(site.elsewhere / "old", file)
        refused(client)
    with site.served(noted=False) as served, site.client(served, key) as client:
        refused(client)  # also after a restart
        with pytest.raises(LedgerRolledBack):  # nor does anybody get a new key
            served.key()


@pytest.mark.parametrize("how", ["copied", "moved"])
def test_sqlite_running_another_file_in_its_place(site: Site, how: str) -> None:
    file = site.folder / "ledger.sqlite"
    with site.served(noted=False) as served, site.client(served, served.key()) as client:
        asked(client, SOME)
        shell_backup(file, site.elsewhere / "old")
        asked(client, SOME + MORE)
        file.unlink()
        shutil.copy(site.elsewhere / "old", file) if how == "copied" else (site.elsewhere / "old").rename(file)
        with pytest.raises(ServiceError, match="cannot be recorded"):
            asked(client, SOME + MORE + 1)


# SQLite, while the server is stopped.


def stopped(site: Site, *, witness: bool = False) -> str:
    """Answer some, keep the run's folder as it is, answer more, stop; return a key that is in both."""
    with site.served(witness=witness) as served:
        key = served.key()
        with site.client(served, key) as client:
            asked(client, SOME)
            shutil.copytree(site.folder, site.elsewhere / "folder", dirs_exist_ok=True)
            shell_backup(site.folder / "ledger.sqlite", site.elsewhere / "old")
            asked(client, SOME + MORE)
    return key


def in_place(old: Path, file: Path) -> None:
    """Write the bytes of an old file over the newer one, which stays the same file."""
    with file.open("r+b") as target:
        target.truncate()
        target.write(old.read_bytes())


def test_sqlite_stopped_overwritten_in_place(site: Site) -> None:
    stopped(site)
    in_place(site.elsewhere / "old", site.folder / "ledger.sqlite")
    not_started(site)


def test_sqlite_stopped_restored_by_the_shell(site: Site) -> None:
    stopped(site)
    shell_backup(site.elsewhere / "old", site.folder / "ledger.sqlite")
    not_started(site)


def test_sqlite_stopped_an_old_copy_in_its_place(site: Site) -> None:
    stopped(site)
    (site.folder / "ledger.sqlite").unlink()
    shutil.copy(site.elsewhere / "old", site.folder / "ledger.sqlite")
    not_started(site)


def test_sqlite_stopped_removed(site: Site) -> None:
    stopped(site)
    (site.folder / "ledger.sqlite").unlink()
    not_started(site)


def put_volume_back(site: Site) -> None:
    """Put the whole folder back, note and all, as a snapshot of its volume does: the files stay the same files."""
    in_place(site.elsewhere / "old", site.folder / "ledger.sqlite")
    in_place(site.elsewhere / "folder" / "ledger.head", site.folder / "ledger.head")


def test_sqlite_stopped_volume_put_back_with_a_witness_elsewhere(site: Site) -> None:
    stopped(site, witness=True)
    put_volume_back(site)
    not_started(site, witness=True)


def test_sqlite_stopped_volume_put_back_with_a_head_that_was_written_down(site: Site) -> None:
    stopped(site)
    head = NotedHead(site.folder / "ledger.head").path.read_text().strip()
    put_volume_back(site)
    ledger = open_ledger(site.url)
    with pytest.raises(LedgerRolledBack, match=f"does not contain the head {head} that was given"):
        Witness((), [HeadMark.read(head)]).check(ledger)
    ledger.close()


def first_client_is_refused(site: Site, key: str) -> None:
    """The server finds out from the first client that has seen more; one that has not is answered."""
    with site.served() as served, site.client(served, key) as client:
        before = served.ledger.look()
        refused(client, SOME + MORE)
        assert served.ledger.look() == before, "nothing was drawn"
        with Client(served.url, key) as stranger:  # silent without a witness: the known limit
            assert len(asked(stranger, SOME + MORE)) == SOME + MORE


def test_sqlite_stopped_volume_put_back_with_clients_as_the_only_witnesses(site: Site) -> None:
    key = stopped(site)
    put_volume_back(site)
    first_client_is_refused(site, key)


# Copies beside the original.


def test_sqlite_copied_beside_the_original(site: Site) -> None:
    stopped(site)
    shutil.copy(site.folder / "ledger.sqlite", site.elsewhere / "copy.sqlite")
    copy = open_ledger(f"sqlite:///{site.elsewhere}/copy.sqlite")
    with pytest.raises(LedgerError, match="is locked: two copies"):
        copy.alive()
    copy.close()


def test_a_clone_of_the_volume_with_a_shared_witness(site: Site) -> None:
    """Every mark of the file is the same in a clone of its volume; here its note of home is written to fit."""
    with site.served(witness=True) as served, ExitStack() as later:
        key = served.key()
        first = later.enter_context(site.client(served, key))
        asked(first, SOME)
        clone = site.elsewhere / "clone.sqlite"
        shell_backup(site.folder / "ledger.sqlite", clone)
        ledger: Any = open_ledger(f"sqlite:///{clone}")
        ledger._change("UPDATE home SET place = ?", (ledger._settle(),))
        witness = Witness([NotedHead(site.elsewhere / "witness", needed=True)])
        other = later.enter_context(serving(StandInRun(), ledger, witness=witness))
        second = later.enter_context(Client(other.url, key, retries=0))
        asked(first, SOME + MORE)
        refused(second)
        asked(first, SOME + MORE + 2)


# PostgreSQL.


def test_postgres_running_data_directory_put_back(in_cluster: Site, cluster: Cluster) -> None:
    with in_cluster.served(noted=False) as served, in_cluster.client(served, key := served.key()) as client:
        asked(client, SOME)
        cluster.keep()
        asked(client, SOME + MORE)
        cluster.put_back()
        refused(client)
    with in_cluster.served(noted=False) as served, in_cluster.client(served, key) as client:
        refused(client)


@pytest.mark.parametrize("by", ["note", "witness", "clients"])
def test_postgres_stopped_data_directory_put_back(in_cluster: Site, cluster: Cluster, by: str) -> None:
    """A read-only folder has no note; then a witness elsewhere notices, or clients do."""
    how = {"noted": by == "note", "witness": by == "witness"}
    with in_cluster.served(**how) as served:
        key = served.key()
        with in_cluster.client(served, key) as client:
            asked(client, SOME)
            cluster.keep()
            asked(client, SOME + MORE)
    cluster.put_back()
    if by != "clients":
        not_started(in_cluster, **how)
        return
    with in_cluster.served(noted=False) as served, in_cluster.client(served, key) as client:
        refused(client, SOME + MORE)


@pytest.mark.parametrize("into", ["another schema", "the same schema"])
def test_postgres_dumped_and_restored(in_cluster: Site, cluster: Cluster, into: str) -> None:
    schema = in_cluster.url.rpartition("schema=")[2]
    with in_cluster.served(noted=False) as served:
        key = served.key()
        with in_cluster.client(served, key) as client:
            asked(client, SOME)
            dump = cluster.run("pg_dump", "-n", f'"{schema}"', cluster.address)
            asked(client, SOME + MORE)
            if into == "the same schema":  # under the running server
                cluster.sql(f'DROP SCHEMA "{schema}" CASCADE')
                cluster.run("psql", "-q", cluster.address, given=dump)
                refused(client)
                return
    cluster.run("psql", "-q", cluster.address, given=dump.replace(schema, "restored"))
    ledger = open_ledger(in_cluster.url.replace(schema, "restored"))
    with pytest.raises(LedgerError, match="is locked: two copies"):
        ledger.alive()
    ledger.close()


def test_postgres_a_clone_beside_the_original_with_a_shared_witness(in_cluster: Site, cluster: Cluster) -> None:
    """A clone has the numbers of cluster, database and tables that are noted inside."""
    with in_cluster.served(witness=True, noted=False) as served, ExitStack() as later:
        key = served.key()
        first = later.enter_context(in_cluster.client(served, key))
        asked(first, SOME)
        standby = later.enter_context(cluster.standby())
        standby.fall_behind()
        address = later.enter_context(standby.parted())
        clone = later.enter_context(closing(open_ledger(in_cluster.url.replace(cluster.address, address))))
        witness = Witness([NotedHead(in_cluster.elsewhere / "witness", needed=True)])
        other = later.enter_context(serving(StandInRun(), clone, witness=witness))
        second = later.enter_context(Client(other.url, key, retries=0))
        asked(first, SOME + MORE)
        refused(second)
        asked(first, SOME + MORE + 2)


def test_postgres_failed_over_to_a_standby_that_was_behind(
    in_cluster: Site, cluster: Cluster, tmp_path: Path
) -> None:
    """A streaming standby that has not received the last answers is promoted in the place of the primary."""
    with in_cluster.served(noted=False) as served, in_cluster.client(served, served.key()) as client:
        asked(client, SOME)
        with cluster.standby() as standby:
            standby.fall_behind()
            asked(client, SOME + MORE)
            standby.take_over()
            refused(client)
