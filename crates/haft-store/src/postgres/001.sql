-- The processes that run calls. One that does not renew its line in time is gone.
CREATE TABLE haft_leases (
    lease text PRIMARY KEY,
    owner text NOT NULL,
    until timestamptz NOT NULL
);

CREATE TABLE haft_sessions (
    session text PRIMARY KEY,
    began bigint NOT NULL,
    last bigint NOT NULL,
    workspace text NOT NULL,
    mode text NOT NULL,
    caller text NOT NULL,
    turns bigint NOT NULL
);
CREATE INDEX haft_sessions_last ON haft_sessions (last);

CREATE TABLE haft_turns (
    session text NOT NULL,
    turn bigint NOT NULL,
    at bigint NOT NULL,
    ended bigint,
    PRIMARY KEY (session, turn)
);

-- `key` is a hash of session, call, digest and nth: ids come from models and may be longer than an index takes.
CREATE TABLE haft_calls (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key bytea NOT NULL UNIQUE,
    session text NOT NULL,
    call text NOT NULL,
    digest bytea NOT NULL,
    nth bigint NOT NULL,
    turn bigint NOT NULL,
    tool text NOT NULL,
    description text NOT NULL,
    verdict text,
    class text,
    state smallint NOT NULL,
    fault text,
    at bigint NOT NULL,
    duration_us bigint,
    repeatable boolean NOT NULL,
    owner text,
    lease text,
    claim uuid,
    result text
);
CREATE INDEX haft_calls_session ON haft_calls (session, no);
CREATE INDEX haft_calls_tool ON haft_calls (left(tool, 200), no);
CREATE INDEX haft_calls_call ON haft_calls (left(call, 200), no);
CREATE INDEX haft_calls_at ON haft_calls (at);
CREATE INDEX haft_calls_verdict ON haft_calls (verdict, no) WHERE verdict <> 'allow';
CREATE INDEX haft_calls_state ON haft_calls (state, no) WHERE state <> 1;

CREATE TABLE haft_paths (
    no bigint NOT NULL REFERENCES haft_calls ON DELETE CASCADE,
    place integer NOT NULL,
    path text COLLATE "C" NOT NULL,
    writes boolean NOT NULL
);
CREATE INDEX haft_paths_no ON haft_paths (no);
CREATE INDEX haft_paths_path ON haft_paths (left(path, 500) COLLATE "C", no);

-- `id` is made by whoever writes, so that one who writes again after a broken line adds nothing.
CREATE TABLE haft_events (
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    session text NOT NULL,
    key bytea,
    call text,
    digest bytea,
    nth bigint,
    turn bigint NOT NULL,
    at bigint NOT NULL,
    kind text NOT NULL,
    body text NOT NULL
);
CREATE INDEX haft_events_session ON haft_events (session, no);
CREATE INDEX haft_events_key ON haft_events (key, no) WHERE key IS NOT NULL;

CREATE TABLE haft_documents (
    space text NOT NULL,
    key text NOT NULL,
    version bigint NOT NULL,
    writer uuid NOT NULL,
    changed bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (space, key)
);
