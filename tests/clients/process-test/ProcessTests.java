import static io.camunda.process.test.api.CamundaAssert.assertThatDecision;
import static io.camunda.process.test.api.CamundaAssert.assertThatProcessInstance;
import static io.camunda.process.test.api.CamundaAssert.assertThatUserTask;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.camunda.client.CamundaClient;
import io.camunda.client.api.response.ProcessInstanceEvent;
import io.camunda.process.test.api.CamundaProcessTestContext;
import io.camunda.process.test.api.CamundaProcessTestExtension;
import io.camunda.process.test.api.CamundaProcessTestRuntimeMode;
import io.camunda.process.test.api.assertions.DecisionSelectors;
import io.camunda.process.test.api.assertions.IncidentSelectors;
import io.camunda.process.test.api.assertions.JobSelectors;
import io.camunda.process.test.api.assertions.UserTaskSelectors;
import io.camunda.process.test.api.testCases.TestCase;
import io.camunda.process.test.api.testCases.TestCaseRunner;
import io.camunda.process.test.api.testCases.TestCaseSource;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;

/** Tests as users of camunda-process-test-java write them, in its remote mode. */
class ProcessTests {
  private static final Path ROOT = Path.of(System.getenv("SKEP_ROOT"));

  @RegisterExtension
  static final CamundaProcessTestExtension EXTENSION =
      new CamundaProcessTestExtension()
          .withRuntimeMode(CamundaProcessTestRuntimeMode.REMOTE)
          .withRemoteCamundaMonitoringApiAddress(URI.create(System.getenv("SKEP_MANAGEMENT")))
          .withCamundaClientBuilderOverrides(
              builder ->
                  builder
                      .restAddress(URI.create(System.getenv("SKEP_REST")))
                      .grpcAddress(URI.create("http://" + System.getenv("SKEP_GRPC")))
                      .preferRestOverGrpc(true));

  // The extension sets these.
  CamundaClient client;
  CamundaProcessTestContext context;
  TestCaseRunner testCaseRunner;

  private ProcessInstanceEvent start(String file, String process, Map<String, Object> variables) {
    client.newDeployResourceCommand().addResourceFile(ROOT.resolve(file).toString()).send().join();
    return client
        .newCreateInstanceCommand()
        .bpmnProcessId(process)
        .latestVersion()
        .variables(variables)
        .send()
        .join();
  }

  @Test
  @DisplayName("a job is completed, and the instance with it")
  void job() {
    var instance = start("examples/first-process.bpmn", "order", Map.of("orderId", "A-1", "amount", 30));
    assertThatProcessInstance(instance)
        .isActive()
        .hasActiveElements("charge")
        .hasVariable("amount", 30)
        .hasNotActivatedElements("paid")
        .hasNoActiveIncidents();
    context.completeJob("charge-card", Map.of("charged", true));
    assertThatProcessInstance(instance)
        .isCompleted()
        .hasCompletedElementsInOrder("received", "charge", "paid")
        .hasNoActiveElements("charge")
        .hasVariable("charged", true)
        .hasVariableNames("orderId", "amount", "charged");
  }

  @Test
  @DisplayName("mocked workers complete, throw errors and see what compensation does")
  void mockedWorkers() {
    for (String type : new String[] {"book-hotel", "book-flight", "cancel-hotel", "cancel-flight"}) {
      context.mockJobWorker(type).thenComplete();
    }
    var charge = context.mockJobWorker("charge-trip").thenThrowBpmnError("CARD_REFUSED");
    var instance = start("examples/trip.bpmn", "trip", Map.of());
    assertThatProcessInstance(instance)
        .isCompleted()
        .hasCompletedElements("cancel-hotel", "cancel-flight", "not-booked")
        .hasTerminatedElements("charge")
        .hasNotActivatedElements("booked");
    if (charge.getInvocations() != 1) {
      throw new AssertionError("charged " + charge.getInvocations() + " times");
    }
  }

  @Test
  @DisplayName("time is moved, and the timer fires")
  void timer() {
    var instance = start("tests/processes/valid/timer-boundary.bpmn", "timer-boundary", Map.of("limit", "P2D"));
    assertThatProcessInstance(instance).hasActiveElements("task");
    context.increaseTime(Duration.ofDays(3));
    assertThatProcessInstance(instance)
        .isCompleted()
        .hasTerminatedElements("task")
        .hasVariable("outcome", "too late");
  }

  @Test
  @DisplayName("a message is waited for and correlated")
  void message() {
    var instance = start("tests/processes/valid/message-catch.bpmn", "message-catch", Map.of("orderId", "B-2"));
    assertThatProcessInstance(instance).isWaitingForMessage("payment-received", "B-2");
    client.newCorrelateMessageCommand().messageName("payment-received").correlationKey("B-2").send().join();
    assertThatProcessInstance(instance)
        .isCompleted()
        .isNotWaitingForMessage("another")
        .hasCorrelatedMessage("payment-received", "B-2");
  }

