import io.camunda.client.api.response.ActivatedJob;
import io.camunda.client.api.response.PartitionBrokerHealth;
import io.camunda.client.api.response.PartitionBrokerRole;
import io.camunda.client.api.response.StatusResponse;
import io.camunda.client.api.response.Topology;
import io.camunda.client.api.search.enums.JobKind;
import io.camunda.client.api.search.enums.ListenerEventType;
import io.camunda.client.api.worker.JobHandler;
import io.camunda.client.api.worker.JobWorker;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;

/** io.camunda:camunda-client-java (Maven), unchanged, against a running skep: REST, gRPC, polling and streaming. */
public final class Suite extends Calls {
  private Suite(boolean rest) {
    super(rest);
  }

  public static void main(String[] arguments) {
    for (boolean rest : new boolean[] {true, false}) {
      Suite suite = new Suite(rest);
      suite.commands();
      new Elements(rest, suite.client).checks();
      suite.workers("polling", false);
      if (!rest) {
        suite.workers("streaming", true); // StreamActivatedJobs is a gRPC call
        suite.stream();
      } else {
        suite.restOnly();
        new Batches(suite.client).checks();
        new Searches(suite.client).checks();
      }
      suite.client.close();
    }
    Check.finish();
  }

  private void commands() {
    check("topology shows one healthy leader per partition", this::topology);
    check("deployment numbers versions by content", this::deployment);
    check("every valid fixture deploys, forty at a time", this::validFixtures);
    check("every invalid fixture is refused with file and element named", this::invalidFixtures);
    check("an instance starts by id, by version, by key and at an element", this::starts);
    check("an awaited instance answers with the variables asked for", this::results);
    check("an instance that does not end in time is DEADLINE_EXCEEDED and goes on", this::lateResult);
    check("an activated job carries all of its facts", this::jobFacts);
    check("long polling waits for a job, and not for ever", this::longPolling);
    check("a failed job waits for its back-off, a thrown error takes its boundary event", this::failAndThrow);
    check("a job is offered again after its timeout, which can be changed", this::jobTimeout);
    check("a job without retries raises an incident that can be resolved", this::incident);
    check("set variables are seen by the next job, local ones are not", this::setVariables);
    check("a cancelled instance is gone and so is its job", this::cancel);
    check("an instance is modified", this::modify);
    check("a deleted resource cannot be started", this::deleteResource);
    check("a user task and its listeners", this::userTask);
    check("published messages correlate, are buffered and have unique ids", this::messages);
    check("timers fire and interrupt", this::timers);
    check("gateways, mappings, sub-processes and errors lead where they should", this::processes);
  }

  private void topology() {
    Topology t = client.newTopologyRequest().execute();
    Check.same(List.of(1, 1, 1), List.of(t.getClusterSize(), t.getReplicationFactor(), t.getBrokers().size()));
    var partitions = t.getBrokers().get(0).getPartitions();
    Check.same(t.getPartitionsCount(), partitions.size());
    partitions.forEach(p -> Check.same(PartitionBrokerRole.LEADER, p.getRole()));
    partitions.forEach(p -> Check.same(PartitionBrokerHealth.HEALTHY, p.getHealth()));
    Check.that(!t.getGatewayVersion().isEmpty(), t);
  }

  private void deployment() throws Exception {
    var f = new Check.Fixture("one-task");
    var first = deploy(f).getProcesses().get(0);
    Check.same(List.of(f.id, 1, "<default>"), List.of(first.getBpmnProcessId(), first.getVersion(), first.getTenantId()));
    var again = deploy(f).getProcesses().get(0);
    Check.same(first.getProcessDefinitionKey(), again.getProcessDefinitionKey());
    Check.same(1, again.getVersion());
    String changed = java.nio.file.Files.readString(java.nio.file.Path.of(f.paths.get(0))).replace("id=\"task\"", "id=\"task\" name=\"new\"");
    var second = client.newDeployResourceCommand().addResourceStringUtf8(changed, "one-task.bpmn").execute().getProcesses().get(0);
    Check.same(2, second.getVersion());
    Check.that(second.getProcessDefinitionKey() != first.getProcessDefinitionKey(), "a new version has a new key");
  }

