-- A client that resumes an answer names its run, not its thread.

create index run_id on run (tenant, id);
