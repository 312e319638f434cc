-- Statements of maintenance: finding threads by id or title, deleting, verifying, counting, copying.

-- name: threads_named
select {thread_columns}
from thread
where tenant = :tenant and forgotten_at is null and (substr(id, 1, length(:text)) = :text or title = :text)
order by updated_at desc, thread desc limit :limit

-- name: outline_below
select seg, depth, run from message where tenant = :tenant and thread = :thread and depth > :low

-- name: cut_bodies
select body from message where tenant = :tenant and thread = :thread and substr(body, 1, 1) = :mark

-- name: cut_bodies_from
select body from message
where tenant = :tenant and thread = :thread and seg = :seg and depth >= :low and substr(body, 1, 1) = :mark

-- name: delete_messages_from
delete from message where tenant = :tenant and thread = :thread and seg = :seg and depth >= :low

-- name: delete_feed_from
delete from feed where tenant = :tenant and thread = :thread and seg = :seg and low >= :low - 1

-- name: delete_segment
delete from segment where tenant = :tenant and thread = :thread and seg = :seg

-- name: delete_chunks
delete from run_chunk where tenant = :tenant and thread = :thread and run = :run

-- name: place_run
update run set fork_seg = :fork_seg, fork_depth = :fork_depth, base_seg = :base_seg, base_depth = :base_depth
where tenant = :tenant and thread = :thread and run = :run

-- name: drop_use
delete from blob_use where tenant = :tenant and hash = :hash and thread = :thread

-- name: delete_unused_blob
delete from blob
where tenant = :tenant and hash = :hash
  and not exists (select 1 from blob_use u where u.tenant = :tenant and u.hash = blob.hash)
  and not exists (select 1 from workspace_use w where w.tenant = :tenant and w.hash = blob.hash)

-- name: delete_unused_blobs
delete from blob
where tenant = :tenant and not exists (select 1 from blob_use u where u.tenant = :tenant and u.hash = blob.hash)
  and not exists (select 1 from workspace_use w where w.tenant = :tenant and w.hash = blob.hash)

-- name: prunable_threads
select t.id from thread t
where t.tenant = :tenant and t.forgotten_at is null and (
  exists (
    select 1 from run r
    where r.tenant = :tenant and r.thread = t.thread and r.status in ('superseded', 'aborted', 'failed', 'interrupted')
  )
  or exists (select 1 from run_chunk c where c.tenant = :tenant and c.thread = t.thread)
)
order by t.thread

-- name: uses
select hash from blob_use where tenant = :tenant and thread = :thread order by hash

-- name: forget_uses
delete from blob_use where tenant = :tenant and thread = :thread

-- name: forget_messages
delete from message where tenant = :tenant and thread = :thread

-- name: forget_feed
delete from feed where tenant = :tenant and thread = :thread

-- name: forget_facts
delete from thread_fact where tenant = :tenant and thread = :thread

-- name: feed_thread
insert into feed (tenant, thread, seg, low, high)
select tenant, thread, seg, min(depth) - 1, max(depth) from message
where tenant = :tenant and thread = :thread group by tenant, thread, seg

-- name: forget_runs
delete from run where tenant = :tenant and thread = :thread

-- name: forget_all_chunks
delete from run_chunk where tenant = :tenant and thread = :thread

-- name: forget_snapshots
delete from snapshot where tenant = :tenant and thread = :thread

-- name: forget_segments
delete from segment where tenant = :tenant and thread = :thread

-- name: bury_thread
update thread set title = null, resource = null, parent_thread = null, usage = null, body = :body,
  version = version + 1, forgotten_at = :now
where tenant = :tenant and thread = :thread

-- name: run_speaks
select 1 from message where tenant = :tenant and thread = :thread and run = :run limit 1

-- name: count_messages
select count(*) from message where tenant = :tenant

-- name: count_messages_of
select count(*) from message where tenant = :tenant and thread = :thread

-- name: thread_numbers
select thread from thread where tenant = :tenant and thread > :after order by thread limit :limit

-- name: verify_range
select n, depth, id, run, role, agent, created_at, hash, said, body from message
where tenant = :tenant and thread = :thread and seg = :seg and depth > :low order by depth limit :limit

-- name: any_messages
select 1 from message where tenant = :tenant and thread = :thread limit 1

-- name: any_runs
select 1 from run where tenant = :tenant and thread = :thread limit 1

-- name: any_snapshots
select 1 from snapshot where tenant = :tenant and thread = :thread limit 1

-- name: blobs_after
select hash, size, data from blob where tenant = :tenant and hash > :after order by hash limit :limit

-- name: stray_messages
select m.n, m.id from message m
where m.tenant = :tenant and (
  not exists (select 1 from thread t where t.tenant = :tenant and t.thread = m.thread)
  or (m.seg <> 0 and not exists (
    select 1 from segment s where s.tenant = :tenant and s.thread = m.thread and s.seg = m.seg
  ))
)
order by m.n limit :limit

-- name: missing_blobs
select u.hash from blob_use u
where u.tenant = :tenant and not exists (select 1 from blob b where b.tenant = :tenant and b.hash = u.hash)
order by u.hash limit :limit

-- name: thread_sums
select thread, messages, usage, forgotten_at from thread
where tenant = :tenant and thread > :after order by thread limit :limit

-- name: sums
select (select count(*) from run where tenant = :tenant), (select count(*) from blob where tenant = :tenant),
  (select coalesce(sum(length(data)), 0) from blob where tenant = :tenant)

-- name: body_sizes
-- The first bytes contain the length of a body; bodies with blobs are needed completely.
select substr(body, 1, 20), length(body), case when substr(body, 1, 1) = :mark then body end from message
where tenant = :tenant and thread between :first and :last

-- name: blob_size
select size from blob where tenant = :tenant and hash = :hash

-- name: copy_thread
select {thread_columns} from thread where tenant = :tenant and thread = :thread

-- name: copy_segment
select seg, parent_seg, fork_depth, thread from segment where tenant = :tenant and thread = :thread

-- name: copy_run
select {run_columns}, thread from run where tenant = :tenant and thread = :thread

-- name: copy_message
select n, thread, seg, depth, id, run, role, agent, created_at, hash, said, body from message
where tenant = :tenant and thread = :thread and (seg, depth) > (:seg, :depth) order by seg, depth limit :limit

-- name: copy_blob_use
select hash, thread from blob_use where tenant = :tenant and thread = :thread

-- name: copy_run_chunk
select thread, run, seq, count, data from run_chunk where tenant = :tenant and thread = :thread

-- name: copy_snapshot
select thread, n, message, body from snapshot where tenant = :tenant and thread = :thread

-- name: copy_source
select source, thread, uri, format, main, size, mtime, hash, version, replaced, body from source
where tenant = :tenant and thread = :thread

-- name: copy_source_chunk
select source, at, size, data from source_chunk
where tenant = :tenant and source in (select s.source from source s where s.tenant = :tenant and s.thread = :thread)
  and (source, at) > (:source, :at)
order by source, at limit :limit

-- name: sources_after
select s.source, s.uri, s.size, s.hash, s.body, t.id from source s
left join thread t on t.tenant = s.tenant and t.thread = s.thread
where s.tenant = :tenant and s.source > :after order by s.source limit :limit
