"""Do the tests notice? Faults put into important functions one at a time, each followed by the tests of its place.

python -m benchmarks.mutations             all of them, in a copy of this checkout; prints a table
python -m benchmarks.mutations --only 3    that number; 3-9 are the numbers from 3 to 9, and words a part of the place

A fault that no test notices "survives". The faults are written by hand below: where the code changes so that one can
no longer be put in, this says so and asks for another.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("app", "algorithms", "templates", "static", "migrations", "tests", "pyproject.toml", "README.md")
SECONDS = 600


class Fault(NamedTuple):
    """One change of one place, what it means, and the tests that should notice."""

    file: str
    meaning: str
    before: str
    after: str
    tests: str


FAULTS = (
    Fault(
        "app/tercet/labeling/canonical.py",
        "the odd one out is counted in the triplet as shown",
        "str(stored.index(triplet[int(value) - 1]) + 1)",
        "str(triplet.index(triplet[int(value) - 1]) + 1)",
        "tests/labeling/test_canonical.py",
    ),
    Fault(
        "app/tercet/labeling/canonical.py",
        "sides are left as they were asked",
        "return (anchor, left, right) if left < right else (anchor, right, left)",
        "return (anchor, left, right)",
        "tests/labeling/test_canonical.py",
    ),
    Fault(
        "app/tercet/labeling/canonical.py",
        "an answer turned back keeps its side",
        "    return MIRRORED[stored]",
        "    return stored",
        "tests/labeling/test_canonical.py",
    ),
    Fault(
        "app/tercet/labeling/sql/answers.py",
        "everybody's lease of an answered triplet ends",
        "    own_lease = (lease.triplet_id == answer.triplet_id) & (lease.labeler_id == answer.labeler_id)",
        "    own_lease = lease.triplet_id == answer.triplet_id",
        "tests/labeling/test_histories.py",
    ),
    Fault(
        "app/tercet/labeling/sql/answers.py",
        "a triplet leaves the queue one answer late",
        "NEEDED <= COUNTED_ANSWERS",
        "NEEDED < COUNTED_ANSWERS",
        "tests/labeling/test_histories.py",
    ),
    Fault(
        "app/tercet/labeling/sql/answers.py",
        "the answer number is raised by one for any number of answers",
        'project.answer_number + bindparam("count")',
        "project.answer_number + 1",
        "tests/labeling/test_histories.py",
    ),
    Fault(
        "app/tercet/labeling/sql/answers.py",
        "an id that stands already does not undo the transaction",
        "    if count < len(new):\n        raise",
        "    if count < 0:\n        raise",
        "tests/labeling/test_histories.py tests/labeling/test_sql_answers.py",
    ),
    Fault(
        "app/tercet/labeling/sql/statements.py",
        "skipped questions are asked again",
        "    ~exists().where(skip.triplet_id == triplet.id, skip.labeler_id == LABELER).correlate(TRIPLETS),\n",
        "",
        "tests/labeling/test_histories.py",
    ),
    Fault(
        "app/tercet/labeling/sql/statements.py",
        "a question that the labeler has answered is asked again",
        "    case((answer.labeler_id == LABELER, NEEDED), (Answer.counts, 1), else_=0),",
        "    case((Answer.counts, 1), else_=0),",
        "tests/labeling/test_histories.py",
    ),
    Fault(
        "app/tercet/labeling/sql/statements.py",
        "leases that have ended still hold a question",
        "    lease.triplet_id == triplet.id,\n    lease.expires_at > AT,",
        "    lease.triplet_id == triplet.id,",
        "tests/labeling/test_histories.py tests/labeling/test_labeling_queue.py",
    ),
    Fault(
        "app/tercet/models/labeling.py",
        "answers that were set aside count",
        "return and_(cls.withdrawn_at.is_(None), cls.set_aside_id.is_(None))",
        "return and_(cls.withdrawn_at.is_(None))",
        "tests/labeling/test_histories.py",
    ),
    Fault(
        "app/tercet/runs/schedule.py",
        "the longest wait is ignored",
        "return min(moment + timedelta(seconds=idle), first + timedelta(seconds=longest))",
        "return moment + timedelta(seconds=idle)",
        "tests/runs/test_schedule.py",
    ),
    Fault(
        "app/tercet/runs/schedule.py",
        "a run waits for one answer more",
        "if standing.answers - standing.served >= project.rerun_answers:",
        "if standing.answers - standing.served > project.rerun_answers:",
        "tests/runs/test_schedule.py",
    ),
    Fault(
        "app/tercet/runs/schedule.py",
        "a run that is due already is postponed",
        "    if standing.due_at is not None and standing.due_at <= moment:\n        return standing.due_at\n",
        "",
        "tests/runs/test_schedule.py",
    ),
    Fault(
        "app/tercet/runs/lifecycle.py",
        "the fencing token is not compared",
        "(Run.id == run_id) & (Run.token == token) & (Run.status == RunStatus.RUNNING)",
        "(Run.id == run_id) & (Run.status == RunStatus.RUNNING)",
        "tests/worker/test_job.py tests/runs",
    ),
    Fault(
        "app/tercet/runs/lifecycle.py",
        "a task does not raise the token",
        ".values(token=Run.token + 1, attempts=Run.attempts + 1, lease_expires_at=lease, starved=False)",
        ".values(attempts=Run.attempts + 1, lease_expires_at=lease, starved=False)",
        "tests/worker/test_job.py tests/runs",
    ),
    Fault(
        "app/tercet/runs/lifecycle.py",
        "a cancelled run goes on writing",
        "update(Run).where(_is_held(run_id, token), ~Run.cancel_requested)",
        "update(Run).where(_is_held(run_id, token))",
        "tests/worker/test_job.py tests/runs",
    ),
    Fault(
        "app/tercet/runs/lifecycle.py",
        "a run is tried once more than allowed",
        ".where(running, Run.attempts < MAX_ATTEMPTS)",
        ".where(running, Run.attempts <= MAX_ATTEMPTS)",
        "tests/worker/test_job.py tests/runs",
    ),
    Fault(
        "app/tercet/accounts/access.py",
        "a token's scope is not looked at",
        "    if scope is not None and action not in SCOPE_MAY[scope]:",
        "    if scope is not None and action not in SCOPE_MAY[Scope.OWN]:",
        "tests/accounts/test_tokens.py",
    ),
    Fault(
        "app/tercet/accounts/access.py",
        "a revoked token works",
        "if api_token.revoked_at is not None or (",
        "if (",
        "tests/accounts/test_tokens.py",
    ),
    Fault(
        "app/tercet/accounts/access.py",
        "a token works in its last second and ever after",
        "api_token.expires_at <= now()",
        "api_token.expires_at > now()",
        "tests/accounts/test_tokens.py",
    ),
    Fault(
        "app/tercet/accounts/admission.py",
        "bodies that come without a length are not counted",
        "        if size > megabytes * MEGABYTE:",
        "        if size < 0:",
        "tests/web tests/accounts",
    ),
    Fault(
        "app/tercet/accounts/admission.py",
        "who sends a body is not looked at",
        "            if rule.check is not None:",
        "            if rule.check is None:",
        "tests/web tests/accounts",
    ),
    Fault(
        "app/tercet/web/texts.py",
        "the length is checked behind the cache",
        "    if len(value) > NAME_LENGTH:",
        "    if len(value) > 2**30:",
        "tests/web/test_texts.py",
    ),
    Fault(
        "app/tercet/web/numbers.py",
        "numbers may be larger than the columns",
        "LARGEST = 2**31 - 1",
        "LARGEST = 2**70",
        "tests/test_routes.py",
    ),
    Fault(
        "app/tercet/web/security.py",
        "a page of another site may send forms",
        '            return site in ("same-origin", "none")',
        '            return site != "nowhere"',
        "tests/web/test_security.py",
    ),
    Fault(
        "app/tercet/live/feed.py",
        "an event is passed on twice",
        "            if message.number <= self.after:",
        "            if message.number < self.after:",
        "tests/live/test_events.py",
    ),
    Fault(
        "app/tercet/intake/target.py",
        "narrower features of new items are let through",
        "    if added.shape[1] != before.d:",
        "    if added.shape[1] > before.d:",
        "tests/intake/test_features_api.py tests/intake/test_items_api.py",
    ),
    Fault(
        "app/tercet/intake/local.py",
        "files that belong to no row are ignored",
        "        Faults.of([*plan.faults, *(() if plan.faults else skipped)]).raise_any()",
        "        Faults.of(plan.faults).raise_any()",
        "tests/intake/test_items_api.py tests/intake/test_items_bad_input.py",
    ),
    Fault(
        "app/tercet/labeling/holds.py",
        "who was put back is held again",
        "if decided[person] != Verdict.SET_ASIDE}:",
        "if decided[person] == Verdict.HELD}:",
        "tests/labeling/test_holds.py",
    ),
    Fault(
        "algorithms/tercet_algorithms/answers/independence.py",
        "what speaks for a labeler speaks against them",
        "_mean_likelihood(of_trust, trusts, _NOT_LOOKING) - _mean_likelihood(of_trust, trusts, _LOOKING)",
        "_mean_likelihood(of_trust, trusts, _LOOKING) - _mean_likelihood(of_trust, trusts, _NOT_LOOKING)",
        "tests/tercet_algorithms/answers/test_independence.py",
    ),
    Fault(
        "app/tercet/labeling/holds.py",
        "answers after the hold count",
        "        for decision in _newest(session, project_id, held):",
        "        for decision in _newest(session, project_id, []):",
        "tests/labeling/test_holds.py",
    ),
    Fault(
        "app/tercet/labeling/decisions.py",
        "what a program sent is held with what was answered on the page",
        "return Answer.counts & Answer.response_ms.is_not(None) & later",
        "return Answer.counts & later",
        "tests/labeling/test_holds.py",
    ),
    Fault(
        "app/tercet/worker/outputs/questions.py",
        "questions drawn at random are marked as chosen, and the others as random",
        "[Source.RANDOM if drawn else Source.INFORMATION",
        "[Source.INFORMATION if drawn else Source.RANDOM",
        "tests/worker/test_questions.py",
    ),
    Fault(
        "app/tercet/worker/outputs/prequential.py",
        "the last answer that the run before used counts as new",
        "return inputs.numbers > run.answers_from",
        "return inputs.numbers >= run.answers_from",
        "tests/worker/test_job.py",
    ),
    Fault(
        "app/tercet/worker/outputs/prequential.py",
        "what was foreseen of an answer is kept for another one",
        "rows[here] = reported[before]",
        "rows[here] = reported[here]",
        "tests/worker/test_job.py tests/worker/test_reports.py",
    ),
    Fault(
        "app/tercet/worker/outputs/prequential.py",
        "people's own tables are not used",
        "labeler_table(inputs.previous.state, inputs.kind, epsilon, labeler)",
        "labeler_table({}, inputs.kind, epsilon, labeler)",
        "tests/worker/test_questions.py",
    ),
    Fault(
        "app/tercet/intake/storing.py",
        "the good files of an import become items where one is bad",
        "        if prepared.faults and not options.of_import(row).skip_bad:",
        "        if prepared.faults and options.of_import(row).skip_bad:",
        "tests/intake/test_imports_api.py",
    ),
    Fault(
        "app/tercet/intake/storing.py",
        "what a refused import has put into storage stays there",
        "        service.remove_unused(database, storage, row.project_id, prepared.new_blobs)\n        raise",
        "        raise",
        "tests/intake/test_imports_api.py",
    ),
    Fault(
        "app/tercet/intake/service.py",
        "media that other items show are deleted with an import that is undone",
        "        unused = set(blobs) - blobs_in_use(session, project_id, blobs)",
        "        unused = set(blobs)",
        "tests/items/test_media.py",
    ),
    Fault(
        "algorithms/tercet_algorithms/answers/patterns.py",
        "all three alike counts as all different",
        '_RIGHT_COLUMN: dict[Kind, tuple[int, ...]] = {"relative": (2, 2, 1, 0, 2)',
        '_RIGHT_COLUMN: dict[Kind, tuple[int, ...]] = {"relative": (0, 2, 1, 0, 2)',
        "tests/tercet_algorithms/answers/test_patterns.py",
    ),
    Fault(
        "algorithms/tercet_algorithms/dcrc/mean_field.py",
        "the columns of the messages are not crossed",
        "linear[:, [2, 2, 1]].T.ravel(), linear[:, [1, 0, 0]].T.ravel()",
        "linear[:, [1, 0, 0]].T.ravel(), linear[:, [2, 2, 1]].T.ravel()",
        "tests/tercet_algorithms/dcrc/test_mean_field.py",
    ),
    Fault(
        "algorithms/tercet_algorithms/dcrc/mean_field.py",
        "the product of all three has the wrong sign",
        "return linear, product + 2 * log_likelihoods[:, ALL_DIFFERENT]",
        "return linear, product - 2 * log_likelihoods[:, ALL_DIFFERENT]",
        "tests/tercet_algorithms/dcrc/test_mean_field.py",
    ),
    Fault(
        "algorithms/tercet_algorithms/dcrc/e_step_loops.c",
        "the second neighbour of an item that moved is not looked at again",
        "to_do[others[n][0]] = to_do[others[n][1]] = 1",
        "to_do[others[n][0]] = 1",
        "tests/tercet_algorithms/dcrc/test_mean_field.py",
    ),
    Fault(
        "algorithms/tercet_algorithms/dcrc/search.py",
        "a finished start is kept when it is worse",
        "current.bound > best.bound",
        "current.bound < best.bound",
        "tests/tercet_algorithms/dcrc/test_dcrc.py",
    ),
    Fault(
        "algorithms/tercet_algorithms/dcrc/labeler_tables.py",
        "the prior of the tables is left out",
        "self._ties @ self._symmetric(counts) + self._prior",
        "self._ties @ self._symmetric(counts) + 1e-9 * self._prior",
        "tests/tercet_algorithms/dcrc/test_labeler_tables.py",
    ),
    Fault(
        "algorithms/tercet_algorithms/dcrc/labeler_tables.py",
        "answers are counted without their weights",
        "np.bincount(cells, column, size) for column in (self._weights[:, None] * patterns).T",
        "np.bincount(cells, column, size) for column in patterns.T",
        "tests/tercet_algorithms/dcrc/test_labeler_tables.py",
    ),
    Fault(
        "algorithms/tercet_algorithms/sklr/dual.py",
        "multipliers that should come down are not looked at",
        "np.maximum(np.where(can_rise, relative, 0), np.where(can_fall, -relative, 0))",
        "np.where(can_rise, relative, 0)",
        "tests/tercet_algorithms/sklr/test_dual.py",
    ),
    Fault(
        "algorithms/tercet_algorithms/sklr/dual.py",
        "the margin is left out of the gradient",
        "self.g * p - self.h * q - self.t",
        "self.g * p - self.h * q",
        "tests/tercet_algorithms/sklr/test_dual.py",
    ),
    Fault(
        "algorithms/tercet_algorithms/common/search.py",
        "the state at which a callback stops is thrown away",
        "            except StopFit:\n                return state, True",
        "            except StopFit:\n                return state, False",
        "tests/tercet_algorithms/test_contract.py",
    ),
    Fault(
        "algorithms/tercet_algorithms/common/search.py",
        "numbers of a saved state come back as arrays",
        "return arrays[name].item() if kind in (bool, int, float, str) else arrays[name]",
        "return arrays[name]",
        "tests/tercet_algorithms/test_contract.py tests/tercet_algorithms/common",
    ),
)


def check_places(faults: Sequence[Fault], root: Path) -> None:
    """Raise SystemExit unless each fault's place is there exactly once."""
    for fault in faults:
        if (count := (root / fault.file).read_text().count(fault.before)) != 1:
            raise SystemExit(f"{fault.file} has {count} places that read {fault.before!r}: expected 1")


