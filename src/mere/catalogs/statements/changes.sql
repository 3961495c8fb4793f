-- What a commit changes. :at is the snapshot that is being made: rows that end, end there.

-- name: commit_token
INSERT INTO mere_commit (token, snapshot_id, attempt) VALUES (:token, :snapshot, :attempt);
-- name: move_step
UPDATE mere_step SET run = :run, since = :since, reached = :reached, snapshot_id = :wrote
WHERE step_name = :step;
-- name: intent
SELECT state FROM mere_intent WHERE intent_id = :intent;
-- name: end_intent
DELETE FROM mere_intent WHERE intent_id = :intent;

-- name: end_files
UPDATE ducklake_data_file SET end_snapshot = :at
WHERE +table_id = :table AND data_file_id IN (:ids) AND end_snapshot IS NULL;
-- name: end_deletes
UPDATE ducklake_delete_file SET end_snapshot = :at
WHERE table_id = :table AND data_file_id IN (:ids) AND end_snapshot IS NULL;

-- name: table_stats
SELECT record_count, next_row_id, file_size_bytes FROM ducklake_table_stats WHERE table_id = :table;
-- name: set_table_stats
UPDATE ducklake_table_stats SET record_count = :records, next_row_id = :next_row, file_size_bytes = :bytes
WHERE table_id = :table;
-- name: table_column_stats
SELECT column_id, contains_null, contains_nan, min_value, max_value, extra_stats
FROM ducklake_table_column_stats WHERE table_id = :table;
-- name: forget_column_stats
DELETE FROM ducklake_table_column_stats WHERE table_id = :table AND column_id IN (:ids);

-- name: blur_file_bounds
UPDATE ducklake_file_column_stats SET min_value = NULL, max_value = NULL
WHERE table_id = :table AND column_id IN (:ids);

-- name: schema_named
SELECT schema_id, path, path_is_relative FROM ducklake_schema
WHERE schema_name = :schema AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at);
-- name: view_named
SELECT view_id FROM ducklake_view WHERE view_name = :name AND schema_id = :schema
    AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at);
-- name: views_in
SELECT view_name FROM ducklake_view WHERE schema_id = :schema
    AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at);
-- name: macros_in
SELECT macro_name FROM ducklake_macro WHERE schema_id = :schema
    AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at);
-- name: end_schema
UPDATE ducklake_schema SET end_snapshot = :at WHERE schema_id = :schema AND end_snapshot IS NULL;

-- name: end_table
UPDATE ducklake_table SET end_snapshot = :at WHERE table_id = :table AND end_snapshot IS NULL;
-- name: end_columns
UPDATE ducklake_column SET end_snapshot = :at WHERE table_id = :table AND end_snapshot IS NULL;
-- name: end_some_columns
UPDATE ducklake_column SET end_snapshot = :at
WHERE table_id = :table AND column_id IN (:ids) AND end_snapshot IS NULL;
-- name: end_column_tags
UPDATE ducklake_column_tag SET end_snapshot = :at WHERE table_id = :table AND end_snapshot IS NULL;
-- name: end_some_column_tags
UPDATE ducklake_column_tag SET end_snapshot = :at
WHERE table_id = :table AND column_id IN (:ids) AND end_snapshot IS NULL;
-- name: end_all_files
UPDATE ducklake_data_file SET end_snapshot = :at WHERE table_id = :table AND end_snapshot IS NULL;
-- name: end_all_deletes
UPDATE ducklake_delete_file SET end_snapshot = :at WHERE table_id = :table AND end_snapshot IS NULL;
-- name: end_partition
UPDATE ducklake_partition_info SET end_snapshot = :at WHERE table_id = :table AND end_snapshot IS NULL;
-- name: end_sort
UPDATE ducklake_sort_info SET end_snapshot = :at WHERE table_id = :table AND end_snapshot IS NULL;
-- name: end_tags
UPDATE ducklake_tag SET end_snapshot = :at WHERE object_id = :table AND end_snapshot IS NULL;

-- name: end_checks
UPDATE mere_check SET end_snapshot = :at WHERE table_id = :table AND end_snapshot IS NULL;
-- name: end_check
UPDATE mere_check SET end_snapshot = :at
WHERE table_id = :table AND check_name = :name AND expression = :text AND end_snapshot IS NULL;
-- name: end_comment
UPDATE ducklake_tag SET end_snapshot = :at
WHERE object_id = :table AND key = 'comment' AND end_snapshot IS NULL;
-- name: end_column_comment
UPDATE ducklake_column_tag SET end_snapshot = :at
WHERE table_id = :table AND column_id = :column AND key = 'comment' AND end_snapshot IS NULL;

-- name: load_again
UPDATE mere_loaded SET bytes = :bytes, mark = :mark, load_id = :load, snapshot_id = :at, loaded_at = :now
WHERE table_id = :table AND source = :path;

-- name: set_option
INSERT INTO ducklake_metadata (key, value, scope, scope_id) VALUES (:key, :value, :scope, :id);
-- name: drop_option
DELETE FROM ducklake_metadata WHERE key = :key AND scope = :scope AND scope_id = :id;
-- name: drop_lake_option
DELETE FROM ducklake_metadata WHERE key = :key AND scope IS NULL;
