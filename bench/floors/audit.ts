/** One audit event. `$1` id, `$2` actor, `$3` key, `$4` action, `$5` type, `$6` id, `$7` label, `$8` organization, `$9` diff, `$10` request. */
export const insertAuditEvent = `
  insert into audit_events (id, time, actor_id, actor_kind, api_key_id, action, resource_type, resource_id,
    resource_label, organization_id, diff, request_id, ip, user_agent)
  values ($1, now(), $2, 'user', $3, $4, $5, $6, $7, $8, $9, $10, '127.0.0.1', null)`;
