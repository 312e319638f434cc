-- What can be said of a thread as a whole, so that a list can be narrowed: derived, and filled from the feed.

create table thread_fact (
  tenant int not null,
  kind text not null,
  value text not null,
  thread bigint not null,
  primary key (tenant, kind, value, thread)
);
create index thread_fact_of on thread_fact (tenant, thread);
alter table thread_fact enable row level security;
alter table thread_fact force row level security;
create policy tenant_only on thread_fact
  using (tenant = nullif(current_setting('hansard.tenant', true), '')::int);

-- Ledgers of older releases: everything passes by once more. The owner of the tables sees all tenants only while the
-- policies are not forced on the owner too.
alter table message no force row level security;
alter table feed no force row level security;
insert into feed (tenant, thread, seg, low, high)
select tenant, thread, seg, min(depth) - 1, max(depth) from message group by tenant, thread, seg;
alter table message force row level security;
alter table feed force row level security;