  private void validFixtures() throws Exception {
    var files = Check.validFixtures();
    var deployed = 0;
    // A deployment over REST has 50 parts at most.
    for (var at = 0; at < files.size(); at += 40) {
      var command = client.newDeployResourceCommand().addResourceFile(files.get(at).toString());
      for (var file : files.subList(at + 1, Math.min(at + 40, files.size()))) {
        command = command.addResourceFile(file.toString());
      }
      deployed += command.execute().getProcesses().size();
    }
    // two-processes.bpmn has two that are executable
    Check.same(files.size() + 1, deployed);
  }

  private void invalidFixtures() throws Exception {
    var wrong = new ArrayList<String>();
    for (var invalid : Check.invalidFixtures()) {
      String name = invalid.path().getFileName().toString();
      try {
        client.newDeployResourceCommand().addResourceFile(invalid.path().toString()).execute();
        wrong.add(name + ": deployed");
      } catch (RuntimeException error) {
        if (!code(error).equals("INVALID_ARGUMENT")) {
          wrong.add(name + ": " + error);
        }
        for (String part : new String[] {name, invalid.element()}) {
          if (part != null && !detail(error).contains(part)) {
            wrong.add(name + ": does not name " + part + ": " + detail(error));
          }
        }
      }
    }
    Check.that(wrong.isEmpty(), wrong.size() + " findings, the first:\n" + String.join("\n", wrong.stream().limit(10).toList()));
    refused("NOT_FOUND", client.newCreateInstanceCommand().bpmnProcessId("invalid").latestVersion());
  }

  private void starts() throws Exception {
    var f = new Check.Fixture("two-tasks");
    long key = deploy(f).getProcesses().get(0).getProcessDefinitionKey();
    start(f.id, Map.of());
    client.newCreateInstanceCommand().bpmnProcessId(f.id).version(1).execute();
    var byKey = client.newCreateInstanceCommand().processDefinitionKey(key).execute();
    Check.same(List.of(f.id, 1, key), List.of(byKey.getBpmnProcessId(), byKey.getVersion(), byKey.getProcessDefinitionKey()));
    client.newCreateInstanceCommand().bpmnProcessId(f.id).latestVersion().startBeforeElement("second").execute();
    Check.same("second", activateOne(f.name("two-tasks-second")).getElementId());
    Check.same(3, activate(f.name("two-tasks-first"), 10, Duration.ofMinutes(1), Check.DEADLINE).size());
    refused("NOT_FOUND", client.newCreateInstanceCommand().bpmnProcessId(f.id).version(7));
    refused("NOT_FOUND", client.newCreateInstanceCommand().bpmnProcessId("no-such-process").latestVersion());
    refused("NOT_FOUND", client.newCreateInstanceCommand().processDefinitionKey(Long.parseLong(UNKNOWN)));
    refused("INVALID_ARGUMENT", client.newCreateInstanceCommand().bpmnProcessId(f.id).latestVersion().startBeforeElement("nowhere"));
  }

  private void results() throws Exception {
    var f = new Check.Fixture("empty");
    deploy(f);
    Map<String, Object> given = Map.of("a", 1, "list", List.of(1, Map.of("c", 2)), "text", "Grüße, 世界", "big", 9007199254740993L);
    Check.same(given, result(f.id, given));
    Check.same(
        Map.of("a", 1),
        client.newCreateInstanceCommand().bpmnProcessId(f.id).latestVersion().variables(given).withResult().fetchVariables("a").execute().getVariablesAsMap());
  }

  private void lateResult() throws Exception {
    var f = new Check.Fixture("one-task");
    deploy(f);
    refused(
        "DEADLINE_EXCEEDED",
        client.newCreateInstanceCommand().bpmnProcessId(f.id).latestVersion().withResult().requestTimeout(Duration.ofMillis(300)));
    activateOne(f.name("one-task"));
  }

