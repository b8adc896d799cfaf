//! Operations of operators: what the management port offers, for who has the permission.

use skep_protocol::command::{Need, On};
use skep_protocol::grants;

use crate::rest::operations::path::Text;
use crate::rest::operations::rows::operations;

const READ: Need<'static> = Need::AnyOf(grants![System: Read], On::Any);
const UPDATE: Need<'static> = Need::AnyOf(grants![System: Update], On::Any);

operations! { "Management":
    GET "/skep/v1/management/cluster" () getClusterState {
        does: Manage,
        needs: READ,
    }
    PATCH "/skep/v1/management/cluster" () changeCluster {
        does: Manage,
        needs: UPDATE,
    }
    GET "/skep/v1/management/cluster/changes" () getClusterChanges {
        does: Manage,
        needs: READ,
    }
    DELETE "/skep/v1/management/cluster/changes/{changeId}" (changeId: Text) cancelClusterChange {
        does: Manage,
        needs: UPDATE,
    }
    POST "/skep/v1/management/rebalance" () rebalanceCluster {
        does: Manage,
        needs: UPDATE,
    }
    GET "/skep/v1/management/exporters" () getExporters {
        does: Manage,
        needs: READ,
    }
    POST "/skep/v1/management/exporters/{exporterId}/enable" (exporterId: Text) enableExporter {
        does: Manage,
        needs: UPDATE,
    }
    POST "/skep/v1/management/exporters/{exporterId}/disable" (exporterId: Text) disableExporter {
        does: Manage,
        needs: UPDATE,
    }
    POST "/skep/v1/management/exporting/pause" () pauseExporters {
        does: Manage,
        needs: UPDATE,
    }
    POST "/skep/v1/management/exporting/resume" () resumeExporters {
        does: Manage,
        needs: UPDATE,
    }
    GET "/skep/v1/management/backups" () getBackups {
        does: Manage,
        needs: READ,
    }
    POST "/skep/v1/management/backups" () takeBackup {
        does: Manage,
        needs: UPDATE,
    }
    GET "/skep/v1/management/backups/state" () getBackupState {
        does: Manage,
        needs: READ,
    }
    DELETE "/skep/v1/management/backups/{backupId}" (backupId: Text) deleteBackup {
        does: Manage,
        needs: UPDATE,
    }
    GET "/skep/v1/management/configprops" () getConfigurationProperties {
        does: Manage,
        needs: READ,
    }
}