  @Test
  @DisplayName("an incident is seen and resolved")
  void incident() {
    var instance =
        start("tests/processes/valid/exclusive-without-default.bpmn", "exclusive-without-default", Map.of("answer", "?"));
    assertThatProcessInstance(instance).isActive().hasActiveIncidents();
    client.newSetVariablesCommand(instance.getProcessInstanceKey()).variables(Map.of("answer", "yes")).send().join();
    context.resolveIncident(IncidentSelectors.byProcessInstanceKey(instance.getProcessInstanceKey()));
    assertThatProcessInstance(instance).isCompleted().hasNoActiveIncidents().hasCompletedElements("yes");
  }

  @Test
  @DisplayName("a user task is described, and completed past its listeners")
  void userTask() {
    var instance = start("tests/processes/valid/user-task.bpmn", "user-task", Map.of("assignee", "mia"));
    var listener = JobSelectors.byJobType("user-task-created");
    context.completeJobOfUserTaskListener(listener, result -> {});
    assertThatUserTask(UserTaskSelectors.byElementId("approve", instance.getProcessInstanceKey()))
        .isCreated()
        .hasAssignee("mia")
        .hasPriority(70)
        .hasCandidateGroup("managers");
    context.mockJobWorker("user-task-checked").thenComplete();
    context.completeUserTask("approve", Map.of("approved", true));
    assertThatUserTask(UserTaskSelectors.byElementId("approve", instance.getProcessInstanceKey())).isCompleted();
    assertThatProcessInstance(instance).isCompleted().hasVariable("approved", true);
  }

  @Test
  @DisplayName("a decision returns its output and its rules")
  void decision() {
    client.newDeployResourceCommand()
        .addResourceFile(ROOT.resolve("examples/discount.bpmn").toString())
        .addResourceFile(ROOT.resolve("examples/discount.dmn").toString())
        .send()
        .join();
    var instance =
        client
            .newCreateInstanceCommand()
            .bpmnProcessId("discount")
            .latestVersion()
            .variables(Map.of("amount", 1000, "customer", Map.of("years", 10), "years", 10))
            .send()
            .join();
    assertThatProcessInstance(instance).isCompleted();
    assertThatDecision(DecisionSelectors.byProcessInstanceKey(instance.getProcessInstanceKey())).isEvaluated();
  }

  @Test
  @DisplayName("a child process and a decision are mocked")
  void mocks() {
    context.mockChildProcess("called", Map.of("doubled", 4));
    var instance = start("tests/processes/valid/call-activity.bpmn", "call-activity", Map.of("n", 2));
    assertThatProcessInstance(instance).isCompleted().hasVariable("doubled", 4);
    context.mockDmnDecision("mocked", Map.of("rate", 7));
    var answer = client.newEvaluateDecisionCommand().decisionId("mocked").send().join();
    assertThatDecision(answer).isEvaluated().hasOutput(Map.of("rate", 7));
  }

  @Test
  @DisplayName("an assertion that does not hold says what is there")
  void failure() {
    var instance = start("examples/first-process.bpmn", "order", Map.of("orderId", "A-2"));
    assertThatProcessInstance(instance).hasActiveElements("charge");
    assertThatThrownBy(
            () -> assertThatProcessInstance(instance).withAssertionTimeout(Duration.ofSeconds(1)).hasCompletedElements("charge"))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("charge");
    client.newCancelInstanceCommand(instance.getProcessInstanceKey()).send().join();
    assertThatProcessInstance(instance).isTerminated().hasTerminatedElements("charge");
  }

  /** The files that `skep test` runs too: what passes here passes there. */
  @ParameterizedTest(name = "{0}")
  @TestCaseSource(directory = "/process-test")
  void files(TestCase testCase, String file) {
    var valid = new String[] {
      "call-activity", "called", "error-boundary", "exclusive-without-default", "message-catch", "signal-events",
      "timer-boundary", "user-task"
    };
    var deployment = client.newDeployResourceCommand().addResourceFile(ROOT.resolve("tests/process-test/stock.bpmn").toString());
    for (String name : valid) {
      deployment = deployment.addResourceFile(ROOT.resolve("tests/processes/valid/" + name + ".bpmn").toString());
    }
    for (String name : new String[] {"first-process.bpmn", "discount.bpmn", "discount.dmn", "assistant.bpmn"}) {
      deployment = deployment.addResourceFile(ROOT.resolve("examples/" + name).toString());
    }
    deployment.send().join();
    testCaseRunner.run(testCase);
  }
}
