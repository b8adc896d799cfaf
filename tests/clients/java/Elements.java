import io.camunda.client.CamundaClient;
import io.camunda.client.api.response.ActivatedJob;
import io.camunda.client.api.response.EvaluateDecisionResponse;
import io.camunda.client.api.search.enums.GlobalTaskListenerEventType;
import io.camunda.client.api.search.enums.JobKind;
import io.camunda.client.api.search.enums.ListenerEventType;
import io.camunda.client.api.search.response.ElementInstance;
import java.util.List;
import java.util.Map;

/** Decisions, signals, conditions, ad-hoc sub-processes, listeners and migration, over both transports. */
final class Elements extends Calls {
  Elements(boolean rest, CamundaClient client) {
    super(rest, client);
  }

  void checks() {
    check("a decision is evaluated by id and by key, with what led to it", this::decision);
    check("a decision that fails says which and why", this::failedDecision);
    check("a business rule task has its decision evaluated, and it is found", this::businessRuleTask);
    check("a signal goes to all that wait for it", this::signal);
    check("conditions start, trigger and end; cluster variables are seen", this::conditions);
    check("ad-hoc activities are activated by a client", this::adHocByClient);
    check("ad-hoc activities are activated by a job until it says so", this::adHocByJob);
    check("execution listeners are jobs, and one that fails is an incident", this::executionListeners);
    check("task listeners correct and deny, those of all processes too", this::taskListeners);
    check("an instance is migrated and goes on in its new definition", this::migration);
    check("a migration that cannot be is refused whole", this::refusedMigration);
  }

  private EvaluateDecisionResponse evaluate(String decision, Map<String, Object> variables) {
    return client.newEvaluateDecisionCommand().decisionId(decision).variables(variables).execute();
  }

  private void decision() throws Exception {
    var f = new Check.Fixture("business-rule-task", "dish.dmn");
    var deployed = deploy(f);
    Check.same(List.of(f.name("menu")), deployed.getDecisionRequirements().stream().map(d -> d.getDmnDecisionRequirementsId()).toList());
    var dish = deployed.getDecisions().stream().filter(d -> d.getDmnDecisionId().equals(f.name("dish"))).findFirst().orElseThrow();
    Check.same(List.of(2, "Dish", 1), List.of(deployed.getDecisions().size(), dish.getDmnDecisionName(), dish.getVersion()));

    var answer = evaluate(f.name("dish"), Map.of("month", 12, "guests", 8));
    Check.same("\"stew\"", answer.getDecisionOutput());
    Check.same(
        List.of(f.name("dish"), dish.getDecisionKey(), 1, "Dish", f.name("menu"), dish.getDecisionRequirementsKey(), "<default>"),
        List.of(
            answer.getDecisionId(), answer.getDecisionKey(), answer.getDecisionVersion(), answer.getDecisionName(),
            answer.getDecisionRequirementsId(), answer.getDecisionRequirementsKey(), answer.getTenantId()));
    // What was required comes first.
    Check.same(List.of("season", f.name("dish")), answer.getEvaluatedDecisions().stream().map(d -> d.getDecisionId()).toList());
    var last = answer.getEvaluatedDecisions().get(1);
    Check.same(List.of("\"winter\"", "8"), last.getEvaluatedInputs().stream().map(i -> i.getInputValue()).toList());
    var rule = last.getMatchedRules().get(0);
    Check.same(List.of(1, "dish-stew", 2), List.of(last.getMatchedRules().size(), rule.getRuleId(), rule.getRuleIndex()));
    Check.same("\"stew\"", rule.getEvaluatedOutputs().get(0).getOutputValue());

    var byKey = client.newEvaluateDecisionCommand().decisionKey(dish.getDecisionKey()).variable("month", 7).execute();
    Check.same("\"salad\"", byKey.getDecisionOutput());
    refused("NOT_FOUND", client.newEvaluateDecisionCommand().decisionId("no-such-decision"));
    refused("NOT_FOUND", client.newEvaluateDecisionCommand().decisionKey(Long.parseLong(UNKNOWN)));
  }

  private void failedDecision() throws Exception {
    var f = new Check.Fixture("business-rule-task", "dish.dmn");
    deploy(f);
    var answer = evaluate(f.name("dish"), Map.of("month", 13, "guests", 2));
    Check.same("season", answer.getFailedDecisionId());
    Check.that(answer.getFailureMessage().contains("no such month"), answer.getFailureMessage());
    // The JS suite looks it up: this client can read no decision instance that belongs to no process.
  }

