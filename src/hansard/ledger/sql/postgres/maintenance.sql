-- Statements of maintenance that differ on PostgreSQL.

-- name: own_blobs
-- While this is held, no transaction starts to use a blob: see share_blobs.
select pg_advisory_xact_lock(1214344819, :tenant)

-- name: unindex_from
delete from search where tenant = :tenant and thread = :thread and seg = :seg and depth >= :low

-- name: unindex_thread
delete from search where tenant = :tenant and thread = :thread

-- name: search_untidy
select 1 where false

-- name: feed_everything
insert into feed (tenant, thread, seg, low, high)
select tenant, thread, seg, min(depth) - 1, max(depth) from message
where tenant = :tenant group by tenant, thread, seg

-- name: number_on
-- The next number is greater than every loaded one; a sequence never goes back.
select setval(s.name, greatest(nextval(s.name), s.top)) from (values
  (pg_get_serial_sequence('thread', 'thread'), (select coalesce(max(thread), 1) from thread)),
  (pg_get_serial_sequence('source', 'source'), (select coalesce(max(source), 1) from source)),
  (pg_get_serial_sequence('workspace', 'workspace'), (select coalesce(max(workspace), 1) from workspace)),
  (pg_get_serial_sequence('workspace_snapshot', 'snap'), (select coalesce(max(snap), 1) from workspace_snapshot)),
  (pg_get_serial_sequence('workspace_change', 'change'), (select coalesce(max(change), 1) from workspace_change)),
  ('message_n', (select coalesce(max(n), 1) from message))
) as s (name, top)

-- name: any_thread
select (select count(*) from thread where tenant = :tenant) + (select count(*) from workspace where tenant = :tenant)