def put_in(fault: Fault, root: Path) -> str:
    """Change the file and return its text before."""
    text = (root / fault.file).read_text()
    write(fault, text.replace(fault.before, fault.after), root)
    return text


def write(fault: Fault, text: str, root: Path) -> None:
    """Write the file of a fault; loops in C are compiled."""
    (root / fault.file).write_text(text)
    if fault.file.endswith(".c"):
        subprocess.run([sys.executable, root / "algorithms" / "compile_loops.py"], check=True)


def is_noticed(fault: Fault, root: Path) -> bool:
    """Run the tests of the fault's place; True if one fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *fault.tests.split()]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'app'}:{root / 'algorithms'}"}
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"the tests of {fault.file} did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 1


def is_chosen(only: str, number: int, fault: Fault) -> bool:
    """Whether the command line asks for a fault: by its number, by numbers from and to, or by a part of its place."""
    first, _, last = only.partition("-")
    if first.isdigit():
        return int(first) <= number <= int(last or first)
    return only in fault.file


def main() -> None:
    """Put in each fault, run its tests, take it out again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a number, numbers as 3-9, or a part of the place")
    only = parser.parse_args().only
    tried = survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for part in COPIED:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, root / part)
        check_places(FAULTS, root)
        for number, fault in enumerate(FAULTS, start=1):
            if not is_chosen(only, number, fault):
                continue
            text = put_in(fault, root)
            noticed = is_noticed(fault, root)
            write(fault, text, root)
            tried += 1
            survivors += not noticed
            print(f"{number:3}  {'noticed ' if noticed else 'SURVIVES'}  {fault.file}: {fault.meaning}", flush=True)
    print(f"{survivors} of {tried} survive")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
