-- Statements by name, common to both databases. Every statement gets `:tenant`; `{x}` inserts the text named x.

-- name: thread_columns
thread, id, title, resource, parent_thread, head_seg, head_depth, head_hash, head_said, next_seg, next_run,
       version, messages, created_at, updated_at, usage, body, forgotten_at

-- name: run_columns
run, id, status, agent, fork_seg, fork_depth, base_seg, base_depth, seg, depth, tip_hash, tip_said, staged, pending,
  chunks, folded, fence, lease_until, superseded_by, body

-- name: add_tenant
insert into tenant (name) values (:name) on conflict do nothing

-- name: add_thread
insert into thread (tenant, id, title, resource, parent_thread, created_at, updated_at, body)
values (:tenant, :id, :title, :resource, :parent_thread, :now, :now, :body)
on conflict do nothing

-- name: thread
select {thread_columns}
from thread where tenant = :tenant and id = :id

-- name: thread_by_number
select {thread_columns}
from thread where tenant = :tenant and thread = :thread

-- name: threads_of_parent
select id from thread where tenant = :tenant and forgotten_at is null and parent_thread = :parent order by thread

-- name: threads_newest
select {thread_columns}
from thread
where tenant = :tenant and forgotten_at is null and (updated_at, thread) < (:updated_at, :thread)
order by updated_at desc, thread desc limit :limit

-- name: threads_oldest
select {thread_columns}
from thread
where tenant = :tenant and forgotten_at is null and (updated_at, thread) > (:updated_at, :thread)
order by updated_at, thread limit :limit

-- name: threads_newest_of
select {thread_columns}
from thread
where tenant = :tenant and forgotten_at is null and resource = :resource
  and (updated_at, thread) < (:updated_at, :thread)
order by updated_at desc, thread desc limit :limit

-- name: threads_oldest_of
select {thread_columns}
from thread
where tenant = :tenant and forgotten_at is null and resource = :resource
  and (updated_at, thread) > (:updated_at, :thread)
order by updated_at, thread limit :limit

-- name: has_fact
exists (select 1 from thread_fact f where f.tenant = :tenant and f.thread = thread.thread

-- name: narrowed
updated_at >= :since and updated_at < :until
  and (cast(:resource as text) is null or resource = :resource)
  and (cast(:agent as text) is null or {has_fact} and f.kind = 'agent' and f.value = :agent))
  and (cast(:model as text) is null or {has_fact} and f.kind = 'model' and f.value = :model))
  and (cast(:project as text) is null or {has_fact} and f.kind = 'project' and f.value = :project))
  and (cast(:format as text) is null or {has_fact} and f.kind = 'format' and f.value = :format) or exists (
    select 1 from source s where s.tenant = :tenant and s.thread = thread.thread and s.format = :format
  ))

-- name: threads_newest_where
select {thread_columns}
from thread
where tenant = :tenant and forgotten_at is null and (updated_at, thread) < (:updated_at, :thread) and {narrowed}
order by updated_at desc, thread desc limit :limit

-- name: threads_oldest_where
select {thread_columns}
from thread
where tenant = :tenant and forgotten_at is null and (updated_at, thread) > (:updated_at, :thread) and {narrowed}
order by updated_at, thread limit :limit

-- name: thread_numbers_where
select thread from thread where tenant = :tenant and forgotten_at is null and {narrowed}

-- name: add_fact
insert into thread_fact (tenant, kind, value, thread) values (:tenant, :kind, :value, :thread) on conflict do nothing

-- name: facts_of
select kind, value from thread_fact where tenant = :tenant and thread = :thread order by kind, value

-- name: facts
select kind, value, count(*) from (
  select kind, value, thread from thread_fact where tenant = :tenant
  union select 'format', s.format, s.thread from source s where s.tenant = :tenant
) told group by kind, value order by count(*) desc, value

-- name: workspaces_of
select w.workspace, w.root, count(*), max(s.at)
from workspace_snapshot s join workspace w on w.tenant = s.tenant and w.workspace = s.workspace
where s.tenant = :tenant and s.thread = :thread and s.state > 0
group by w.workspace, w.root order by max(s.snap) desc

-- name: change_thread
update thread set title = :title, resource = :resource, body = :body, version = version + 1, updated_at = :now
where tenant = :tenant and thread = :thread

-- name: thread_goes_on
head_seg = :head_seg, head_depth = :head_depth, head_hash = :head_hash, head_said = :head_said,
  next_seg = :next_seg, next_run = :next_run, messages = :messages, usage = :usage, version = version + 1

-- name: set_thread
update thread set {thread_goes_on}, updated_at = :now where tenant = :tenant and thread = :thread

-- name: set_thread_now
update thread set {thread_goes_on} where tenant = :tenant and thread = :thread

-- name: first_message_time
select min(created_at) from message where tenant = :tenant and thread = :thread and created_at > 0

-- name: set_fork
update thread set parent_thread = :parent_thread, usage = :usage where tenant = :tenant and thread = :thread

-- name: date_thread
update thread set created_at = :created_at where tenant = :tenant and thread = :thread and created_at = 0

-- name: add_segment
insert into segment (tenant, thread, seg, parent_seg, fork_depth)
values (:tenant, :thread, :seg, :parent_seg, :fork_depth)

-- name: segments
select seg, parent_seg, fork_depth from segment where tenant = :tenant and thread = :thread order by seg

-- name: lineage
with recursive up (seg, high) as (
  select cast(:seg as integer), cast(:depth as integer)
  union all
  select s.parent_seg, case when s.fork_depth < up.high then s.fork_depth else up.high end
  from up join segment s on s.tenant = :tenant and s.thread = :thread and s.seg = up.seg
)
select seg, high from up