  private void businessRuleTask() throws Exception {
    var f = new Check.Fixture("business-rule-task", "dish.dmn");
    var key = deploy(f).getDecisions().stream().filter(d -> d.getDmnDecisionId().equals(f.name("dish"))).findFirst().orElseThrow().getDecisionKey();
    var awaited = client.newCreateInstanceCommand().bpmnProcessId(f.id).latestVersion()
        .variables(Map.of("decision", f.name("dish"), "month", 1, "guests", 2)).withResult().requestTimeout(Check.DEADLINE).execute();
    Check.same("soup", awaited.getVariablesAsMap().get("dish"));

    var found = Check.until("the decision instance is found", () -> {
      var items = client.newDecisionInstanceSearchRequest()
          .filter(d -> d.processInstanceKey(awaited.getProcessInstanceKey()).decisionDefinitionId(f.name("dish"))).execute().items();
      return items.isEmpty() ? null : items;
    });
    Check.same(1, found.size());
    var one = client.newDecisionInstanceGetRequest(found.get(0).getDecisionInstanceId()).execute();
    Check.same(
        List.of("\"soup\"", "EVALUATED", key, key, "DECISION_TABLE"),
        List.of(
            one.getResult(), one.getState().name(), one.getDecisionDefinitionKey(), one.getRootDecisionDefinitionKey(),
            one.getDecisionDefinitionType().name()));
    Check.same(List.of("\"winter\"", "2"), one.getEvaluatedInputs().stream().map(i -> i.getInputValue()).toList());
    Check.same(List.of("dish-soup"), one.getMatchedRules().stream().map(r -> r.getRuleId()).toList());
    Check.same(f.name("menu"), client.newDecisionDefinitionGetRequest(key).execute().getDmnDecisionRequirementsId());
    Check.that(client.newDecisionDefinitionGetXmlRequest(key).execute().contains("dish-soup"), "the XML has the rules");
  }

  private void broadcast(String name, Map<String, Object> variables) {
    var answer = client.newBroadcastSignalCommand().signalName(name).variables(variables).execute();
    Check.that(answer.getKey() > 0 && answer.getTenantId().equals("<default>"), answer);
  }

  private void signal() throws Exception {
    var f = new Check.Fixture("signal-events");
    deploy(f);
    var waiting = List.of(1, 2).stream().map(n -> Check.beside(() -> result(f.id, Map.of("awaited", f.id, "n", n)))).toList();
    // The API does not show who waits: broadcast until nobody does.
    Check.until("both have had the signal", () -> {
      broadcast(f.id, Map.of("by", "us"));
      return waiting.stream().allMatch(w -> w.isDone()) ? true : null;
    });
    Check.same(Map.of("awaited", f.id, "n", 1, "by", "us"), waiting.get(0).get());
    Check.same(Map.of("awaited", f.id, "n", 2, "by", "us"), waiting.get(1).get());
  }

  private void conditions() throws Exception {
    var f = new Check.Fixture("conditional-events");
    long definition = deploy(f).getProcesses().get(0).getProcessDefinitionKey();
    client.newGloballyScopedClusterVariableCreateRequest().create("watched", Map.of("item", f.id)).execute();
    try {
      Check.same(List.of(), client.newEvaluateConditionalCommand().variables(Map.of("stock", 9, "item", f.id)).execute().getProcessInstances());
      var begun = client.newEvaluateConditionalCommand().variables(Map.of("stock", 2, "item", f.id)).processDefinitionKey(definition).execute();
      Check.same(List.of(definition), begun.getProcessInstances().stream().map(i -> i.getProcessDefinitionKey()).toList());
      Check.that(begun.getConditionalEvaluationKey() > 0, begun);
      long instance = begun.getProcessInstances().get(0).getProcessInstanceKey();
      var job = activateOne(f.name("conditional-events-reorder"));
      Check.same(instance, job.getProcessInstanceKey());
      client.newCompleteCommand(job).execute();
      client.newSetVariablesCommand(instance).variables(Map.of("stock", 4)).execute();
      client.newSetVariablesCommand(instance).variables(Map.of("cancelled", true)).execute();
      refused("NOT_FOUND", client.newCancelInstanceCommand(instance));
    } finally {
      client.newGloballyScopedClusterVariableDeleteRequest().delete("watched").execute();
    }
  }

