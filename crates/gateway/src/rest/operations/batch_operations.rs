//! Operations of batch operations.

use skep_protocol::command::{BatchCommand, Need, On};
use skep_protocol::value::BatchOperationType::{
    CancelProcessInstance, DeleteDecisionInstance, DeleteProcessInstance, ResolveIncident,
};
use skep_protocol::{Key, grants};
use skep_query::entities::{BATCH_OPERATION, BATCH_OPERATION_ITEM, BATCH_OPERATION_REQUEST};

use super::path::AnyKey;
use super::rows::operations;
use crate::rest::decode::batch_operations;
use crate::rest::queries::{self};

operations! { "Batch operations":
    POST "/v2/batch-operations/{batchOperationKey}/cancellation" (batchOperationKey: Key) cancelBatchOperation {
        does: BatchCommand(Cancel) = |call| batch_operations::cancel(batchOperationKey, call.text, call.front),
    }
    POST "/v2/batch-operations/{batchOperationKey}/resumption" (batchOperationKey: Key) resumeBatchOperation {
        does: BatchCommand(Resume) = |call| batch_operations::resume(batchOperationKey, call.text, call.front),
    }
    POST "/v2/batch-operations/{batchOperationKey}/suspension" (batchOperationKey: Key) suspendBatchOperation {
        does: BatchCommand(Suspend) = |call| batch_operations::suspend(batchOperationKey, call.text, call.front),
    }
    POST "/v2/process-instances/cancellation" () cancelProcessInstancesBatchOperation {
        does: BatchCommand(Create) = |call| batch_operations::filtered(CancelProcessInstance, call.text, call.front),
    }
    POST "/v2/process-instances/deletion" () deleteProcessInstancesBatchOperation {
        does: BatchCommand(Create) = |call| batch_operations::filtered(DeleteProcessInstance, call.text, call.front),
    }
    POST "/v2/decision-instances/deletion" () deleteDecisionInstancesBatchOperation {
        does: BatchCommand(Create) = |call| batch_operations::filtered(DeleteDecisionInstance, call.text, call.front),
    }
    POST "/v2/process-instances/incident-resolution" () resolveIncidentsBatchOperation {
        does: BatchCommand(Create) = |call| batch_operations::filtered(ResolveIncident, call.text, call.front),
    }
    POST "/v2/process-instances/migration" () migrateProcessInstancesBatchOperation {
        does: BatchCommand(Create) = |call| batch_operations::migration(call.text, call.front),
    }
    POST "/v2/process-instances/modification" () modifyProcessInstancesBatchOperation {
        does: BatchCommand(Create) = |call| batch_operations::modification(call.text, call.front),
    }
    POST "/v2/batch-operation-items/search" () searchBatchOperationItems {
        does: Page(BATCH_OPERATION_ITEM),
        needs: Need::Filters(grants![Batch: Read]),
    }
    POST "/v2/batch-operations/search" () searchBatchOperations {
        does: Page(BATCH_OPERATION),
        needs: Need::Filters(grants![Batch: Read]),
    }
    GET "/v2/batch-operations/{batchOperationKey}" (batchOperationKey: AnyKey) getBatchOperation {
        does: Query(BATCH_OPERATION) = |_| queries::batch_operation(&batchOperationKey),
        needs: Need::AnyOf(grants![Batch: Read], On::Any),
    }
    GET "/skep/v1/batch-operations/{batchOperationKey}/request" (batchOperationKey: AnyKey) getBatchOperationRequest {
        does: Query(BATCH_OPERATION_REQUEST) = |_| queries::batch_request(&batchOperationKey),
        needs: Need::AnyOf(grants![Batch: Read], On::Any),
    }
}
