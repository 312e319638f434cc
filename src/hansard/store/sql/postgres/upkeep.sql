-- Upkeep, in PostgreSQL's own way.

-- name: own_blobs
-- Nobody is about to use a blob while this is held: see share_blobs.
select pg_advisory_xact_lock(1214344819, :tenant)

-- name: unindex_from
delete from search where tenant = :tenant and thread = :thread and seg = :seg and depth >= :low

-- name: unindex_thread
delete from search where tenant = :tenant and thread = :thread

-- name: tidy_search
select 1
