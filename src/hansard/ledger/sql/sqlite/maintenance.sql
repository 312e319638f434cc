-- Statements of maintenance that differ on SQLite.

-- name: own_blobs
select 1

-- name: unindex_from
delete from search where rowid in (
  select n from message where tenant = :tenant and thread = :thread and seg = :seg and depth >= :low
)

-- name: unindex_thread
delete from search where rowid in (select n from message where tenant = :tenant and thread = :thread)

-- name: search_untidy
-- Words of deleted messages stay in the index until its segments are merged.
-- FTS5 records deleted rows under ids from 2^53 on: without any there is nothing to merge.
select total_changes() where exists (select 1 from search_data where id >= 9007199254740992)

-- name: tidy_search
-- Merges this many pages; a negative number starts with all segments, a positive one continues.
insert into search (search, rank) values ('merge', :pages)

-- name: tidy_search_at_once
insert into search (search) values ('optimize')

-- name: changes_so_far
select total_changes()

-- name: feed_everything
update fed_upto set n = 0

-- name: forget_conversation_messages
-- The table is on PostgreSQL only.
delete from feed where false

-- name: forget_projections
delete from feed where false

-- name: unproject_from
delete from feed where false
