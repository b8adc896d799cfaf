import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Counts checks: each is one line of output, and a failing one does not stop the others. */
final class Check {
  static final Duration DEADLINE = Duration.ofSeconds(30);

  private static final ExecutorService THREADS = Executors.newCachedThreadPool();
  private static final String ONLY = System.getenv().getOrDefault("SKEP_TEST_ONLY", "");
  private static final Path PROCESSES = Path.of(System.getenv("SKEP_PROCESSES"));
  private static int passed = 0;
  private static int failed = 0;
  private static int copies = 0;

  private Check() {}

  interface Body {
    void run() throws Exception;
  }

  static void check(String name, Body body) {
    if (!name.contains(ONLY)) {
      return;
    }
    Instant started = Instant.now();
    Throwable error = null;
    try {
      THREADS
          .submit(
              () -> {
                body.run();
                return null;
              })
          .get(2 * DEADLINE.toSeconds(), TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      error = e.getCause();
    } catch (Exception e) {
      error = e;
    }
    double took = Duration.between(started, Instant.now()).toMillis() / 1000.0;
    if (error == null) {
      passed++;
      System.out.printf("ok   %s (%.2f s)%n", name, took);
    } else {
      failed++;
      System.out.printf("FAIL %s (%.2f s)%n     %s%n", name, took, describe(error));
    }
  }

  private static String describe(Throwable error) {
    StringBuilder text = new StringBuilder();
    for (Throwable e = error; e != null; e = e.getCause()) {
      text.append(e).append("\n     ");
      Stream.of(e.getStackTrace())
          .filter(frame -> frame.getClassName().matches("(Suite|Elements|Batches|Searches)\\b.*"))
          .forEach(frame -> text.append("  at ").append(frame).append("\n     "));
    }
    return text.toString().stripTrailing();
  }

  static void finish() {
    System.out.printf("%d passed, %d failed%n", passed, failed);
    System.exit(failed == 0 ? 0 : 1);
  }

  /** Runs something beside the check. */
  static <T> java.util.concurrent.Future<T> beside(Callable<T> call) {
    return THREADS.submit(call);
  }

  static void that(boolean holds, Object shown) {
    if (!holds) {
      throw new AssertionError(String.valueOf(shown));
    }
  }

  static void same(Object expected, Object actual) {
    that(expected.equals(actual), "expected " + expected + ", got " + actual);
  }

  /** Polls until the condition answers something, and returns that; null is "not yet". */
  static <T> T until(String what, Callable<T> condition) throws Exception {
    Instant end = Instant.now().plus(DEADLINE);
    while (true) {
      T value = condition.call();
      if (value != null) {
        return value;
      }
      that(Instant.now().isBefore(end), "not within " + DEADLINE.toSeconds() + " s: " + what);
      Thread.sleep(20);
    }
  }

  /**
   * A process of tests/processes/valid under names of its own: every copy gets a suffix on its process ids, job types,
   * message names and called processes, so that no check sees jobs or messages of another one. So does `dish.dmn` of
   * tests/processes/decisions; what it requires keeps its id, by which expressions know it.
   */
  static final class Fixture {
    private static final List<Pattern> NAMES =
        Stream.of(
                "(<bpmn:process id=\")([^\"]+)",
                "(<zeebe:taskDefinition type=\")([^\"=]+)",
                "(<zeebe:taskListener eventType=\"[^\"]+\" type=\")([^\"=]+)",
                "(<zeebe:calledElement processId=\")([^\"=]+)",
                "(<zeebe:executionListener eventType=\"[^\"]+\" type=\")([^\"=]+)",
                "(<bpmn:message id=\"[^\"]+\" name=\")([^\"=]+)",
                "(<definitions [^>]*\\bid=\")([^\"]+)",
                "(<decision id=\")(dish)")
            .map(Pattern::compile)
            .toList();

    final List<String> paths = new ArrayList<>();
    final String id;
    private final String suffix;

    Fixture(String name, String... also) throws IOException {
      synchronized (Check.class) {
        suffix = "-" + ++copies;
      }
      id = name(name);
      paths.add(copy(name));
      for (String other : also) {
        paths.add(copy(other));
      }
    }

    /** What a job type, message or process of the fixture is called in this copy. */
    String name(String original) {
      return original + suffix;
    }

    private String copy(String name) throws IOException {
      boolean decisions = name.endsWith(".dmn");
      Path original = PROCESSES.resolve(decisions ? "decisions" : "valid").resolve(decisions ? name : name + ".bpmn");
      String text = Files.readString(original);
      for (Pattern pattern : NAMES) {
        text = pattern.matcher(text).replaceAll(m -> Matcher.quoteReplacement(m.group(1) + name(m.group(2))));
      }
      Path path = Path.of(name + suffix + (decisions ? ".dmn" : ".bpmn")).toAbsolutePath();
      Files.writeString(path, text);
      return path.toString();
    }
  }

  /** A file of tests/processes/invalid and the element that its finding must name, or null. */
  record Invalid(Path path, String element) {}

  static List<Invalid> invalidFixtures() throws IOException {
    Pattern finding = Pattern.compile("finding on `([^`]+)`");
    List<Invalid> found = new ArrayList<>();
    for (Path path : files("invalid")) {
      Matcher matcher = finding.matcher(Files.readString(path));
      found.add(new Invalid(path, matcher.find() ? matcher.group(1) : null));
    }
    return found;
  }

  static List<Path> validFixtures() throws IOException {
    return files("valid");
  }

  private static List<Path> files(String folder) throws IOException {
    try (Stream<Path> all = Files.list(PROCESSES.resolve(folder))) {
      return all.filter(path -> path.toString().endsWith(".bpmn")).sorted().toList();
    }
  }
}
