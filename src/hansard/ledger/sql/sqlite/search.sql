-- Statements of search that differ on SQLite.

-- name: lock_search
select 1

-- name: index_words
insert or replace into search (rowid, words) values (:n, :words)

-- name: search_matches
with found as materialized (
  select rowid as n from search
  where search match :wanted and rowid between :low and :high order by rowid desc limit :most
), span as materialized (select min(n) as low, max(n) as high from found)
select n, sum(heavy) from (
  select n, 0 as heavy, 1 as own from found
  union all
  select s.rowid, 1, 0 from span cross join json_each(:weights) w cross join search s
  where s.search match w.value and s.rowid between span.low and span.high
)
group by n having sum(own)

-- name: search_found
-- `cross join` keeps this order: the few numbers first.
select {found_columns}
from json_each(:ns) j
cross join message m on m.n = j.value
cross join thread t on t.thread = m.thread and t.forgotten_at is null
left join run r on r.tenant = :tenant and r.thread = m.thread and r.run = m.run
where m.tenant = :tenant

-- name: drop_search
drop table if exists search

-- name: make_search
create virtual table search using fts5 (
  words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
)

-- name: feed_end
-- -1: there are messages that are not in the feed yet.
select case when (select max(n) from message) > (select n from fed_upto) then -1
  else (select max(n) from feed where tenant = :tenant) end

-- name: feed_new
insert into feed (tenant, thread, seg, low, high)
select tenant, thread, seg, min(depth) - 1, max(depth) from message
where n > (select n from fed_upto) group by tenant, thread, seg

-- name: fed_all
update fed_upto set n = (select coalesce(max(n), 0) from message)

-- name: drop_feed
delete from feed

-- name: feed_all
update fed_upto set n = 0
