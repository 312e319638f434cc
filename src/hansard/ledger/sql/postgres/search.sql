-- Statements of search that differ on PostgreSQL.

-- name: lock_search
-- One transaction at a time indexes the feed of a tenant, and none deletes from the index meanwhile.
select pg_advisory_xact_lock(1214344820, :tenant)

-- name: index_words
insert into search (tenant, n, thread, seg, depth, words)
values (:tenant, :n, :thread, :seg, :depth, array_to_tsvector(string_to_array(:words, ' ')))
on conflict (tenant, n) do update set words = excluded.words

-- name: search_matches
select n, level
from search_matches(
  :wanted, array(select json_array_elements_text(:weights::json)), :low::bigint, :high::bigint, :most::int
)

-- name: search_found
select {found_columns}
from search s
join message m on m.tenant = :tenant and m.thread = s.thread and m.seg = s.seg and m.depth = s.depth and m.n = s.n
join thread t on t.tenant = :tenant and t.thread = m.thread and t.forgotten_at is null
left join run r on r.tenant = :tenant and r.thread = m.thread and r.run = m.run
where s.tenant = :tenant and s.n = any (array(select value::bigint from json_array_elements_text(:ns::json)))

-- name: drop_search
delete from search where tenant = :tenant

-- name: make_search
select 1

-- name: drop_feed
delete from feed where tenant = :tenant

-- name: feed_all
insert into feed (tenant, thread, seg, low, high)
select tenant, thread, seg, min(depth) - 1, max(depth) from message where tenant = :tenant group by tenant, thread, seg
