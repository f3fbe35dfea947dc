"""docker-compose.yml as an operator uses it: up, labeled by TLS while its containers are killed, backed up, gone again.

python -m benchmarks.compose
python -m benchmarks.compose --image python=MINE --image caddy=MINE --image postgres=MINE    without a registry

Needs Docker with compose and buildx, root, and the ports 80 and 443. Containers are killed as a crash would end them,
by their first process: `docker kill` counts as stopping them by hand, after which Docker does not start them again.
"""

import argparse
import asyncio
import os
import re
import secrets
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import yaml

from benchmarks.crash import stored_ids
from benchmarks.labelers import Tally, crowd, join
from benchmarks.projects import LoadProject, synthetic
from tercet import Client
from tercet.client.projects import ProjectClient

ROOT = Path(__file__).resolve().parent.parent
URL = "https://localhost"
AUTHORITY = "/data/caddy/pki/authorities/local/root.crt"  # of the proxy, for hosts that have no name in public
LABELERS, THINK = 20, 0.75
WORKERS, ITEMS = 4, 600
PAUSE_SECONDS = 10.0  # between a recovery and the next kill
GIVE_UP_SECONDS = 120.0
WRITE = "import pathlib\ntry: pathlib.Path('/written').touch()\nexcept OSError as error: print(error.strerror)"


class Compose:
    """The services of docker-compose.yml, under a name of their own."""

    def __init__(self, override: Path) -> None:
        self.command = ["docker", "compose", "-p", "tercet-benchmark", "-f", str(ROOT / "docker-compose.yml")]
        self.command += ["-f", str(override)]
        self.environment = {**os.environ, "TERCET_POSTGRES_PASSWORD": secrets.token_hex(24)}

    def run(self, *words: str) -> str:
        """Run a command of docker compose; give what it prints."""
        command = [*self.command, *words]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"docker compose {' '.join(words)} failed:\n{done.stderr[-4000:]}")
        return done.stdout.strip()

    def execute(self, service: str, *words: str) -> str:
        """Run a command in a container of a service; give what it prints."""
        return self.run("exec", "-T", service, *words)

    def kill(self, service: str) -> None:
        """Kill the first process of each container of a service."""
        for container in self.run("ps", "--quiet", service).split():
            state = ["docker", "inspect", "--format", "{{.State.Pid}}", container]
            number = int(subprocess.run(state, capture_output=True, text=True, check=True).stdout)
            if number:  # 0 while Docker starts it again
                os.kill(number, signal.SIGKILL)


def replaced(images: dict[str, str]) -> dict[str, Any]:
    """Give what of docker-compose.yml is other with other images of the same kind."""
    services: dict[str, Any] = {}
    for name, service in yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"].items():
        kind = service["image"].split(":")[0]
        if kind in images:
            services[name] = {"image": images[kind]}
        elif "build" in service and "python" in images:
            text = re.sub(r"FROM python:\S+", f"FROM {images['python']}", service["build"]["dockerfile_inline"])
            services[name] = {"build": {"dockerfile_inline": text, "network": "host"}}
    return {"services": services}


def begin(compose: Compose, folder: Path) -> tuple[ProjectClient, LoadProject]:
    """Do what the README says after `up`, sign in, and make a project; give it after its first run."""
    authority = folder / "authority.crt"
    authority.write_text(compose.execute("proxy", "cat", AUTHORITY))
    os.environ["SSL_CERT_FILE"] = str(authority)
    link = compose.execute("web", "tercet", "user", "add", "you@example.org", "--admin").split()[-1]
    with httpx.Client(headers={"Sec-Fetch-Site": "same-origin"}, follow_redirects=True) as browser:
        browser.post(link).raise_for_status()
        assert browser.get(f"{URL}/").status_code == 200
        assert browser.cookies, "signed in"
    token = compose.execute("web", "tercet", "user", "token", "you@example.org").split()[-1]
    project = Client(URL, token, progress=False).create_project("Composed", n_clusters=6)
    project.push([{"key": f"item-{number:05d}"} for number in range(ITEMS)], X=synthetic(ITEMS, 20, 6))
    project.run()
    share = project.make_share_link()
    return project, LoadProject(project.key, token, httpx.URL(str(share.url)).path, httpx.URL(link).path)


