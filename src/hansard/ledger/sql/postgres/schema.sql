-- What the migrations build; `python -m tests.ledger.schemas` writes it.

create table blob (
  tenant integer not null,
  hash bytea not null,
  size bigint not null,
  data bytea not null,
  PRIMARY KEY (tenant, hash)
) partition by HASH (hash);
-- partition blob_0 FOR VALUES WITH (modulus 8, remainder 0), data stored e
-- partition blob_1 FOR VALUES WITH (modulus 8, remainder 1), data stored e
-- partition blob_2 FOR VALUES WITH (modulus 8, remainder 2), data stored e
-- partition blob_3 FOR VALUES WITH (modulus 8, remainder 3), data stored e
-- partition blob_4 FOR VALUES WITH (modulus 8, remainder 4), data stored e
-- partition blob_5 FOR VALUES WITH (modulus 8, remainder 5), data stored e
-- partition blob_6 FOR VALUES WITH (modulus 8, remainder 6), data stored e
-- partition blob_7 FOR VALUES WITH (modulus 8, remainder 7), data stored e
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table blob_use (
  tenant integer not null,
  hash bytea not null,
  thread bigint not null,
  PRIMARY KEY (tenant, hash, thread)
) partition by HASH (hash);
-- partition blob_use_0 FOR VALUES WITH (modulus 8, remainder 0)
-- partition blob_use_1 FOR VALUES WITH (modulus 8, remainder 1)
-- partition blob_use_2 FOR VALUES WITH (modulus 8, remainder 2)
-- partition blob_use_3 FOR VALUES WITH (modulus 8, remainder 3)
-- partition blob_use_4 FOR VALUES WITH (modulus 8, remainder 4)
-- partition blob_use_5 FOR VALUES WITH (modulus 8, remainder 5)
-- partition blob_use_6 FOR VALUES WITH (modulus 8, remainder 6)
-- partition blob_use_7 FOR VALUES WITH (modulus 8, remainder 7)
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table conversation_message (
  id text not null,
  thread_id text not null,
  role text not null,
  type text not null,
  content jsonb not null,
  created_at timestamp with time zone not null default now(),
  resource_id text,
  tenant integer not null,
  position integer not null,
  PRIMARY KEY (tenant, thread_id, id)
);
CREATE INDEX conversation_message_position ON conversation_message USING btree (tenant, thread_id, "position");
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table feed (
  n bigint not null generated always as identity,
  tenant integer not null,
  thread bigint not null,
  seg integer not null,
  low integer not null,
  high integer not null,
  PRIMARY KEY (tenant, n)
);
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table message (
  n bigint not null default nextval('message_n'::regclass),
  tenant integer not null,
  thread bigint not null,
  seg integer not null,
  depth integer not null,
  id text not null,
  run integer,
  role text not null,
  agent text,
  created_at bigint,
  hash bytea not null,
  said bytea not null,
  body bytea not null,
  PRIMARY KEY (tenant, thread, seg, depth)
) partition by HASH (thread);
CREATE UNIQUE INDEX message_id ON ONLY message USING btree (tenant, thread, id);
-- partition message_0 FOR VALUES WITH (modulus 8, remainder 0), body stored e
-- partition message_1 FOR VALUES WITH (modulus 8, remainder 1), body stored e
-- partition message_2 FOR VALUES WITH (modulus 8, remainder 2), body stored e
-- partition message_3 FOR VALUES WITH (modulus 8, remainder 3), body stored e
-- partition message_4 FOR VALUES WITH (modulus 8, remainder 4), body stored e
-- partition message_5 FOR VALUES WITH (modulus 8, remainder 5), body stored e
-- partition message_6 FOR VALUES WITH (modulus 8, remainder 6), body stored e
-- partition message_7 FOR VALUES WITH (modulus 8, remainder 7), body stored e
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table projection (
  tenant integer not null,
  thread bigint not null,
  version bigint not null,
  seg integer not null,
  depth integer not null,
  hash bytea not null,
  resource text,
  PRIMARY KEY (tenant, thread)
);
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table run (
  tenant integer not null,
  thread bigint not null,
  run integer not null,
  id text not null,
  status text not null,
  agent text,
  fork_seg integer not null,
  fork_depth integer not null,
  base_seg integer not null,
  base_depth integer not null,
  seg integer not null,
  depth integer not null,
  tip_hash bytea not null,
  tip_said bytea not null,
  staged integer not null default 0,
  pending integer not null default 0,
  chunks integer not null default 0,
  folded integer not null default 0,
  fence integer not null default 0,
  lease_until bigint,
  superseded_by integer,
  body bytea not null,
  PRIMARY KEY (tenant, thread, run),
  UNIQUE (tenant, thread, id)
) partition by HASH (thread);
CREATE INDEX run_fork ON ONLY run USING btree (tenant, thread, fork_seg, fork_depth);
CREATE INDEX run_id ON ONLY run USING btree (tenant, id);
CREATE INDEX run_lease ON ONLY run USING btree (tenant, lease_until) WHERE (status = 'active'::text);
CREATE INDEX run_pending ON ONLY run USING btree (tenant, thread) WHERE (pending > 0);
CREATE UNIQUE INDEX run_one_committed ON ONLY run USING btree (tenant, thread, fork_seg, fork_depth) WHERE (status = 'committed'::text);
-- partition run_0 FOR VALUES WITH (modulus 8, remainder 0)
-- partition run_1 FOR VALUES WITH (modulus 8, remainder 1)
-- partition run_2 FOR VALUES WITH (modulus 8, remainder 2)
-- partition run_3 FOR VALUES WITH (modulus 8, remainder 3)
-- partition run_4 FOR VALUES WITH (modulus 8, remainder 4)
-- partition run_5 FOR VALUES WITH (modulus 8, remainder 5)
-- partition run_6 FOR VALUES WITH (modulus 8, remainder 6)
-- partition run_7 FOR VALUES WITH (modulus 8, remainder 7)
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table run_chunk (
  tenant integer not null,
  thread bigint not null,
  run integer not null,
  seq integer not null,
  count integer not null,
  data bytea not null,
  PRIMARY KEY (tenant, thread, run, seq)
) partition by HASH (thread);
-- partition run_chunk_0 FOR VALUES WITH (modulus 8, remainder 0)
-- partition run_chunk_1 FOR VALUES WITH (modulus 8, remainder 1)
-- partition run_chunk_2 FOR VALUES WITH (modulus 8, remainder 2)
-- partition run_chunk_3 FOR VALUES WITH (modulus 8, remainder 3)
-- partition run_chunk_4 FOR VALUES WITH (modulus 8, remainder 4)
-- partition run_chunk_5 FOR VALUES WITH (modulus 8, remainder 5)
-- partition run_chunk_6 FOR VALUES WITH (modulus 8, remainder 6)
-- partition run_chunk_7 FOR VALUES WITH (modulus 8, remainder 7)
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table schema_migration (
  number integer not null,
  checksum text not null,
  PRIMARY KEY (number)
);

