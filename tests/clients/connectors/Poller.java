package skep.connectors;

import io.camunda.connector.api.annotation.FEEL;
import io.camunda.connector.api.annotation.InboundConnector;
import io.camunda.connector.api.inbound.InboundConnectorExecutable;
import io.camunda.connector.api.inbound.InboundIntermediateConnectorContext;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.annotation.Scope;
import org.springframework.stereotype.Component;

/**
 * Asks the runtime which instances wait at its element, and lets each go on with what its own variables say. It stands for the
 * official polling connector, which the mirror of Maven Central does not serve.
 */
@Component
@Scope("prototype")
@InboundConnector(name = "Poller of the tests", type = "skep:poller:1")
public class Poller implements InboundConnectorExecutable<InboundIntermediateConnectorContext> {
  private static final Logger LOG = LoggerFactory.getLogger(Poller.class);
  private ScheduledExecutorService clock;

  /** What the model says, with expressions over the variables of one instance. */
  public record Properties(@FEEL String order) {}

  @Override
  public void activate(InboundIntermediateConnectorContext context) {
    clock = Executors.newSingleThreadScheduledExecutor();
    clock.scheduleWithFixedDelay(() -> poll(context), 0, 200, TimeUnit.MILLISECONDS);
  }

  private static void poll(InboundIntermediateConnectorContext context) {
    try {
      for (var instance : context.getProcessInstanceContexts()) {
        instance.correlate(Map.of("order", instance.bind(Properties.class).order()));
      }
    } catch (RuntimeException error) {
      // What is thrown would end the schedule and be seen by nobody.
      LOG.error("the poll failed", error);
    }
  }

  @Override
  public void deactivate() {
    clock.shutdown();
  }
}
