"""Every setting of the service, read once from TERCET_ environment variables; defaults suit one machine."""

import os
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

PACKAGE = Path(__file__).resolve().parent
SECRETS = Path("/run/secrets")  # where Docker and others put them


def asset(name: str) -> Path:
    """Return the folder templates, static or migrations: in the package when installed, at the root of a checkout."""
    installed = PACKAGE / name
    return installed if installed.is_dir() else PACKAGE.parent.parent / name


# Beside the database: the address where the server of this folder last listened.
LISTENED = "address"


class Settings(BaseSettings):
    """The settings; each description is the line of the README's table."""

    # A file of this folder named as a variable, in small letters, holds its value: passwords stay out of environments.
    model_config = SettingsConfigDict(env_prefix="TERCET_", secrets_dir=SECRETS if SECRETS.is_dir() else None)

    data: Path = Field(Path("tercet-data"), description="folder of the database and the blobs")
    database_url: str = Field("", description="SQLAlchemy URL; empty means SQLite in the data folder")
    storage_url: str = Field("", description="fsspec URL of the blobs; empty means a folder in the data folder")
    public_url: str = Field(
        "",
        pattern=r"^(https?://[^/?#\s]+(/[\w.~-]+)*/?)?$",
        description="address people use, for links, with a path if there is one; empty means the request's own",
    )
    allowed_hosts: str = Field(
        "", description="further host names of this server, with commas between; others are refused"
    )
    cors_origins: str = Field(
        "", description="origins whose pages may use the REST paths with a token, with commas between; `*` for all"
    )
    frame_origins: str = Field(
        "",
        pattern=r"^(https?://[\w.*-]+(:(\d+|\*))?(, ?|$))*$",
        description="origins, such as notebooks, that may show the labeling page in a frame, with commas between",
    )
    webhooks_to_private: bool = Field(
        False, description="let webhooks go to addresses of private networks and of this machine: `true` or `false`"
    )
    oidc_issuer: str = Field(
        "",
        pattern=r"^(https?://[^?#\s]+)?$",
        description="address of an OpenID Connect provider by which people sign in; empty means none",
    )
    oidc_client_id: str = Field("", description="what the provider calls this server")
    oidc_client_secret: str = Field("", repr=False, description="the secret that it has with the provider, if any")
    oidc_name: str = Field("OpenID Connect", min_length=1, description="what the sign-in page calls the provider")
    oidc_new_accounts: bool = Field(
        False, description="let whoever the provider knows have an account; otherwise only who has one or is invited"
    )
    dask_scheduler: str = Field("", description="tcp:// address of a Dask scheduler; empty starts workers here")
    workers: int = Field(
        2,
        ge=0,
        description="most worker processes here, the last of several only while work takes long; 0 leaves it to others",
    )
    run_lease_seconds: float = Field(15.0, gt=0, description="after this silence another worker takes a run over")
    run_hours: float = Field(
        12.0, gt=0, description="hours after which a run is given up, so that no project keeps a worker for good"
    )
    triplet_lease_seconds: float = Field(
        300.0, gt=0, description="how long a question is held for the labeler who has it on screen"
    )
    web_processes: int = Field(
        1, ge=1, le=64, description="processes that handle requests, on one port; more than one needs PostgreSQL"
    )
    threads: int = Field(
        16, ge=2, description="requests a process handles at once; also the database connections it has"
    )
    connections_per_address: int = Field(
        512, ge=1, description="open connections an address may have; a proxy has one address for all who come by it"
    )
    max_upload_mb: int = Field(
        512, ge=1, description="largest upload of items, features or constraints, in megabytes; others: 1, answers 2"
    )
    max_import_mb: int = Field(20_000, ge=1, description="largest sum of the files of one import, in megabytes")
    backup_folder: str = Field("", description="folder for backups that the server makes by itself; empty means none")
    backup_hours: float = Field(24.0, ge=0.1, description="a backup is made when the newest one is older than this")
    backups_kept: int = Field(7, ge=1, description="how many of these backups stay; older ones are removed")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="debug, info, warning or error")
    log_json: bool = Field(False, description="log one JSON object a line instead of plain text")

    @model_validator(mode="after")
    def check_provider(self) -> Self:
        """Refuse a provider without the name that it has for this server: it would refuse everybody."""
        if self.oidc_issuer and not self.oidc_client_id:
            raise ValueError("TERCET_OIDC_CLIENT_ID is missing: TERCET_OIDC_ISSUER needs it.")
        return self

    def resolved_database_url(self) -> str:
        """Return the database URL with the default filled in."""
        return self.database_url or f"sqlite:///{self.data.resolve() / 'tercet.db'}"

    def resolved_storage_url(self) -> str:
        """Return the storage URL with the default filled in."""
        return self.storage_url or str(self.data.resolve() / "blobs")

    def site_url(self) -> str:
        """Return the address that links of commands begin with: the public one, or where the server last listened."""
        if self.public_url:
            return self.public_url.rstrip("/")
        try:
            return (self.data / LISTENED).read_text()
        except OSError:
            return "http://127.0.0.1:8000"

    def remember_url(self, url: str) -> None:
        """Keep the address where the server listens, for the links of commands."""
        self.data.mkdir(parents=True, exist_ok=True)
        (self.data / LISTENED).write_text(url)


def keep_private(settings: Settings) -> None:
    """Let nobody but this user of the machine read what this process writes, nor what it wrote before."""
    os.umask(0o077)
    if settings.data.is_dir():
        settings.data.chmod(0o700)
        for path in settings.data.glob("tercet.db*"):
            path.chmod(0o600)