  private void jobFacts() throws Exception {
    var f = new Check.Fixture("job-headers-and-expressions");
    deploy(f);
    var instance = start(f.id, Map.of("kind", f.id, "attempts", 7, "extra", "unfetched"));
    long before = System.currentTimeMillis();
    ActivatedJob job =
        client.newActivateJobsCommand().jobType("job-" + f.id).maxJobsToActivate(1).timeout(Duration.ofMinutes(1))
            .workerName("check").fetchVariables("kind", "attempts").requestTimeout(Check.DEADLINE).execute().getJobs().get(0);
    Check.same(
        List.of("job-" + f.id, f.id, "task", 1, 7, "check", "<default>"),
        List.of(job.getType(), job.getBpmnProcessId(), job.getElementId(), job.getProcessDefinitionVersion(), job.getRetries(),
            job.getWorker(), job.getTenantId()));
    Check.same(instance.getProcessInstanceKey(), job.getProcessInstanceKey());
    Check.same(instance.getProcessDefinitionKey(), job.getProcessDefinitionKey());
    Check.same(Map.of("currency", "EUR", "channel", "web & app"), job.getCustomHeaders());
    Check.same(Map.of("kind", f.id, "attempts", 7), job.getVariablesAsMap());
    Check.that(job.getDeadline() >= before + 59_000, job);
    Check.same("BPMN_ELEMENT", job.getKind().name());
  }

  private void longPolling() throws Exception {
    var f = new Check.Fixture("one-task");
    deploy(f);
    Future<ActivatedJob> waiting = Check.beside(() -> activateOne(f.name("one-task")));
    var instance = start(f.id, Map.of());
    Check.same(instance.getProcessInstanceKey(), waiting.get().getProcessInstanceKey());
    Instant started = Instant.now();
    Check.same(List.of(), activate(f.name("one-task"), 1, Duration.ofMinutes(1), Duration.ofMillis(300)));
    Check.that(Duration.between(started, Instant.now()).toMillis() >= 290, "the request came back at once");
  }

  private void failAndThrow() throws Exception {
    var f = new Check.Fixture("error-boundary");
    deploy(f);
    Future<Map<String, Object>> waiting = Check.beside(() -> result(f.id, Map.of()));
    var first = activateOne(f.name("error-boundary"));
    Instant failed = Instant.now();
    client.newFailCommand(first).retries(1).retryBackoff(Duration.ofMillis(300)).errorMessage("busy").variable("hint", "later").execute();
    var second = activateOne(f.name("error-boundary"));
    Check.that(Duration.between(failed, Instant.now()).toMillis() >= 300, "the back-off was not kept");
    Check.same(List.of(first.getKey(), 1, Map.of("hint", "later")), List.of(second.getKey(), second.getRetries(), second.getVariablesAsMap()));
    client.newThrowErrorCommand(second).errorCode("CARD_DECLINED").errorMessage("no money").variable("reason", "poor").execute();
    Check.same("declined", waiting.get().get("outcome"));
    for (long key : new long[] {second.getKey(), Long.parseLong(UNKNOWN)}) {
      refused("NOT_FOUND", client.newCompleteCommand(key));
      refused("NOT_FOUND", client.newFailCommand(key).retries(1));
      refused("NOT_FOUND", client.newThrowErrorCommand(key).errorCode("X"));
      refused("NOT_FOUND", client.newUpdateTimeoutCommand(key).timeout(1000));
      refused("NOT_FOUND", client.newUpdateRetriesCommand(key).retries(1));
    }
  }

  private void jobTimeout() throws Exception {
    var f = new Check.Fixture("one-task");
    deploy(f);
    Future<Map<String, Object>> waiting = Check.beside(() -> result(f.id, Map.of()));
    var first = activate(f.name("one-task"), 1, Duration.ofMillis(200), Check.DEADLINE).get(0);
    var second = activate(f.name("one-task"), 1, Duration.ofHours(1), Check.DEADLINE).get(0);
    Check.same(first.getKey(), second.getKey());
    client.newUpdateTimeoutCommand(second).timeout(Duration.ofMillis(100)).execute();
    var third = activateOne(f.name("one-task"));
    Check.same(List.of(first.getKey(), 3), List.of(third.getKey(), third.getRetries()));
    client.newCompleteCommand(third).variable("done", true).execute();
    Check.same(Map.of("done", true), waiting.get());
  }

