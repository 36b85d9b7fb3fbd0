"""Fixtures for all tests."""

import fcntl
import gc
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import settings
from xdist.scheduler import LoadGroupScheduling

from tests import redis_server as redis_server_module
from tests.ai_server import AIServer
from tests.databases import Databases, PostgresDatabases, SqliteDatabases
from tests.leftovers import undone
from tests.s3_server import CREDENTIALS, S3Server
from tests.servers import PostgresServer, ServerUnavailable
from tests.sharing import share_statements

# One folder per run, shared by the workers of pytest-xdist, which inherit this variable. It is not below pytest's own
# temporary directory: that is closed to other accounts, and its path may be too long for a socket.
RUN_DIRECTORY = "FANFOLD_TEST_RUN_DIRECTORY"

# A copy of a database is some 300 files: 35 ms in memory, 150 to 400 ms on a disk. Each commit of SQLite waits 3 ms for a disk.
MEMORY = Path("/dev/shm")
ENOUGH_MEMORY_BYTES = 2 * 1024**3

SLOW = tuple(f"tests/{name}.py" for name in (
    "apps/extract/test_evaluation", "apps/extract/test_papers", "apps/pdf/test_bombs", "apps/pdf/test_ocr",
    "apps/pdf/test_pipeline", "engine/test_child_memory", "engine/test_child_start", "engine/test_forks",
    "engine/test_isolation", "engine/test_large_reset", "engine/test_unguarded", "engine/test_unruly",
    "providers/test_batch_crashes", "server/test_openapi", "store/test_query_plans", "test_again",
    "test_example_programs", "test_examples", "test_single_file_examples",
))  # fmt: skip
"""They start processes, read pictures or make large tasks; they take most of the time of the tests that are left."""

BROWSING = tuple(f"acceptance/{name}.py" for name in (
    "test_browsing", "test_changes", "test_dense", "test_extraction_page", "test_general_tasks", "test_honest",
    "test_money_pages", "test_novel_story", "test_options", "test_photo_page", "test_pictures", "test_schedule_pages",
    "test_table", "test_tabs", "test_templates",
))  # fmt: skip
"""They start a browser each, which takes 0.7 s of processor time."""

SHARING = (
    *BROWSING,
    "extract/test_evaluation.py", "extract/test_papers.py", "pdf/test_textlayer.py", "store/test_query_plans.py",
)  # fmt: skip
"""Modules with a costly fixture. All tests of such a module run in one worker."""

# On CI the same histories every time, so that a change is judged by itself; elsewhere new ones, to find more.
settings.register_profile("fanfold", deadline=None, print_blob=True, derandomize="CI" in os.environ)
settings.load_profile("fanfold")

share_statements()
pytest_plugins = ["fanfold.testing.fixtures"]


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of this run, in the process that outlives the workers."""
    if not is_worker(config):
        directory = tempfile.mkdtemp(prefix="fanfold-test-")
        os.chmod(directory, 0o755)
        os.environ[RUN_DIRECTORY] = directory
        if MEMORY.exists() and shutil.disk_usage(MEMORY).free >= ENOUGH_MEMORY_BYTES:
            memory_directory().mkdir(mode=0o755)
            if config.option.basetemp is None:
                config.option.basetemp = str(memory_directory() / "tmp")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the servers of this run, including those that a crashed worker left."""
    if not is_worker(config):
        shared_server().remove()
        shared_s3().remove()
        for directory in run_directory().glob("own-*"):
            PostgresServer(directory).remove()
        shutil.rmtree(run_directory(), ignore_errors=True)
        shutil.rmtree(memory_directory(), ignore_errors=True)


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make no test for the second database where a file says that one is enough."""
    definition = metafunc.definition
    if "databases" not in metafunc.fixturenames or definition.get_closest_marker("one_database") is None:
        return
    if not any("databases" in str(marker.args[0]) for marker in definition.iter_markers("parametrize")):
        definition.add_marker(pytest.mark.parametrize("databases", ["sqlite"], indirect=True), append=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in tests/acceptance and tests/chaos, what is slow and what plays random histories."""
    for item in items:
        if item.path.as_posix().endswith(SLOW):
            item.add_marker("slow")
        if "simulation" in item.path.parts or item.path.stem == "test_state_machine":
            item.add_marker("histories")
        if "acceptance" in item.path.parts or "chaos" in item.path.parts:
            item.add_marker("acceptance")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are imported and listed, a fifth of that time, and never go through what is listed again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadGroupScheduling:
    """Keep the tests of some modules together by their names: pytest 9.2 ignores the groups of pytest-xdist 3.8."""
    return ByModule(config, log)


