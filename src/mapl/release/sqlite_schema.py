"""The tables of a ledger file, and the rules that the database itself enforces, whoever writes to it.

Entries follow one another, counters add up, limits are kept and never raised, nothing is changed or removed.
"""

from __future__ import annotations

_TABLES = """
CREATE TABLE entries (
  number INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  stage TEXT NOT NULL,
  answered INTEGER NOT NULL CHECK (answered >= 0),
  abstained INTEGER NOT NULL CHECK (abstained >= 0),
  all_answered INTEGER NOT NULL,
  all_abstained INTEGER NOT NULL,
  most_answered INTEGER NOT NULL,
  most_abstained INTEGER NOT NULL,
  payload TEXT NOT NULL CHECK (json_valid(payload)),
  answers TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL,
  CHECK (all_answered <= most_answered),
  CHECK (all_abstained <= most_abstained)
) STRICT;
CREATE INDEX entries_of_stage ON entries (stage, number);
CREATE TABLE answers (
  number INTEGER PRIMARY KEY REFERENCES entries,
  width INTEGER NOT NULL,
  labels BLOB NOT NULL,
  fallback BLOB
) STRICT;
CREATE TABLE secrets (
  number INTEGER PRIMARY KEY REFERENCES entries,
  value INTEGER,
  seal TEXT NOT NULL
) STRICT;

CREATE TRIGGER entries_follow BEFORE INSERT ON entries BEGIN
  SELECT RAISE(ABORT, 'an entry is out of order')
  WHERE NEW.number IS NOT (SELECT coalesce(max(number) + 1, 0) FROM entries)
     OR (NEW.number > 0 AND NEW.previous IS NOT (SELECT hash FROM entries ORDER BY number DESC LIMIT 1));
  SELECT RAISE(ABORT, 'counters do not add up')
  WHERE NEW.all_answered IS NOT NEW.answered + coalesce(
          (SELECT all_answered FROM entries WHERE stage = NEW.stage ORDER BY number DESC LIMIT 1), 0)
     OR NEW.all_abstained IS NOT NEW.abstained + coalesce(
          (SELECT all_abstained FROM entries WHERE stage = NEW.stage ORDER BY number DESC LIMIT 1), 0);
  SELECT RAISE(ABORT, 'a limit was raised')
  WHERE NEW.number > 0 AND (
    NOT EXISTS (
      SELECT 1 FROM entries AS plan, json_each(plan.payload, '$.limits') AS allowed
      WHERE plan.number = 0 AND allowed.key = NEW.stage
        AND NEW.most_answered <= allowed.value ->> 0 AND NEW.most_abstained <= allowed.value ->> 1)
    OR NEW.most_answered > (SELECT min(most_answered) FROM entries WHERE stage = NEW.stage)
    OR NEW.most_abstained > (SELECT min(most_abstained) FROM entries WHERE stage = NEW.stage));
END;
"""

_GUARDS = """
CREATE TRIGGER {table}_stay BEFORE UPDATE ON {table} BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER {table}_remain BEFORE DELETE ON {table} BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
"""

_BESIDE = """
CREATE TRIGGER {table}_once BEFORE INSERT ON {table} BEGIN
  SELECT RAISE(ABORT, 'a ledger is append-only')
  WHERE EXISTS (SELECT 1 FROM {table} WHERE number = NEW.number)
     OR NEW.number IS NOT (SELECT max(number) FROM entries);
END;
"""
"""INSERT OR REPLACE deletes without asking a DELETE trigger, so what hangs on an entry is inserted only once."""

CREATE = "".join(
    [
        _TABLES,
        *(_BESIDE.format(table=table) for table in ("answers", "secrets")),
        *(_GUARDS.format(table=table) for table in ("entries", "answers", "secrets")),
    ]
)