  private void incident() throws Exception {
    var f = new Check.Fixture("one-task");
    deploy(f);
    start(f.id, Map.of());
    var job = activateOne(f.name("one-task"));
    client.newFailCommand(job).retries(0).errorMessage("out of paper").execute();
    refused("INVALID_STATE", client.newCompleteCommand(job));
    refused("INVALID_ARGUMENT", client.newUpdateRetriesCommand(job).retries(0));
    client.newUpdateRetriesCommand(job).retries(2).execute();
    resolveIncidentAfter(job.getKey());
    var again = activateOne(f.name("one-task"));
    Check.same(List.of(job.getKey(), 2), List.of(again.getKey(), again.getRetries()));
  }

  /**
   * Resolves the first incident with a key above this one. Commands do not answer with the key of an incident, and this
   * suite does without the query API. But a partition numbers its records in order: an incident's key is a little above
   * those of its job and its instance.
   */
  private void resolveIncidentAfter(long key) {
    for (long incident = key + 1; incident < key + 100; incident++) {
      try {
        client.newResolveIncidentCommand(incident).execute();
      } catch (RuntimeException error) {
        Check.same("NOT_FOUND", code(error));
        continue;
      }
      refused("NOT_FOUND", client.newResolveIncidentCommand(incident));
      return;
    }
    throw new AssertionError("no incident after " + key);
  }

  private void setVariables() throws Exception {
    var f = new Check.Fixture("two-tasks");
    deploy(f);
    var instance = start(f.id, Map.of("a", 1));
    var first = activateOne(f.name("two-tasks-first"));
    client.newSetVariablesCommand(instance.getProcessInstanceKey()).variables(Map.of("a", 2, "b", "new")).execute();
    client.newSetVariablesCommand(first.getElementInstanceKey()).variables(Map.of("local", true)).local(true).execute();
    client.newCompleteCommand(first).execute();
    Check.same(Map.of("a", 2, "b", "new"), activateOne(f.name("two-tasks-second")).getVariablesAsMap());
    refused("NOT_FOUND", client.newSetVariablesCommand(Long.parseLong(UNKNOWN)).variables(Map.of()));
  }

  private void cancel() throws Exception {
    var f = new Check.Fixture("one-task");
    deploy(f);
    var instance = start(f.id, Map.of());
    var job = activateOne(f.name("one-task"));
    client.newCancelInstanceCommand(instance.getProcessInstanceKey()).execute();
    refused("NOT_FOUND", client.newCompleteCommand(job));
    refused("NOT_FOUND", client.newCancelInstanceCommand(instance.getProcessInstanceKey()));
  }

  private void modify() throws Exception {
    var f = new Check.Fixture("two-tasks");
    deploy(f);
    long instance = start(f.id, Map.of("a", 1)).getProcessInstanceKey();
    var first = activateOne(f.name("two-tasks-first"));
    client.newModifyProcessInstanceCommand(instance)
        .activateElement("second").withVariables(Map.of("a", 2)).withVariables(Map.of("own", true), "second").and()
        .terminateElement(first.getElementInstanceKey()).execute();
    refused("NOT_FOUND", client.newCompleteCommand(first));
    var second = activateOne(f.name("two-tasks-second"));
    Check.same(Map.of("a", 2, "own", true), second.getVariablesAsMap());

    // By id and by key, with each choice of a scope.
    long key = second.getElementInstanceKey();
    client.newModifyProcessInstanceCommand(instance).moveElement(key, "first").withVariable("b", 3).execute();
    var moved = activateOne(f.name("two-tasks-first"));
    Check.same(Map.of("a", 2, "b", 3), moved.getVariablesAsMap());
    client.newModifyProcessInstanceCommand(instance).moveElementsWithInferredAncestor("first", "second").execute();
    activateOne(f.name("two-tasks-second"));
    client.newModifyProcessInstanceCommand(instance).moveElementsWithSourceParentAsAncestor("second", "first").execute();
    activateOne(f.name("two-tasks-first"));
    client.newModifyProcessInstanceCommand(instance).moveElements("first", "second", instance).execute();
    activateOne(f.name("two-tasks-second"));

    refused("INVALID_ARGUMENT", client.newModifyProcessInstanceCommand(instance).activateElement("nope"));
    refused("INVALID_ARGUMENT", client.newModifyProcessInstanceCommand(instance).activateElement("first", key));
    refused("INVALID_ARGUMENT", client.newModifyProcessInstanceCommand(instance).terminateElement(key));
    refused("NOT_FOUND", client.newModifyProcessInstanceCommand(1).activateElement("first"));
    client.newModifyProcessInstanceCommand(instance).terminateElements("second").execute();
    refused("NOT_FOUND", client.newCancelInstanceCommand(instance));
  }

