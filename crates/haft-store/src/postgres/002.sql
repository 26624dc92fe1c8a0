-- A pattern without a beginning is found by its parts of three letters, where the server has what that needs and the user may
-- have it. Elsewhere every path is looked at.
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX haft_paths_parts ON haft_paths USING gin (path gin_trgm_ops);
EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'haft: patterns are found slowly: %', SQLERRM;
END
$$;

-- The latest of a time, with what is asked for besides.
CREATE INDEX haft_calls_time ON haft_calls (at, no);
DROP INDEX haft_calls_at;
