-- The transcripts as rows that people query with SQL: derived, empty until `ledger.project()`. The first seven columns
-- are those of the agent store; the others are the key, and the place of a message in its thread.

create table conversation_message (
  id text not null,
  thread_id text not null,
  role text not null,
  type text not null,
  content jsonb not null,
  created_at timestamptz not null default now(),
  resource_id text,
  tenant int not null,
  position int not null,
  primary key (tenant, thread_id, id)
);
create index conversation_message_position on conversation_message (tenant, thread_id, position);

-- How far each thread is projected: the place of its last projected message, and the thread's version then.
create table projection (
  tenant int not null,
  thread bigint not null,
  version bigint not null,
  seg int not null,
  depth int not null,
  hash bytea not null,
  resource text,
  primary key (tenant, thread)
);

alter table conversation_message enable row level security;
alter table conversation_message force row level security;
create policy tenant_only on conversation_message
  using (tenant = nullif(current_setting('hansard.tenant', true), '')::int);
alter table projection enable row level security;
alter table projection force row level security;
create policy tenant_only on projection
  using (tenant = nullif(current_setting('hansard.tenant', true), '')::int);
