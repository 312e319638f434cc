-- Statements that differ on PostgreSQL.

-- name: lock_thread
select {thread_columns}
from thread where tenant = :tenant and id = :id for update

-- name: lock_run
select {run_columns}
from run where tenant = :tenant and thread = :thread and id = :id for update

-- name: lock_name
select pg_advisory_xact_lock(hashtextextended(:name, :tenant))

-- name: blobs
select hash, data from blob
where tenant = :tenant and hash = any (select decode(value, 'hex') from json_array_elements_text(:hashes::json))

-- name: database_size
select pg_database_size(current_database())

-- name: append_one
-- One round trip: the head moves only if it has not moved since it was read, and the message goes after it.
with moved as (
  update thread set head_depth = :depth, head_hash = :hash, head_said = :said, messages = messages + 1,
    usage = :usage, updated_at = :now, version = version + 1
  where tenant = :tenant and thread = :thread and version = :version and head_hash = :before
    and forgotten_at is null
  returning version
), said as (
  insert into message (tenant, thread, seg, depth, id, role, agent, created_at, hash, said, body)
  select :tenant, :thread, :seg, :depth, :id, :role, :agent, :created_at, :hash, :said, :body from moved
  returning 1
), fed as (
  insert into feed (tenant, thread, seg, low, high)
  select :tenant, :thread, :seg, :depth - 1, :depth from moved
)
select version from moved

-- name: share_blobs
-- A transaction that removes unused blobs waits for those that start to use them.
select pg_advisory_xact_lock_shared(1214344819, :tenant)