def kill_each(compose: Compose, tally: Tally) -> dict[str, float]:
    """Kill the containers of one service after the other; give the longest time without an answer after each, in s."""
    silences = {}
    for service in ("worker", "scheduler", "web", "proxy", "postgres"):
        time.sleep(PAUSE_SECONDS)
        compose.kill(service)
        silences[service] = longest_silence(tally)
    return silences


def longest_silence(tally: Tally) -> float:
    """Watch for a while, and until answers are acknowledged again; give the longest time without one, in seconds."""
    begin = last = time.monotonic()
    acknowledged, longest = len(tally.acknowledged), 0.0
    while (now := time.monotonic()) < begin + PAUSE_SECONDS or now > last + 2 * THINK:
        if now > last + GIVE_UP_SECONDS:
            raise SystemExit(f"No answer was stored for {GIVE_UP_SECONDS:.0f} s.")
        if len(tally.acknowledged) > acknowledged:
            acknowledged, last = len(tally.acknowledged), now
        longest = max(longest, now - last)
        time.sleep(0.01)
    return longest


def check_walls(compose: Compose) -> None:
    """Nothing but the proxy is reached from outside, and containers write nowhere but where they should."""
    published = set(re.findall(r"(\d+)->", compose.run("ps", "--format", "{{.Ports}}")))
    assert published == {"80", "443"}, published
    for service in ("web", "scheduler", "worker"):
        assert compose.execute(service, "python", "-c", WRITE) == "Read-only file system", service


def main() -> None:
    """Bring it up, use it, kill it, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--image", action="append", default=[], metavar="KIND=NAME", help="instead of the one named")
    images = dict(each.split("=", 1) for each in parser.parse_args().image)
    with tempfile.TemporaryDirectory() as folder:
        override = Path(folder) / "override.yml"
        override.write_text(yaml.safe_dump(replaced(images)))
        compose = Compose(override)
        try:
            use(compose, Path(folder))
        finally:
            compose.run("down", "--volumes")


def use(compose: Compose, folder: Path) -> None:
    """Bring the services up, label while they are killed, and print what came of it."""
    compose.run("build")
    start = time.monotonic()
    compose.run("up", "--detach", "--wait", "--scale", f"worker={WORKERS}")
    print(f"all services of {compose.execute('web', 'tercet', '--version')}", end=" ")
    print(f"are healthy after {time.monotonic() - start:.0f} s")
    check_walls(compose)
    project, place = begin(compose, folder)
    cookies = [join(URL, place.share_path, f"labeler {number}") for number in range(LABELERS)]
    tally, seconds = Tally(), 15 * PAUSE_SECONDS
    labeling = threading.Thread(target=lambda: asyncio.run(crowd(URL, cookies, place.key, seconds, THINK, tally)))
    labeling.start()
    silences = kill_each(compose, tally)
    labeling.join()
    print("longest time without an answer after killing: ", end="")
    print(", ".join(f"{name} {seconds:.1f} s" for name, seconds in silences.items()))
    acknowledged, stored = set(tally.acknowledged), stored_ids(URL, place)
    lost, doubled = len(acknowledged - set(stored)), len(stored) - len(set(stored))
    print(f"{len(acknowledged)} answers acknowledged, {lost} lost, {doubled} doubled; ", end="")
    print(f"refused {tally.refused or 'none'}")
    run = project.run()
    statuses = {each.status for each in project.runs()}
    print(f"run {run.number} is {run.status} and has answers up to {run.answers_to}; runs are {sorted(statuses)}")
    print(compose.execute("web", "tercet", "backup", "/data/backup.tercet"))
    print(compose.execute("web", "tercet", "check", "/data/backup.tercet"))
    if lost or doubled or statuses - {"done", "cancelled"}:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
