-- The ledger on PostgreSQL. Every key begins with tenant and thread: the big tables are hash-partitioned by thread,
-- and the same keys let Citus distribute them. Bodies are bytea, never jsonb, which would change them.

create table tenant (
  tenant int primary key generated always as identity,
  name text not null unique
);

create table thread (
  tenant int not null,
  thread bigint not null generated always as identity,
  id text not null,
  title text,
  resource text,
  parent_thread text,
  head_seg int not null default 0,
  head_depth int not null default 0,
  head_hash bytea not null default '',
  head_said bytea not null default '',
  next_seg int not null default 1,
  next_run int not null default 1,
  version bigint not null default 0,
  messages bigint not null default 0,
  created_at bigint not null,
  updated_at bigint not null,
  usage bytea,
  body bytea not null,
  forgotten_at bigint,
  primary key (tenant, thread),
  unique (tenant, id)
) with (fillfactor = 70);
create index thread_list on thread (tenant, updated_at, thread);
create index thread_resource on thread (tenant, resource, updated_at, thread) where resource is not null;

create table segment (
  tenant int not null,
  thread bigint not null,
  seg int not null,
  parent_seg int not null,
  fork_depth int not null,
  primary key (tenant, thread, seg)
) partition by hash (thread);
create index segment_children on segment (tenant, thread, parent_seg, fork_depth);

create table run (
  tenant int not null,
  thread bigint not null,
  run int not null,
  id text not null,
  status text not null,
  agent text,
  fork_seg int not null,
  fork_depth int not null,
  base_seg int not null,
  base_depth int not null,
  seg int not null,
  depth int not null,
  tip_hash bytea not null,
  tip_said bytea not null,
  staged int not null default 0,
  pending int not null default 0,
  chunks int not null default 0,
  folded int not null default 0,
  fence int not null default 0,
  lease_until bigint,
  superseded_by int,
  body bytea not null,
  primary key (tenant, thread, run),
  unique (tenant, thread, id)
) partition by hash (thread);
create index run_fork on run (tenant, thread, fork_seg, fork_depth);
create unique index run_one_committed on run (tenant, thread, fork_seg, fork_depth) where status = 'committed';
create index run_pending on run (tenant, thread) where pending > 0;
create index run_lease on run (tenant, lease_until) where status = 'active';

create sequence message_n;
create table message (
  n bigint not null default nextval('message_n'),
  tenant int not null,
  thread bigint not null,
  seg int not null,
  depth int not null,
  id text not null,
  run int,
  role text not null,
  agent text,
  created_at bigint,
  hash bytea not null,
  said bytea not null,
  body bytea not null,
  primary key (tenant, thread, seg, depth)
) partition by hash (thread);
create unique index message_id on message (tenant, thread, id);

create table blob (
  tenant int not null,
  hash bytea not null,
  size bigint not null,
  data bytea not null,
  primary key (tenant, hash)
) partition by hash (hash);
create table blob_use (
  tenant int not null,
  hash bytea not null,
  thread bigint not null,
  primary key (tenant, hash, thread)
) partition by hash (hash);

create table run_chunk (
  tenant int not null,
  thread bigint not null,
  run int not null,
  seq int not null,
  count int not null,
  data bytea not null,
  primary key (tenant, thread, run, seq)
) partition by hash (thread);

create table snapshot (
  tenant int not null,
  thread bigint not null,
  n int not null,
  message text,
  body bytea not null,
  primary key (tenant, thread, n)
) partition by hash (thread);

create table feed (
  n bigint not null generated always as identity,
  tenant int not null,
  thread bigint not null,
  seg int not null,
  low int not null,
  high int not null,
  primary key (tenant, n)
);

create table search (
  tenant int not null,
  n bigint not null,
  thread bigint not null,
  seg int not null,
  depth int not null,
  role text not null,
  agent text,
  created_at bigint,
  tools text[] not null,
  words tsvector not null,
  primary key (tenant, n)
);
create index search_words on search using gin (words);
create index search_thread on search (tenant, thread, n);

do $$
declare
  name text;
  i int;
begin
  foreach name in array array['segment', 'run', 'message', 'blob', 'blob_use', 'run_chunk', 'snapshot'] loop
    for i in 0..7 loop
      execute format('create table %I partition of %I for values with (modulus 8, remainder %s)', name || '_' || i, name, i);
      if name = 'blob' then  -- already compressed
        execute format('alter table %I alter data set storage external', name || '_' || i);
      elsif name = 'message' then
        execute format('alter table %I alter body set storage external', name || '_' || i);
      end if;
    end loop;
  end loop;
  foreach name in array array['thread', 'segment', 'run', 'message', 'blob', 'blob_use', 'run_chunk', 'snapshot', 'feed', 'search'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy tenant_only on %I using (tenant = nullif(current_setting(''hansard.tenant'', true), '''')::int)', name
    );
  end loop;
end $$;
