-- What can be said of a thread as a whole, so that a list can be narrowed: derived, and filled from the feed.

create table thread_fact (
  tenant integer not null,
  kind text not null,                         -- agent, model, project, format
  value text not null,
  thread integer not null,
  primary key (tenant, kind, value, thread)
) without rowid;
create index thread_fact_of on thread_fact (tenant, thread);

-- Ledgers of older releases: everything passes by once more.
insert into feed (tenant, thread, seg, low, high)
select tenant, thread, seg, min(depth) - 1, max(depth) from message group by tenant, thread, seg;
