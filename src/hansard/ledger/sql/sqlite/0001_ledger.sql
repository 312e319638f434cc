-- The ledger on SQLite. Columns and names are those of the PostgreSQL schema, so that one set of statements serves both.
-- Order is `n` and (seg, depth), which we wrote; times are milliseconds since 1970 and order nothing.

create table tenant (
  tenant integer primary key,
  name text not null unique
);

create table thread (
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
create index thread_list on thread (tenant, updated_at, thread);
create index thread_resource on thread (tenant, resource, updated_at, thread) where resource is not null;

-- An unbroken chain of messages. A message's place is (seg, depth); depth counts from the root across segments.
-- The segment inherits its parent's path up to and including fork_depth. Segment 0 has no row.
create table segment (
  tenant integer not null,
  thread integer not null,
  seg integer not null,
  parent_seg integer not null,
  fork_depth integer not null,
  primary key (tenant, thread, seg)
) without rowid;
create index segment_children on segment (tenant, thread, parent_seg, fork_depth);

create table run (
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
create index run_fork on run (tenant, thread, fork_seg, fork_depth);
create unique index run_one_committed on run (tenant, thread, fork_seg, fork_depth) where status = 'committed';
create index run_pending on run (tenant, thread) where pending > 0;
create index run_lease on run (tenant, lease_until) where status = 'active';

create table message (
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
create unique index message_path on message (tenant, thread, seg, depth);
create unique index message_id on message (tenant, thread, id);

-- Long strings of messages, and files, once for each tenant.
create table blob (
  tenant integer not null,
  hash blob not null,
  size integer not null,
  data blob not null
);
create unique index blob_hash on blob (tenant, hash);
create table blob_use (
  tenant integer not null,
  hash blob not null,
  thread integer not null,
  primary key (tenant, hash, thread)
) without rowid;

-- The deltas of a run as they streamed.
create table run_chunk (
  tenant integer not null,
  thread integer not null,
  run integer not null,
  seq integer not null,                       -- the number of its first delta
  count integer not null,
  data blob not null,
  primary key (tenant, thread, run, seq)
);

create table snapshot (
  tenant integer not null,
  thread integer not null,
  n integer not null,
  message text,
  body blob not null,
  primary key (tenant, thread, n)
);

-- What the search index has not seen yet: the messages of a segment with low < depth <= high.
create table feed (
  n integer primary key,
  tenant integer not null,
  thread integer not null,
  seg integer not null,
  low integer not null,
  high integer not null
);

-- Which tokens a message has, by its n; not where (detail = none): see searchable.py. Words come cut and folded already.
create virtual table search using fts5 (
  words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);