  private void adHocByClient() throws Exception {
    var f = new Check.Fixture("ad-hoc-sub-process");
    deploy(f);
    long instance = start(f.id, Map.of("first", List.of("ask"))).getProcessInstanceKey();
    var ask = activateOne(f.name("ad-hoc-ask"));
    Check.same("ask", ask.getElementId());
    String scope = String.valueOf(element(instance, "by-expression").getElementInstanceKey());
    refused("NOT_FOUND", client.newActivateAdHocSubProcessActivitiesCommand(scope).activateElement("nope"));
    refused("NOT_FOUND", client.newActivateAdHocSubProcessActivitiesCommand(UNKNOWN).activateElement("look"));
    client.newActivateAdHocSubProcessActivitiesCommand(scope).activateElement("look", Map.of("word", "bees")).execute();
    var look = activateOne(f.name("ad-hoc-look"));
    Check.same(List.of("look", "bees"), List.of(look.getElementId(), look.getVariable("word")));
    // The condition holds: what is left of the sub-process is cancelled.
    client.newCompleteCommand(ask).variable("known", true).execute();
    refused("NOT_FOUND", client.newCompleteCommand(look));
    Check.same(JobKind.AD_HOC_SUB_PROCESS, activateOne(f.name("ad-hoc-agent")).getKind());
    client.newCancelInstanceCommand(instance).execute();
  }

  private ElementInstance element(long instance, String element) throws Exception {
    return Check.until("the element instance is found", () -> {
      var items = client.newElementInstanceSearchRequest().filter(e -> e.processInstanceKey(instance).elementId(element)).execute().items();
      return items.isEmpty() ? null : items.get(0);
    });
  }

  private void adHocByJob() throws Exception {
    var f = new Check.Fixture("ad-hoc-sub-process");
    deploy(f);
    var waiting = Check.beside(() -> result(f.id, Map.of("first", List.of("ask"))));
    client.newCompleteCommand(activateOne(f.name("ad-hoc-ask"))).variable("known", true).execute();
    var agent = activateOne(f.name("ad-hoc-agent"));
    Check.same(List.of(JobKind.AD_HOC_SUB_PROCESS, "by-job"), List.of(agent.getKind(), agent.getElementId()));
    refused(
        "NOT_FOUND", client.newCompleteCommand(agent).withResult(r -> r.forAdHocSubProcess().activateElement("nope").variable("x", 1)));
    client.newCompleteCommand(agent)
        .withResult(r -> r.forAdHocSubProcess().activateElement("search").variable("toolCall", Map.of("word", "bees"))).execute();
    var search = activateOne(f.name("ad-hoc-look"));
    Check.same(List.of("search", "bees"), List.of(search.getElementId(), search.getVariable("word")));
    client.newCompleteCommand(search).variable("answer", 42).execute();
    var again = activateOne(f.name("ad-hoc-agent"));
    client.newCompleteCommand(again).withResult(r -> r.forAdHocSubProcess().completionConditionFulfilled(true)).execute();
    Check.same(List.of(42), waiting.get().get("answers"));
  }

  private void listener(ActivatedJob job, ListenerEventType event, String element, int retries) {
    Check.same(
        List.of(JobKind.EXECUTION_LISTENER, event, element, retries),
        List.of(job.getKind(), job.getListenerEventType(), job.getElementId(), job.getRetries()));
  }

  private void executionListeners() throws Exception {
    var f = new Check.Fixture("execution-listeners");
    deploy(f);
    var waiting = Check.beside(() -> result(f.id, Map.of()));
    var begin = activateOne(f.name("listener-begin"));
    listener(begin, ListenerEventType.START, "work", 2);
    client.newCompleteCommand(begin).variable("begun", true).execute();
    var work = activateOne(f.name("listener-work"));
    Check.same(List.of(JobKind.BPMN_ELEMENT, true), List.of(work.getKind(), work.getVariable("begun")));
    client.newCompleteCommand(work).execute();

    var done = activateOne(f.name("listener-done"));
    listener(done, ListenerEventType.END, "work", 3);
    client.newFailCommand(done).retries(0).errorMessage("out of ink").execute();
    var incident = Check.until("the incident is found", () -> {
      var items = client.newIncidentsByProcessInstanceSearchRequest(done.getProcessInstanceKey()).execute().items();
      return items.isEmpty() ? null : items.get(0);
    });
    Check.same(List.of("EXECUTION_LISTENER_NO_RETRIES", "out of ink", done.getKey()), List.of(incident.getErrorType().name(), incident.getErrorMessage(), incident.getJobKey()));
    client.newUpdateRetriesCommand(done).retries(1).execute();
    client.newResolveIncidentCommand(incident.getIncidentKey()).execute();
    client.newCompleteCommand(activateOne(f.name("listener-done"))).execute();

    var end = activateOne(f.name("listener-end"));
    listener(end, ListenerEventType.END, f.id, 3);
    client.newCompleteCommand(end).variable("ended", true).execute();
    // What the first one sets is local to the element.
    Check.same(Map.of("ended", true), waiting.get());
  }

