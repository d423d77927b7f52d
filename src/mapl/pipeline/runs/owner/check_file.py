"""What a run leaves behind for the owner of its table alone, and what it says to everybody instead.

Rows without a declared class are left out without a word, since a word would tell of them. So a wrong declaration
shows in a file of the private half, and a hint that hangs on declarations alone stands before the run.
"""

from __future__ import annotations

import json
from dataclasses import asdict

import pyarrow as pa

from mapl.data.sources.source import Address, source_of
from mapl.data.tables.classes import Classes
from mapl.parameters import spell
from mapl.pipeline.case import Case, Declared
from mapl.pipeline.runs.folder import RunFolder
from mapl.pipeline.runs.owner.look import OwnerCheck, OwnerLook
from mapl.pipeline.runs.private_input import table_as_declared

WORDS_FOR_0_AND_1 = frozenset(
    ("no", "yes", "n", "y", "negative", "positive", "neg", "pos", "absent", "present", "bad", "good", "low", "high")
)

PRIVATE = "PRIVATE: for whoever may see the table; nothing here is protected."


def owner_check(address: Address, given: Declared) -> OwnerCheck:
    """Look at a private table by the declarations of a run. Nothing is released, and nothing is spent."""
    look, ids = OwnerLook(), []
    for block in source_of(address).blocks(given.schema, look.begin(given)):
        read = table_as_declared(block, given, with_unowned=True)
        used = look.add(block, read)
        ids += [] if read.unit_ids is None else [read.unit_ids.filter(pa.array(used))]
    if ids:
        look.end(pa.concat_arrays(ids))
    return look.found()


def write_owner_check(folder: RunFolder, private: Address, given: Declared, look: OwnerLook | None = None) -> None:
    """Write into the private half how the table was read. Whatever fails is told there and nowhere else.

    Parameters
    ----------
    look
        What went along while the run read the table; without one it is read again.
    """
    try:
        seen = None if look is None or not look.was_there else look.found()
        found = asdict(owner_check(private, given) if seen is None else seen)
    except Exception as failure:  # the budget is spent: a look at private rows must not end a run, nor speak of it
        found = {"failed": type(failure).__name__, "advice": "Look at the table with mapl check."}
    folder.owner_check.unlink(missing_ok=True)  # of a run that was killed here
    folder.owner_check.touch(mode=0o600)
    said = json.dumps({"private": PRIVATE, **found}, indent=2, ensure_ascii=False)
    folder.owner_check.write_text(said + "\n", encoding="utf-8")


def hint_of_names(case: Case) -> str | None:
    """Return the hint for a run, unless public labels show how classes are called in these tables."""
    known = case.public.truth is not None or case.declared.number_range is not None
    return None if known else hint_of_words(case.declared.classes)


def hint_of_words(classes: Classes) -> str | None:
    """Say how labels are matched where both classes are words for 0 and 1, which tables often have instead.

    Other names are rarely made up: whoever declares them has read them in a table.
    """
    spoken = {name.lower() for name in classes.names}
    if classes.values or len(classes) != 2 or not spoken <= WORDS_FOR_0_AND_1:
        return None
    return (
        "labels are matched by name, letter for letter, and rows with others, such as 0 and 1, are left out "
        f"without a word; say what they mean with {spell('label_values', '0=CLASS,1=CLASS')}, or look first with "
        "mapl check."
    )
