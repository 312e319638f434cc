-- The user's files: which folder, what is in it, what changed there and by whom, and what was undone.

create table workspace (
  workspace bigint not null generated always as identity,
  tenant int not null,
  root text not null,
  files bytea,
  primary key (tenant, workspace),
  unique (tenant, root)
);

-- A manifest delta: every path with what was there before and after. Order is `snap`.
create table workspace_snapshot (
  snap bigint not null generated always as identity,
  tenant int not null,
  workspace bigint not null,
  thread bigint,
  message text,
  run text,
  agent text,
  source text not null,
  at bigint not null,
  state int not null,
  partial int not null default 0,
  body bytea not null,
  primary key (tenant, snap)
);
create index workspace_snapshot_of on workspace_snapshot (tenant, workspace, snap);
create index workspace_snapshot_thread on workspace_snapshot (tenant, thread) where thread is not null;
create table workspace_use (
  tenant int not null,
  hash bytea not null,
  snap bigint not null,
  primary key (tenant, hash, snap)
);
create index workspace_use_snap on workspace_use (tenant, snap);

-- An undo, redo or restore: written before the first file is touched, so that one that was cut off is put right.
create table workspace_change (
  change bigint not null generated always as identity,
  tenant int not null,
  workspace bigint not null,
  thread bigint,
  kind text not null,
  state text not null,
  snap bigint not null,
  at bigint not null,
  body bytea not null,
  primary key (tenant, change)
);
create index workspace_change_of on workspace_change (tenant, workspace, change);

-- Who is at work with tools that do not say what they touch.
create table workspace_window (
  number bigint not null generated always as identity,
  tenant int not null,
  workspace bigint not null,
  thread bigint not null,
  message text,
  run text,
  agent text,
  pid bigint not null,
  at bigint not null,
  primary key (tenant, number)
);
alter table workspace alter files set storage external;
alter table workspace_snapshot alter body set storage external;

do $$
declare
  name text;
begin
  foreach name in array
    array['workspace', 'workspace_snapshot', 'workspace_use', 'workspace_change', 'workspace_window'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy tenant_only on %I using (tenant = nullif(current_setting(''hansard.tenant'', true), '''')::int)', name
    );
  end loop;
end $$;
