-- The files that threads were imported from, byte for byte: what they mean is in messages, what they are is here.

create table source (
  source bigint not null generated always as identity,
  tenant int not null,
  uri text not null,
  format text not null,
  thread bigint not null,
  main int not null,
  size bigint not null,
  mtime bigint not null,
  hash bytea not null,
  version bigint not null,
  replaced int not null default 0,
  body bytea not null,
  primary key (tenant, source)
);
create unique index source_uri on source (tenant, uri) where replaced = 0;
create index source_thread on source (tenant, thread);
create table source_chunk (
  tenant int not null,
  source bigint not null,
  at bigint not null,
  size int not null,
  data bytea not null,
  primary key (tenant, source, at)
);
alter table source_chunk alter data set storage external;

do $$
declare
  name text;
begin
  foreach name in array array['source', 'source_chunk'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
      'create policy tenant_only on %I using (tenant = nullif(current_setting(''hansard.tenant'', true), '''')::int)', name
    );
  end loop;
end $$;
