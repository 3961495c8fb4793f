-- What holds in every catalog that is well. Each check finds what breaks it: table, file and its path if
-- it has one, and two numbers. A check looks at rows alone, never at files.

-- name: audited_tables
SELECT t.table_id, s.schema_name, t.table_name
FROM ducklake_table t LEFT JOIN ducklake_schema s ON s.schema_id = t.schema_id
ORDER BY t.begin_snapshot;

-- name: audited_files
SELECT f.data_file_id AS id, 0, f.table_id, f.path, f.path_is_relative, f.file_format, f.record_count,
    f.file_size_bytes, f.footer_size, f.encryption_key, NULL
FROM ducklake_data_file f WHERE f.data_file_id > :after
UNION ALL
SELECT d.delete_file_id, 1, d.table_id, d.path, d.path_is_relative, d.format, d.delete_count,
    d.file_size_bytes, d.footer_size, d.encryption_key, f.record_count
FROM ducklake_delete_file d LEFT JOIN ducklake_data_file f ON f.data_file_id = d.data_file_id
WHERE d.delete_file_id > :after
ORDER BY 1 LIMIT :most;
-- name: audited_digests
SELECT file_id, digest FROM mere_footer WHERE file_id > :after AND file_id <= :last;
-- name: still_listed
SELECT data_file_id FROM ducklake_data_file WHERE data_file_id IN (:ids)
UNION ALL SELECT delete_file_id FROM ducklake_delete_file WHERE delete_file_id IN (:ids);

-- name: check_file_counter
SELECT NULL, NULL, s.next_file_id, m.id FROM
    (SELECT next_file_id FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1) s,
    (SELECT max(u.id) AS id FROM (
        SELECT max(data_file_id) AS id FROM ducklake_data_file
        UNION ALL SELECT max(delete_file_id) FROM ducklake_delete_file
        UNION ALL SELECT max(mapping_id) FROM ducklake_column_mapping) u) m
WHERE m.id >= s.next_file_id;
-- name: check_catalog_counter
SELECT NULL, NULL, s.next_catalog_id, m.id FROM
    (SELECT next_catalog_id FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1) s,
    (SELECT max(u.id) AS id FROM (
        SELECT max(schema_id) AS id FROM ducklake_schema
        UNION ALL SELECT max(table_id) FROM ducklake_table
        UNION ALL SELECT max(view_id) FROM ducklake_view
        UNION ALL SELECT max(macro_id) FROM ducklake_macro
        UNION ALL SELECT max(partition_id) FROM ducklake_partition_info
        UNION ALL SELECT max(sort_id) FROM ducklake_sort_info) u) m
WHERE m.id >= s.next_catalog_id;
-- name: check_row_counter
SELECT f.table_id, NULL, s.next_row_id, max(f.row_id_start + f.record_count)
FROM ducklake_data_file f JOIN ducklake_table_stats s ON s.table_id = f.table_id
WHERE f.row_id_start IS NOT NULL AND f.partial_max IS NULL
GROUP BY f.table_id, s.next_row_id HAVING max(f.row_id_start + f.record_count) > s.next_row_id;
-- name: check_versions
SELECT f.table_id, f.data_file_id, f.begin_snapshot, f.end_snapshot FROM ducklake_data_file f
WHERE f.begin_snapshot > (SELECT max(snapshot_id) FROM ducklake_snapshot)
    OR f.end_snapshot <= f.begin_snapshot
UNION ALL
SELECT d.table_id, d.delete_file_id, d.begin_snapshot, d.end_snapshot FROM ducklake_delete_file d
WHERE d.begin_snapshot > (SELECT max(snapshot_id) FROM ducklake_snapshot)
    OR d.end_snapshot <= d.begin_snapshot;
