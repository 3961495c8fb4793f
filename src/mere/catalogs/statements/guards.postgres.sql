-- Whoever schedules a file for deletion, it is not done while another row still lists it, or did so first.

-- name: kept
CREATE OR REPLACE FUNCTION mere_kept() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM mere_shared s JOIN ducklake_data_file f ON f.data_file_id = s.data_file_id
        WHERE s.path = NEW.path AND f.data_file_id <> NEW.data_file_id
    ) OR EXISTS (
        SELECT 1 FROM mere_shared s JOIN ducklake_files_scheduled_for_deletion d ON d.path = s.path
        WHERE s.path = NEW.path
    ) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
-- name: keep
CREATE OR REPLACE TRIGGER mere_keep BEFORE INSERT ON ducklake_files_scheduled_for_deletion
FOR EACH ROW EXECUTE FUNCTION mere_kept();

-- Whoever lets versions go or rewrites files, an adopted file is not the lake's to delete.
-- name: kept_adopted
CREATE OR REPLACE FUNCTION mere_kept_adopted() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM mere_adopted a WHERE a.path = NEW.path) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
-- name: keep_adopted
CREATE OR REPLACE TRIGGER mere_keep_adopted BEFORE INSERT ON ducklake_files_scheduled_for_deletion
FOR EACH ROW EXECUTE FUNCTION mere_kept_adopted();
