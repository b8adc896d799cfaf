import java.util.concurrent.CountDownLatch;
import org.codelibs.opensearch.runner.OpenSearchRunner;

/** One OpenSearch node. Arguments: directory, HTTP port. It runs until it is killed. */
public final class OpenSearchNode {
  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[1]);
    OpenSearchRunner runner = new OpenSearchRunner();
    runner.setMaxHttpPort(65536);
    runner.onBuild((number, settings) -> {
      settings.put("network.host", "127.0.0.1");
      settings.put("http.port", args[1]);
      // Several servers on one machine keep out of each other's way.
      settings.put("transport.port", "0");
      settings.put("cluster.routing.allocation.disk.threshold_enabled", false);
      // Each test has indices of its own.
      settings.put("cluster.max_shards_per_node", 10000);
      // Where snapshots may be.
      settings.put("path.repo", args[0] + "/snapshots");
    });
    runner.build(OpenSearchRunner.newConfigs()
        .clusterName("skep-" + port).numOfNode(1).basePath(args[0]).baseHttpPort(port - 1).useLogger());
    new CountDownLatch(1).await();
  }
}
