-- Indexes that make lookups independent of how many files and tables the lake has. None covers
-- bounds: a text too long for an index entry must not fail another client's insert.

CREATE INDEX IF NOT EXISTS mere_data_file ON ducklake_data_file
    (table_id, begin_snapshot, end_snapshot);
CREATE INDEX IF NOT EXISTS mere_data_file_id ON ducklake_data_file (table_id, data_file_id);
CREATE INDEX IF NOT EXISTS mere_data_file_end ON ducklake_data_file
    (table_id, end_snapshot) WHERE end_snapshot IS NOT NULL;
CREATE INDEX IF NOT EXISTS mere_delete_file ON ducklake_delete_file (table_id, data_file_id);
CREATE INDEX IF NOT EXISTS mere_file_column_stats ON ducklake_file_column_stats
    (table_id, column_id, data_file_id);
CREATE INDEX IF NOT EXISTS mere_file_partition_value ON ducklake_file_partition_value
    (table_id, partition_key_index, data_file_id);
CREATE INDEX IF NOT EXISTS mere_column ON ducklake_column (table_id);
CREATE INDEX IF NOT EXISTS mere_table ON ducklake_table (table_id);
CREATE INDEX IF NOT EXISTS mere_table_stats ON ducklake_table_stats (table_id);
CREATE INDEX IF NOT EXISTS mere_table_column_stats ON ducklake_table_column_stats (table_id, column_id);
CREATE INDEX IF NOT EXISTS mere_partition_info ON ducklake_partition_info (table_id);
CREATE INDEX IF NOT EXISTS mere_row_group_table ON mere_row_group (table_id, data_file_id);
-- The values are compressed already.
ALTER TABLE mere_segment ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE mere_archive ALTER COLUMN data SET STORAGE EXTERNAL;