  /** Its commands go over REST always, the jobs of its listeners over both. */
  private void userTask() throws Exception {
    var f = new Check.Fixture("user-task");
    deploy(f);
    var instance = start(f.id, Map.of("assignee", "anna"));
    var created = activateOne(f.name("user-task-created"));
    Check.same(List.of(JobKind.TASK_LISTENER, ListenerEventType.CREATING), List.of(created.getKind(), created.getListenerEventType()));
    var shown = created.getUserTask();
    Check.same(List.of("anna", List.of("managers"), 70), List.of(shown.getAssignee(), shown.getCandidateGroups(), shown.getPriority()));
    long task = shown.getUserTaskKey();
    refused("INVALID_STATE", client.newCompleteUserTaskCommand(task));
    client.newCompleteCommand(created).withResult(r -> r.forUserTask().correctPriority(80)).execute();

    client.newUpdateUserTaskCommand(task).candidateGroups("clerks").clearDueDate().execute();
    refused("INVALID_STATE", client.newAssignUserTaskCommand(task).assignee("bert").allowOverride(false));
    client.newUnassignUserTaskCommand(task).execute();
    client.newAssignUserTaskCommand(task).assignee("bert").allowOverride(false).execute();

    var denied = Check.beside(() -> {
      refused("INVALID_STATE", client.newCompleteUserTaskCommand(task).variable("approved", false));
      return true;
    });
    var first = activateOne(f.name("user-task-checked"));
    shown = first.getUserTask();
    Check.same(List.of("bert", List.of("clerks"), 80), List.of(shown.getAssignee(), shown.getCandidateGroups(), shown.getPriority()));
    Check.that(shown.getDueDate() == null, shown.getDueDate());
    Check.same(false, first.getVariablesAsMap().get("approved"));
    client.newCompleteCommand(first).withResult(r -> r.forUserTask().deny(true, "not this way")).execute();
    denied.get();
    var completed = Check.beside(() -> client.newCompleteUserTaskCommand(task).variable("approved", true).execute());
    client.newCompleteCommand(activateOne(f.name("user-task-checked"))).execute();
    completed.get();
    refused("NOT_FOUND", client.newUnassignUserTaskCommand(task));
    refused("NOT_FOUND", client.newCancelInstanceCommand(instance.getProcessInstanceKey()));
  }

  private void deleteResource() throws Exception {
    var f = new Check.Fixture("empty");
    long key = deploy(f).getProcesses().get(0).getProcessDefinitionKey();
    client.newDeleteResourceCommand(key).execute();
    refused("NOT_FOUND", client.newCreateInstanceCommand().bpmnProcessId(f.id).latestVersion());
    refused("NOT_FOUND", client.newDeleteResourceCommand(key));
  }

  private void messages() throws Exception {
    var f = new Check.Fixture("message-catch");
    deploy(f);
    publish(f.name("payment-received"), "order-1", 0, Duration.ZERO, "none");
    publish(f.name("payment-received"), "order-1", 1, Duration.ofMinutes(10), "one");
    refused(
        "ALREADY_EXISTS",
        client.newPublishMessageCommand().messageName(f.name("payment-received")).correlationKey("order-1").messageId("one")
            .timeToLive(Duration.ofMinutes(10)));
    Check.same(Map.of("orderId", "order-1", "n", 1), result(f.id, Map.of("orderId", "order-1")));
    Future<Map<String, Object>> waiting = Check.beside(() -> result(f.id, Map.of("orderId", "order-2")));
    publish(f.name("payment-received"), "order-2", 2, Duration.ofMinutes(10), "two");
    Check.same(2, waiting.get().get("n"));
  }

  private void publish(String name, String key, int n, Duration timeToLive, String id) {
    client.newPublishMessageCommand().messageName(name).correlationKey(key).messageId(id).timeToLive(timeToLive).variable("n", n).execute();
  }

