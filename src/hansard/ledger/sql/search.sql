-- Statements of search, and the feed of messages to index.

-- name: feed_end
select max(n) from feed where tenant = :tenant

-- name: fed_rows
-- One bound for the depth: with two, SQLite reads the rest of a long thread for every batch.
from (select * from feed where tenant = :tenant and n <= :end order by n limit :limit) f
left join message m
  on m.tenant = :tenant and m.thread = f.thread and m.seg = f.seg
  and m.depth > f.low and m.depth <= case when f.high < f.low + :limit then f.high else f.low + :limit end
order by f.n, m.depth limit :limit

-- name: fed
select f.n, f.low, f.high, f.thread, f.seg, m.depth, m.n, m.hash, m.role, m.agent, m.created_at, m.body
{fed_rows}

-- name: fed_still
select f.n, f.low, f.high, f.thread, f.seg, m.depth, m.n, m.hash
{fed_rows}

-- name: feed_done
delete from feed where tenant = :tenant and n = :n

-- name: feed_reached
update feed set low = :low where tenant = :tenant and n = :n

-- name: found_columns
m.n, m.thread, m.seg, m.depth, m.id, m.role, m.agent, m.created_at, m.body, r.id, r.status, t.id, t.title,
       t.head_seg, t.head_depth
