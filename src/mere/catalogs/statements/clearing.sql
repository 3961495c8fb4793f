-- What tags, expiry and clean-up ask and change. A row is dead when it ended and no snapshot that is
-- still there saw it.

-- name: tags
SELECT name, snapshot_id, created_at FROM mere_ref ORDER BY name;
-- name: drop_tag
DELETE FROM mere_ref WHERE name = :name;

-- name: now
SELECT now();
-- name: now@sqlite
SELECT strftime('%Y-%m-%d %H:%M:%f+00', 'now');
-- name: now@duckdb
SELECT epoch_us(now());

-- name: drop_snapshots
DELETE FROM ducklake_snapshot WHERE snapshot_id IN (:ids);
-- name: drop_snapshot_changes
DELETE FROM ducklake_snapshot_changes WHERE snapshot_id IN (:ids);

-- name: dead_files
SELECT f.data_file_id, f.table_id, f.path, f.path_is_relative, f.file_size_bytes, f.mapping_id
FROM ducklake_data_file f WHERE f.end_snapshot IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM ducklake_snapshot s
    WHERE s.snapshot_id >= f.begin_snapshot AND s.snapshot_id < f.end_snapshot);
-- name: dead_deletes
SELECT f.delete_file_id, f.table_id, f.path, f.path_is_relative, f.file_size_bytes
FROM ducklake_delete_file f WHERE f.end_snapshot IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM ducklake_snapshot s
    WHERE s.snapshot_id >= f.begin_snapshot AND s.snapshot_id < f.end_snapshot);
-- What only older versions list.
-- name: ended_files
SELECT count(*), sum(file_size_bytes) FROM ducklake_data_file WHERE end_snapshot IS NOT NULL
UNION ALL
SELECT count(*), sum(file_size_bytes) FROM ducklake_delete_file WHERE end_snapshot IS NOT NULL;
-- name: ended_files_of
SELECT count(*), sum(file_size_bytes) FROM ducklake_data_file
WHERE table_id = :table AND end_snapshot <= :at
UNION ALL
SELECT count(*), sum(file_size_bytes) FROM ducklake_delete_file
WHERE table_id = :table AND end_snapshot <= :at;
-- name: deletes_of
SELECT f.delete_file_id, f.table_id, f.path, f.path_is_relative, f.file_size_bytes
FROM ducklake_delete_file f WHERE f.data_file_id IN (:ids);
-- name: drop_files
DELETE FROM ducklake_data_file WHERE data_file_id IN (:ids);
-- name: drop_file_bounds
DELETE FROM ducklake_file_column_stats WHERE data_file_id IN (:ids);
-- name: drop_file_variants
DELETE FROM ducklake_file_variant_stats WHERE data_file_id IN (:ids);
-- name: drop_file_partitions
DELETE FROM ducklake_file_partition_value WHERE data_file_id IN (:ids);
-- name: drop_dead_row_groups
DELETE FROM mere_row_group WHERE NOT EXISTS (
    SELECT 1 FROM ducklake_data_file f WHERE f.data_file_id = mere_row_group.data_file_id);
-- name: drop_dead_archive
DELETE FROM mere_archive WHERE NOT EXISTS (
    SELECT 1 FROM ducklake_data_file f WHERE f.table_id = mere_archive.table_id);
-- name: drop_dead_segments
DELETE FROM mere_segment WHERE NOT EXISTS (
    SELECT 1 FROM ducklake_data_file f WHERE f.table_id = mere_segment.table_id
    AND f.data_file_id >= mere_segment.first_file AND f.data_file_id <= mere_segment.last_file);
-- name: drop_dead_counts
DELETE FROM mere_counted WHERE NOT EXISTS (
    SELECT 1 FROM ducklake_snapshot s WHERE s.snapshot_id = mere_counted.snapshot_id);
-- name: drop_dead_marks
DELETE FROM mere_moved WHERE NOT EXISTS (
    SELECT 1 FROM ducklake_data_file f WHERE f.data_file_id = mere_moved.data_file_id);
-- name: drop_dead_footers
DELETE FROM mere_footer WHERE NOT EXISTS (
    SELECT 1 FROM ducklake_data_file f WHERE f.data_file_id = mere_footer.file_id) AND NOT EXISTS (
    SELECT 1 FROM ducklake_delete_file f WHERE f.delete_file_id = mere_footer.file_id);
