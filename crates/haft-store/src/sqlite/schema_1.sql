-- A call is one row. Names of sessions and bodies of decisions come again and again: each is kept once.
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    workspace TEXT NOT NULL DEFAULT '',
    began INTEGER NOT NULL,
    last INTEGER NOT NULL,
    turns INTEGER NOT NULL DEFAULT 0,
    mode TEXT NOT NULL DEFAULT '',
    caller TEXT NOT NULL DEFAULT 'null'
);
CREATE INDEX sessions_last ON sessions (last);

CREATE TABLE turns (
    session INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    at INTEGER NOT NULL,
    ended INTEGER,
    PRIMARY KEY (session, turn)
) WITHOUT ROWID;

-- AUTOINCREMENT: a number is never given twice, so that whoever follows misses nothing.
CREATE TABLE calls (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    call TEXT NOT NULL,
    digest BLOB NOT NULL,
    nth INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    tool TEXT NOT NULL,
    description TEXT NOT NULL,
    verdict TEXT,
    class TEXT,
    state INTEGER NOT NULL,
    fault TEXT,
    at INTEGER NOT NULL,
    duration_us INTEGER,
    repeatable INTEGER NOT NULL,
    owner TEXT,
    decision INTEGER
);
CREATE UNIQUE INDEX calls_key ON calls (call, session, digest, nth);
-- By session alone: its rows then come in the order of their numbers, and nothing is sorted.
CREATE INDEX calls_session ON calls (session);
CREATE INDEX calls_tool ON calls (tool);
CREATE INDEX calls_verdict ON calls (verdict);
CREATE INDEX calls_state ON calls (state);
CREATE INDEX calls_at ON calls (at);

CREATE TABLE results (
    no INTEGER PRIMARY KEY,
    result TEXT NOT NULL
);

CREATE TABLE bodies (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    body TEXT NOT NULL
);

CREATE TABLE paths (
    path TEXT NOT NULL,
    no INTEGER NOT NULL,
    writes INTEGER NOT NULL,
    PRIMARY KEY (path, no)
) WITHOUT ROWID;
CREATE INDEX paths_no ON paths (no);

CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    no INTEGER,
    turn INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX events_no ON events (no);
CREATE INDEX events_session ON events (session, kind);

CREATE TABLE documents (
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL,
    body TEXT,
    PRIMARY KEY (space, key)
) WITHOUT ROWID;
