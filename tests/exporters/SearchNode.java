import java.util.concurrent.CountDownLatch;
import org.codelibs.opensearch.runner.OpenSearchRunner;

/** One OpenSearch node. Arguments: directory, HTTP port. It runs until it is killed. */
public final class SearchNode {
  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[1]);
    OpenSearchRunner runner = new OpenSearchRunner();
    runner.setMaxHttpPort(65536);
    runner.onBuild((number, settings) -> {
      settings.put("network.host", "127.0.0.1");
      settings.put("http.port", args[1]);
      settings.put("cluster.routing.allocation.disk.threshold_enabled", false);
    });
    runner.build(OpenSearchRunner.newConfigs()
        .clusterName("skep").numOfNode(1).basePath(args[0]).baseHttpPort(port - 1).useLogger());
    new CountDownLatch(1).await();
  }
}
