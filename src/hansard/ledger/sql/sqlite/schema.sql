-- What the migrations build; `python -m tests.ledger.schemas` writes it.

CREATE TABLE blob (
  tenant integer not null,
  hash blob not null,
  size integer not null,
  data blob not null
);

CREATE UNIQUE INDEX blob_hash on blob (tenant, hash);

CREATE TABLE blob_use (
  tenant integer not null,
  hash blob not null,
  thread integer not null,
  primary key (tenant, hash, thread)
) without rowid;

CREATE TABLE fed_upto (n integer not null);

CREATE TRIGGER fed_upto_back after delete on message when old.n > (select coalesce(max(n), 0) from message) begin
  update fed_upto set n = (select coalesce(max(n), 0) from message) where n > (select coalesce(max(n), 0) from message);
end;

CREATE TABLE feed (
  n integer primary key,
  tenant integer not null,
  thread integer not null,
  seg integer not null,
  low integer not null,
  high integer not null
);

CREATE TABLE message (
  n integer primary key,
  tenant integer not null,
  thread integer not null,
  seg integer not null,
  depth integer not null,
  id text not null,
  run integer,
  role text not null,
  agent text,
  created_at integer,
  hash blob not null,
  said blob not null,
  body blob not null
);

CREATE UNIQUE INDEX message_id on message (tenant, thread, id);

CREATE UNIQUE INDEX message_path on message (tenant, thread, seg, depth);

CREATE TABLE run (
  tenant integer not null,
  thread integer not null,
  run integer not null,
  id text not null,
  status text not null,
  agent text,
  fork_seg integer not null,                  -- where it forks: its first message follows this place
  fork_depth integer not null,
  base_seg integer not null,                  -- the head when it began: commit checks that it is still there
  base_depth integer not null,
  seg integer not null,                       -- its last message; the fork point while it has none
  depth integer not null,
  tip_hash blob not null,
  tip_said blob not null,
  staged integer not null default 0,
  pending integer not null default 0,         -- tool calls that wait for somebody
  chunks integer not null default 0,          -- how many deltas are in its journal
  folded integer not null default 0,          -- how many of them its staged messages say
  fence integer not null default 0,           -- +1 when somebody takes it over: the old writer is shut out
  lease_until integer,
  superseded_by integer,
  body blob not null,                         -- native JSON of the run
  primary key (tenant, thread, run),
  unique (tenant, thread, id)
) without rowid;

CREATE TABLE run_chunk (
  tenant integer not null,
  thread integer not null,
  run integer not null,
  seq integer not null,                       -- the number of its first delta
  count integer not null,
  data blob not null,
  primary key (tenant, thread, run, seq)
);

CREATE INDEX run_fork on run (tenant, thread, fork_seg, fork_depth);

CREATE INDEX run_id on run (tenant, id);

CREATE INDEX run_lease on run (tenant, lease_until) where status = 'active';

CREATE UNIQUE INDEX run_one_committed on run (tenant, thread, fork_seg, fork_depth) where status = 'committed';

CREATE INDEX run_pending on run (tenant, thread) where pending > 0;

CREATE TABLE schema_migration (number integer primary key, checksum text not null);

CREATE VIRTUAL TABLE search using fts5 (
  words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

CREATE TABLE segment (
  tenant integer not null,
  thread integer not null,
  seg integer not null,
  parent_seg integer not null,
  fork_depth integer not null,
  primary key (tenant, thread, seg)
) without rowid;

CREATE INDEX segment_children on segment (tenant, thread, parent_seg, fork_depth);

CREATE TABLE snapshot (
  tenant integer not null,
  thread integer not null,
  n integer not null,
  message text,
  body blob not null,
  primary key (tenant, thread, n)
);

CREATE TABLE source (
  source integer primary key,
  tenant integer not null,
  uri text not null,
  format text not null,
  thread integer not null,
  main integer not null,                      -- 0: the file of a sub-agent
  size integer not null,
  mtime integer not null,                     -- nanoseconds, as the file system said
  hash blob not null,                         -- sha256 of all its bytes
  version integer not null,                   -- the thread's version when all of it was imported
  replaced integer not null default 0,        -- 1: the file has since been rewritten; these are its old bytes
  body blob not null
);

CREATE TABLE source_chunk (
  tenant integer not null,
  source integer not null,
  at integer not null,                        -- its first byte in the file
  size integer not null,
  data blob not null,
  primary key (tenant, source, at)
);

CREATE INDEX source_thread on source (tenant, thread);

CREATE UNIQUE INDEX source_uri on source (tenant, uri) where replaced = 0;

CREATE TABLE tenant (
  tenant integer primary key,
  name text not null unique
);

CREATE TABLE thread (
  thread integer primary key,
  tenant integer not null,
  id text not null,
  title text,
  resource text,
  parent_thread text,
  head_seg integer not null default 0,
  head_depth integer not null default 0,      -- 0: nothing said yet
  head_hash blob not null default x'',
  head_said blob not null default x'',
  next_seg integer not null default 1,
  next_run integer not null default 1,
  version integer not null default 0,         -- +1 with every change
  messages integer not null default 0,
  created_at integer not null,
  updated_at integer not null,
  usage blob,
  body blob not null,                         -- native JSON of the thread: metadata, agents and what else it said
  forgotten_at integer,
  unique (tenant, id)
);

CREATE TABLE thread_fact (
  tenant integer not null,
  kind text not null,                         -- agent, model, project, format
  value text not null,
  thread integer not null,
  primary key (tenant, kind, value, thread)
) without rowid;

CREATE INDEX thread_fact_of on thread_fact (tenant, thread);

CREATE INDEX thread_list on thread (tenant, updated_at, thread);

CREATE INDEX thread_resource on thread (tenant, resource, updated_at, thread) where resource is not null;

CREATE TABLE workspace (
  workspace integer primary key,
  tenant integer not null,
  root text not null,
  files blob,                                 -- all that is there, as it was last looked at; null: to be looked at anew
  unique (tenant, root)
);

CREATE TABLE workspace_change (
  change integer primary key,
  tenant integer not null,
  workspace integer not null,
  thread integer,
  kind text not null,
  state text not null,                        -- intent, done (its slots are still there), over, redone, back
  snap integer not null,
  at integer not null,
  body blob not null
);

CREATE INDEX workspace_change_of on workspace_change (tenant, workspace, change);

CREATE TABLE workspace_snapshot (
  snap integer primary key,
  tenant integer not null,
  workspace integer not null,
  thread integer,                             -- null: changed by somebody outside
  message text,
  run text,
  agent text,
  source text not null,
  at integer not null,
  state integer not null,                     -- 0 being written, 1 in the files, 2 undone
  partial integer not null default 0,
  body blob not null
);

CREATE INDEX workspace_snapshot_of on workspace_snapshot (tenant, workspace, snap);

CREATE INDEX workspace_snapshot_thread on workspace_snapshot (tenant, thread) where thread is not null;

CREATE TABLE workspace_use (
  tenant integer not null,
  hash blob not null,
  snap integer not null,
  primary key (tenant, hash, snap)
) without rowid;

CREATE INDEX workspace_use_snap on workspace_use (tenant, snap);

CREATE TABLE workspace_window (
  number integer primary key,
  tenant integer not null,
  workspace integer not null,
  thread integer not null,
  message text,
  run text,
  agent text,
  pid integer not null,
  at integer not null
);
