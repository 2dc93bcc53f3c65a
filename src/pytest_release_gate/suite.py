"""Policy, cases and snapshots, read and joined, with digests; the only reader of files."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

from pytest_release_gate.binding import bind
from pytest_release_gate.binding import document as read_rules
from pytest_release_gate.contract import read_cases, read_outputs
from pytest_release_gate.documents import Document
from pytest_release_gate.errors import PolicyError, Problem, SuiteError
from pytest_release_gate.jsonl import read_document
from pytest_release_gate.model import Case, Check, Json, Location, Output, Policy, Snapshot, Suite, Trust
from pytest_release_gate.schema import Schema, compile_schema, referenced_files

# Names of results files of our own: no snapshot may have them.
_RESERVED = ("evidence", "summary")


class Files:
    """Reads files, names them relative to the root, and remembers a digest of each.

    :param root: the folder that names are relative to.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.abspath(root))
        self.digests: dict[str, str] = {}

    def name(self, path: Path) -> str:
        """A path as it stands in messages and results: relative to the root, with forward slashes."""
        try:
            return Path(os.path.relpath(os.path.abspath(path), self.root)).as_posix()
        except ValueError:  # another drive: there is no relative path, and an absolute one belongs to one machine
            return path.name

    def read(self, path: Path, problems: list[Problem]) -> bytes | None:
        """All bytes of a regular file; anything else is a problem and None."""
        try:
            mode = os.stat(path).st_mode
            if not stat.S_ISREG(mode):
                what = "a folder" if stat.S_ISDIR(mode) else "a device, pipe or socket"
                problems.append(Problem(path=self.name(path), message=f"is {what}, not a file; name the file itself"))
                return None
            data = path.read_bytes()
        except (OSError, ValueError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            problems.append(Problem(path=self.name(path), message=f"can't be read: {why}"))
            return None
        self.digests[self.name(path)] = "sha256:" + hashlib.sha256(data).hexdigest()
        return data

    def policy_text(self, path: Path) -> str:
        """The text of a policy file.

        :raises PolicyError: if it can't be read.
        """
        problems: list[Problem] = []
        data = self.read(path, problems)
        if data is None:
            raise PolicyError(problems)
        try:
            return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            problem = Problem(path=self.name(path), line=line, message="is not UTF-8; save it as UTF-8")
            raise PolicyError([problem]) from None


def read_suite(source: Path, policy: Policy, outputs: Sequence[Path], files: Files) -> Suite:
    """Everything that a policy names, read and joined with the snapshots.

    :param source: the policy file.
    :param outputs: the snapshot files; one named twice is one snapshot.
    :raises PolicyError: if a file that the policy or an option names is not there, or two snapshots share a label.
    :raises SuiteError: with every problem, if the evidence can't be read as what it claims to be.
    """
    paths = _named(source, policy, files)
    snapshots = _labelled(outputs, files)
    problems: list[Problem] = []
    notes: list[Problem] = []
    documents = _documents(paths, policy, files, problems)
    checks = _bound(source, policy, documents, files, problems)
    cases = _cases(paths, policy, documents, files, problems, notes)
    schema = _schema(paths["output_schema"], files, problems, notes)
    read = []
    for label, path in sorted(snapshots.items()):
        found = _outputs(path, policy, schema, files, problems)
        # Without all of the cases, or any of the outputs, a join would only repeat what is wrong with them.
        joined: dict[tuple[str, int], Output] = {}
        if cases is not None and found is not None:
            joined = _joined(found, cases, policy, files.name(path), problems)
        meta = _meta(path.with_suffix(".meta.json"), files, problems)
        read.append(Snapshot(label=label, source=Location(path=files.name(path)), outputs=joined, meta=meta))
    known = [_known(source, one, policy, schema, cases or {}, files, problems) for one in policy.trust]
    if problems or cases is None:
        raise SuiteError(problems)
    return Suite(
        policy=replace(policy, checks=checks),
        source=Location(path=files.name(source)),
        cases_source=Location(path=files.name(paths["cases"])),
        cases=cases,
        snapshots=tuple(read),
        known=tuple(known),
        digests=dict(sorted(files.digests.items())),
        notes=tuple(map(str, notes)),
    )


def _documents(paths: Mapping[str, Path], policy: Policy, files: Files, problems: list[Problem]) -> dict[str, Document]:
    """The policy documents by version."""
    named = {version: paths[f"documents.{version}"] for version in policy.documents}
    if "document" in paths:
        named.setdefault(policy.version, paths["document"])
    return {
        version: read_rules(data, files.name(path), problems)
        for version, path in named.items()
        if (data := files.read(path, problems)) is not None
    }


def _bound(
    source: Path, policy: Policy, documents: Mapping[str, Document], files: Files, problems: list[Problem]
) -> tuple[Check, ...]:
    """The policy's checks, each bound to its arguments and to what they name."""

    def read(name: str) -> tuple[bytes, str] | None:
        path = Path(os.path.normpath(source.parent / name))
        data = files.read(path, problems)
        return None if data is None else (data, files.name(path))

    return tuple(bind(check, read, documents, problems) for check in policy.checks)


def _cases(
    paths: Mapping[str, Path],
    policy: Policy,
    documents: Mapping[str, Document],
    files: Files,
    problems: list[Problem],
    notes: list[Problem],
) -> dict[str, Case] | None:
    """The cases; None if, and only if, a problem was appended."""
    before, path = len(problems), paths["cases"]
    schema = _schema(paths["case_schema"], files, problems, notes)
    data = files.read(path, problems) if schema else None
    if schema is None or data is None:
        return None
    name = files.name(path)
    cases = read_cases(data, name, schema, problems, version=policy.version, version_at=policy.case_version)
    for case in cases.values() if policy.case_version else ():
        if case.version not in documents:
            known = ", ".join(map(repr, sorted(documents)))
            message = f"names the policy version {case.version!r}, but the suite has documents for {known}"
            problems.append(Problem(path=name, line=case.source.line, message=message))
    if not cases and len(problems) == before:
        problems.append(Problem(path=name, message="there are no cases; an empty suite decides nothing: add cases"))
    return cases if len(problems) == before else None


def _outputs(
    path: Path, policy: Policy, schema: Schema | None, files: Files, problems: list[Problem]
) -> dict[tuple[str, int], Output] | None:
    """The outputs of a file; None if, and only if, it or its schema could not be read at all."""
    data = files.read(path, problems) if schema else None
    if schema is None or data is None:
        return None
    return read_outputs(data, files.name(path), schema, problems, malformed_fails=policy.malformed_fails)


def _known(
    source: Path,
    trust: Trust,
    policy: Policy,
    schema: Schema | None,
    cases: Mapping[str, Case],
    files: Files,
    problems: list[Problem],
) -> Snapshot:
    """The snapshot of a trust gate: one output for each case."""
    path = Path(os.path.normpath(source.parent / trust.snapshot))
    found = _outputs(path, policy, schema, files, problems)
    strict = replace(policy, trials=1, missing_fails=False)
    joined = _joined(found, cases, strict, files.name(path), problems) if cases and found is not None else {}
    return Snapshot(label=path.stem, source=Location(path=files.name(path)), outputs=joined)


def _meta(path: Path, files: Files, problems: list[Problem]) -> dict[str, Json]:
    """What a snapshot's sidecar says of the whole run; nothing, if it has none."""
    if not path.exists():
        return {}
    document = _json(path, files, problems)
    shape = json.loads(resources.files(__package__).joinpath("meta.schema.json").read_text("utf-8"))
    schema = compile_schema(shape, "meta.schema.json", problems)
    if document is None or schema is None:
        return {}
    complaints = schema.complaints(document, files.name(path))
    problems += complaints
    return {} if complaints else document


def _named(source: Path, policy: Policy, files: Files) -> dict[str, Path]:
    """The files that a policy names, relative to it."""
    given = {key: getattr(policy, key) for key in ("cases", "case_schema", "output_schema", "document")}
    given |= {f"trust.{index}": trust.snapshot for index, trust in enumerate(policy.trust)}
    given |= {f"documents.{version}": name for version, name in policy.documents.items()}
    paths = {key: Path(os.path.normpath(source.parent / name)) for key, name in given.items() if name}
    absent = [
        Problem(path=files.name(source), message=f"{key!r} names {given[key]!r}, but there is no such file")
        for key, path in paths.items()
        if not path.exists()
    ]
    if absent:
        raise PolicyError(absent)
    return paths


def _labelled(outputs: Sequence[Path], files: Files) -> dict[str, Path]:
    """Label → file; the same file under two names is one."""
    found: dict[str, Path] = {}
    problems = []
    for path in outputs:
        label, name = path.stem, files.name(path)
        if not path.exists():
            problems.append(Problem(path=name, message="there is no such snapshot; name a file that was recorded"))
        elif label.casefold() in _RESERVED:
            problems.append(Problem(path=name, message=f"a snapshot can't be called {label!r}: rename the file"))
        elif label in found and os.path.realpath(found[label]) != os.path.realpath(path):
            other = files.name(found[label])
            problems.append(Problem(path=name, message=f"has the same label as {other}: rename one of them"))
        found.setdefault(label, path)
    if problems:
        raise PolicyError(problems)
    return found


def _schema(path: Path, files: Files, problems: list[Problem], notes: list[Problem]) -> Schema | None:
    """A schema file, compiled, with those in its own folder that it refers to."""
    document = _json(path, files, problems)
    if document is None:
        return None
    siblings: dict[str, Json] = {}
    waiting = referenced_files(document)
    while waiting:
        name = waiting.pop()
        if name not in siblings and name != path.name and (path.parent / name).is_file():
            siblings[name] = _json(path.parent / name, files, problems)
            waiting |= referenced_files(siblings[name])
    schema = compile_schema(document, files.name(path), problems, siblings)
    notes += schema.warnings if schema else ()
    return schema


def _json(path: Path, files: Files, problems: list[Problem]) -> Json | None:
    data = files.read(path, problems)
    return None if data is None else read_document(data, files.name(path), problems)


def _joined(
    outputs: Mapping[tuple[str, int], Output],
    cases: Mapping[str, Case],
    policy: Policy,
    name: str,
    problems: list[Problem],
) -> dict[tuple[str, int], Output]:
    """The outputs of a snapshot, one for each case and trial, or a problem for each that is too many or missing."""
    joined = dict(outputs)
    for (case_id, trial), output in outputs.items():
        line = output.source.line if output.source else None
        if case_id not in cases:
            message = f"there is no case {case_id!r} for this output; remove the line or add the case"
            problems.append(Problem(path=name, line=line, message=message))
        elif trial >= policy.trials:
            message = f"trial {trial} of case {case_id!r} is beyond the {policy.trials} planned (0 is the first)"
            problems.append(Problem(path=name, line=line, message=message))
    for case_id, case in cases.items():
        for trial in range(policy.trials):
            if (case_id, trial) in outputs:
                continue
            which = f"case {case_id!r}" + (f", trial {trial}" if policy.trials > 1 else "")
            if policy.missing_fails:
                defect = f"missing: {name} has no output for {which}"
                joined[case_id, trial] = Output(case_id=case_id, trial=trial, record={}, defect=defect)
            else:
                message = f"the output for {which} is missing ({case.source}); record it and run again"
                problems.append(Problem(path=name, message=message))
    return dict(sorted(joined.items()))
