"""Mutants of how private rows are read, named and put into shards and cells."""

from __future__ import annotations

from mutant import Mutant

MUTANTS = (
    Mutant(
        name="shard-by-row-number",
        breaks="The shard of a row is a hash of its number: one row more moves all behind it.",
        file="data/units/shards.py",
        old="remainders(ids, self.n_teachers)",
        new='remainders((b"%d" % i for i, _ in enumerate(ids)), self.n_teachers)',
        killers=("tests/data/test_shards.py::test_adding_a_unit_changes_exactly_one_shard_and_no_order",),
    ),
    Mutant(
        name="foreign-rows-handed-out",
        breaks="A teacher gets rows whose ids belong to another shard, without a word.",
        file="data/units/shards.py",
        old="if (self._shard_now(members) != k).any():",
        new="if k < 0:",
        killers=("tests/data/test_shards.py::test_a_foreign_row_is_refused_at_the_door",),
    ),
    Mutant(
        name="two-shards-unnoticed",
        breaks="Nobody notices that the rows of one unit are in two shards.",
        file="data/units/shards.py",
        old="if (same_unit & (np.diff(shard[order]) != 0)).any():",
        new="if len(order) < 0:",
        killers=("tests/data/test_shards.py::test_verify_agrees_with_a_plain_search",),
    ),
    Mutant(
        name="identity-by-place",
        breaks="The identity of a record holds its place in the table.",
        file="data/units/row_digests.py",
        old="blake2b(bytes(content[begin:end]) + tail, digest_size=16).digest()",
        new='blake2b(b"%d" % begin + bytes(content[begin:end]) + tail, digest_size=16).digest()',
        killers=("tests/data/test_rows.py::test_a_digest_depends_on_its_own_row_alone",),
    ),
    Mutant(
        name="image-as-wide-as-others",
        breaks="The identity of a record with an image depends on how large the images of others are.",
        file="data/units/row_digests.py",
        old="pixels(cells.filter(pa.array(alike)), length)",
        new="pixels(cells.filter(pa.array(alike)), words.shape[1])[:, :length]",
        killers=("tests/data/test_one_cell_alone.py::test_the_only_image_of_a_column_moves_nobody_else",),
    ),
    Mutant(
        name="one-per-unit-counts-all",
        breaks="Every record of a unit is counted, not one.",
        file="data/units/one_per_unit.py",
        old='return np.sort(order.to_numpy()[~_like_the_row_before(table["id"].take(order))]).astype(np.int64)',
        new="return np.sort(order.to_numpy()).astype(np.int64)",
        killers=(
            "tests/data/test_one_per_unit.py::test_one_row_of_each_unit_in_the_order_of_the_table_whatever_that_is",
        ),
    ),
    Mutant(
        name="repeated-unit-unnoticed",
        breaks="Nobody notices that a unit is counted twice.",
        file="data/units/one_per_unit.py",
        old="if kept.n_units != len(rows):",
        new="if kept.n_units > len(rows):",
        killers=("tests/data/test_one_per_unit.py::test_a_unit_with_two_rows_is_never_counted",),
    ),
    Mutant(
        name="record-picked-by-others",
        breaks="Which record of a unit counts depends on the order of the table.",
        file="data/units/one_per_unit.py",
        old='keys = [("id", "ascending"), ("lot", "ascending")]',
        new='keys = [("id", "ascending")]',
        killers=("tests/data/test_one_per_unit.py::test_a_lot_is_neither_first_nor_lowest_but_keyed",),
    ),
    Mutant(
        name="cell-depends-on-the-block",
        breaks="Coordinates are not whole numbers, so that sums and cells depend on the rows beside.",
        file="data/cells/space.py",
        old="return np.asarray(np.rint(steps, out=steps), np.float32)",
        new="return np.asarray(steps, np.float32)",
        killers=("tests/data/test_cells.py::test_every_kind_of_rows_and_cells",),
    ),
    Mutant(
        name="categories-from-private-rows",
        breaks="Categories are those of the private rows, not those of the schema.",
        file="data/reading/conform.py",
        old="    levels, index = pa.array(values, pa.string()),",
        new=(
            "    values = (*values, *sorted(set(written(cells).drop_null().to_pylist()) - {*values}))\n"
            "    levels, index = pa.array(values, pa.string()),"
        ),
        killers=("tests/data/test_conform.py::test_a_table_is_cast_to_the_declared_kinds",),
    ),
    Mutant(
        name="order-from-private-rows",
        breaks="Whether a date begins with its day or its month is judged on all private cells together.",
        file="data/reading/conform.py",
        old="            return moments(cells, declared.order)",
        new=(
            '            both = [moments(cells, one) for one in (declared.order, "day-first", "month-first")]\n'
            "            return min(both, key=lambda read: read.null_count)"
        ),
        killers=("tests/data/test_rest_group.py::test_private_dates_are_read_in_the_declared_order",),
    ),
    Mutant(
        name="rest-judged-together",
        breaks="A value outside the declared list belongs to the rest only if other private rows lack it.",
        file="data/reading/entries.py",
        old="    return pc.if_else(pc.and_(pc.is_null(found), pc.is_valid(spoken)), last, found)",
        new=(
            "    alone = pc.is_in(spoken, value_set=pc.unique(spoken)[:1])\n"
            "    return pc.if_else(pc.and_(pc.is_null(found), pc.and_(alone, pc.is_valid(spoken))), last, found)"
        ),
        killers=("tests/data/test_rest_group.py::test_one_cell_changes_no_other",),
    ),
    Mutant(
        name="error-quotes-a-cell",
        breaks="A cell that cannot be read is quoted in the error.",
        file="data/reading/entries.py",
        old=(
            "    except (pa.ArrowException, ValueError, TypeError):\n"
            "        raise illegible(name, kind, what) from None"
        ),
        new=(
            "    except (pa.ArrowException, ValueError, TypeError) as failure:\n"
            '        raise InvalidData(f"{illegible(name, kind, what)} {failure}") from None'
        ),
        killers=("tests/data/test_entries.py::test_errors_name_the_column_and_no_cell",),
    ),
    Mutant(
        name="encoder-fitted-on-pooled-rows",
        breaks="Numbers are centred by the mean of the rows they come with.",
        file="data/encoding/layout.py",
        old="blank.write(_standardised(values, self.numbers, unknown))",
        new="blank.write(_standardised(values - np.nan_to_num(values).mean(axis=0), self.numbers, unknown))",
        killers=("tests/data/test_encoder.py::test_every_kind_of_column",),
    ),
    Mutant(
        name="prediction-depends-on-its-neighbours",
        breaks="Private rows are predicted all at once, and rounding depends on how many there are.",
        file="data/tables/row_by_row.py",
        old="    content = [one for block in digests(rows, None) for one in block]\n",
        new=(
            "    if len(digests.__name__):\n"
            "        return np.asarray(predict(rows))\n"
            "    content = [one for block in digests(rows, None) for one in block]\n"
        ),
        killers=(
            "tests/data/test_predicted_row_by_row.py::test_a_record_more_changes_nothing_that_is_said_of_others",
        ),
    ),
    Mutant(
        name="private-table-shown",
        breaks="The repr of a private table shows its labels.",
        file="data/tables/table.py",
        old="@dataclass(frozen=True, slots=True, repr=False)\nclass PrivateTable(Silent):",
        new="@dataclass(frozen=True, slots=True)\nclass PrivateTable(Silent):",
        killers=("tests/data/test_table.py::test_a_private_table_is_silent_and_holds_no_second_copy",),
    ),
    Mutant(
        name="private-rows-shown",
        breaks="The repr of private rows shows them.",
        file="data/tables/private_rows.py",
        old="repr=False, eq=False)\nclass PrivateRows(Silent):",
        new="eq=False)\nclass PrivateRows(Silent):",
        killers=("tests/data/test_private_rows.py::test_they_are_silent_and_keep_what_they_hold",),
    ),
    Mutant(
        name="private-rows-taken-for-public",
        breaks="Private rows look like public ones, and encoders, cells and students are fitted on them.",
        file="data/tables/private_rows.py",
        old="    def open(self) -> Rows:\n",
        new=(
            "    def __getattr__(self, name: str) -> object:\n"
            "        return getattr(self._rows, name)\n\n"
            "    def open(self) -> Rows:\n"
        ),
        killers=("tests/data/test_private_rows.py::test_what_needs_public_rows_takes_no_private_ones",),
    ),
    Mutant(
        name="shard-key-shown",
        breaks="The repr of the shard key shows it.",
        file="data/units/shards.py",
        old='return "ShardKey(...)"',
        new='return f"ShardKey({self.secret.hex()})"',
        killers=("tests/data/test_shards.py::test_fresh_keys_differ_and_keep_silent",),
    ),
    Mutant(
        name="bags-overflow-unnoticed",
        breaks="Nobody notices that a unit is in more bags than was declared.",
        file="data/units/bags.py",
        old="if own.shape[1] != self.bags.most or (same_unit & (np.diff(own, axis=0) != 0).any(axis=1)).any():",
        new="if own.shape[1] != self.bags.most:",
        killers=("tests/data/test_bags.py::test_a_rule_that_splits_a_unit_is_refused",),
    ),
)
