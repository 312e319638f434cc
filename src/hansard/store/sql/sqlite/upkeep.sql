-- Upkeep, in SQLite's own way.

-- name: own_blobs
select 1

-- name: unindex_from
delete from search where rowid in (
  select n from message where tenant = :tenant and thread = :thread and seg = :seg and depth >= :low
)

-- name: unindex_thread
delete from search where rowid in (select n from message where tenant = :tenant and thread = :thread)

-- name: tidy_search
-- Words of deleted messages stay in the index until its pieces are put together again.
insert into search (search) values ('optimize')

-- name: feed_everything
update fed_upto set n = 0