class ByModule(LoadGroupScheduling):  # type: ignore[misc, unused-ignore]
    """Sends the tests of a module whose fixture is costly to one worker."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return path if path.endswith(SHARING) else str(super()._split_scope(nodeid))


def is_worker(config: pytest.Config) -> bool:
    """Whether this process is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def run_directory() -> Path:
    """The folder of this run."""
    return Path(os.environ[RUN_DIRECTORY])


def memory_directory() -> Path:
    """The folder of this run in memory, if there is enough memory."""
    return MEMORY / run_directory().name


def shared_server() -> PostgresServer:
    """The server for all tests of this run, which may not be running yet."""
    data = memory_directory() if memory_directory().exists() else None
    return PostgresServer(run_directory() / "shared", data=data and data / "postgres", fsync=False)


def shared_s3() -> S3Server:
    """The S3 service for all tests of this run, which may not be running yet."""
    return S3Server(run_directory() / "s3")


@contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Make the other workers of this run wait."""
    with (run_directory() / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def started(server: PostgresServer) -> PostgresServer:
    """The running server. Without one a test is skipped, but on CI it fails."""
    try:
        server.start()
    except (ServerUnavailable, OSError, subprocess.SubprocessError) as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no PostgreSQL: {error}")
    return server


@pytest.fixture(autouse=True)
def _own_process() -> Iterator[None]:
    """Undo what a command that ran in this process left in it."""
    with undone():
        yield


@pytest.fixture(scope="session")
def postgres() -> PostgresServer:
    """The PostgreSQL that all tests of this run share: fast, not durable, never to be stopped by a test."""
    with one_at_a_time("postgres"):
        return started(shared_server())


@pytest.fixture(scope="session")
def s3_server() -> S3Server:
    """The S3 service that all tests of this run share; each uses a prefix of its own."""
    with one_at_a_time("s3"):
        server = shared_s3()
        try:
            server.start()
        except (ServerUnavailable, OSError) as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"no S3 service: {error}")
    return server


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The S3 service, with credentials in the environment."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """A durable PostgreSQL for this test alone, which may stop and restart it."""
    server = started(PostgresServer(Path(tempfile.mkdtemp(prefix="own-", dir=run_directory()))))
    yield server
    server.remove()


@pytest.fixture(scope="session")
def sqlite_databases(tmp_path_factory: pytest.TempPathFactory) -> SqliteDatabases:
    """A source of fresh databases on SQLite."""
    return SqliteDatabases(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest) -> Databases:
    """A source of fresh databases, once for each kind; for a test that needs more than one."""
    if request.param == "sqlite":
        return cast(SqliteDatabases, request.getfixturevalue("sqlite_databases"))
    source = PostgresDatabases(request.getfixturevalue("postgres"))
    with one_at_a_time("template"):
        source.make_template()
    return source


@pytest.fixture
def database_url(databases: Databases) -> Iterator[str]:
    """The URL of a migrated, empty database of this test alone, once on SQLite and once on PostgreSQL."""
    with databases.fresh() as url:
        yield url


@pytest.fixture
def sqlite_url(sqlite_databases: SqliteDatabases, tmp_path: Path) -> str:
    """The URL of such a database on SQLite only, for behaviour that is the same on every database."""
    return sqlite_databases.copy_to(tmp_path)


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[redis_server_module.RedisServer]:
    """A Redis of this test alone, which it may kill, freeze and empty."""
    folder = tmp_path / "redis"
    folder.mkdir()
    server = redis_server_module.make(folder)
    yield server
    server.kill()


@pytest.fixture
def ai(monkeypatch: pytest.MonkeyPatch) -> Iterator[AIServer]:
    """A loopback service, known as the provider `fake`; no real provider is known."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "FANFOLD_PROVIDER"):
        monkeypatch.delenv(name, raising=False)
    with AIServer() as server:
        for name, value in environment_of(server).items():
            monkeypatch.setenv(name, value)
        yield server


def environment_of(server: AIServer) -> dict[str, str]:
    """The variables that make a server known as `fake`; one dollar per thousand tokens either way."""
    return {
        "FANFOLD_PROVIDER": "fake",
        "FANFOLD_PROVIDERS_FAKE_BASE_URL": server.openai_url,
        "FANFOLD_PROVIDERS_FAKE_MODEL": "fake-large",
        "FANFOLD_PROVIDERS_FAKE_TIMEOUT": "60",
        "FANFOLD_PROVIDERS_FAKE_PRICE_INPUT": "1000",
        "FANFOLD_PROVIDERS_FAKE_PRICE_OUTPUT": "1000",
    }