-- name: check_delete_files
SELECT d.table_id, d.data_file_id, count(*), NULL FROM ducklake_delete_file d
WHERE d.end_snapshot IS NULL GROUP BY d.table_id, d.data_file_id HAVING count(*) > 1;
-- name: check_deleted_from
SELECT d.table_id, d.delete_file_id, d.data_file_id, NULL FROM ducklake_delete_file d
WHERE NOT EXISTS (SELECT 1 FROM ducklake_data_file f WHERE f.data_file_id = d.data_file_id);
-- name: check_file_tables
SELECT f.table_id, f.data_file_id, f.table_id, NULL FROM ducklake_data_file f
WHERE NOT EXISTS (SELECT 1 FROM ducklake_table t WHERE t.table_id = f.table_id);
-- name: check_totals
SELECT f.table_id, NULL, s.record_count, f.n - coalesce(d.n, 0)
FROM (SELECT table_id, sum(record_count) AS n FROM ducklake_data_file
    WHERE end_snapshot IS NULL GROUP BY table_id) f
LEFT JOIN (SELECT table_id, sum(delete_count) AS n FROM ducklake_delete_file
    WHERE end_snapshot IS NULL GROUP BY table_id) d ON d.table_id = f.table_id
LEFT JOIN ducklake_table_stats s ON s.table_id = f.table_id
WHERE s.record_count IS NULL OR s.record_count < f.n - coalesce(d.n, 0);
-- name: check_table_names
SELECT min(t.table_id), NULL, count(*), NULL FROM ducklake_table t
WHERE t.end_snapshot IS NULL GROUP BY t.schema_id, t.table_name HAVING count(*) > 1;
-- name: check_table_schemas
SELECT t.table_id, NULL, t.schema_id, NULL FROM ducklake_table t
WHERE t.end_snapshot IS NULL AND NOT EXISTS (
    SELECT 1 FROM ducklake_schema s WHERE s.schema_id = t.schema_id AND s.end_snapshot IS NULL);
-- name: check_column_names
SELECT c.table_id, NULL, count(*), NULL FROM ducklake_column c WHERE c.end_snapshot IS NULL
GROUP BY c.table_id, c.parent_column, c.column_name HAVING count(*) > 1;
-- name: check_partitions
SELECT f.table_id, f.data_file_id, coalesce(v.n, 0), coalesce(c.n, 0) FROM ducklake_data_file f
LEFT JOIN (SELECT data_file_id, count(*) AS n FROM ducklake_file_partition_value
    GROUP BY data_file_id) v ON v.data_file_id = f.data_file_id
LEFT JOIN (SELECT partition_id, table_id, count(*) AS n FROM ducklake_partition_column
    GROUP BY partition_id, table_id) c ON c.partition_id = f.partition_id AND c.table_id = f.table_id
WHERE f.partition_id IS NOT NULL AND coalesce(v.n, 0) <> coalesce(c.n, 0);

-- Files that begin before the rows of the files before them end. Whether their rows carry ids of their
-- own, which makes it right, only the files know.
-- name: overlapping
SELECT o.data_file_id FROM (
    SELECT f.data_file_id, f.row_id_start, max(f.row_id_start + f.record_count) OVER (
        PARTITION BY f.table_id ORDER BY f.row_id_start, f.data_file_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS others
    FROM ducklake_data_file f WHERE f.end_snapshot IS NULL AND f.row_id_start IS NOT NULL
        AND f.partial_max IS NULL AND f.record_count > 0) o
WHERE o.row_id_start < o.others;

-- name: audited_columns
SELECT s.table_id, s.column_id, s.contains_null, s.contains_nan, s.min_value, s.max_value, c.column_type
FROM ducklake_table_column_stats s JOIN ducklake_column c
    ON c.table_id = s.table_id AND c.column_id = s.column_id AND c.end_snapshot IS NULL
WHERE s.extra_stats IS NULL ORDER BY s.table_id, s.column_id;
-- name: audited_bounds
SELECT b.data_file_id, b.null_count, b.contains_nan, b.min_value, b.max_value
FROM ducklake_file_column_stats b JOIN ducklake_data_file f ON f.data_file_id = b.data_file_id
WHERE b.table_id = :table AND b.column_id = :column AND f.end_snapshot IS NULL AND f.record_count > 0
    AND b.data_file_id > :after ORDER BY b.data_file_id LIMIT :most;
-- name: audited_inlined
SELECT table_id, table_name FROM ducklake_inlined_data_tables;