  private void timers() throws Exception {
    var f = new Check.Fixture("timer-duration");
    var g = new Check.Fixture("timer-boundary");
    deploy(f);
    deploy(g);
    Instant started = Instant.now();
    result(f.id, Map.of("wait", "PT0.3S"));
    Check.that(Duration.between(started, Instant.now()).toMillis() >= 290, "the timer fired too early");
    Check.same("too late", result(g.id, Map.of("limit", "PT0.2S")).get("outcome"));
  }

  private void processes() throws Exception {
    var f = new Check.Fixture("exclusive-gateway");
    deploy(f);
    for (var expected : Map.<Object, String>of(5000, "manual", 100, "checked", 99.99, "automatic").entrySet()) {
      Check.same(expected.getValue(), result(f.id, Map.of("amount", expected.getKey())).get("path"));
    }
    var g = new Check.Fixture("gateways-nested");
    deploy(g);
    result(g.id, Map.of("fast", true));
    var h = new Check.Fixture("error-end");
    deploy(h);
    Check.same("out of stock", result(h.id, Map.of()).get("outcome"));
    var m = new Check.Fixture("mappings");
    deploy(m);
    var order = Map.of("id", "o-1", "items", List.of(Map.of("price", 10, "quantity", 2)));
    Future<Map<String, Object>> waiting = Check.beside(() -> result(m.id, Map.of("order", order)));
    var job = activateOne(m.name("mappings"));
    Check.same(Map.of("order", order, "orderId", "o-1", "total", 20, "money", Map.of("currency", "EUR")), job.getVariablesAsMap());
    client.newCompleteCommand(job).variable("receipt", "r-1").execute();
    Check.same(Map.of("order", order, "result", Map.of("receipt", "r-1", "order", "o-1")), waiting.get());
  }

  private void workers(String kind, boolean streamed) {
    check(kind + " worker: completes jobs with variables", () -> {
      var f = new Check.Fixture("one-task");
      deploy(f);
      try (JobWorker worker = work(f.name("one-task"), streamed, (c, job) -> c.newCompleteCommand(job).variable("doubled", 2 * (int) job.getVariable("amount")).execute())) {
        Check.same(Map.of("amount", 21, "doubled", 42), result(f.id, Map.of("amount", 21)));
        Check.that(worker.isOpen(), "the worker closed itself");
      }
    });
    check(kind + " worker: gets every job once", () -> {
      var f = new Check.Fixture("two-tasks");
      deploy(f);
      List<String> seen = Collections.synchronizedList(new ArrayList<>());
      JobHandler handler = (c, job) -> {
        seen.add(job.getElementId() + " " + job.getProcessInstanceKey());
        c.newCompleteCommand(job).variable(job.getElementId(), true).execute();
      };
      try (JobWorker one = work(f.name("two-tasks-first"), streamed, handler); JobWorker two = work(f.name("two-tasks-second"), streamed, handler)) {
        for (int round = 0; round < 5; round++) {
          var waiting = new ArrayList<Future<Map<String, Object>>>();
          for (int n = 0; n < 20; n++) {
            var number = n;
            waiting.add(Check.beside(() -> result(f.id, Map.of("n", number))));
          }
          for (int n = 0; n < 20; n++) {
            Check.same(Map.of("n", n, "first", true, "second", true), waiting.get(n).get());
          }
        }
        Check.that(one.isOpen() && two.isOpen(), "a worker closed itself");
      }
      Check.same(List.of(200, 200), List.of(seen.size(), new HashSet<>(seen).size()));
    });
    check(kind + " worker: a failing job uses up its retries and comes back", () -> {
      var f = new Check.Fixture("one-task");
      deploy(f);
      List<Integer> retries = Collections.synchronizedList(new ArrayList<>());
      JobHandler handler = (c, job) -> {
        retries.add(job.getRetries());
        if (job.getRetries() > 1) {
          throw new IllegalStateException("the printer is on fire"); // the client fails the job with one retry less
        }
        c.newCompleteCommand(job).variable("printed", true).execute();
      };
      try (JobWorker worker = work(f.name("one-task"), streamed, handler)) {
        Check.same(Map.of("printed", true), result(f.id, Map.of()));
        Check.that(worker.isOpen(), "the worker closed itself");
      }
      Check.same(List.of(3, 2, 1), retries);
    });
    check(kind + " worker: a business error takes its boundary event", () -> {
      var f = new Check.Fixture("error-boundary");
      deploy(f);
      JobHandler handler = (c, job) -> c.newThrowErrorCommand(job).errorCode((String) job.getVariable("code")).errorMessage("refused").execute();
      try (JobWorker worker = work(f.name("error-boundary"), streamed, handler)) {
        Check.same("declined", result(f.id, Map.of("code", "CARD_DECLINED")).get("outcome"));
        Check.same("failed", result(f.id, Map.of("code", "SOMETHING_ELSE")).get("outcome"));
        Check.that(worker.isOpen(), "the worker closed itself");
      }
    });
    check(kind + " worker: joins a fork and a called process", () -> {
      var f = new Check.Fixture("parallel-gateway");
      var g = new Check.Fixture("call-activity", "called");
      deploy(f);
      deploy(g);
      JobHandler side = (c, job) -> c.newCompleteCommand(job).variable(job.getElementId(), 1).execute();
      JobHandler twice = (c, job) -> c.newCompleteCommand(job).variable("doubled", 2 * (int) job.getVariable("amount")).execute();
      try (JobWorker left = work(f.name("parallel-left"), streamed, side);
          JobWorker right = work(f.name("parallel-right"), streamed, side);
          JobWorker called = work(g.name("called"), streamed, twice)) {
        Check.same(Map.of("left", 1, "right", 1), result(f.id, Map.of()));
        Check.same(Map.of("amount", 4, "doubled", 8), result(g.id, Map.of("amount", 4)));
        Check.that(left.isOpen() && right.isOpen() && called.isOpen(), "a worker closed itself");
      }
    });
  }

