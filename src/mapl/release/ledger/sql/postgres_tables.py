"""The tables of a ledger in PostgreSQL, and the rules that the database itself enforces, whoever writes to it.

The same rules as in a ledger file: entries follow one another, counters add up, limits are kept and never raised,
nothing is changed or removed.
"""

from __future__ import annotations

_TABLES = """
CREATE TABLE entries (
  number BIGINT PRIMARY KEY,
  kind TEXT NOT NULL,
  stage TEXT NOT NULL,
  answered BIGINT NOT NULL CHECK (answered >= 0),
  abstained BIGINT NOT NULL CHECK (abstained >= 0),
  all_answered BIGINT NOT NULL,
  all_abstained BIGINT NOT NULL,
  most_answered BIGINT NOT NULL,
  most_abstained BIGINT NOT NULL,
  payload TEXT NOT NULL CHECK (payload::jsonb IS NOT NULL),
  answers TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL,
  CHECK (all_answered <= most_answered),
  CHECK (all_abstained <= most_abstained)
);
CREATE INDEX entries_of_stage ON entries (stage, number);
CREATE TABLE answers (
  number BIGINT PRIMARY KEY REFERENCES entries,
  width INTEGER NOT NULL,
  labels BYTEA NOT NULL,
  fallback BYTEA
);
CREATE TABLE secrets (
  number BIGINT PRIMARY KEY REFERENCES entries,
  value BIGINT,
  seal TEXT NOT NULL
);
CREATE TABLE questions (
  digest BYTEA PRIMARY KEY CHECK (length(digest) = 32),
  number BIGINT NOT NULL,
  place BIGINT NOT NULL CHECK (place >= 0)
);
CREATE TABLE inquiries (
  id TEXT PRIMARY KEY,
  caller TEXT NOT NULL,
  body BYTEA NOT NULL CHECK (length(body) = 32),
  questions BYTEA NOT NULL CHECK (length(questions) % 32 = 0)
);
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  scopes TEXT NOT NULL,
  digest BYTEA NOT NULL,
  most BIGINT CHECK (most >= 0),
  taken BIGINT NOT NULL,
  revoked INTEGER NOT NULL,
  CHECK (taken <= most)
);
CREATE TABLE home (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  version INTEGER NOT NULL,
  place TEXT NOT NULL,
  locked INTEGER NOT NULL,
  beat BIGINT NOT NULL
);
"""

_RULES = """
CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS $rule$
BEGIN
  RAISE EXCEPTION 'a ledger is append-only' USING ERRCODE = 'check_violation';
END $rule$;

CREATE FUNCTION entries_follow() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $rule$
DECLARE
  newest entries%ROWTYPE;
  mine entries%ROWTYPE;
  allowed JSONB;
BEGIN
  SELECT * INTO newest FROM entries ORDER BY number DESC LIMIT 1;
  IF NEW.number IS DISTINCT FROM coalesce(newest.number + 1, 0)
     OR (NEW.number > 0 AND NEW.previous IS DISTINCT FROM newest.hash) THEN
    RAISE EXCEPTION 'an entry is out of order' USING ERRCODE = 'check_violation';
  END IF;
  SELECT * INTO mine FROM entries WHERE stage = NEW.stage ORDER BY number DESC LIMIT 1;
  IF NEW.all_answered <> NEW.answered + coalesce(mine.all_answered, 0)
     OR NEW.all_abstained <> NEW.abstained + coalesce(mine.all_abstained, 0) THEN
    RAISE EXCEPTION 'counters do not add up' USING ERRCODE = 'check_violation';
  END IF;
  IF NEW.number > 0 THEN
    SELECT payload::jsonb -> 'limits' -> NEW.stage INTO allowed FROM entries WHERE number = 0;
    IF allowed IS NULL
       OR NEW.most_answered > (allowed ->> 0)::bigint OR NEW.most_abstained > (allowed ->> 1)::bigint
       OR NEW.most_answered > mine.most_answered OR NEW.most_abstained > mine.most_abstained THEN
      RAISE EXCEPTION 'a limit was raised' USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  RETURN NEW;
END $rule$;
CREATE TRIGGER entries_follow BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION entries_follow();

CREATE FUNCTION with_the_newest() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $rule$
BEGIN
  IF EXISTS (SELECT 1 FROM added WHERE number IS DISTINCT FROM (SELECT max(number) FROM entries)) THEN
    RAISE EXCEPTION 'a ledger is append-only' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END $rule$;

CREATE FUNCTION keys_change() RETURNS trigger LANGUAGE plpgsql AS $rule$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.taken <> 0 THEN
      RAISE EXCEPTION 'a new key has taken nothing' USING ERRCODE = 'check_violation';
    END IF;
  ELSIF NEW.taken < OLD.taken OR NEW.revoked < OLD.revoked
     OR (NEW.id, NEW.name, NEW.scopes, NEW.digest, NEW.most)
        IS DISTINCT FROM (OLD.id, OLD.name, OLD.scopes, OLD.digest, OLD.most) THEN
    RAISE EXCEPTION 'of a key only the count and the revocation change, and never back'
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $rule$;
CREATE TRIGGER keys_change BEFORE INSERT OR UPDATE ON keys FOR EACH ROW EXECUTE FUNCTION keys_change();
CREATE TRIGGER keys_remain BEFORE DELETE OR TRUNCATE ON keys EXECUTE FUNCTION append_only();
CREATE TRIGGER home_remains BEFORE DELETE OR TRUNCATE ON home EXECUTE FUNCTION append_only();
"""

