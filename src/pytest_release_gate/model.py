"""The nouns: what everything else reads, makes and passes on. Frozen, keyword-only, no behaviour of their own."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict with str keys."""

SEVERITIES = ("critical", "major", "minor")
"""From worst to mildest; the severity of a case and of a finding."""

KILL_RATE = "mutation_kill_rate"
"""The one metric that is about a suite's checks and not about an agent; it is only known where a rule asks for it."""


class Verdict(enum.IntEnum):
    """What may happen to a snapshot; the worst broken rule decides, so the order is the meaning."""

    PASS = 0
    REVIEW = 1
    # The evidence is missing or can't be trusted.
    HOLD = 2
    # The evidence is there and it is bad.
    BLOCK = 3


EXIT_CODES: Mapping[Verdict, int] = MappingProxyType(
    {Verdict.PASS: 0, Verdict.REVIEW: 10, Verdict.HOLD: 11, Verdict.BLOCK: 12}
)


class Status(enum.StrEnum):
    """How one check ended on one output."""

    PASSED = "passed"
    FAILED = "failed"
    # It did not apply to this case; not a pass.
    SKIPPED = "skipped"
    # The check itself broke: says something about us, nothing about the agent.
    ERROR = "error"


class State(enum.StrEnum):
    """How one output ended."""

    PASSED = "passed"
    FAILED = "failed"
    # A check broke and none failed, or every check was skipped: nobody knows.
    UNGRADED = "ungraded"
    # The run of the agent died (a time-out, a rate limit): neither pass nor failure.
    INFRA = "infra"


