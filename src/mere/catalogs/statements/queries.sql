-- What is asked of a catalog. A row of a versioned table is alive at a snapshot when
-- begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at).

-- name: own_tables
SELECT table_name FROM information_schema.tables
WHERE table_schema = current_schema() AND (table_name = 'ducklake_metadata' OR substr(table_name, 1, 5) = 'mere_');
-- name: own_tables@sqlite
SELECT name FROM sqlite_schema
WHERE type = 'table' AND (name = 'ducklake_metadata' OR substr(name, 1, 5) = 'mere_');

-- name: options
SELECT key, value, scope, scope_id FROM ducklake_metadata;

-- name: newest
SELECT snapshot_id, snapshot_time, schema_version, next_catalog_id, next_file_id
FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1;
-- name: newest@duckdb
SELECT snapshot_id, epoch_us(snapshot_time), schema_version, next_catalog_id, next_file_id
FROM ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1;

-- name: snapshot
SELECT s.snapshot_id, s.snapshot_time, s.schema_version, c.changes_made, c.author, c.commit_message
FROM ducklake_snapshot s LEFT JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
WHERE s.snapshot_id = :snapshot;
-- name: snapshot@duckdb
SELECT s.snapshot_id, epoch_us(s.snapshot_time), s.schema_version, c.changes_made, c.author, c.commit_message
FROM ducklake_snapshot s LEFT JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
WHERE s.snapshot_id = :snapshot;

-- name: snapshots
SELECT s.snapshot_id, s.snapshot_time, s.schema_version, c.changes_made, c.author, c.commit_message
FROM ducklake_snapshot s LEFT JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
ORDER BY s.snapshot_id;
-- name: snapshots@duckdb
SELECT s.snapshot_id, epoch_us(s.snapshot_time), s.schema_version, c.changes_made, c.author, c.commit_message
FROM ducklake_snapshot s LEFT JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
ORDER BY s.snapshot_id;

-- name: snapshot_range
SELECT min(snapshot_id), max(snapshot_id), count(*) FROM ducklake_snapshot;

-- The newest snapshot that is not younger than a time. SQLite keeps times as text in several
-- spellings, so there the caller compares, newest first.
-- name: times
SELECT snapshot_id, snapshot_time FROM ducklake_snapshot
WHERE snapshot_time <= :time ORDER BY snapshot_id DESC LIMIT 1;
-- name: times@duckdb
SELECT snapshot_id, epoch_us(snapshot_time) FROM ducklake_snapshot
WHERE snapshot_time <= CAST(:time AS TIMESTAMPTZ) ORDER BY snapshot_id DESC LIMIT 1;
-- name: times@sqlite
SELECT snapshot_id, snapshot_time FROM ducklake_snapshot WHERE :time IS NOT NULL
ORDER BY snapshot_id DESC;

-- name: table_named
SELECT t.table_id, t.table_uuid, t.path, t.path_is_relative, s.path, s.path_is_relative, s.schema_id,
    t.table_name, s.schema_name, t.begin_snapshot
FROM ducklake_table t JOIN ducklake_schema s ON s.schema_id = t.schema_id
WHERE t.table_name = :name AND s.schema_name = :schema
    AND t.begin_snapshot <= :at AND (t.end_snapshot IS NULL OR t.end_snapshot > :at)
    AND s.begin_snapshot <= :at AND (s.end_snapshot IS NULL OR s.end_snapshot > :at);

-- name: table_by_id
SELECT t.table_id, t.table_uuid, t.path, t.path_is_relative, s.path, s.path_is_relative, s.schema_id,
    t.table_name, s.schema_name, t.begin_snapshot
FROM ducklake_table t JOIN ducklake_schema s ON s.schema_id = t.schema_id
WHERE t.table_id = :table
    AND t.begin_snapshot <= :at AND (t.end_snapshot IS NULL OR t.end_snapshot > :at)
    AND s.begin_snapshot <= :at AND (s.end_snapshot IS NULL OR s.end_snapshot > :at);

-- name: tables
SELECT s.schema_name, t.table_name
FROM ducklake_table t JOIN ducklake_schema s ON s.schema_id = t.schema_id
WHERE t.begin_snapshot <= :at AND (t.end_snapshot IS NULL OR t.end_snapshot > :at)
    AND s.begin_snapshot <= :at AND (s.end_snapshot IS NULL OR s.end_snapshot > :at);

-- name: views
SELECT s.schema_name, v.view_name, v.dialect, v.sql, v.column_aliases
FROM ducklake_view v JOIN ducklake_schema s ON s.schema_id = v.schema_id
WHERE v.begin_snapshot <= :at AND (v.end_snapshot IS NULL OR v.end_snapshot > :at)
    AND s.begin_snapshot <= :at AND (s.end_snapshot IS NULL OR s.end_snapshot > :at);

