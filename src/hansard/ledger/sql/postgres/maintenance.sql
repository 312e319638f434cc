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

-- name: forget_conversation_messages
delete from conversation_message
where tenant = :tenant and thread_id = (select id from thread where tenant = :tenant and thread = :thread)

-- name: forget_projections
delete from projection where tenant = :tenant and thread = :thread

-- name: unproject_from
delete from conversation_message
where tenant = :tenant and thread_id = (select id from thread where tenant = :tenant and thread = :thread)
  and id in (select id from message where tenant = :tenant and thread = :thread and seg = :seg and depth >= :low)

-- name: projectable
select t.thread, t.id from thread t
left join projection p on p.tenant = t.tenant and p.thread = t.thread
where t.tenant = :tenant and t.thread > :after and t.forgotten_at is null and p.version is distinct from t.version
order by t.thread limit :limit

-- name: projection
select version, seg, depth, hash, resource from projection where tenant = :tenant and thread = :thread

-- name: save_projection
insert into projection (tenant, thread, version, seg, depth, hash, resource)
values (:tenant, :thread, :version, :seg, :depth, :hash, :resource)
on conflict (tenant, thread) do update set version = excluded.version, seg = excluded.seg, depth = excluded.depth,
  hash = excluded.hash, resource = excluded.resource

-- name: unproject_after
delete from conversation_message where tenant = :tenant and thread_id = :id and position > :depth

-- name: add_conversation_message
insert into conversation_message (tenant, id, thread_id, role, type, content, created_at, resource_id, position)
values (:tenant, :id, :thread_id, :role, :type, :content::jsonb, to_timestamp(:created_at / 1000.0), :resource, :position)
on conflict (tenant, thread_id, id) do update set role = excluded.role, type = excluded.type,
  content = excluded.content, created_at = excluded.created_at, resource_id = excluded.resource_id,
  position = excluded.position

-- name: change_projected_resource
update conversation_message set resource_id = :resource where tenant = :tenant and thread_id = :id
