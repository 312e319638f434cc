-- Statements that differ on SQLite.

-- name: lock_thread
select {thread_columns}
from thread where tenant = :tenant and id = :id

-- name: lock_run
select {run_columns}
from run where tenant = :tenant and thread = :thread and id = :id

-- name: add_feed
-- The reader of the feed fills it: see feed_new.

-- name: append_one
-- Inserts only if the head has not moved since it was read; `move_head` follows.
insert into message (tenant, thread, seg, depth, id, role, agent, created_at, hash, said, body)
select :tenant, :thread, :seg, :depth, :id, :role, :agent, :created_at, :hash, :said, :body
from thread where tenant = :tenant and thread = :thread and version = :version and head_hash = :before
  and forgotten_at is null
on conflict do nothing

-- name: head_moves
head_depth = :depth, head_hash = :hash, head_said = :said, messages = messages + 1, usage = :usage,
  version = version + 1

-- name: move_head
update thread set {head_moves}, updated_at = :now where tenant = :tenant and thread = :thread

-- name: move_head_now
update thread set {head_moves} where tenant = :tenant and thread = :thread

-- name: lock_name
select :name  -- there is one writer

-- name: blobs
select hash, data from blob
where tenant = :tenant and hash in (select unhex(value) from json_each(:hashes))

-- name: integrity
pragma integrity_check

-- name: memory_size
select page_count * page_size from pragma_page_count(), pragma_page_size()

-- name: share_blobs
select 1
