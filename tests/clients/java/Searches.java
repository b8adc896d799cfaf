import io.camunda.client.CamundaClient;
import io.camunda.client.api.search.enums.IncidentState;
import io.camunda.client.api.search.enums.ProcessInstanceState;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Every search, get and statistics request of the client that is not about identity, and documents. REST only. */
final class Searches extends Calls {
  private static final Pattern WANTED = Pattern.compile("new.*(Search|Get|Statistics|UsageMetrics|Document)\\w*");
  private static final Pattern IDENTITY =
      Pattern.compile(".*(Role|Group|Tenant[GsS]|ByTenant|UsersS|UserG|MappingRule|Authorization).*");
  /** Deployments and jobs have requests of these kinds, which other checks make. */
  private static final Set<String> ELSEWHERE =
      Set.of("newBatchOperationGetRequest", "newBatchOperationItemsSearchRequest", "newBatchOperationSearchRequest");

  private final Set<String> called;
  private Check.Fixture review;
  private Check.Fixture paid;
  private Check.Fixture decided;
  private Check.Fixture failing;
  private long task;
  private long message;
  private long broken;

  Searches(CamundaClient client) {
    this(client, new ConcurrentSkipListSet<>());
  }

  private Searches(CamundaClient client, Set<String> called) {
    super(true, noted(client, called));
    this.called = called;
  }

