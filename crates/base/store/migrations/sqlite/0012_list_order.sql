-- Lists by state are read from an index as far as the page is, and not sorted.
DROP INDEX runs_in_order;
-- A job's nodes by state and name; in any other order, and how many are in each state, without
-- reading their results.
CREATE INDEX runs_by_state ON runs (job, state, certname, started_ms, finished_ms);
CREATE INDEX jobs_by_state ON jobs (state, number) WHERE pruned = 0;
