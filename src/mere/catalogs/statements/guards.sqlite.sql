-- Whoever schedules a file for deletion, it is not done while another row still lists it, or did so first.

-- name: keep
CREATE TRIGGER IF NOT EXISTS mere_keep BEFORE INSERT ON ducklake_files_scheduled_for_deletion
WHEN EXISTS (
    SELECT 1 FROM mere_shared s JOIN ducklake_data_file f ON f.data_file_id = s.data_file_id
    WHERE s.path = NEW.path AND f.data_file_id <> NEW.data_file_id
) OR EXISTS (
    SELECT 1 FROM mere_shared s JOIN ducklake_files_scheduled_for_deletion d ON d.path = s.path
    WHERE s.path = NEW.path
)
BEGIN SELECT RAISE(IGNORE); END;

-- Whoever lets versions go or rewrites files, an adopted file is not the lake's to delete.
-- name: keep_adopted
CREATE TRIGGER IF NOT EXISTS mere_keep_adopted BEFORE INSERT ON ducklake_files_scheduled_for_deletion
WHEN EXISTS (SELECT 1 FROM mere_adopted a WHERE a.path = NEW.path)
BEGIN SELECT RAISE(IGNORE); END;
