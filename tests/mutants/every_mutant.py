"""All mutants, in the order of the layers they are in."""

from __future__ import annotations

import accounting_mutants
import data_mutants
import federation_mutants
import leak_mutants
import mechanism_mutants
import moment_mutants
import noise_mutants
import pipeline_mutants
import prediction_mutants
import release_mutants
import service_mutants
import teacher_mutants

LISTS = {
    f"tests/mutants/{listed.__name__}.py": listed.MUTANTS
    for listed in (
        noise_mutants,
        accounting_mutants,
        mechanism_mutants,
        data_mutants,
        teacher_mutants,
        release_mutants,
        moment_mutants,
        pipeline_mutants,
        federation_mutants,
        prediction_mutants,
        service_mutants,
        leak_mutants,
    )
}
"""The mutants by the file that lists them."""

MUTANTS = tuple(mutant for mutants in LISTS.values() for mutant in mutants)