  /** The client, with a note of what was called. */
  private static CamundaClient noted(CamundaClient client, Set<String> called) {
    Class<?>[] faces = {CamundaClient.class};
    return (CamundaClient)
        Proxy.newProxyInstance(
            CamundaClient.class.getClassLoader(),
            faces,
            (self, method, arguments) -> {
              called.add(method.getName());
              try {
                return method.invoke(client, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  void checks() {
    check("searches: what is searched for is there", this::things);
    check("searches: definitions", this::definitions);
    check("searches: decisions", this::decisions);
    check("searches: instances", this::instances);
    check("searches: incidents", this::incidents);
    check("searches: variables and messages", this::variables);
    check("searches: jobs", this::jobs);
    check("searches: user tasks and the audit log", this::userTasks);
    check("searches: resources, cluster variables, listeners, usage", this::others);
    check("searches: documents", this::documents);
    if (System.getenv().getOrDefault("SKEP_TEST_ONLY", "").isEmpty()) {
      check("searches: no request is left out", this::nothingLeftOut);
    }
  }

  private static <T> T only(List<T> items) {
    Check.same(1, items.size());
    return items.get(0);
  }

  private void things() throws Exception {
    review = new Check.Fixture("user-task");
    paid = new Check.Fixture("message-catch");
    decided = new Check.Fixture("business-rule-task", "dish.dmn");
    failing = new Check.Fixture("one-task");
    for (var fixture : List.of(review, paid, decided, failing)) {
      deploy(fixture);
    }
    task = start(review.id, Map.of("assignee", "anna", "amount", 12.5)).getProcessInstanceKey();
    message = start(paid.id, Map.of("orderId", paid.id)).getProcessInstanceKey();
    broken = start(failing.id, Map.of()).getProcessInstanceKey();
    result(decided.id, Map.of("decision", decided.name("dish"), "month", 7));
    client.newFailCommand(activateOne(failing.name("one-task"))).retries(0).errorMessage("no more paper").execute();
    var created = activateOne(review.name("user-task-created"));
    client.newCompleteCommand(created.getKey()).withResult(r -> r.forUserTask()).execute();
  }

  private void definitions() {
    var found = only(client.newProcessDefinitionSearchRequest().filter(d -> d.processDefinitionId(failing.id)).execute().items());
    long key = found.getProcessDefinitionKey();
    Check.same(found.getResourceName(), client.newProcessDefinitionGetRequest(key).execute().getResourceName());
    Check.that(client.newProcessDefinitionGetXmlRequest(key).execute().contains(failing.id), "the XML");
    client.newProcessDefinitionGetFormRequest(key).execute();
    var elements = client.newProcessDefinitionElementStatisticsRequest(key).execute();
    Check.that(elements.stream().anyMatch(e -> e.getElementId().equals("task") && e.getIncidents() == 1), elements);
    Check.that(!client.newProcessDefinitionMessageSubscriptionStatisticsRequest().execute().items().isEmpty(), "waiting for messages");
    Check.that(!client.newProcessDefinitionInstanceStatisticsRequest().execute().items().isEmpty(), "instances");
    Check.same(1, client.newProcessDefinitionInstanceVersionStatisticsRequest(failing.id).execute().items().size());
  }

  private void decisions() {
    var dish = decided.name("dish");
    var found = only(client.newDecisionDefinitionSearchRequest().filter(d -> d.decisionDefinitionId(dish)).execute().items());
    Check.same(dish, client.newDecisionDefinitionGetRequest(found.getDecisionKey()).execute().getDmnDecisionId());
    Check.that(client.newDecisionDefinitionGetXmlRequest(found.getDecisionKey()).execute().contains(dish), "the XML");
    long key = found.getDecisionRequirementsKey();
    only(client.newDecisionRequirementsSearchRequest().filter(r -> r.decisionRequirementsKey(key)).execute().items());
    Check.same(key, client.newDecisionRequirementsGetRequest(key).execute().getDecisionRequirementsKey());
    Check.that(client.newDecisionRequirementsGetXmlRequest(key).execute().contains(dish), "the XML");
    var evaluated = only(client.newDecisionInstanceSearchRequest().filter(d -> d.decisionDefinitionId(dish)).execute().items());
    var id = evaluated.getDecisionInstanceId();
    Check.same(id, client.newDecisionInstanceGetRequest(id).execute().getDecisionInstanceId());
  }

  private void instances() {
    var search = client.newProcessInstanceSearchRequest();
    var found = only(search.filter(i -> i.processDefinitionId(failing.id).hasIncident(true).state(s -> s.in(ProcessInstanceState.ACTIVE))).execute().items());
    Check.same(broken, found.getProcessInstanceKey());
    Check.same(found.getStartDate(), client.newProcessInstanceGetRequest(broken).execute().getStartDate());
    client.newProcessInstanceGetCallHierarchyRequest(broken).execute();
    Check.same("start-to-task", only(client.newProcessInstanceSequenceFlowsRequest(broken).execute()).getElementId());
    Check.that(!client.newProcessInstanceElementStatisticsRequest(broken).execute().isEmpty(), "elements");
    var element = only(client.newElementInstanceSearchRequest().filter(e -> e.processInstanceKey(broken).elementId("task")).execute().items());
    long key = element.getElementInstanceKey();
    Check.same("task", client.newElementInstanceGetRequest(key).execute().getElementId());

    var first = client.newProcessInstanceSearchRequest().filter(i -> i.processInstanceKey(k -> k.in(task, message)))
        .sort(s -> s.processInstanceKey().asc()).page(p -> p.limit(1)).execute();
    var second = client.newProcessInstanceSearchRequest().filter(i -> i.processInstanceKey(k -> k.in(task, message)))
        .sort(s -> s.processInstanceKey().asc()).page(p -> p.limit(1).after(first.page().endCursor())).execute();
    Check.same(2L, first.page().totalItems());
    Check.same(List.of(task, message), Stream.of(first, second).map(p -> only(p.items()).getProcessInstanceKey()).toList());
  }

  private void incidents() {
    var incident = only(client.newIncidentSearchRequest().filter(i -> i.processInstanceKey(broken).state(IncidentState.ACTIVE)).execute().items());
    Check.same("no more paper", incident.getErrorMessage());
    long key = incident.getIncidentKey();
    Check.same(key, client.newIncidentGetRequest(key).execute().getIncidentKey());
    Check.same(key, only(client.newIncidentsByProcessInstanceSearchRequest(broken).execute().items()).getIncidentKey());
    long element = incident.getElementInstanceKey();
    Check.same(key, only(client.newIncidentsByElementInstanceSearchRequest(element).execute().items()).getIncidentKey());
    var errors = client.newIncidentProcessInstanceStatisticsByErrorRequest().execute().items();
    var error = errors.stream().filter(e -> e.getErrorMessage().equals("no more paper")).findFirst().orElseThrow();
    var definitions = client.newIncidentProcessInstanceStatisticsByDefinitionRequest(error.getErrorHashCode()).execute().items();
    Check.that(definitions.stream().anyMatch(d -> d.getProcessDefinitionId().equals(failing.id)), definitions);
  }

  private void variables() throws Exception {
    var amount = only(client.newVariableSearchRequest().filter(v -> v.processInstanceKey(task).name("amount")).execute().items());
    Check.same("12.5", amount.getValue());
    Check.same("12.5", client.newVariableGetRequest(amount.getVariableKey()).execute().getValue());
    var waits = only(client.newMessageSubscriptionSearchRequest().filter(m -> m.processInstanceKey(message)).execute().items());
    Check.same(paid.id, waits.getCorrelationKey());
    client.newPublishMessageCommand().messageName(waits.getMessageName()).correlationKey(paid.id).execute();
    Check.until("the correlation is found", () -> {
      var search = client.newCorrelatedMessageSubscriptionSearchRequest().filter(m -> m.processInstanceKey(message));
      return search.execute().items().isEmpty() ? null : true;
    });
  }

  private void jobs() {
    var type = failing.name("one-task");
    var job = only(client.newJobSearchRequest().filter(j -> j.processInstanceKey(broken)).execute().items());
    Check.same(List.of(type, 0), List.of(job.getType(), job.getRetries()));
    var from = OffsetDateTime.now().minusHours(1);
    var to = OffsetDateTime.now().plusMinutes(1);
    Check.that(client.newGlobalJobStatisticsRequest(from, to).execute().getFailed().getCount() > 0, "failed jobs");
    Check.that(!client.newJobTypeStatisticsRequest(from, to).execute().items().isEmpty(), "types");
    // That of the creation has no worker yet.
    var workers = client.newJobWorkerStatisticsRequest(from, to, type).execute().items();
    Check.that(workers.stream().anyMatch(w -> w.getWorker().equals("check") && w.getFailed().getCount() == 1), workers);
    Check.that(!client.newJobTimeSeriesStatisticsRequest(from, to, type).execute().items().isEmpty(), "points");
    only(client.newJobErrorStatisticsRequest(from, to, type).execute().items());
  }

  private void userTasks() {
    var found = only(client.newUserTaskSearchRequest().filter(t -> t.processInstanceKey(task).assignee("anna")).execute().items());
    long key = found.getUserTaskKey();
    Check.same("anna", client.newUserTaskGetRequest(key).execute().getAssignee());
    client.newUserTaskGetFormRequest(key).execute();
    Check.same("12.5", only(client.newUserTaskVariableSearchRequest(key).filter(v -> v.name("amount")).execute().items()).getValue());
    Check.same("12.5", only(client.newUserTaskEffectiveVariableSearchRequest(key).filter(v -> v.name("amount")).execute().items()).getValue());
    client.newUserTaskAuditLogSearchRequest(key).execute();
    var entry = client.newAuditLogSearchRequest().execute().items().get(0);
    Check.same(entry.getEntityType(), client.newAuditLogGetRequest(entry.getAuditLogKey()).execute().getEntityType());
  }

  private void others() throws Exception {
    var file = Path.of("robot-java.rpa").toAbsolutePath();
    Files.writeString(file, "{\"id\": \"robot-java\", \"executionPlatform\": \"Camunda Cloud\", \"executionPlatformVersion\": \"8.7.0\", \"script\": \"x\"}");
    var deployed = client.newDeployResourceCommand().addResourceFile(file.toString()).execute();
    long key = only(deployed.getResource()).getResourceKey();
    Check.same("robot-java", client.newResourceGetRequest(key).execute().getResourceId());
    Check.that(client.newResourceContentGetRequest(key).execute().contains("robot-java"), "the content");

    client.newGloballyScopedClusterVariableCreateRequest().create("java", 1).execute();
    client.newTenantScopedClusterVariableCreateRequest("<default>").create("java", 2).execute();
    Check.same("1", client.newGloballyScopedClusterVariableGetRequest().withName("java").execute().getValue());
    Check.same("2", client.newTenantScopedClusterVariableGetRequest("<default>").withName("java").execute().getValue());
    Check.same(2, client.newClusterVariableSearchRequest().filter(v -> v.name("java")).execute().items().size());
    client.newGloballyScopedClusterVariableDeleteRequest().delete("java").execute();
    client.newTenantScopedClusterVariableDeleteRequest("<default>").delete("java").execute();
    Check.same(0, client.newGlobalTaskListenerSearchRequest().filter(l -> l.id("no-such-listener")).execute().items().size());
    refused("NOT_FOUND", client.newGlobalTaskListenerGetRequest("no-such-listener"));
    var usage = client.newUsageMetricsRequest(OffsetDateTime.now().minusHours(1), OffsetDateTime.now().plusMinutes(10)).execute();
    Check.that(usage.getProcessInstances() > 0, usage);
  }

  private void documents() throws Exception {
    var reference = client.newCreateDocumentCommand().content("some content").fileName("Zettel.txt").contentType("text/plain")
        .timeToLive(Duration.ofHours(1)).customMetadata("pages", 1).processInstanceKey(task).execute();
    var known = reference.getMetadata();
    Check.same(
        List.of("Zettel.txt", "text/plain", 12L, Map.of("pages", 1), task),
        List.of(known.getFileName(), known.getContentType(), known.getSize(), known.getCustomProperties(), known.getProcessInstanceKey()));
    Check.that(known.getExpiresAt().isAfter(OffsetDateTime.now().plusMinutes(50)), known.getExpiresAt());
    try (var content = client.newDocumentContentGetRequest(reference).execute()) {
      Check.same("some content", new String(content.readAllBytes(), StandardCharsets.UTF_8));
    }
    refused("FORBIDDEN", client.newCreateDocumentLinkCommand(reference).timeToLive(Duration.ofMinutes(1)));
    client.newDeleteDocumentCommand(reference).execute();
    refused("NOT_FOUND", client.newDeleteDocumentCommand(reference.getDocumentId()));
    var batch = client.newCreateDocumentBatchCommand().processInstanceKey(task)
        .addDocument().content("one").fileName("1").customMetadata("n", 1).done()
        .addDocument().content("two").fileName("2").done().execute();
    Check.same(List.of(true, 2), List.of(batch.isSuccessful(), batch.getCreatedDocuments().size()));
    Check.same(Map.of("n", 1), batch.getCreatedDocuments().get(0).getMetadata().getCustomProperties());
  }

  private void nothingLeftOut() {
    var left = new TreeSet<String>();
    int wanted = 0;
    for (var method : CamundaClient.class.getMethods()) {
      var name = method.getName();
      if (WANTED.matcher(name).matches() && !IDENTITY.matcher(name).matches() && !ELSEWHERE.contains(name)) {
        wanted++;
        if (!called.contains(name)) {
          left.add(name);
        }
      }
    }
    Check.that(wanted > 55, wanted + " requests");
    Check.same(Set.of(), left);
  }
}
