-- Tables beyond the format. Other clients ignore them; a lake without them works.

CREATE TABLE IF NOT EXISTS mere_commit (
    token VARCHAR PRIMARY KEY,
    snapshot_id BIGINT NOT NULL,
    attempt VARCHAR
);
-- How far the steps of pipelines have come: one row each, written in the transaction of its commit.
CREATE TABLE IF NOT EXISTS mere_step (
    step_name VARCHAR PRIMARY KEY,
    run BIGINT NOT NULL,
    since BIGINT NOT NULL,
    reached BIGINT NOT NULL,
    snapshot_id BIGINT
);
CREATE TABLE IF NOT EXISTS mere_intent (
    intent_id VARCHAR PRIMARY KEY,
    table_id BIGINT NOT NULL,
    created_at VARCHAR NOT NULL,
    host VARCHAR NOT NULL,
    pid BIGINT NOT NULL,
    state VARCHAR NOT NULL
);
CREATE TABLE IF NOT EXISTS mere_check (
    table_id BIGINT NOT NULL,
    begin_snapshot BIGINT NOT NULL,
    end_snapshot BIGINT,
    check_name VARCHAR NOT NULL,
    expression VARCHAR NOT NULL
);
CREATE TABLE IF NOT EXISTS mere_row_group (
    data_file_id BIGINT NOT NULL,
    table_id BIGINT NOT NULL,
    row_groups {BLOB} NOT NULL,
    PRIMARY KEY (data_file_id)
);
-- Row groups of about a thousand files folded into arrays: one row per column, and one (column 0) that
-- says which row groups there are. A file is in one segment at most.
CREATE TABLE IF NOT EXISTS mere_segment (
    table_id BIGINT NOT NULL,
    column_id BIGINT NOT NULL,
    first_file BIGINT NOT NULL,
    last_file BIGINT NOT NULL,
    files BIGINT NOT NULL,
    column_type VARCHAR NOT NULL,
    data {BLOB} NOT NULL,
    PRIMARY KEY (table_id, column_id, first_file, last_file)
);
CREATE TABLE IF NOT EXISTS mere_footer (
    file_id BIGINT NOT NULL,
    digest VARCHAR NOT NULL,
    PRIMARY KEY (file_id)
);
-- Bounds and partition values of all files with ids from one on and below another, as arrays.
CREATE TABLE IF NOT EXISTS mere_archive (
    table_id BIGINT NOT NULL,
    first_file BIGINT NOT NULL,
    end_file BIGINT NOT NULL,
    item VARCHAR NOT NULL,
    column_type VARCHAR NOT NULL,
    data {BLOB} NOT NULL,
    PRIMARY KEY (table_id, item, first_file)
);
CREATE TABLE IF NOT EXISTS mere_ref (
    name VARCHAR PRIMARY KEY,
    snapshot_id BIGINT NOT NULL,
    created_at VARCHAR NOT NULL
);
-- Files of others whose rows a table has, and the version that brought them; adopted ones since their rows
-- were moved to files of the lake.
CREATE TABLE IF NOT EXISTS mere_loaded (
    table_id BIGINT NOT NULL,
    source VARCHAR NOT NULL,
    bytes BIGINT NOT NULL,
    mark VARCHAR NOT NULL,
    load_id VARCHAR NOT NULL,
    snapshot_id BIGINT NOT NULL,
    loaded_at VARCHAR NOT NULL,
    PRIMARY KEY (table_id, source)
);
-- Files that are listed more than once, as a version that was restored lists what an older one did.
CREATE TABLE IF NOT EXISTS mere_shared (
    path VARCHAR NOT NULL,
    data_file_id BIGINT NOT NULL,
    PRIMARY KEY (path, data_file_id)
);
-- Files that others wrote and that were adopted: they are deleted only when that is asked for. One below
-- the root is here by its path from there and by its whole path. since: when its last version expired.
CREATE TABLE IF NOT EXISTS mere_adopted (
    path VARCHAR NOT NULL,
    since VARCHAR,
    PRIMARY KEY (path)
);
-- Files whose rows were moved there, and what for: what is as it was wanted is not done again.
CREATE TABLE IF NOT EXISTS mere_moved (
    data_file_id BIGINT NOT NULL,
    mark VARCHAR NOT NULL,
    PRIMARY KEY (data_file_id)
);
-- What snapshots did to tables, where the files that told it have gone because their rows moved.
CREATE TABLE IF NOT EXISTS mere_counted (
    table_id BIGINT NOT NULL,
    snapshot_id BIGINT NOT NULL,
    rows_inserted BIGINT NOT NULL,
    rows_updated BIGINT NOT NULL,
    rows_deleted BIGINT NOT NULL,
    files_added BIGINT NOT NULL,
    files_removed BIGINT NOT NULL,
    PRIMARY KEY (table_id, snapshot_id)
);
