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
"""

_FOLLOW = """
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
    OR NEW.most_answered > (
      SELECT most_answered FROM entries WHERE stage = NEW.stage ORDER BY number DESC LIMIT 1)
    OR NEW.most_abstained > (
      SELECT most_abstained FROM entries WHERE stage = NEW.stage ORDER BY number DESC LIMIT 1));
END;
"""

_FOLLOW_WITH_KEYS = _FOLLOW.replace(
    "  WHERE NEW.number > 0 AND (\n",
    "  WHERE NEW.kind = 'keys' AND (NEW.stage <> '' OR NEW.most_answered <> 0 OR NEW.most_abstained <> 0)\n"
    "     OR NEW.kind <> 'keys' AND NEW.number > 0 AND (\n",
)
"""A change of keys is of no stage and may count nothing."""

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

_ONLINE = """
CREATE TABLE questions (
  digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
  number INTEGER NOT NULL REFERENCES entries,
  place INTEGER NOT NULL CHECK (place >= 0)
) STRICT, WITHOUT ROWID;
CREATE TABLE inquiries (
  id TEXT PRIMARY KEY,
  caller TEXT NOT NULL,
  body BLOB NOT NULL CHECK (length(body) = 32),
  questions BLOB NOT NULL CHECK (length(questions) % 32 = 0)
) STRICT, WITHOUT ROWID;
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  digest BLOB NOT NULL,
  most INTEGER CHECK (most >= 0),
  taken INTEGER NOT NULL,
  revoked INTEGER NOT NULL,
  CHECK (taken <= most)
) STRICT, WITHOUT ROWID;
CREATE TABLE home (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  place TEXT NOT NULL,
  locked INTEGER NOT NULL,
  beat INTEGER NOT NULL
) STRICT;

CREATE TRIGGER questions_once BEFORE INSERT ON questions BEGIN
  SELECT RAISE(ABORT, 'a ledger is append-only')
  WHERE EXISTS (SELECT 1 FROM questions WHERE digest = NEW.digest)
     OR NEW.number IS NOT (SELECT max(number) FROM entries);
END;
CREATE TRIGGER inquiries_once BEFORE INSERT ON inquiries BEGIN
  SELECT RAISE(ABORT, 'a ledger is append-only') WHERE EXISTS (SELECT 1 FROM inquiries WHERE id = NEW.id);
END;
CREATE TRIGGER keys_once BEFORE INSERT ON keys BEGIN
  SELECT RAISE(ABORT, 'a ledger is append-only')
  WHERE NEW.taken <> 0 OR EXISTS (SELECT 1 FROM keys WHERE id = NEW.id);
END;
CREATE TRIGGER keys_stay BEFORE UPDATE ON keys BEGIN
  SELECT RAISE(ABORT, 'of a key only the count and the revocation change, and never back')
  WHERE NEW.taken < OLD.taken OR NEW.revoked < OLD.revoked
     OR (NEW.id, NEW.name, NEW.scopes, NEW.digest, NEW.most)
        IS NOT (OLD.id, OLD.name, OLD.scopes, OLD.digest, OLD.most);
END;
CREATE TRIGGER keys_remain BEFORE DELETE ON keys BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
"""
"""What version 2 brought: questions that come one by one, who asks them, and where the file is at home."""

_LOGGED = """
ALTER TABLE keys ADD COLUMN expires INTEGER;
ALTER TABLE inquiries ADD COLUMN place INTEGER;
CREATE UNIQUE INDEX inquiries_in_order ON inquiries (place);
ALTER TABLE home ADD COLUMN stored INTEGER NOT NULL DEFAULT 0;
ALTER TABLE home ADD COLUMN sealed TEXT NOT NULL DEFAULT '';
CREATE TABLE details (
  number INTEGER PRIMARY KEY REFERENCES entries,
  content TEXT NOT NULL
) STRICT;
CREATE TRIGGER keys_stay BEFORE UPDATE ON keys BEGIN
  SELECT RAISE(ABORT, 'of a key only the count and its end change, and never back')
  WHERE NEW.taken < OLD.taken OR NEW.revoked < OLD.revoked
     OR (NEW.id, NEW.name, NEW.scopes, NEW.digest, NEW.most)
        IS NOT (OLD.id, OLD.name, OLD.scopes, OLD.digest, OLD.most)
     OR (NEW.expires IS NOT OLD.expires AND (NEW.expires IS NULL OR NEW.expires > OLD.expires));
END;
"""
"""What version 3 brought: keys that end, their log, and requests in an order that is sealed."""

VERSION_1 = "".join(
    [
        _TABLES,
        _FOLLOW,
        *(_BESIDE.format(table=table) for table in ("answers", "secrets")),
        *(_GUARDS.format(table=table) for table in ("entries", "answers", "secrets")),
    ]
)
VERSION_2 = "".join(
    [
        "DROP TRIGGER entries_follow;",  # version 1 looked at every entry of a stage to add one
        _FOLLOW,
        _ONLINE,
        *(_GUARDS.format(table=table) for table in ("questions", "inquiries")),
    ]
)

VERSION_3 = "".join(
    [
        "DROP TRIGGER entries_follow; DROP TRIGGER keys_stay;",
        _FOLLOW_WITH_KEYS,
        _LOGGED,
        _BESIDE.format(table="details"),
        _GUARDS.format(table="details"),
    ]
)

STEPS = (VERSION_1, VERSION_2, VERSION_3)
"""What leads from each version to the next; a new file takes every step."""
