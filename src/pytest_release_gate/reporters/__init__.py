"""Report to text, one file a format: numbers are formatted in `wording`, text escaped in `escape`, nothing computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_release_gate.escape import file_name
from pytest_release_gate.model import Conclusion
from pytest_release_gate.reporters import digest, evidence, markdown, results

EVIDENCE = "evidence.json"


def files_of(conclusion: Conclusion, folders: Sequence[str]) -> dict[str, bytes]:
    """Relative path → content of every results file of a run; the evidence last, since it says that all is there.

    :param folders: for each report, the subfolder that its suite's results go into; "" for none.
    """
    texts = {
        snapshot_file(folder, report.snapshot): results.render_snapshot(report)
        for folder, report in zip(folders, conclusion.reports, strict=True)
    }
    texts["summary.json"] = results.render_summary(conclusion)
    texts["RELEASE_REPORT.md"] = markdown.render(conclusion)
    texts["digest.md"] = digest.render(conclusion)
    texts[EVIDENCE] = evidence.render(conclusion, [*texts, EVIDENCE])
    return {path: results.encode(text) for path, text in texts.items()}


def files_undecided(
    state: str, reasons: Sequence[str], digests: Mapping[str, str], planned: Sequence[str] = ()
) -> dict[str, bytes]:
    """Relative path → content of what is written where nothing was concluded.

    :param planned: files that the run will write besides, if it comes to its end.
    """
    texts = {"RELEASE_REPORT.md": markdown.render_undecided(state, reasons)}
    texts[EVIDENCE] = evidence.render_undecided(state, reasons, digests, [*planned, *texts, EVIDENCE])
    return {path: results.encode(text) for path, text in texts.items()}


def snapshot_file(folder: str, label: str) -> str:
    """The relative path of a snapshot's results file; different snapshots have different paths."""
    return "/".join(filter(None, (folder, f"{file_name(label)}.json")))
