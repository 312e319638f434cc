-- The table for SQL over jsonb is on PostgreSQL only.
select 1;
