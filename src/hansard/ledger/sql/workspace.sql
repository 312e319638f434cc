-- Statements of workspaces: the user's files.

-- name: add_workspace
insert into workspace (tenant, root) values (:tenant, :root) on conflict do nothing

-- name: workspace_by_root
select workspace, root from workspace where tenant = :tenant and root = :root

-- name: workspaces
select workspace, root from workspace where tenant = :tenant order by workspace

-- name: workspace_files
select files from workspace where tenant = :tenant and workspace = :workspace

-- name: set_workspace_files
update workspace set files = :files where tenant = :tenant and workspace = :workspace

-- name: workspace_snapshot_columns
s.snap, t.id, s.message, s.run, s.agent, s.source, s.at, s.state, s.partial, s.body

-- name: add_workspace_snapshot
insert into workspace_snapshot (tenant, workspace, thread, message, run, agent, source, at, state, partial, body)
values (:tenant, :workspace, :thread, :message, :run, :agent, :source, :at, :state, :partial, :body)
returning snap

-- name: finish_workspace_snapshot
update workspace_snapshot set state = :state, partial = :partial, body = :body
where tenant = :tenant and snap = :snap

-- name: mark_workspace_snapshot
update workspace_snapshot set state = :state where tenant = :tenant and snap = :snap

-- name: workspace_snapshots
select {workspace_snapshot_columns}
from workspace_snapshot s left join thread t on t.tenant = s.tenant and t.thread = s.thread
where s.tenant = :tenant and s.workspace = :workspace and s.state > 0 and s.snap > :after order by s.snap

-- name: workspace_snapshots_of
select {workspace_snapshot_columns}
from workspace_snapshot s join thread t on t.tenant = s.tenant and t.thread = s.thread
where s.tenant = :tenant and s.workspace = :workspace and t.id = :id and s.state > 0 order by s.snap

-- name: last_workspace_thread
select t.id from workspace_snapshot s join thread t on t.tenant = s.tenant and t.thread = s.thread
where s.tenant = :tenant and s.workspace = :workspace and t.forgotten_at is null order by s.snap desc limit 1

-- name: unfinished_workspace_snapshots
select {workspace_snapshot_columns}
from workspace_snapshot s left join thread t on t.tenant = s.tenant and t.thread = s.thread
where s.tenant = :tenant and s.workspace = :workspace and s.state = 0 order by s.snap

-- name: name_workspace_snapshot
update workspace_snapshot set source = :source, message = :message where tenant = :tenant and snap = :snap

-- name: delete_workspace_snapshot
delete from workspace_snapshot where tenant = :tenant and snap = :snap

-- name: use_workspace_blob
insert into workspace_use (tenant, hash, snap) values (:tenant, :hash, :snap) on conflict do nothing

-- name: workspace_uses
select hash from workspace_use where tenant = :tenant and snap = :snap

-- name: delete_workspace_uses
delete from workspace_use where tenant = :tenant and snap = :snap

-- name: add_workspace_change
insert into workspace_change (tenant, workspace, thread, kind, state, snap, at, body)
values (:tenant, :workspace, :thread, :kind, :state, :snap, :at, :body)
returning change

-- name: set_workspace_change
update workspace_change set state = :state, body = :body where tenant = :tenant and change = :change

-- name: workspace_changes
select c.change, t.id, c.kind, c.state, c.snap, c.at, c.body
from workspace_change c left join thread t on t.tenant = c.tenant and t.thread = c.thread
where c.tenant = :tenant and c.workspace = :workspace order by c.change

-- name: unfinished_workspace_changes
select c.change, t.id, c.kind, c.state, c.snap, c.at, c.body
from workspace_change c left join thread t on t.tenant = c.tenant and t.thread = c.thread
where c.tenant = :tenant and c.workspace = :workspace and c.state in ('intent', 'done') order by c.change

-- name: add_workspace_window
insert into workspace_window (tenant, workspace, thread, message, run, agent, pid, at)
values (:tenant, :workspace, :thread, :message, :run, :agent, :pid, :at) returning number

-- name: workspace_windows
select w.number, w.pid, w.at, t.id, w.message, w.run, w.agent
from workspace_window w join thread t on t.tenant = w.tenant and t.thread = w.thread
where w.tenant = :tenant and w.workspace = :workspace order by w.number

-- name: delete_workspace_window
delete from workspace_window where tenant = :tenant and number = :number

-- name: blind_workspaces
-- An erased thread may have held the only copy of a file's content: the file must be scanned again.
update workspace set files = null where tenant = :tenant and workspace in (
  select workspace from workspace_snapshot where tenant = :tenant and thread = :thread
)

-- name: forget_workspace_uses
delete from workspace_use where tenant = :tenant and snap in (
  select snap from workspace_snapshot where tenant = :tenant and thread = :thread
)

-- name: forget_workspace_snapshots
delete from workspace_snapshot where tenant = :tenant and thread = :thread

-- name: forget_workspace_changes
delete from workspace_change where tenant = :tenant and thread = :thread

-- name: forget_workspace_windows
delete from workspace_window where tenant = :tenant and thread = :thread

-- name: uses_of_workspaces
select distinct u.hash from workspace_use u join workspace_snapshot s on s.tenant = u.tenant and s.snap = u.snap
where u.tenant = :tenant and s.thread = :thread

-- name: undone_and_gone
-- Undone changes whose message was pruned: they can no longer be redone.
select s.snap from workspace_snapshot s
where s.tenant = :tenant and s.thread = :thread and s.state = 2 and s.message is not null and not exists (
  select 1 from message m where m.tenant = :tenant and m.thread = s.thread and m.id = s.message
)

-- name: missing_workspace_blobs
select distinct u.hash from workspace_use u
where u.tenant = :tenant and not exists (select 1 from blob b where b.tenant = :tenant and b.hash = u.hash)
order by u.hash limit :limit

-- name: all_workspace_snapshots
select snap, body from workspace_snapshot where tenant = :tenant and state > 0 and snap > :after order by snap limit 500

-- name: any_workspace_snapshots
select 1 from workspace_snapshot where tenant = :tenant and thread = :thread limit 1

-- name: copy_workspace
select workspace, root, files from workspace where tenant = :tenant order by workspace

-- name: copy_workspace_snapshot
select snap, workspace, thread, message, run, agent, source, at, state, partial, body from workspace_snapshot
where tenant = :tenant order by snap

-- name: copy_workspace_use
select hash, snap from workspace_use where tenant = :tenant order by snap

-- name: copy_workspace_change
select change, workspace, thread, kind, state, snap, at, body from workspace_change where tenant = :tenant order by change