class Outcome(enum.StrEnum):
    """How one rule ended."""

    HELD = "held"
    BROKEN = "broken"
    NO_DATA = "no data"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Location:
    """A line of a file."""

    # Relative to the root, with forward slashes.
    path: str
    # Physical, from 1; 0 where it is about the file as a whole.
    line: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One line of `cases.jsonl`: an input and what is expected of it."""

    id: str
    title: str
    # One of SEVERITIES.
    severity: str
    # The group in which it is reported; "" if it names none.
    bucket: str = ""
    tags: tuple[str, ...] = ()
    # The version of the policy document that it is judged against; "" if the suite knows only one.
    version: str = ""
    # What the agent is given.
    input: Json
    # What is expected of it; never shown to an agent.
    expected: Mapping[str, Json]
    source: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One line of a snapshot: what the agent did on one case, in one trial (0, 1, …)."""

    case_id: str
    trial: int = 0
    # The whole line as it was recorded.
    record: Mapping[str, Json]
    # Milliseconds; None: not recorded, which is not 0.
    latency_ms: int | float | None = None
    # US dollars; None: not recorded, which is not 0.
    cost_usd: int | float | None = None
    # Infrastructure trouble, as recorded: `kind` and `message`.
    error: Mapping[str, Json] | None = None
    # Why there is no valid record, where the policy turns that into a failure; "" if there is one.
    defect: str = ""
    # None: there is no such line.
    source: Location | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """What a check may yield instead of a string, if it has more to say."""

    # First line: the reason. More lines: the evidence for it.
    message: str
    # The kind of finding, by which a policy may set its severity.
    kind: str = ""
    # For a failed equality; both None if it was none.
    expected: Json = None
    actual: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A number that a check yields beside its reasons: so many, of so many."""

    name: str
    value: int | float
    # What it is counted out of; None if it is a plain number.
    of: int | float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One reason why an output is wrong."""

    # The name of the check, as the policy gives it.
    check: str
    # First line: the reason. More lines: where and by how much.
    message: str
    # One of SEVERITIES.
    severity: str
    # Of a failed equality, for whoever draws differences; in no results file and on no report.
    expected: Json = field(default=None, compare=False, repr=False)
    actual: Json = field(default=None, compare=False, repr=False)

    @property
    def summary(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one check said about one output."""

    name: str
    status: Status
    # FAILED: at least one; ERROR: exactly one, which says how the check broke.
    findings: tuple[Finding, ...] = ()
    measures: tuple[Measure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Everything that was found on one output."""

    case_id: str
    title: str
    severity: str
    bucket: str = ""
    tags: tuple[str, ...] = ()
    version: str = ""
    snapshot: str
    trial: int = 0
    # In the order of the policy.
    checks: tuple[CheckResult, ...]
    latency_ms: int | float | None = None
    cost_usd: int | float | None = None
    # What the agent did: the record without its id, trial, latency and cost.
    actual: Mapping[str, Json] = field(default_factory=dict)
    # True if the output is a valid record, false if it is missing or malformed and counts as a failure.
    recorded: bool = True
    # The kind of infrastructure trouble; "" if there was none.
    infra: str = ""
    case_source: Location
    output_source: Location | None = None

    # Made from the checks when the result is: a proven failure stands even if another check broke.
    state: State = field(init=False)

    def __post_init__(self) -> None:
        statuses = {check.status for check in self.checks}
        if self.infra:
            state = State.INFRA
        elif Status.FAILED in statuses:
            state = State.FAILED
        elif Status.ERROR in statuses or Status.PASSED not in statuses:
            state = State.UNGRADED
        else:
            state = State.PASSED
        object.__setattr__(self, "state", state)

    @property
    def passed(self) -> bool:
        """True only if at least one check passed, none failed and none broke."""
        return self.state is State.PASSED

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The reasons of all failed checks, in order; a broken check is none."""
        if self.state is State.PASSED:
            return ()
        return tuple(f for check in self.checks if check.status is Status.FAILED for f in check.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A number over results, with the count it stands on."""

    name: str
    # Which results: "all", or the rule's `where` in words.
    group: str = "all"
    # Exact; None: nobody could measure it. Never 0 in its place.
    value: Fraction | None
    # How many results, or recorded numbers, it stands on.
    n: int
    # "count", "rate" (0 to 1), "ms", "USD" or "kappa" (at most 1).
    unit: str = "count"
    # Of rates and kappas: the 95 % interval; None if there is no n.
    interval: tuple[float, float] | None = None
    # Of milliseconds and US dollars: "measured", "simulated" or "unstated"; "" for what is counted.
    provenance: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A metric, a bound, and the verdict if the bound is broken."""

    metric: str
    # Which results count: field of a result → accepted values; empty: all of them.
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # "at_least", "at_most" or "equals".
    bound: str
    limit: Fraction
    otherwise: Verdict
    # Fewer results, or recorded numbers, are no data.
    minimum_n: int = 1
    # How many numbers may be missing before the metric has no data.
    allow_missing: int = 0

    @property
    def group(self) -> str:
        """The `where` in words, "all" if there is none."""
        return ", ".join(f"{key}={'|'.join(values)}" for key, values in sorted(self.where.items())) or "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """How a rule ended, and on what."""

    rule: Rule
    outcome: Outcome
    observed: Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """What a rule over a rate would notice, and how often it would break by noise alone."""

    rule: Rule
    # How many cases the rule is about, and how many trials each has.
    cases: int
    trials: int
    # The true rate that it starts from: what was observed, or a flawless one where the rule is broken.
    start: Fraction
    # True rate → the chance that a run of such an agent breaks the rule, 0 to 1; the first is `start` itself.
    chances: tuple[tuple[Fraction, float], ...]

    @property
    def noise(self) -> float:
        """The chance that a run of an agent that is no worse than this one breaks the rule."""
        return self.chances[0][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """One reason for a verdict, in a sentence: a broken rule, or something that is missing."""

    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict and why."""

    verdict: Verdict
    # The policy's own, in its order.
    rules: tuple[RuleResult, ...] = ()
    # Those that stand in front of every policy and can't be waived.
    front: tuple[RuleResult, ...] = ()
    # The gravest first; none for a PASS.
    grounds: tuple[Ground, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """The sentences of all grounds, the gravest first."""
        return tuple(ground.reason for ground in self.grounds)


CheckFunction = Callable[..., Iterable["str | Reason | Measure"]]
"""`check(case, output, **arguments)` yields the reasons why the output is wrong; none means that it passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """An entry of the policy's `[[checks]]`, bound to its function."""

    # How it reads in results.
    name: str
    # The registered name of the function.
    uses: str
    function: CheckFunction
    arguments: Mapping[str, Any] = field(default_factory=dict)
    # Dotted path into the case's `expected` → accepted values; others are SKIPPED.
    when: Mapping[str, tuple[Json, ...]] = field(default_factory=dict)
    # Of its findings; None: the case's own. Or by kind of finding.
    severity: str | Mapping[str, str] | None = None
    # The names of the measures that it yields.
    measures: tuple[str, ...] = ()

    # What it comes to where it yields nothing, and where it is not about the case: one object for all outputs.
    silent: CheckResult = field(init=False, compare=False, repr=False)
    skipped: CheckResult = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "silent", CheckResult(name=self.name, status=Status.PASSED))
        object.__setattr__(self, "skipped", CheckResult(name=self.name, status=Status.SKIPPED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What the checks must make of a snapshot whose answer is known, before they are trusted with any other."""

    # The file, relative to the policy; of a judge the calibration set, relative to the root.
    snapshot: str
    # Which cases: as in a rule; empty: all of them.
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # "pass" or "fail": each of them; None: `passed` says how many pass.
    must: str | None = None
    passed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustResult:
    """How one of these ended, or the trial of a judge."""

    trust: Trust
    # Why the checks can't be trusted, a sentence each; none: they can.
    reasons: tuple[str, ...] = ()
    # How many of the selected cases passed, and how many there are; of a judge, how many verdicts are right.
    passed: int = 0
    n: int = 0
    # Of a judge: precision, recall and kappa of each dimension.
    metrics: tuple[Metric, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Graders:
    """What is known of a suite's graders, whatever they say of a candidate."""

    # The policy's `[[trust]]` in its order, then its judges.
    trust: tuple[TrustResult, ...] = ()
    # How many mutants of right answers they fail, of how many; None: no rule asks for it.
    mutants: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A policy file, read and found usable."""

    # The suite's name.
    name: str
    # The version of the policy document; "" if the file names none.
    version: str = ""
    # Paths relative to the policy file, as written there; the document may be left out.
    cases: str
    case_schema: str
    output_schema: str
    document: str | None = None
    # Version → policy document, where cases name their version; and the dotted path at which a case does.
    documents: Mapping[str, str] = field(default_factory=dict)
    case_version: str | None = None
    # True: a missing or malformed output is a failure; false: it is refused.
    missing_fails: bool = False
    malformed_fails: bool = False
    # How many outputs each case must have, and how many of them must not be lost to infrastructure trouble.
    trials: int = 1
    valid_trials: int = 1
    checks: tuple[Check, ...]
    rules: tuple[Rule, ...]
    # Judged before any candidate.
    trust: tuple[Trust, ...] = ()
    # Patterns of mutants (`citations: invent`) that no check needs to fail.
    equivalent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One recorded run of one agent version."""

    # The file's stem.
    label: str
    source: Location
    # (case id, trial) → output.
    outputs: Mapping[tuple[str, int], Output]
    # What its sidecar says of the whole run; empty if there is none.
    meta: Mapping[str, Json] = field(default_factory=dict)

    @property
    def provenance(self) -> Mapping[str, str]:
        """Unit → whether such numbers were measured or simulated; unstated if the sidecar doesn't say."""
        return {"ms": self.meta.get("latency", "unstated"), "USD": self.meta.get("cost", "unstated")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Cases, the policy that judges them, and the snapshots to be judged."""

    policy: Policy
    # Where the policy came from.
    source: Location
    # Where the cases came from.
    cases_source: Location
    # Case id → case, sorted by id.
    cases: Mapping[str, Case]
    # Sorted by label.
    snapshots: tuple[Snapshot, ...]
    # For each of the policy's trust gates, the snapshot that it names.
    known: tuple[Snapshot, ...] = ()
    # Relative path → "sha256:…" of every file that was read.
    digests: Mapping[str, str]
    # What is odd but no reason to refuse anything, a sentence each.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that is known about one snapshot; the input of every reporter. No clock, host or absolute path."""

    # The suite's name and the version of its policy.
    suite: str
    version: str = ""
    # Where the policy and the cases stand, relative to the root.
    policy: str
    cases: str
    # The snapshot's label and file.
    snapshot: str
    source: str
    # Relative path → "sha256:…" of everything that was read.
    digests: Mapping[str, str]
    # Registered name → measures of the checks that no digest covers: those that are not built in.
    own_checks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    decision: Decision
    # What the snapshot's sidecar says.
    meta: Mapping[str, Json] = field(default_factory=dict)
    # Every metric over all results, by name; those of measures too.
    metrics: Mapping[str, Metric]
    # The pass rate by bucket, severity, tag and version, where a suite has more than one of them.
    groups: tuple[Metric, ...] = ()
    # Name of a measure → its sum and what it is counted out of.
    measures: Mapping[str, tuple[Fraction, Fraction | None]] = field(default_factory=dict)
    graders: Graders = Graders()
    # Cases that passed in some trials and not in all, sorted.
    flaky: tuple[str, ...] = ()
    # Kind of infrastructure trouble → how many results were lost to it, sorted.
    infra: Mapping[str, int] = field(default_factory=dict)
    # Of the rules over rates, in the order of the policy.
    power: tuple[Power, ...] = ()
    # Sorted by case id and trial.
    results: tuple[Result, ...]
    # How many results there should be.
    expected: int
    # (case id, trial) of those that have none, sorted.
    missing: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """One run of the gate: a report for each snapshot, and the worst of their verdicts."""

    decision: Decision
    # Sorted by suite folder and label.
    reports: tuple[Report, ...]
    # Reasons to hold that no result shows: an interruption, a lost worker.
    doubts: tuple[str, ...] = ()
