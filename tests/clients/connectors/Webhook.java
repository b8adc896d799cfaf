package skep.connectors;

import io.camunda.connector.api.annotation.InboundConnector;
import io.camunda.connector.api.inbound.InboundConnectorContext;
import io.camunda.connector.api.inbound.webhook.MappedHttpRequest;
import io.camunda.connector.api.inbound.webhook.WebhookConnectorExecutable;
import io.camunda.connector.api.inbound.webhook.WebhookProcessingPayload;
import io.camunda.connector.api.inbound.webhook.WebhookResult;
import java.nio.charset.StandardCharsets;
import org.springframework.context.annotation.Scope;
import org.springframework.stereotype.Component;

/**
 * Hands a call to the runtime, which starts an instance or publishes a message. It stands for the official webhook connector, which
 * the mirror of Maven Central does not serve.
 */
@Component
@Scope("prototype")
@InboundConnector(name = "Webhook of the tests", type = "skep:webhook:1")
public class Webhook implements WebhookConnectorExecutable {
  @Override
  public void activate(InboundConnectorContext context) {}

  @Override
  public WebhookResult triggerWebhook(WebhookProcessingPayload call) {
    var body = call.rawBody();
    var text = body == null ? "" : new String(body, StandardCharsets.UTF_8);
    var request = new MappedHttpRequest(text, call.headers(), call.params());
    return () -> request;
  }
}
