import java.util.concurrent.atomic.AtomicInteger;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs {@link ProcessTests} and prints their results as the other suites do. */
public final class Suite {
  private Suite() {}

  public static void main(String[] arguments) {
    String only = System.getenv().getOrDefault("SKEP_TEST_ONLY", "");
    AtomicInteger passed = new AtomicInteger();
    AtomicInteger failed = new AtomicInteger();
    LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(DiscoverySelectors.selectClass("ProcessTests"))
            .filters(
                (PostDiscoveryFilter)
                    test -> FilterResult.includedIf(!test.isTest() || test.getDisplayName().contains(only)))
            .build();
    TestExecutionListener listener =
        new TestExecutionListener() {
          @Override
          public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            // The filter sees no test cases of files.
            if (test.isTest() && !test.getDisplayName().contains(only)) {
              return;
            }
            boolean good = result.getStatus() == TestExecutionResult.Status.SUCCESSFUL;
            if (good && !test.isTest()) {
              return;
            }
            (good ? passed : failed).incrementAndGet();
            System.out.println((good ? "ok   " : "FAIL ") + test.getDisplayName());
            result.getThrowable().ifPresent(error -> System.out.println("     " + error));
          }
        };
    LauncherFactory.create().execute(request, listener);
    System.out.printf("%d passed, %d failed%n", passed.get(), failed.get());
    System.exit(failed.get() == 0 ? 0 : 1);
  }
}
