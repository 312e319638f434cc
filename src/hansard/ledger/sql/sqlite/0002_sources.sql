-- The files that threads were imported from, byte for byte: what they mean is in messages, what they are is here.

create table source (
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
create unique index source_uri on source (tenant, uri) where replaced = 0;
create index source_thread on source (tenant, thread);
create table source_chunk (
  tenant integer not null,
  source integer not null,
  at integer not null,                        -- its first byte in the file
  size integer not null,
  data blob not null,
  primary key (tenant, source, at)
);