_GUARD = """
CREATE TRIGGER {table}_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} EXECUTE FUNCTION append_only();
"""

_BESIDE = """
CREATE TRIGGER {table}_once AFTER INSERT ON {table} REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION with_the_newest();
"""

_FOLLOW_WITH_KEYS = _RULES[_RULES.index("CREATE FUNCTION entries_follow") : _RULES.index("CREATE TRIGGER entries_")]
_FOLLOW_WITH_KEYS = _FOLLOW_WITH_KEYS.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION").replace(
    "  IF NEW.number > 0 THEN\n",
    "  IF NEW.kind = 'keys' THEN\n    IF NEW.stage <> '' OR NEW.most_answered <> 0 OR NEW.most_abstained <> 0 "
    "THEN\n      RAISE EXCEPTION 'a limit was raised' USING ERRCODE = 'check_violation';\n    END IF;\n  ELSIF "
    "NEW.number > 0 THEN\n",
)
"""A change of keys is of no stage and may count nothing."""

_LOGGED = """
ALTER TABLE keys ADD COLUMN expires BIGINT;
ALTER TABLE inquiries ADD COLUMN place BIGINT;
CREATE UNIQUE INDEX inquiries_in_order ON inquiries (place);
ALTER TABLE home ADD COLUMN stored BIGINT NOT NULL DEFAULT 0;
ALTER TABLE home ADD COLUMN sealed TEXT NOT NULL DEFAULT '';
CREATE TABLE details (
  number BIGINT PRIMARY KEY REFERENCES entries,
  content TEXT NOT NULL
);
CREATE OR REPLACE FUNCTION keys_change() RETURNS trigger LANGUAGE plpgsql AS $rule$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.taken <> 0 THEN
      RAISE EXCEPTION 'a new key has taken nothing' USING ERRCODE = 'check_violation';
    END IF;
  ELSIF NEW.taken < OLD.taken OR NEW.revoked < OLD.revoked
     OR (NEW.id, NEW.name, NEW.scopes, NEW.digest, NEW.most)
        IS DISTINCT FROM (OLD.id, OLD.name, OLD.scopes, OLD.digest, OLD.most)
     OR (NEW.expires IS DISTINCT FROM OLD.expires AND (NEW.expires IS NULL OR NEW.expires > OLD.expires)) THEN
    RAISE EXCEPTION 'of a key only the count and its end change, and never back'
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $rule$;
"""
"""What version 2 brought: keys that end, their log, and requests in an order that is sealed."""

VERSION_1 = "".join(
    [
        _TABLES,
        _RULES,
        *(_GUARD.format(table=table) for table in ("entries", "answers", "secrets", "questions", "inquiries")),
        *(_BESIDE.format(table=table) for table in ("answers", "secrets", "questions")),
    ]
)
VERSION_2 = "".join([_FOLLOW_WITH_KEYS, _LOGGED, _GUARD.format(table="details"), _BESIDE.format(table="details")])

STEPS = (VERSION_1, VERSION_2)
"""What leads from each version to the next; a new schema takes every step."""
