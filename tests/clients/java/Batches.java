import io.camunda.client.CamundaClient;
import io.camunda.client.api.response.CreateBatchOperationResponse;
import io.camunda.client.api.search.enums.BatchOperationItemState;
import io.camunda.client.api.search.enums.BatchOperationState;
import io.camunda.client.api.search.enums.BatchOperationType;
import io.camunda.client.api.search.enums.ProcessInstanceState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;

/** Batch operations by filter, from their creation to the result of each item. REST only. */
final class Batches extends Calls {
  private static final int COUNT = 3;

  Batches(CamundaClient client) {
    super(true, client);
  }

  void checks() {
    check("a batch migrates, modifies, cancels and deletes instances by filter", this::lifeOfInstances);
    check("a batch resolves incidents by filter", this::resolveIncidents);
    check("a batch reports items that fail", this::failedItems);
  }

  /** Instances of the process that the search knows of. */
  private List<Long> begun(Check.Fixture f) throws Exception {
    deploy(f);
    var keys = new ArrayList<Long>();
    for (int n = 0; n < COUNT; n++) {
      keys.add(start(f.id, Map.of("n", n)).getProcessInstanceKey());
    }
    untilFound(f.id, ProcessInstanceState.ACTIVE);
    return keys;
  }

  private void untilFound(String processId, ProcessInstanceState state) throws Exception {
    Check.until("the search finds all that are " + state, () -> count(processId, state) == COUNT ? true : null);
  }

  private int count(String processId, ProcessInstanceState state) {
    return client.newProcessInstanceSearchRequest().filter(i -> i.processDefinitionId(processId).state(state)).execute().items().size();
  }

  /** Waits for the end of a batch and compares its result and those of its items. */
  private void ended(CreateBatchOperationResponse created, BatchOperationType type, int completed, int failed) throws Exception {
    Check.same(type, created.getBatchOperationType());
    String key = created.getBatchOperationKey();
    var batch = Check.until("the batch of " + type + " ends", () -> {
      // The search learns of it a moment after its creation.
      var found = client.newBatchOperationSearchRequest().filter(b -> b.batchOperationKey(key)).execute().items();
      return found.isEmpty() || found.get(0).getEndDate() == null ? null : client.newBatchOperationGetRequest(key).execute();
    });
    Check.same(
        List.of(type, BatchOperationState.COMPLETED, completed + failed, completed, failed),
        List.of(
            batch.getType(), batch.getStatus(), batch.getOperationsTotalCount(), batch.getOperationsCompletedCount(),
            batch.getOperationsFailedCount()));
    for (var state : Map.of(BatchOperationItemState.COMPLETED, completed, BatchOperationItemState.FAILED, failed).entrySet()) {
      var items = client.newBatchOperationItemsSearchRequest().filter(i -> i.batchOperationKey(key).state(state.getKey())).execute().items();
      Check.same(state.getValue(), items.size());
      for (var item : items) {
        Check.same(state.getKey() == BatchOperationItemState.FAILED, item.getErrorMessage() != null && !item.getErrorMessage().isEmpty());
        Check.same(key, item.getBatchOperationKey());
      }
    }
  }

  private void lifeOfInstances() throws Exception {
    var from = new Check.Fixture("one-task");
    var to = new Check.Fixture("two-tasks");
    long target = deploy(to).getProcesses().get(0).getProcessDefinitionKey();
    var keys = begun(from);
    ended(
        client.newCreateBatchOperationCommand().migrateProcessInstance().targetProcessDefinitionKey(target)
            .addMappingInstruction("task", "first").filter(i -> i.processDefinitionId(from.id)).execute(),
        BatchOperationType.MIGRATE_PROCESS_INSTANCE, COUNT, 0);
    untilFound(to.id, ProcessInstanceState.ACTIVE);

    ended(
        client.newCreateBatchOperationCommand().modifyProcessInstance().addMoveInstruction("first", "second")
            .filter(i -> i.processDefinitionId(to.id)).execute(),
        BatchOperationType.MODIFY_PROCESS_INSTANCE, COUNT, 0);
    var moved = new HashSet<Long>();
    while (moved.size() < COUNT) {
      moved.add(activateOne(to.name("two-tasks-second")).getProcessInstanceKey());
    }
    Check.same(new HashSet<>(keys), moved);

    ended(
        client.newCreateBatchOperationCommand().processInstanceCancel().filter(i -> i.processDefinitionId(to.id)).execute(),
        BatchOperationType.CANCEL_PROCESS_INSTANCE, COUNT, 0);
    for (long key : keys) {
      refused("NOT_FOUND", client.newCancelInstanceCommand(key));
    }
    untilFound(to.id, ProcessInstanceState.TERMINATED);

    ended(
        client.newCreateBatchOperationCommand().deleteProcessInstance().filter(i -> i.processDefinitionId(to.id)).execute(),
        BatchOperationType.DELETE_PROCESS_INSTANCE, COUNT, 0);
    Check.until("no search finds what was deleted", () -> count(to.id, ProcessInstanceState.TERMINATED) == 0 ? true : null);
  }

  private void resolveIncidents() throws Exception {
    var f = new Check.Fixture("one-task");
    begun(f);
    var jobs = new HashSet<Long>();
    for (int n = 0; n < COUNT; n++) {
      var job = activateOne(f.name("one-task"));
      client.newFailCommand(job).retries(0).errorMessage("no paper").execute();
      client.newUpdateRetriesCommand(job).retries(1).execute();
      jobs.add(job.getKey());
    }
    Check.same(List.of(), activate(f.name("one-task"), COUNT, Duration.ofMinutes(1), Duration.ofMillis(-1)));
    Check.until("the search finds all incidents", () ->
        client.newProcessInstanceSearchRequest().filter(i -> i.processDefinitionId(f.id).hasIncident(true)).execute().items().size() == COUNT ? true : null);
    ended(
        client.newCreateBatchOperationCommand().resolveIncident().filter(i -> i.processDefinitionId(f.id)).execute(),
        BatchOperationType.RESOLVE_INCIDENT, COUNT, 0);
    var again = new HashSet<Long>();
    for (int n = 0; n < COUNT; n++) {
      again.add(activateOne(f.name("one-task")).getKey());
    }
    Check.same(jobs, again);
  }

  private void failedItems() throws Exception {
    var f = new Check.Fixture("one-task");
    long target = deploy(new Check.Fixture("user-task")).getProcesses().get(0).getProcessDefinitionKey();
    begun(f);
    ended(
        client.newCreateBatchOperationCommand().migrateProcessInstance().targetProcessDefinitionKey(target)
            .addMappingInstruction("task", "approve").filter(i -> i.processDefinitionId(f.id)).execute(),
        BatchOperationType.MIGRATE_PROCESS_INSTANCE, 0, COUNT);
    Check.same(COUNT, activate(f.name("one-task"), COUNT, Duration.ofMinutes(1), Check.DEADLINE).size());
    // Nothing is found: the batch ends at once.
    ended(
        client.newCreateBatchOperationCommand().processInstanceCancel().filter(i -> i.processDefinitionId("no-such-process")).execute(),
        BatchOperationType.CANCEL_PROCESS_INSTANCE, 0, 0);
  }
}
