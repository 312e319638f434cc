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

-- Which tokens a message has, not where: see searchable.py.
create table search (
  tenant int not null,
  n bigint not null,
  thread bigint not null,
  seg int not null,
  depth int not null,
  words tsvector not null,
  primary key (tenant, n)
);
create index search_words on search using gin (words);
create index search_thread on search (tenant, thread, seg, depth);

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
  foreach name in array array['thread', 'segment', 'run', 'message', 'blob', 'blob_use', 'run_chunk', 'snapshot', 'feed'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy tenant_only on %I using (tenant = nullif(current_setting(''hansard.tenant'', true), '''')::int)', name
    );
  end loop;
end $$;

-- Only tables whose conditions PostgreSQL holds to be leakproof can use an index behind a policy that binds their owner
-- too; @@ is not. So the owner is not bound here, and everybody searches through a function that asks for the tenant.
alter table search enable row level security;
create policy tenant_only on search using (tenant = nullif(current_setting('hansard.tenant', true), '')::int);

create function search_matches(wanted text, weights text[], low bigint, high bigint, most int)
returns table (n bigint, level bigint)
language plpgsql stable security definer set search_path from current as $$
begin
  -- The query stands in the statement, so that the planner knows whether it is rare (the index of words finds it) or
  -- common (the newest rows have it).
  return query execute format(
    'select s.n, (select count(*) from unnest($4) w where s.words @@ w::tsquery) from (
       select n, words from search
       where tenant = $1 and words @@ %L::tsquery and n between $2 and $3 order by n desc limit %s
     ) s', wanted, most)
  using nullif(current_setting('hansard.tenant', true), '')::int, low, high, weights;
end $$;
