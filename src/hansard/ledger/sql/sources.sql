-- Statements of sources: the files that threads were imported from.

-- name: source_columns
s.source, s.uri, s.format, t.id, s.main, s.size, s.mtime, s.hash, s.version, s.body

-- name: source_by_uri
select {source_columns} from source s join thread t on t.tenant = s.tenant and t.thread = s.thread
where s.tenant = :tenant and s.uri = :uri and s.replaced = 0

-- name: sources_in
select {source_columns} from source s join thread t on t.tenant = s.tenant and t.thread = s.thread
where s.tenant = :tenant and s.replaced = 0 and substr(s.uri, 1, length(:prefix)) = :prefix order by s.source

-- name: sources_of
select {source_columns} from source s join thread t on t.tenant = s.tenant and t.thread = s.thread
where s.tenant = :tenant and s.thread = :thread and s.replaced = 0 order by s.main desc, s.source

-- name: all_sources
select {source_columns} from source s join thread t on t.tenant = s.tenant and t.thread = s.thread
where s.tenant = :tenant and s.replaced = 0 order by s.source

-- name: sources_with_message
select {source_columns} from source s join thread t on t.tenant = s.tenant and t.thread = s.thread
where s.tenant = :tenant and s.replaced = 0 and s.main = 1 and s.thread <> :thread and exists (
  select 1 from message m where m.tenant = :tenant and m.thread = s.thread and m.id = :id
) order by s.source

-- name: add_source
insert into source (tenant, uri, format, thread, main, size, mtime, hash, version, body)
values (:tenant, :uri, :format, :thread, :main, :size, :mtime, :hash, :version, :body)
returning source

-- name: grow_source
update source set size = :size, mtime = :mtime, hash = :hash, version = :version, body = :body
where tenant = :tenant and source = :source

-- name: carry_sources
-- writes of the import itself do not count as changes to the thread
update source set version = :version where tenant = :tenant and thread = :thread and version = :before

-- name: replace_source
update source set replaced = 1 where tenant = :tenant and source = :source

-- name: add_source_chunk
-- an interrupted import may have left a piece of an earlier version of the file
insert into source_chunk (tenant, source, at, size, data) values (:tenant, :source, :at, :size, :data)
on conflict (tenant, source, at) do update set size = excluded.size, data = excluded.data

-- name: source_chunks
-- up to `end` bytes of the file: a concurrent import may be adding more
select at, size, data from source_chunk
where tenant = :tenant and source = :source and at >= :at and at < :end order by at limit :limit

-- name: last_message
select id, n from message where tenant = :tenant and thread = :thread order by n desc limit 1

-- name: forget_source_chunks
delete from source_chunk where tenant = :tenant and source in (
  select source from source where tenant = :tenant and thread = :thread
)

-- name: forget_sources
delete from source where tenant = :tenant and thread = :thread

-- name: answers_after
select n, id, body, said, thread, agent, created_at from message
where tenant = :tenant and role = 'assistant' and n > :n order by n limit :limit

-- name: answers_of_after
select n, id, body, said, thread, agent, created_at from message
where tenant = :tenant and thread = :thread and role = 'assistant' and n > :n order by n limit :limit

-- name: rows_after
select n, id, body, thread, seg, depth, run, role, agent, created_at from message
where tenant = :tenant and n > :n order by n limit :limit

-- name: rows_of_after
select n, id, body, thread, seg, depth, run, role, agent, created_at from message
where tenant = :tenant and thread = :thread and n > :n order by n limit :limit