create table search (
  tenant integer not null,
  n bigint not null,
  thread bigint not null,
  seg integer not null,
  depth integer not null,
  words tsvector not null,
  PRIMARY KEY (tenant, n)
);
CREATE INDEX search_thread ON search USING btree (tenant, thread, seg, depth);
CREATE INDEX search_words ON search USING gin (words);
-- row level security
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table segment (
  tenant integer not null,
  thread bigint not null,
  seg integer not null,
  parent_seg integer not null,
  fork_depth integer not null,
  PRIMARY KEY (tenant, thread, seg)
) partition by HASH (thread);
CREATE INDEX segment_children ON ONLY segment USING btree (tenant, thread, parent_seg, fork_depth);
-- partition segment_0 FOR VALUES WITH (modulus 8, remainder 0)
-- partition segment_1 FOR VALUES WITH (modulus 8, remainder 1)
-- partition segment_2 FOR VALUES WITH (modulus 8, remainder 2)
-- partition segment_3 FOR VALUES WITH (modulus 8, remainder 3)
-- partition segment_4 FOR VALUES WITH (modulus 8, remainder 4)
-- partition segment_5 FOR VALUES WITH (modulus 8, remainder 5)
-- partition segment_6 FOR VALUES WITH (modulus 8, remainder 6)
-- partition segment_7 FOR VALUES WITH (modulus 8, remainder 7)
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table snapshot (
  tenant integer not null,
  thread bigint not null,
  n integer not null,
  message text,
  body bytea not null,
  PRIMARY KEY (tenant, thread, n)
) partition by HASH (thread);
-- partition snapshot_0 FOR VALUES WITH (modulus 8, remainder 0)
-- partition snapshot_1 FOR VALUES WITH (modulus 8, remainder 1)
-- partition snapshot_2 FOR VALUES WITH (modulus 8, remainder 2)
-- partition snapshot_3 FOR VALUES WITH (modulus 8, remainder 3)
-- partition snapshot_4 FOR VALUES WITH (modulus 8, remainder 4)
-- partition snapshot_5 FOR VALUES WITH (modulus 8, remainder 5)
-- partition snapshot_6 FOR VALUES WITH (modulus 8, remainder 6)
-- partition snapshot_7 FOR VALUES WITH (modulus 8, remainder 7)
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table source (
  source bigint not null generated always as identity,
  tenant integer not null,
  uri text not null,
  format text not null,
  thread bigint not null,
  main integer not null,
  size bigint not null,
  mtime bigint not null,
  hash bytea not null,
  version bigint not null,
  replaced integer not null default 0,
  body bytea not null,
  PRIMARY KEY (tenant, source)
);
CREATE INDEX source_thread ON source USING btree (tenant, thread);
CREATE UNIQUE INDEX source_uri ON source USING btree (tenant, uri) WHERE (replaced = 0);
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table source_chunk (
  tenant integer not null,
  source bigint not null,
  at bigint not null,
  size integer not null,
  data bytea not null,
  PRIMARY KEY (tenant, source, at)
);
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table tenant (
  tenant integer not null generated always as identity,
  name text not null,
  PRIMARY KEY (tenant),
  UNIQUE (name)
);