-- name: paths_still_listed
SELECT s.path FROM mere_shared s JOIN mere_shared o ON o.path = s.path
    JOIN ducklake_data_file f ON f.data_file_id = o.data_file_id
WHERE s.data_file_id IN (:ids);
-- name: drop_shared
DELETE FROM mere_shared WHERE NOT EXISTS (
    SELECT 1 FROM ducklake_data_file f WHERE f.data_file_id = mere_shared.data_file_id);
-- name: drop_delete_files
DELETE FROM ducklake_delete_file WHERE delete_file_id IN (:ids);

-- name: dead_tables
SELECT DISTINCT t.table_id FROM ducklake_table t WHERE t.end_snapshot IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM ducklake_snapshot s, ducklake_table o WHERE o.table_id = t.table_id
    AND s.snapshot_id >= o.begin_snapshot AND (o.end_snapshot IS NULL OR s.snapshot_id < o.end_snapshot));
-- name: dead_schemas
SELECT t.schema_id FROM ducklake_schema t WHERE t.end_snapshot IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM ducklake_snapshot s
    WHERE s.snapshot_id >= t.begin_snapshot AND s.snapshot_id < t.end_snapshot);
-- name: drop_schemas
DELETE FROM ducklake_schema WHERE schema_id IN (:ids);
-- name: drop_dead_views
DELETE FROM ducklake_view WHERE end_snapshot IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM ducklake_snapshot s
    WHERE s.snapshot_id >= begin_snapshot AND s.snapshot_id < end_snapshot);
-- name: drop_dead_tags
DELETE FROM ducklake_tag WHERE end_snapshot IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM ducklake_snapshot s
    WHERE s.snapshot_id >= begin_snapshot AND s.snapshot_id < end_snapshot);
-- name: drop_dead_column_tags
DELETE FROM ducklake_column_tag WHERE end_snapshot IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM ducklake_snapshot s
    WHERE s.snapshot_id >= begin_snapshot AND s.snapshot_id < end_snapshot);
-- name: dead_macros
SELECT macro_id FROM ducklake_macro WHERE end_snapshot IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM ducklake_snapshot s
    WHERE s.snapshot_id >= begin_snapshot AND s.snapshot_id < end_snapshot);
-- name: inlined_of
SELECT table_name FROM ducklake_inlined_data_tables WHERE table_id IN (:ids);

-- name: scheduled
SELECT data_file_id, path, path_is_relative, schedule_start FROM ducklake_files_scheduled_for_deletion;
-- name: scheduled@duckdb
SELECT data_file_id, path, path_is_relative, epoch_us(schedule_start)
FROM ducklake_files_scheduled_for_deletion;
-- name: drop_scheduled
DELETE FROM ducklake_files_scheduled_for_deletion WHERE data_file_id IN (:ids);

-- name: folders
SELECT t.table_id, t.path, t.path_is_relative, s.path, s.path_is_relative
FROM ducklake_table t JOIN ducklake_schema s ON s.schema_id = t.schema_id;
-- name: listed
SELECT table_id, path, path_is_relative FROM ducklake_data_file WHERE data_file_id >= :first
UNION ALL
SELECT table_id, path, path_is_relative FROM ducklake_delete_file WHERE delete_file_id >= :first;

-- name: intents
SELECT intent_id, created_at, host, pid, state FROM mere_intent;
-- name: revoke_intent
UPDATE mere_intent SET state = 'revoked' WHERE intent_id = :intent;

-- name: table_there
SELECT table_name FROM information_schema.tables
WHERE table_schema = current_schema() AND table_name = :name;
-- name: table_there@sqlite
SELECT name FROM sqlite_schema WHERE type = 'table' AND name = :name;

-- What was adopted, and what lies in the lake already.
-- name: adopted
SELECT path, since FROM mere_adopted;
-- name: forget_adopted
DELETE FROM mere_adopted WHERE path = :path;
-- name: left_adopted
UPDATE mere_adopted SET since = :since WHERE path = :path AND since IS NULL;
-- name: listed_since
SELECT table_id, path, path_is_relative FROM ducklake_data_file WHERE begin_snapshot > :base;