-- name: namespaces
SELECT schema_id, schema_name, path, path_is_relative FROM ducklake_schema
WHERE begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at);

-- name: columns
SELECT column_id, column_order, column_name, column_type, initial_default, default_value,
    nulls_allowed, parent_column, default_value_type
FROM ducklake_column
WHERE table_id = :table AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at)
ORDER BY column_order, column_id;

-- name: comments
SELECT NULL, value FROM ducklake_tag WHERE object_id = :table AND key = 'comment'
    AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at)
UNION ALL
SELECT column_id, value FROM ducklake_column_tag WHERE table_id = :table AND key = 'comment'
    AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at);

-- name: checks
SELECT check_name, expression FROM mere_check WHERE table_id = :table
    AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at)
ORDER BY check_name;

-- name: checks_since
SELECT 1 FROM mere_check WHERE table_id = :table AND begin_snapshot > :base;

-- name: column_history
SELECT max(column_id), count(end_snapshot), min(begin_snapshot), max(begin_snapshot)
FROM ducklake_column WHERE table_id = :table;

-- name: column_types
SELECT DISTINCT column_id, column_type FROM ducklake_column WHERE table_id = :table;

-- name: types_between
SELECT DISTINCT column_id, column_type FROM ducklake_column
WHERE table_id = :table AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot >= :since)
ORDER BY column_id, column_type;

-- name: partition_keys
SELECT i.partition_id, c.partition_key_index, c.column_id, c.transform
FROM ducklake_partition_info i JOIN ducklake_partition_column c
    ON c.partition_id = i.partition_id AND c.table_id = i.table_id
WHERE i.table_id = :table AND i.begin_snapshot <= :at AND (i.end_snapshot IS NULL OR i.end_snapshot > :at)
ORDER BY c.partition_key_index;

-- name: partition_specs
SELECT DISTINCT i.partition_id, c.partition_key_index, c.column_id, c.transform
FROM ducklake_partition_info i JOIN ducklake_partition_column c
    ON c.partition_id = i.partition_id AND c.table_id = i.table_id
WHERE i.table_id = :table
ORDER BY i.partition_id, c.partition_key_index;

-- name: sort_keys
SELECT e.expression, e.sort_direction, e.null_order
FROM ducklake_sort_info i JOIN ducklake_sort_expression e
    ON e.sort_id = i.sort_id AND e.table_id = i.table_id
WHERE i.table_id = :table AND i.begin_snapshot <= :at AND (i.end_snapshot IS NULL OR i.end_snapshot > :at)
ORDER BY e.sort_key_index;

-- name: totals
SELECT count(*), sum(record_count), sum(file_size_bytes) FROM ducklake_data_file
WHERE table_id = :table AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at);

-- name: deleted
SELECT sum(d.delete_count) FROM ducklake_delete_file d JOIN ducklake_data_file f
    ON f.data_file_id = d.data_file_id
WHERE d.table_id = :table AND d.begin_snapshot <= :at AND (d.end_snapshot IS NULL OR d.end_snapshot > :at)
    AND f.begin_snapshot <= :at AND (f.end_snapshot IS NULL OR f.end_snapshot > :at);

-- name: files
SELECT data_file_id, path, path_is_relative, record_count, file_size_bytes, footer_size, begin_snapshot,
    end_snapshot, row_id_start, partition_id, mapping_id, partial_max, file_format, encryption_key
FROM ducklake_data_file
WHERE table_id = :table AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at)
ORDER BY data_file_id;

-- The signs before table_id and begin_snapshot keep SQLite from taking the index on these two.
-- name: files_by_id
SELECT data_file_id, path, path_is_relative, record_count, file_size_bytes, footer_size, begin_snapshot,
    end_snapshot, row_id_start, partition_id, mapping_id, partial_max, file_format, encryption_key
FROM ducklake_data_file
WHERE data_file_id IN (:ids) AND +table_id = :table
    AND +begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at)
ORDER BY data_file_id;

-- One that does not say how far it goes may name snapshots up to the newest: so DuckDB writes them when
-- it flushes rows out of the catalog.
-- name: delete_files
SELECT delete_file_id, data_file_id, path, path_is_relative, format, delete_count, file_size_bytes,
    footer_size, begin_snapshot, coalesce(partial_max, (SELECT max(snapshot_id) FROM ducklake_snapshot)),
    encryption_key