  /** A task with listeners of its own, and one that is for the tasks of all processes. */
  private void taskListeners() throws Exception {
    var f = new Check.Fixture("user-task");
    deploy(f);
    String type = "everywhere" + f.id;
    var global = client.newCreateGlobalTaskListenerRequest().id(f.id).type(type)
        .eventTypes(GlobalTaskListenerEventType.CREATING, GlobalTaskListenerEventType.ASSIGNING).beforeNonGlobal().retries(5).execute();
    Check.same(List.of(f.id, type, 5), List.of(global.getId(), global.getType(), global.getRetries()));
    try {
      long instance = start(f.id, Map.of("assignee", "anna")).getProcessInstanceKey();
      var creating = activateOne(type);
      Check.same(List.of(ListenerEventType.CREATING, 5), List.of(creating.getListenerEventType(), creating.getRetries()));
      client.newCompleteCommand(creating).withResult(r -> r.forUserTask().correctCandidateUsers(List.of("carl")).correctDueDate("2032-01-01T00:00:00Z")).execute();
      var own = activateOne(f.name("user-task-created"));
      Check.same(List.of(List.of("carl"), List.of("managers")), List.of(own.getUserTask().getCandidateUsers(), own.getUserTask().getCandidateGroups()));
      // An assignee that a listener corrects is assigned without the listeners of assignments.
      client.newCompleteCommand(own).withResult(r -> r.forUserTask().correctAssignee("dora")).execute();
      long task = own.getUserTask().getUserTaskKey();
      var denied = Check.beside(() -> {
        refused("INVALID_STATE", client.newAssignUserTaskCommand(task).assignee("emil"));
        return true;
      });
      var second = activateOne(type);
      Check.same(ListenerEventType.ASSIGNING, second.getListenerEventType());
      Check.same("emil", second.getUserTask().getAssignee());
      client.newCompleteCommand(second).withResult(r -> r.forUserTask().deny(true, "not Emil")).execute();
      denied.get();
      Check.until("the task stays with Dora", () -> "dora".equals(client.newUserTaskGetRequest(task).execute().getAssignee()) ? true : null);
      client.newCancelInstanceCommand(instance).execute();
    } finally {
      client.newDeleteGlobalTaskListenerRequest(f.id).execute();
    }
  }

  private void migration() throws Exception {
    var from = new Check.Fixture("one-task");
    var to = new Check.Fixture("two-tasks");
    deploy(from);
    long target = deploy(to).getProcesses().get(0).getProcessDefinitionKey();
    long instance = start(from.id, Map.of("a", 1)).getProcessInstanceKey();
    client.newMigrateProcessInstanceCommand(instance).migrationPlan(target).addMappingInstruction("task", "first").execute();
    // The job is the one that there was, with its type; where it belongs has changed.
    var job = activateOne(from.name("one-task"));
    Check.same(
        List.of(instance, to.id, target, "first"),
        List.of(job.getProcessInstanceKey(), job.getBpmnProcessId(), job.getProcessDefinitionKey(), job.getElementId()));
    client.newCompleteCommand(job).execute();
    var next = activateOne(to.name("two-tasks-second"));
    Check.same(Map.of("a", 1), next.getVariablesAsMap());
    Check.until("the instance is shown in its new definition", () ->
        to.id.equals(client.newProcessInstanceGetRequest(instance).execute().getProcessDefinitionId()) ? true : null);
    client.newCompleteCommand(next).execute();
    refused("NOT_FOUND", client.newMigrateProcessInstanceCommand(instance).migrationPlan(target).addMappingInstruction("task", "first"));
  }

  private void refusedMigration() throws Exception {
    var from = new Check.Fixture("one-task");
    var to = new Check.Fixture("user-task");
    deploy(from);
    long target = deploy(to).getProcesses().get(0).getProcessDefinitionKey();
    long instance = start(from.id, Map.of()).getProcessInstanceKey();
    var plan = client.newMigrateProcessInstanceCommand(instance);
    refused("NOT_FOUND", plan.migrationPlan(Long.parseLong(UNKNOWN)).addMappingInstruction("task", "approve"));
    plan = client.newMigrateProcessInstanceCommand(instance);
    refused("INVALID_ARGUMENT", plan.migrationPlan(target).addMappingInstruction("task", "nope"));
    plan = client.newMigrateProcessInstanceCommand(instance);
    refused("INVALID_ARGUMENT", plan.migrationPlan(target).addMappingInstruction("nope", "approve"));
    // A service task becomes no user task.
    plan = client.newMigrateProcessInstanceCommand(instance);
    refused("INVALID_STATE", plan.migrationPlan(target).addMappingInstruction("task", "approve"));
    var job = activateOne(from.name("one-task"));
    Check.same(from.id, job.getBpmnProcessId());
    client.newCompleteCommand(job).execute();
    refused("NOT_FOUND", client.newCancelInstanceCommand(instance));
  }
}
