-- Filters of a million calls. What is looked at besides is in each index, so that a call that does not fit is not opened;
-- `no` comes right after what is asked for, so that nothing is sorted. What nearly all calls are is in no index.
DROP INDEX calls_session;
DROP INDEX calls_tool;
DROP INDEX calls_verdict;
DROP INDEX calls_state;
DROP INDEX calls_at;
CREATE INDEX calls_session ON calls (session, no, turn, tool, verdict);
CREATE INDEX calls_tool ON calls (tool, no, verdict);
CREATE INDEX calls_verdict ON calls (verdict, no, session, tool) WHERE verdict <> 'allow';
CREATE INDEX calls_state ON calls (state, no, session, tool, verdict) WHERE state <> 1;

-- When the calls of each thousand began. Clocks jump and numbers do not: a time says in which of them to look.
CREATE TABLE spans (
    block INTEGER PRIMARY KEY,
    earliest INTEGER NOT NULL,
    latest INTEGER NOT NULL
);
INSERT INTO spans SELECT no >> 10, min(at), max(at) FROM calls GROUP BY no >> 10;

-- Paths come again and again, and their parts even more so: a pattern is held against each part once.
CREATE TABLE directories (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE
);
CREATE TABLE names (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);
CREATE TABLE touched (
    no INTEGER NOT NULL,
    directory INTEGER NOT NULL,
    name INTEGER NOT NULL,
    writes INTEGER NOT NULL,
    PRIMARY KEY (no, directory, name)
) WITHOUT ROWID;

-- All up to the last slash, and what is behind it.
INSERT INTO directories (path) SELECT DISTINCT rtrim(path, replace(path, '/', '')) FROM paths;
INSERT INTO names (name) SELECT DISTINCT substr(path, length(rtrim(path, replace(path, '/', ''))) + 1) FROM paths;
INSERT INTO touched
SELECT paths.no, directories.id, names.id, paths.writes
FROM paths
    JOIN directories ON directories.path = rtrim(paths.path, replace(paths.path, '/', ''))
    JOIN names ON names.name = substr(paths.path, length(directories.path) + 1);
CREATE INDEX touched_directory ON touched (directory);
CREATE INDEX touched_name ON touched (name);
DROP TABLE paths;
