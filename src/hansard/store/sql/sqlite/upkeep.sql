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
-- The numbers from 2^53 on are where FTS5 notes which rows were deleted: without any there is nothing to put together.
insert into search (search) select 'optimize' where exists (select 1 from search_data where id >= 9007199254740992)

-- name: feed_everything
update fed_upto set n = 0
