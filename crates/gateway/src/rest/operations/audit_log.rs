//! Operations of audit log.

use skep_protocol::command::{Need, On};
use skep_protocol::{Key, grants};
use skep_query::entities::AUDIT_LOG;

use super::rows::operations;
use crate::rest::queries::{self};

operations! { "Audit log":
    POST "/v2/audit-logs/search" () searchAuditLogs {
        does: Page(AUDIT_LOG),
        needs: Need::Filters(grants![AuditLog: Read]),
    }
    GET "/v2/audit-logs/{auditLogKey}" (auditLogKey: Key) getAuditLog {
        does: One(AUDIT_LOG),
        needs: Need::AnyOf(grants![AuditLog: Read], On::Found),
    }
}