-- name: tips
select seg, max(depth) from message where tenant = :tenant and thread = :thread group by seg

-- name: tip
select depth from message where tenant = :tenant and thread = :thread and seg = :seg order by depth desc limit 1

-- name: add_message
insert into message (tenant, thread, seg, depth, id, run, role, agent, created_at, hash, said, body)
values (:tenant, :thread, :seg, :depth, :id, :run, :role, :agent, :created_at, :hash, :said, :body)
on conflict do nothing

-- name: place
select seg, depth, hash, said, run, body, n from message where tenant = :tenant and thread = :thread and id = :id

-- name: the_place
-- `order by` although there is one row at most: without it, PostgreSQL has no statistics of a table that has just grown
-- and may scan all messages of the thread by the wrong index.
where tenant = :tenant and thread = :thread and seg = :seg and depth >= :depth and depth <= :depth
order by depth limit 1

-- name: at_place
select id, hash, said, run, body from message {the_place}

-- name: id_at_place
select id from message {the_place}

-- name: range_up
select id, body, depth, run, n from message
where tenant = :tenant and thread = :thread and seg = :seg and depth > :low and depth <= :high
order by depth limit :limit

-- name: range_down
select id, body, depth, run, n from message
where tenant = :tenant and thread = :thread and seg = :seg and depth > :low and depth <= :high
order by depth desc limit :limit

-- name: all_messages
select n, id, seg, depth, run, body from message where tenant = :tenant and thread = :thread order by n

-- name: outline
select n, id, seg, depth, run, role, agent, created_at from message
where tenant = :tenant and thread = :thread order by n

-- name: add_blob
insert into blob (tenant, hash, size, data) values (:tenant, :hash, :size, :data) on conflict do nothing

-- name: use_blob
insert into blob_use (tenant, hash, thread) values (:tenant, :hash, :thread) on conflict do nothing

-- name: blob
select data from blob where tenant = :tenant and hash = :hash

-- name: add_run
insert into run (tenant, thread, run, id, status, agent, fork_seg, fork_depth, base_seg, base_depth, seg, depth,
  tip_hash, tip_said, lease_until, body)
values (:tenant, :thread, :run, :id, :status, :agent, :fork_seg, :fork_depth, :base_seg, :base_depth, :seg, :depth,
  :tip_hash, :tip_said, :lease_until, :body)

-- name: run
select {run_columns} from run where tenant = :tenant and thread = :thread and id = :id

-- name: runs_pending
select {run_columns} from run where tenant = :tenant and thread = :thread and pending > 0 order by run

-- name: runs_active
select {run_columns} from run where tenant = :tenant and thread = :thread and status = 'active' order by run

-- name: runs
select {run_columns}
from run where tenant = :tenant and thread = :thread order by run

-- name: run_newest
select {run_columns} from run where tenant = :tenant and thread = :thread order by run desc limit 1

-- name: threads_of_run
select t.id from run r join thread t on t.tenant = r.tenant and t.thread = r.thread
where r.tenant = :tenant and r.id = :id and t.forgotten_at is null order by t.thread limit 2

-- name: set_run
update run set status = :status, seg = :seg, depth = :depth, tip_hash = :tip_hash, tip_said = :tip_said,
  staged = :staged, pending = :pending, folded = :folded, fence = :fence, lease_until = :lease_until, superseded_by = :superseded_by, body = :body
where tenant = :tenant and thread = :thread and run = :run

-- name: committed_at
select {run_columns}
from run
where tenant = :tenant and thread = :thread and fork_seg = :fork_seg and fork_depth = :fork_depth
  and status = 'committed'

-- name: run_messages
select id, body, depth, run, n from message
where tenant = :tenant and thread = :thread and run = :run order by n

-- name: add_feed
insert into feed (tenant, thread, seg, low, high) values (:tenant, :thread, :seg, :low, :high)

-- name: add_snapshot
insert into snapshot (tenant, thread, n, message, body) values (:tenant, :thread, :n, :message, :body)

-- name: snapshots
select n, message, body from snapshot where tenant = :tenant and thread = :thread order by n

-- name: places
select id, seg, depth, hash, said from message where tenant = :tenant and thread = :thread order by n

-- name: add_chunk
insert into run_chunk (tenant, thread, run, seq, count, data)
values (:tenant, :thread, :run, :seq, :count, :data)
on conflict do nothing

-- name: count_chunks
-- The heartbeat renews the lease: it is indexed, and the index would be written with every chunk.
update run set chunks = :chunks
where tenant = :tenant and thread = :thread and run = :run and fence = :fence and status = 'active'

-- name: renew_lease
update run set lease_until = :lease_until
where tenant = :tenant and thread = :thread and run = :run and fence = :fence and status = 'active'

-- name: chunks_after
select seq, count, data from run_chunk
where tenant = :tenant and thread = :thread and run = :run and seq + count > :after order by seq limit :limit

-- name: drop_chunks
delete from run_chunk where tenant = :tenant and thread = :thread and run in (
  select run from run where tenant = :tenant and thread = :thread and status not in ('active', 'stream') and run < :run
)

-- name: set_chunks
update run set chunks = :chunks where tenant = :tenant and thread = :thread and run = :run

-- name: delete_run
delete from run where tenant = :tenant and thread = :thread and run = :run

-- name: dead_runs
select t.id, r.id from run r join thread t on t.tenant = r.tenant and t.thread = r.thread
where r.tenant = :tenant and r.status = 'active' and r.lease_until < :now order by r.lease_until limit :limit

-- name: count_snapshots
select count(*) from snapshot where tenant = :tenant and thread = :thread
