-- Statements of upkeep: finding threads by what people call them, deleting on purpose, checking, counting.

-- name: threads_named
select {thread_columns}
from thread
where tenant = :tenant and forgotten_at is null and (substr(id, 1, length(:text)) = :text or title = :text)
order by updated_at desc, thread desc limit :limit