create table thread (
  tenant integer not null,
  thread bigint not null generated always as identity,
  id text not null,
  title text,
  resource text,
  parent_thread text,
  head_seg integer not null default 0,
  head_depth integer not null default 0,
  head_hash bytea not null default '\x'::bytea,
  head_said bytea not null default '\x'::bytea,
  next_seg integer not null default 1,
  next_run integer not null default 1,
  version bigint not null default 0,
  messages bigint not null default 0,
  created_at bigint not null,
  updated_at bigint not null,
  usage bytea,
  body bytea not null,
  forgotten_at bigint,
  PRIMARY KEY (tenant, thread),
  UNIQUE (tenant, id)
) with (fillfactor=70);
CREATE INDEX thread_list ON thread USING btree (tenant, updated_at, thread);
CREATE INDEX thread_resource ON thread USING btree (tenant, resource, updated_at, thread) WHERE (resource IS NOT NULL);
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table thread_fact (
  tenant integer not null,
  kind text not null,
  value text not null,
  thread bigint not null,
  PRIMARY KEY (tenant, kind, value, thread)
);
CREATE INDEX thread_fact_of ON thread_fact USING btree (tenant, thread);
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table workspace (
  workspace bigint not null generated always as identity,
  tenant integer not null,
  root text not null,
  files bytea,
  PRIMARY KEY (tenant, workspace),
  UNIQUE (tenant, root)
);
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table workspace_change (
  change bigint not null generated always as identity,
  tenant integer not null,
  workspace bigint not null,
  thread bigint,
  kind text not null,
  state text not null,
  snap bigint not null,
  at bigint not null,
  body bytea not null,
  PRIMARY KEY (tenant, change)
);
CREATE INDEX workspace_change_of ON workspace_change USING btree (tenant, workspace, change);
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table workspace_snapshot (
  snap bigint not null generated always as identity,
  tenant integer not null,
  workspace bigint not null,
  thread bigint,
  message text,
  run text,
  agent text,
  source text not null,
  at bigint not null,
  state integer not null,
  partial integer not null default 0,
  body bytea not null,
  PRIMARY KEY (tenant, snap)
);
CREATE INDEX workspace_snapshot_of ON workspace_snapshot USING btree (tenant, workspace, snap);
CREATE INDEX workspace_snapshot_thread ON workspace_snapshot USING btree (tenant, thread) WHERE (thread IS NOT NULL);
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table workspace_use (
  tenant integer not null,
  hash bytea not null,
  snap bigint not null,
  PRIMARY KEY (tenant, hash, snap)
);
CREATE INDEX workspace_use_snap ON workspace_use USING btree (tenant, snap);
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

create table workspace_window (
  number bigint not null generated always as identity,
  tenant integer not null,
  workspace bigint not null,
  thread bigint not null,
  message text,
  run text,
  agent text,
  pid bigint not null,
  at bigint not null,
  PRIMARY KEY (tenant, number)
);
-- row level security, for the owner too
-- policy tenant_only using (tenant = (NULLIF(current_setting('hansard.tenant'::text, true), ''::text))::integer)

CREATE OR REPLACE FUNCTION search_matches(wanted text, weights text[], low bigint, high bigint, most integer)
 RETURNS TABLE(n bigint, level bigint)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO '$user', 'public'
AS $function$
begin
  -- The query stands in the statement, so that the planner knows whether it is rare (the index of words finds it) or
  -- common (the newest rows have it).
  return query execute format(
    'select s.n, (select count(*) from unnest($4) w where s.words @@ w::tsquery) from (
       select n, words from search
       where tenant = $1 and words @@ %L::tsquery and n between $2 and $3 order by n desc limit %s
     ) s', wanted, most)
  using nullif(current_setting('hansard.tenant', true), '')::int, low, high, weights;
end $function$;