FROM ducklake_delete_file
WHERE table_id = :table AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at)
ORDER BY delete_file_id;

-- name: delete_files_by_id
SELECT delete_file_id, data_file_id, path, path_is_relative, format, delete_count, file_size_bytes,
    footer_size, begin_snapshot, coalesce(partial_max, (SELECT max(snapshot_id) FROM ducklake_snapshot)),
    encryption_key
FROM ducklake_delete_file
WHERE table_id = :table AND data_file_id IN (:ids)
    AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at)
ORDER BY delete_file_id;

-- name: partition_values
SELECT data_file_id, partition_key_index, partition_value
FROM ducklake_file_partition_value WHERE table_id = :table;

-- name: partition_values_by_id
SELECT data_file_id, partition_key_index, partition_value
FROM ducklake_file_partition_value
WHERE table_id = :table AND partition_key_index = :key AND data_file_id IN (:ids);

-- name: column_stats
SELECT data_file_id, column_id, column_size_bytes, value_count, null_count, min_value, max_value, contains_nan
FROM ducklake_file_column_stats WHERE table_id = :table AND column_id = :column;

-- name: column_stats_by_id
SELECT data_file_id, column_id, column_size_bytes, value_count, null_count, min_value, max_value, contains_nan
FROM ducklake_file_column_stats
WHERE table_id = :table AND column_id = :column AND data_file_id IN (:ids);

-- name: name_mappings
SELECT n.mapping_id, n.column_id, n.source_name, n.target_field_id, n.parent_column, n.is_partition
FROM ducklake_column_mapping m JOIN ducklake_name_mapping n ON n.mapping_id = m.mapping_id
WHERE m.table_id = :table;

-- Row groups: those of recent files by file, those of older ones in segments.
-- name: row_groups_by_id
SELECT data_file_id, row_groups FROM mere_row_group WHERE data_file_id IN (:ids);
-- name: row_groups_of
SELECT data_file_id, row_groups FROM mere_row_group WHERE table_id = :table ORDER BY data_file_id;
-- name: row_groups_count
SELECT count(*) FROM mere_row_group WHERE table_id = :table;
-- name: drop_row_groups
DELETE FROM mere_row_group WHERE data_file_id IN (:ids);
-- name: segments
SELECT first_file, last_file FROM mere_segment WHERE table_id = :table AND column_id = 0
ORDER BY first_file;
-- name: segment_values
SELECT first_file, column_id, column_type, data FROM mere_segment
WHERE table_id = :table AND column_id = :column AND first_file IN (:ids);
-- name: row_groups_known
SELECT data_file_id FROM mere_row_group WHERE table_id = :table AND data_file_id IN (:ids);

-- name: inlined_tables
SELECT table_name FROM ducklake_inlined_data_tables WHERE table_id = :table;

-- What came to a table since a snapshot, and is still there.
-- name: files_since
SELECT data_file_id FROM ducklake_data_file
WHERE table_id = :table AND begin_snapshot > :base AND end_snapshot IS NULL
ORDER BY data_file_id;
-- What touched a table from one snapshot to another.
-- name: files_touched
SELECT data_file_id, path, path_is_relative, record_count, file_size_bytes, footer_size, begin_snapshot,
    end_snapshot, row_id_start, partition_id, mapping_id, partial_max, file_format, encryption_key
FROM ducklake_data_file
WHERE table_id = :table AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot >= :since)
ORDER BY data_file_id;
-- name: delete_files_ever
SELECT delete_file_id, data_file_id, path, path_is_relative, format, delete_count, file_size_bytes,
    footer_size, begin_snapshot, coalesce(partial_max, (SELECT max(snapshot_id) FROM ducklake_snapshot)),
    encryption_key
FROM ducklake_delete_file WHERE table_id = :table AND begin_snapshot <= :at
ORDER BY delete_file_id;
-- name: changes_within
SELECT snapshot_id, changes_made FROM ducklake_snapshot_changes
WHERE snapshot_id >= :since AND snapshot_id <= :at;

-- Where inlined rows (1) and inlined deletes (0) of a table lie.
-- name: inlined_places
SELECT table_name, 1 FROM ducklake_inlined_data_tables WHERE table_id = :table
UNION ALL SELECT table_name, 0 FROM information_schema.tables
WHERE table_schema = current_schema() AND table_name = :name ORDER BY 1;
-- name: inlined_places@sqlite
SELECT table_name, 1 FROM ducklake_inlined_data_tables WHERE table_id = :table
UNION ALL SELECT name, 0 FROM sqlite_schema WHERE type = 'table' AND name = :name ORDER BY 1;
-- name: inlined_places@postgres
SELECT table_name, 1 FROM ducklake_inlined_data_tables WHERE table_id = :table
UNION ALL SELECT relname, 0 FROM pg_class WHERE oid = to_regclass(:name) ORDER BY 1;

