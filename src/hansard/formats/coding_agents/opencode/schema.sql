-- The tables of an OpenCode 1.18 database, for sessions that came from elsewhere; `schema.py` reads them.

create table `workspace` (
    id text PRIMARY KEY, type text NOT NULL, name text DEFAULT '' NOT NULL, branch text, directory text, extra
    text, project_id text NOT NULL, time_used integer NOT NULL,
    FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

create table `data_migration` (
    name text PRIMARY KEY, time_completed integer NOT NULL
);

create table `account_state` (
    id integer PRIMARY KEY, active_account_id text, active_org_id text,
    FOREIGN KEY (active_account_id) REFERENCES account(id) ON DELETE SET NULL
);

create table `account` (
    id text PRIMARY KEY, email text NOT NULL, url text NOT NULL, access_token text NOT NULL, refresh_token text
    NOT NULL, token_expiry integer, time_created integer NOT NULL, time_updated integer NOT NULL
);

create table `control_account` (
    email text NOT NULL, url text NOT NULL, access_token text NOT NULL, refresh_token text NOT NULL, token_expiry
    integer, active integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
    PRIMARY KEY(email, url)
);

create table `credential` (
    id text PRIMARY KEY, integration_id text, label text NOT NULL, value text NOT NULL, connector_id text,
    method_id text, active integer, time_created integer NOT NULL, time_updated integer NOT NULL
);

create table `event_sequence` (
    aggregate_id text PRIMARY KEY, seq integer NOT NULL, owner_id text
);

create table `event` (
    id text PRIMARY KEY, aggregate_id text NOT NULL, seq integer NOT NULL, type text NOT NULL, data text NOT NULL,
    FOREIGN KEY (aggregate_id) REFERENCES event_sequence(aggregate_id) ON DELETE CASCADE
);

create table `permission` (
    id text PRIMARY KEY, project_id text NOT NULL, action text NOT NULL, resource text NOT NULL, time_created
    integer NOT NULL, time_updated integer NOT NULL,
    FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

create table `project_directory` (
    project_id text NOT NULL, directory text NOT NULL, type text, strategy text, time_created integer NOT NULL,
    PRIMARY KEY(project_id, directory),
    FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

create table `project` (
    id text PRIMARY KEY, worktree text NOT NULL, vcs text, name text, icon_url text, icon_url_override text,
    icon_color text, time_created integer NOT NULL, time_updated integer NOT NULL, time_initialized integer,
    sandboxes text NOT NULL, commands text
);

create table `message` (
    id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
    data text NOT NULL,
    FOREIGN KEY (session_id) REFERENCES session(id) ON DELETE CASCADE
);

create table `part` (
    id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL,
    FOREIGN KEY (message_id) REFERENCES message(id) ON DELETE CASCADE
);

create table `session_context_epoch` (
    session_id text PRIMARY KEY, baseline text NOT NULL, snapshot text NOT NULL, baseline_seq integer NOT NULL,
    FOREIGN KEY (session_id) REFERENCES session(id) ON DELETE CASCADE
);

create table `session_input` (
    id text PRIMARY KEY, session_id text NOT NULL, prompt text NOT NULL, delivery text NOT NULL, admitted_seq
    integer NOT NULL, promoted_seq integer, time_created integer NOT NULL,
    FOREIGN KEY (session_id) REFERENCES session(id) ON DELETE CASCADE
);

create table `session_message` (
    id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL, time_created integer
    NOT NULL, time_updated integer NOT NULL, data text NOT NULL,
    FOREIGN KEY (session_id) REFERENCES session(id) ON DELETE CASCADE
);

create table `session` (
    id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text, slug text NOT NULL,
    directory text NOT NULL, path text, title text NOT NULL, version text NOT NULL, share_url text,
    summary_additions integer, summary_deletions integer, summary_files integer, summary_diffs text, metadata
    text, cost real DEFAULT 0 NOT NULL, tokens_input integer DEFAULT 0 NOT NULL, tokens_output integer DEFAULT 0
    NOT NULL, tokens_reasoning integer DEFAULT 0 NOT NULL, tokens_cache_read integer DEFAULT 0 NOT NULL,
    tokens_cache_write integer DEFAULT 0 NOT NULL, revert text, permission text, agent text, model text,
    time_created integer NOT NULL, time_updated integer NOT NULL, time_compacting integer, time_archived integer,
    FOREIGN KEY (project_id) REFERENCES project(id) ON DELETE CASCADE
);

create table `todo` (
    session_id text NOT NULL, content text NOT NULL, status text NOT NULL, priority text NOT NULL, position
    integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
    PRIMARY KEY(session_id, position),
    FOREIGN KEY (session_id) REFERENCES session(id) ON DELETE CASCADE
);

create table `session_share` (
    session_id text PRIMARY KEY, id text NOT NULL, secret text NOT NULL, url text NOT NULL, time_created integer
    NOT NULL, time_updated integer NOT NULL,
    FOREIGN KEY (session_id) REFERENCES session(id) ON DELETE CASCADE
);

create unique index event_aggregate_seq_idx on event (aggregate_id,seq);
create index event_aggregate_type_seq_idx on event (aggregate_id,type,seq);
create unique index permission_project_action_resource_idx on permission (project_id,action,resource);
create index message_session_time_created_id_idx on message (session_id,time_created,id);
create index part_message_id_id_idx on part (message_id,id);
create index part_session_idx on part (session_id);
create index session_input_session_pending_delivery_seq_idx on session_input (session_id,promoted_seq,delivery,admitted_seq);
create unique index session_input_session_admitted_seq_idx on session_input (session_id,admitted_seq);
create unique index session_input_session_promoted_seq_idx on session_input (session_id,promoted_seq);
create unique index session_message_session_seq_idx on session_message (session_id,seq);
create index session_message_session_type_seq_idx on session_message (session_id,type,seq);
create index session_message_session_time_created_id_idx on session_message (session_id,time_created,id);
create index session_message_time_created_idx on session_message (time_created);
create index session_project_idx on session (project_id);
create index session_workspace_idx on session (workspace_id);
create index session_parent_idx on session (parent_id);
create index todo_session_idx on todo (session_id);
create table `migration` (
    id TEXT PRIMARY KEY, time_completed INTEGER NOT NULL
);

-- migration 20260127222353_familiar_lady_ursula
-- migration 20260211171708_add_project_commands
-- migration 20260213144116_wakeful_the_professor
-- migration 20260225215848_workspace
-- migration 20260227213759_add_session_workspace_id
-- migration 20260228203230_blue_harpoon
-- migration 20260303231226_add_workspace_fields
-- migration 20260309230000_move_org_to_state
-- migration 20260312043431_session_message_cursor
-- migration 20260323234822_events
-- migration 20260410174513_workspace-name
-- migration 20260413175956_chief_energizer
-- migration 20260423070820_add_icon_url_override
-- migration 20260427172553_slow_nightmare
-- migration 20260428004200_add_session_path
-- migration 20260501142318_next_venus
-- migration 20260504145000_add_sync_owner
-- migration 20260507164347_add_workspace_time
-- migration 20260510033149_session_usage
-- migration 20260511000411_data_migration_state
-- migration 20260511173437_session-metadata
-- migration 20260601010001_normalize_storage_paths
-- migration 20260601202201_amazing_prowler
-- migration 20260602002951_lowly_union_jack
-- migration 20260602182828_add_project_directories
-- migration 20260603001617_session_message_projection_indexes
-- migration 20260603040000_session_message_projection_order
-- migration 20260603141458_session_input_inbox
-- migration 20260603160727_jittery_ezekiel_stane
-- migration 20260604172448_event_sourced_session_input
-- migration 20260605003541_add_session_context_snapshot
-- migration 20260605042240_add_context_epoch_agent
-- migration 20260611035744_credential
-- migration 20260611192811_lush_chimera
-- migration 20260612174303_project_dir_strategy
-- migration 20260622142730_simplify_session_context_epoch
-- migration 20260622170816_reset_v2_session_state
-- migration 20260622202450_simplify_session_input