  private JobWorker work(String type, boolean streamed, JobHandler handler) {
    return client.newWorker().jobType(type).handler(handler).timeout(Duration.ofMinutes(1)).streamEnabled(streamed).open();
  }

  private void stream() {
    check("a stream command pushes jobs of instances started after it", () -> {
      var f = new Check.Fixture("one-task");
      deploy(f);
      List<ActivatedJob> pushed = Collections.synchronizedList(new ArrayList<>());
      var stream = client.newStreamJobsCommand().jobType(f.name("one-task")).consumer(pushed::add).workerName("check").timeout(Duration.ofMinutes(1)).send();
      // A stream says nothing when it is open: start instances until one of their jobs is pushed.
      var job = Check.until("a job is pushed", () -> {
        start(f.id, Map.of("n", 1));
        return pushed.isEmpty() ? null : pushed.get(0);
      });
      Check.same(Map.of("n", 1), job.getVariablesAsMap());
      client.newCompleteCommand(job).execute();
      stream.cancel(true);
    });
  }

  private void restOnly() {
    check("a message is correlated, and the instance named", () -> {
      var f = new Check.Fixture("message-catch");
      deploy(f);
      String name = f.name("payment-received");
      refused("NOT_FOUND", client.newCorrelateMessageCommand().messageName(name).correlationKey("nobody"));
      var instance = start(f.id, Map.of("orderId", "o-1"));
      var answer = Check.until("the message correlates", () -> {
        try {
          return client.newCorrelateMessageCommand().messageName(name).correlationKey("o-1").variable("n", 1).execute();
        } catch (RuntimeException error) {
          Check.same("NOT_FOUND", code(error)); // the subscription is not open yet
          return null;
        }
      });
      Check.same(instance.getProcessInstanceKey(), answer.getProcessInstanceKey());
    });
    check("the status is UP", () ->
        Check.same(StatusResponse.Status.UP, client.newStatusRequest().execute().getStatus()));
    check("an expression is evaluated", () -> {
      var answer = client.newEvaluateExpressionCommand().expression("=x + 1").variables(Map.of("x", 41)).execute();
      Check.same(42, ((Number) answer.getResult()).intValue());
    });
    check("the clock can be pinned and reset", () -> {
      var f = new Check.Fixture("timer-date");
      deploy(f);
      var due = Instant.now().plus(Duration.ofHours(1));
      Future<Map<String, Object>> waiting = Check.beside(() -> result(f.id, Map.of("due", due.toString())));
      try {
        client.newPinClockCommand().time(due.plusSeconds(1)).execute();
        waiting.get();
      } finally {
        client.newResetClockCommand().execute();
      }
    });
  }
}