-- name: columns_of
SELECT column_name FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = :name;
-- name: columns_of@sqlite
SELECT name FROM pragma_table_info(:name);

-- name: committed
SELECT snapshot_id, attempt FROM mere_commit WHERE token = :token;

-- name: steps
SELECT step_name, run, since, reached, snapshot_id FROM mere_step ORDER BY step_name;
-- name: step
SELECT step_name, run, since, reached, snapshot_id FROM mere_step WHERE step_name = :step;

-- Files of others that were loaded. Texts are compared by their bytes, as everywhere here.
-- name: loaded
SELECT source, bytes, mark, load_id, snapshot_id FROM mere_loaded
WHERE table_id = :table AND source >= :first AND source <= :last;
-- name: loaded@postgres
SELECT source, bytes, mark, load_id, snapshot_id FROM mere_loaded
WHERE table_id = :table AND source COLLATE "C" >= :first AND source COLLATE "C" <= :last;

-- name: loaded_as
SELECT source FROM mere_loaded WHERE mark = :mark;

-- name: changes_since
SELECT snapshot_id, changes_made FROM ducklake_snapshot_changes WHERE snapshot_id > :base
ORDER BY snapshot_id;

-- name: begun_between
SELECT count(*), sum(record_count), sum(file_size_bytes) FROM ducklake_data_file
WHERE table_id = :table AND begin_snapshot > :base AND begin_snapshot <= :at;
-- name: ended_between
SELECT count(*), sum(record_count), sum(file_size_bytes) FROM ducklake_data_file
WHERE table_id = :table AND end_snapshot > :base AND end_snapshot <= :at;

-- name: history
SELECT s.snapshot_id, s.snapshot_time, c.changes_made, c.author, c.commit_message, c.commit_extra_info
FROM ducklake_snapshot s JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
WHERE s.snapshot_id <= :at ORDER BY s.snapshot_id;
-- name: history@duckdb
SELECT s.snapshot_id, epoch_us(s.snapshot_time), c.changes_made, c.author, c.commit_message, c.commit_extra_info
FROM ducklake_snapshot s JOIN ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
WHERE s.snapshot_id <= :at ORDER BY s.snapshot_id;

-- name: files_begun
SELECT begin_snapshot, count(*), sum(record_count) FROM ducklake_data_file
WHERE table_id = :table AND begin_snapshot <= :at GROUP BY begin_snapshot;
-- name: files_ended
SELECT end_snapshot, count(*), sum(record_count) FROM ducklake_data_file
WHERE table_id = :table AND end_snapshot <= :at GROUP BY end_snapshot;
-- name: deletes_begun
SELECT begin_snapshot, sum(delete_count) FROM ducklake_delete_file
WHERE table_id = :table AND begin_snapshot <= :at GROUP BY begin_snapshot;
-- name: deletes_ended
SELECT end_snapshot, sum(delete_count) FROM ducklake_delete_file
WHERE table_id = :table AND end_snapshot <= :at GROUP BY end_snapshot;
-- name: table_versions
SELECT begin_snapshot, end_snapshot FROM ducklake_table WHERE table_id = :table;

-- Many rows at once, for planning over many files.
-- name: span
SELECT count(*), min(data_file_id), max(data_file_id) FROM ducklake_data_file
WHERE table_id = :table AND data_file_id >= :first AND data_file_id < :end;
-- name: archive
SELECT first_file, end_file, item, column_type, data FROM mere_archive
WHERE table_id = :table AND item IN ('range', :item) ORDER BY first_file;
-- name: archive_end
SELECT max(end_file) FROM mere_archive WHERE table_id = :table AND item = 'range';
-- name: bulk_ids
SELECT data_file_id FROM ducklake_data_file
WHERE table_id = :table AND data_file_id >= :first AND data_file_id < :end ORDER BY data_file_id;
-- name: bulk_bounds
SELECT data_file_id, min_value, max_value FROM ducklake_file_column_stats
WHERE table_id = :table AND column_id = :column AND data_file_id >= :first AND data_file_id < :end
ORDER BY data_file_id;
-- name: bulk_counts
SELECT data_file_id, null_count, value_count FROM ducklake_file_column_stats
WHERE table_id = :table AND column_id = :column AND data_file_id >= :first AND data_file_id < :end
ORDER BY data_file_id;
-- name: bulk_nan
SELECT data_file_id, CASE WHEN contains_nan THEN 1 ELSE 0 END FROM ducklake_file_column_stats
WHERE table_id = :table AND column_id = :column AND data_file_id >= :first AND data_file_id < :end
    AND (contains_nan IS NULL OR contains_nan) ORDER BY data_file_id;
