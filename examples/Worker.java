// A worker for examples/first-process.bpmn with io.camunda:camunda-client-java (jobs are pushed over gRPC).
//
//     mvn -f tests/clients/java/pom.xml dependency:copy-dependencies -DoutputDirectory=/tmp/camunda-client
//     java -cp '/tmp/camunda-client/*' examples/Worker.java
import io.camunda.client.CamundaClient;
import io.camunda.client.api.response.ActivatedJob;
import io.camunda.client.api.worker.JobClient;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

public class Worker {
  public static void main(String[] arguments) throws InterruptedException {
    String address = System.getenv().getOrDefault("CAMUNDA_GRPC_ADDRESS", "http://localhost:26500");
    try (CamundaClient client = CamundaClient.newClientBuilder().grpcAddress(URI.create(address)).build()) {
      client.newWorker().jobType("charge-card").handler(Worker::chargeCard).streamEnabled(true).open();
      System.out.println("waiting for jobs; Ctrl+C ends");
      new CountDownLatch(1).await();
    }
  }

  private static void chargeCard(JobClient client, ActivatedJob job) {
    double amount = ((Number) job.getVariable("amount")).doubleValue();
    if (amount < 0) { // a BPMN error: a boundary event can catch it
      client.newThrowErrorCommand(job).errorCode("NEGATIVE_AMOUNT").send().join();
      return;
    }
    System.out.println(job.getVariable("orderId") + ": charging " + amount);
    client.newCompleteCommand(job).variables(Map.of("charged", amount <= 500)).send().join();
  }
}
