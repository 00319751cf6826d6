/**
 * Torture only: the trigger watches every write on a key, from outside the service. It takes down
 * - writes after the key was finished, unless a claim replaces one that has expired,
 * - writes under an owner token by another process than the one that minted it (PGAPPNAME names the process), unless
 *   the key was left to a person, and is nobody's,
 * - a new owner while the lease of the last one still holds,
 * - versions that do not rise by one, and renewals that change anything but the lease.
 * One row is a violation. A transaction that is rolled back takes its row with it.
 */
export const AUDIT = `
CREATE TABLE torture_owners (owner uuid PRIMARY KEY, process text NOT NULL);
CREATE TABLE torture_audit (
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  tenant_id text NOT NULL, key text NOT NULL, process text NOT NULL, what text NOT NULL, before json, after json);

CREATE FUNCTION torture_watch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  process text := current_setting('application_name');
  what text;
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.status <> 'finished' OR OLD.expires_at > now() THEN what := 'deleted before its end'; END IF;
  ELSIF TG_OP = 'UPDATE' AND process <> 'torture' THEN
    what := CASE
      WHEN OLD.status = 'finished' AND NOT (NEW.id <> OLD.id AND OLD.expires_at <= now()) THEN 'written after it was finished'
      WHEN NEW.owner = OLD.owner AND NEW.version = OLD.version
        AND (NEW.status, NEW.recovery_point, NEW.state::text) IS DISTINCT FROM (OLD.status, OLD.recovery_point, OLD.state::text)
        THEN 'changed under one version'
      WHEN NEW.version NOT IN (OLD.version, OLD.version + 1) THEN 'version did not rise by one'
      WHEN NEW.owner <> OLD.owner AND OLD.status = 'in_progress' AND OLD.locked_until > clock_timestamp() THEN 'taken over before the lease was over'
      WHEN NEW.owner = OLD.owner AND OLD.status = 'in_progress' AND process <> (SELECT o.process FROM torture_owners o WHERE o.owner = OLD.owner)
        THEN 'written by another process than its owner'
    END;
  END IF;
  IF what IS NOT NULL THEN
    INSERT INTO torture_audit (tenant_id, key, process, what, before, after)
      VALUES (OLD.tenant_id, OLD.key, process, what, row_to_json(OLD), CASE WHEN TG_OP = 'UPDATE' THEN row_to_json(NEW) END);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO torture_owners VALUES (NEW.owner, process) ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER torture_watch AFTER INSERT OR UPDATE OR DELETE ON idempotency_keys
  FOR EACH ROW EXECUTE FUNCTION torture_watch();
`;
