import io.camunda.client.CamundaClient;
import io.camunda.client.api.command.ClientStatusException;
import io.camunda.client.api.command.FinalCommandStep;
import io.camunda.client.api.command.ProblemException;
import io.camunda.client.api.response.ActivatedJob;
import io.camunda.client.api.response.DeploymentEvent;
import io.camunda.client.api.response.ProcessInstanceEvent;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** A client that prefers one of the transports, and what the checks do with it again and again. */
class Calls {
  static final String UNKNOWN = "2251799813000000";

  final CamundaClient client;
  final boolean rest;

  Calls(boolean rest) {
    this(
        rest,
        CamundaClient.newClientBuilder()
            .applyEnvironmentVariableOverrides(false)
            .restAddress(URI.create(System.getenv("SKEP_REST")))
            .grpcAddress(URI.create("http://" + System.getenv("SKEP_GRPC")))
            .preferRestOverGrpc(rest)
            .defaultRequestTimeout(Check.DEADLINE)
            .defaultJobWorkerName("check-worker")
            .defaultJobPollInterval(Duration.ofMillis(50))
            .build());
  }

  Calls(boolean rest, CamundaClient client) {
    this.rest = rest;
    this.client = client;
  }

  void check(String name, Check.Body body) {
    Check.check((rest ? "REST: " : "gRPC: ") + name, body);
  }

  DeploymentEvent deploy(Check.Fixture f) {
    var command = client.newDeployResourceCommand().addResourceFile(f.paths.get(0));
    for (String path : f.paths.subList(1, f.paths.size())) {
      command = command.addResourceFile(path);
    }
    return command.execute();
  }

  ProcessInstanceEvent start(String processId, Map<String, Object> variables) {
    return client.newCreateInstanceCommand().bpmnProcessId(processId).latestVersion().variables(variables).execute();
  }

  Map<String, Object> result(String processId, Map<String, Object> variables) {
    return client.newCreateInstanceCommand().bpmnProcessId(processId).latestVersion().variables(variables).withResult()
        .requestTimeout(Check.DEADLINE).execute().getVariablesAsMap();
  }

  List<ActivatedJob> activate(String type, int count, Duration timeout, Duration wait) {
    return client.newActivateJobsCommand().jobType(type).maxJobsToActivate(count).timeout(timeout).workerName("check")
        .requestTimeout(wait).execute().getJobs();
  }

  ActivatedJob activateOne(String type) {
    var jobs = activate(type, 1, Duration.ofMinutes(1), Check.DEADLINE);
    Check.that(jobs.size() == 1, jobs.size() + " jobs of type " + type);
    return jobs.get(0);
  }

  void refused(String code, FinalCommandStep<?> command) {
    Object answer;
    try {
      answer = command.execute();
    } catch (RuntimeException error) {
      Check.that(code(error).equals(code), "expected " + code + ", got " + error);
      return;
    }
    throw new AssertionError("expected " + code + ", got " + answer);
  }

  /** The documented code of a failure: the title of the problem (REST), or the status (gRPC). */
  String code(RuntimeException error) {
    if (error instanceof ProblemException problem) {
      return problem.details().getTitle();
    }
    if (error instanceof ClientStatusException status) {
      String name = status.getStatusCode().name();
      return name.equals("FAILED_PRECONDITION") ? "INVALID_STATE" : name;
    }
    return error.toString();
  }

  static String detail(RuntimeException error) {
    return error instanceof ProblemException problem ? String.valueOf(problem.details().getDetail()) : String.valueOf(error.getMessage());
  }
}
