-- What SQLite says in its own way.

-- name: lock_thread
select {thread_columns}
from thread where tenant = :tenant and id = :id

-- name: lock_run
select {run_columns}
from run where tenant = :tenant and thread = :thread and id = :id

-- name: add_feed
-- Whoever reads the feed feeds it: see feed_new.

-- name: blobs
select hash, data from blob
where tenant = :tenant and hash in (select unhex(value) from json_each(:hashes))

-- name: integrity
pragma integrity_check

-- name: memory_size
select page_count * page_size from pragma_page_count(), pragma_page_size()

-- name: share_blobs
select 1
