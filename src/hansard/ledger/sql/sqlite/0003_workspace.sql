-- The user's files: which folder, what is in it, what changed there and by whom, and what was undone.

create table workspace (
  workspace integer primary key,
  tenant integer not null,
  root text not null,
  files blob,                                 -- all that is there, as it was last looked at; null: to be looked at anew
  unique (tenant, root)
);

-- A manifest delta: every path with what was there before and after. Order is `snap`.
create table workspace_snapshot (
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
create index workspace_snapshot_of on workspace_snapshot (tenant, workspace, snap);
create index workspace_snapshot_thread on workspace_snapshot (tenant, thread) where thread is not null;
create table workspace_use (
  tenant integer not null,
  hash blob not null,
  snap integer not null,
  primary key (tenant, hash, snap)
) without rowid;
create index workspace_use_snap on workspace_use (tenant, snap);

-- An undo, redo or restore: written before the first file is touched, so that one that was cut off is put right.
create table workspace_change (
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
create index workspace_change_of on workspace_change (tenant, workspace, change);

-- Who is at work with tools that do not say what they touch.
create table workspace_window (
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
