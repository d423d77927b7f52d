"""How far one record moves a prediction, on every small sample and all its neighbours, exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from mapl.audit.predictions.samples import PredictorLaw, Sample, SampleWorld, neighbours
from mapl.prediction.predictors.flip import Real
from mapl.types import RecordAdjacency


@dataclass(frozen=True, slots=True)
class StabilityClaim:
    """What is claimed for samples of one size: p <= grown p' + eta for both answers, and |p - p'| <= gamma."""

    grown: Real
    eta: Real
    gamma: Real


@dataclass(frozen=True, slots=True)
class Moved:
    """The most that was found, and the samples and the question that exceed the claim, if any do."""

    gamma: Fraction
    exceeded: tuple[str, ...]
    witness: tuple[Sample, Sample, tuple[float, ...]] | None
    pairs: int

    @property
    def violated(self) -> bool:
        return bool(self.exceeded)


def audit_stability(
    law: PredictorLaw,
    claims: Callable[[int], StabilityClaim],
    *,
    adjacency: RecordAdjacency,
    world: SampleWorld | None = None,
) -> Moved:
    """Compare the claims, by the size of the larger sample, with the exact chances on all neighbouring samples."""
    world = world or SampleWorld(most=4)
    claimed = [claims(n) for n in range(1, world.most + 1)]
    gamma, exceeded, witness, n_pairs = Fraction(0), set[str](), None, 0
    for one, other, question, p, q in pairs(law, adjacency=adjacency, world=world):
        n_pairs += 1
        if p == q:
            continue
        claim = claimed[max(len(one), len(other)) - 1]
        gamma = max(gamma, abs(p - q))
        broken = {
            "private prediction": max(p - claim.grown * q, (1 - p) - claim.grown * (1 - q)) > claim.eta,
            "stability": abs(p - q) > claim.gamma,
        }
        if any(broken.values()) and witness is None:
            witness = one, other, question
        exceeded |= {part for part, is_broken in broken.items() if is_broken}
    return Moved(gamma, tuple(sorted(exceeded)), witness, n_pairs)


def pairs(
    law: PredictorLaw, *, adjacency: RecordAdjacency, world: SampleWorld
) -> Iterator[tuple[Sample, Sample, tuple[float, ...], Fraction, Fraction]]:
    """Yield all neighbouring samples, in both orders, with the chance of label 1 on each for every question."""
    records, questions = world.records, world.questions
    laws = {sample: list(law(tuple(records[k] for k in sample))) for sample in world.samples()}
    for one, other in neighbours(laws, len(records), adjacency):
        samples = tuple(records[k] for k in one), tuple(records[k] for k in other)
        for question, p, q in zip(questions, laws[one], laws[other], strict=True):
            yield *samples, question, p, q
