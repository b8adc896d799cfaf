import io.camunda.client.CamundaClient;
import io.camunda.client.CredentialsProvider;
import io.camunda.client.api.worker.JobHandler;
import io.camunda.client.api.worker.JobWorker;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A worker of io.camunda:camunda-client-java (Maven), unchanged, that logs in by what the environment says: creates instances and works
 * them, by polls over REST and then by a job stream over gRPC.
 */
public final class Login {
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private Login() {}

  public static void main(String[] arguments) throws InterruptedException {
    for (boolean rest : new boolean[] {true, false}) {
      try (CamundaClient client = client(rest)) {
        work(client, !rest);
      }
    }
    System.exit(0);
  }

  private static CamundaClient client(boolean rest) {
    return CamundaClient.newClientBuilder()
        .applyEnvironmentVariableOverrides(false)
        .restAddress(URI.create(System.getenv("SKEP_REST")))
        .grpcAddress(URI.create("http://" + System.getenv("SKEP_GRPC")))
        .preferRestOverGrpc(rest)
        .defaultRequestTimeout(PATIENCE)
        .credentialsProvider(credentials())
        .build();
  }

  private static CredentialsProvider credentials() {
    if (System.getenv("CAMUNDA_AUTH_STRATEGY").equals("BASIC")) {
      return CredentialsProvider.newBasicAuthCredentialsProviderBuilder()
          .applyEnvironmentOverrides(false)
          .username(System.getenv("CAMUNDA_BASIC_AUTH_USERNAME"))
          .password(System.getenv("CAMUNDA_BASIC_AUTH_PASSWORD"))
          .build();
    }
    return CredentialsProvider.newCredentialsProviderBuilder()
        .applyEnvironmentOverrides(false)
        .authorizationServerUrl(System.getenv("CAMUNDA_OAUTH_URL"))
        .clientId(System.getenv("CAMUNDA_CLIENT_ID"))
        .clientSecret(System.getenv("CAMUNDA_CLIENT_SECRET"))
        .audience(System.getenv("CAMUNDA_TOKEN_AUDIENCE"))
        .credentialsCachePath(Path.of("credentials").toAbsolutePath().toString())
        .build();
  }

  private static void work(CamundaClient client, boolean streamed) throws InterruptedException {
    String process = System.getenv("NAME");
    String type = System.getenv().getOrDefault("JOB_TYPE", process);
    Set<Long> created = new HashSet<>();
    Set<Long> done = ConcurrentHashMap.newKeySet();
    JobHandler handler = (c, job) -> {
      c.newCompleteCommand(job).execute();
      done.add(job.getProcessInstanceKey());
    };
    Instant end = Instant.now().plusSeconds(Long.parseLong(System.getenv("LONG")));
    try (JobWorker worker = client.newWorker().jobType(type).handler(handler).timeout(Duration.ofMinutes(1)).streamEnabled(streamed).open()) {
      while (Instant.now().isBefore(end)) {
        created.add(client.newCreateInstanceCommand().bpmnProcessId(process).latestVersion().execute().getProcessInstanceKey());
        Thread.sleep(200);
      }
      while (!done.containsAll(created)) {
        if (Instant.now().isAfter(end.plus(PATIENCE)) || !worker.isOpen()) {
          throw new IllegalStateException(done.size() + " of " + created.size() + " were worked, streamed: " + streamed);
        }
        Thread.sleep(50);
      }
    }
  }
}
