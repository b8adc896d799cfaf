import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/** One Elasticsearch node. Arguments: its home with modules, directory, HTTP port. It runs until it is killed. */
public final class ElasticsearchNode {
  public static void main(String[] args) throws Exception {
    Path home = Path.of(args[0]);
    Path work = Files.createDirectories(Path.of(args[1]));
    String name = "skep-" + args[2];
    Settings settings = Settings.builder()
        .put("path.home", home.toString())
        .put("path.data", work.resolve("data").toString())
        .put("path.logs", work.resolve("logs").toString())
        .put("cluster.name", name)
        .put("node.name", name)
        .put("discovery.type", "single-node")
        .put("network.host", "127.0.0.1")
        .put("http.port", args[2])
        // Several servers on one machine keep out of each other's way.
        .put("transport.port", "0")
        .put("cluster.routing.allocation.disk.threshold_enabled", false)
        // Each test has indices of its own.
        .put("cluster.max_shards_per_node", 10000)
        // Where snapshots may be.
        .put("path.repo", work.resolve("snapshots").toString())
        .build();
    LogConfigurator.configureESLogging();
    LogConfigurator.setNodeName(name);
    Environment environment = new Environment(settings, home.resolve("config"));
    Node node = new Node(environment, plugins(home));
    Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node)));
    node.start();
    new CountDownLatch(1).await();
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static PluginsLoader plugins(Path home) throws Exception {
    Set modules = bundles("loadModulesBundles", home.resolve("modules"));
    Set plugins = bundles("loadPluginsBundles", home.resolve("plugins"));
    return PluginsLoader.createPluginsLoader(modules, plugins, Map.of());
  }

  /** In 9.x these methods have one more parameter. */
  private static Set<?> bundles(String name, Path directory) throws Exception {
    for (Method method : PluginsLoader.class.getMethods()) {
      if (method.getName().equals(name)) {
        boolean plain = method.getParameterCount() == 1;
        return (Set<?>) (plain ? method.invoke(null, directory) : method.invoke(null, directory, false));
      }
    }
    throw new NoSuchMethodException(name);
  }

  private static void close(Node node) {
    try {
      node.close();
    } catch (Exception error) {
      error.printStackTrace();
    }
  }
}