-- name: bulk_partitions
SELECT data_file_id, partition_value FROM ducklake_file_partition_value
WHERE table_id = :table AND partition_key_index = :key AND data_file_id >= :first AND data_file_id < :end
ORDER BY data_file_id;
-- name: partition_texts
SELECT f.data_file_id, p.partition_value
FROM ducklake_data_file f LEFT JOIN ducklake_file_partition_value p
    ON p.table_id = f.table_id AND p.data_file_id = f.data_file_id AND p.partition_key_index = :key
WHERE f.table_id = :table AND f.begin_snapshot <= :at AND (f.end_snapshot IS NULL OR f.end_snapshot > :at);
-- name: bulk_dead
SELECT data_file_id FROM ducklake_data_file
WHERE table_id = :table AND (begin_snapshot > :at OR end_snapshot <= :at);

-- What a version that is restored takes over, row by row.
-- name: column_rows
SELECT column_id, begin_snapshot, end_snapshot, table_id, column_order, column_name, column_type, initial_default,
    default_value, nulls_allowed, parent_column, default_value_type, default_value_dialect
FROM ducklake_column
WHERE table_id = :table AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at)
ORDER BY column_id;
-- name: partition_at
SELECT partition_id FROM ducklake_partition_info
WHERE table_id = :table AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at);
-- name: sort_at
SELECT sort_id FROM ducklake_sort_info
WHERE table_id = :table AND begin_snapshot <= :at AND (end_snapshot IS NULL OR end_snapshot > :at);
-- name: data_file_rows
SELECT data_file_id, table_id, begin_snapshot, end_snapshot, file_order, path, path_is_relative, file_format,
    record_count, file_size_bytes, footer_size, row_id_start, partition_id, encryption_key, mapping_id, partial_max
FROM ducklake_data_file WHERE data_file_id IN (:ids);
-- name: file_stats_rows
SELECT data_file_id, table_id, column_id, column_size_bytes, value_count, null_count, min_value, max_value,
    contains_nan, extra_stats
FROM ducklake_file_column_stats WHERE data_file_id IN (:ids);
-- name: file_variant_rows
SELECT data_file_id, table_id, column_id, variant_path, shredded_type, column_size_bytes, value_count, null_count,
    min_value, max_value, contains_nan, extra_stats
FROM ducklake_file_variant_stats WHERE data_file_id IN (:ids);
-- name: file_partition_rows
SELECT data_file_id, table_id, partition_key_index, partition_value
FROM ducklake_file_partition_value WHERE data_file_id IN (:ids);
-- name: shared
SELECT data_file_id FROM mere_shared WHERE data_file_id IN (:ids);
-- name: definition_at
SELECT max(begin_snapshot) FROM ducklake_schema_versions
WHERE table_id = :table AND schema_version <= :version;

-- What must be known of files whose rows move.
-- name: definition_steps
SELECT begin_snapshot FROM ducklake_column WHERE table_id = :table
UNION SELECT end_snapshot FROM ducklake_column WHERE table_id = :table AND end_snapshot IS NOT NULL;
-- name: delete_files_of
SELECT delete_file_id, data_file_id, path, path_is_relative, format, delete_count, file_size_bytes,
    footer_size, begin_snapshot, coalesce(partial_max, (SELECT max(snapshot_id) FROM ducklake_snapshot)),
    encryption_key
FROM ducklake_delete_file WHERE table_id = :table AND data_file_id IN (:ids) AND begin_snapshot <= :at
ORDER BY delete_file_id;
-- name: listed_twice
SELECT DISTINCT s.data_file_id FROM mere_shared s
    JOIN mere_shared o ON o.path = s.path AND o.data_file_id <> s.data_file_id
    JOIN ducklake_data_file f ON f.data_file_id = o.data_file_id
WHERE s.data_file_id IN (:ids);
-- name: marks
SELECT data_file_id, mark FROM mere_moved WHERE data_file_id IN (:ids);
-- name: drop_marks
DELETE FROM mere_moved WHERE data_file_id IN (:ids);
-- name: drop_footers
DELETE FROM mere_footer WHERE file_id IN (:ids);
-- name: any_listed
SELECT data_file_id FROM ducklake_data_file WHERE data_file_id IN (:ids);
-- name: counted
SELECT snapshot_id, rows_inserted, rows_updated, rows_deleted, files_added, files_removed
FROM mere_counted WHERE table_id = :table;
