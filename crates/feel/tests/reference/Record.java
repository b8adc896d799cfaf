import java.io.*;
import java.util.*;
import org.camunda.feel.api.*;

/** Reads expressions from the standard input, one a line, and writes `expression TAB result`. */
public class Record {
    public static void main(String[] arguments) throws Exception {
        var engine = FeelEngineBuilder.forJava().build();
        var in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        var out = new PrintStream(System.out, true, "UTF-8");
        for (String line; (line = in.readLine()) != null; ) {
            out.println(line + "\t" + result(engine, line));
        }
    }

    static String result(FeelEngineApi engine, String expression) {
        try {
            var plain = engine.evaluateExpression(expression, new HashMap<String, Object>());
            if (!plain.isSuccess()) {
                return plain.failure().message().startsWith("failed to parse") ? "refused" : "crash";
            }
            // The text of a list shows the type of its item: "1" is no 1.
            var text = engine.evaluateExpression("string([" + expression + "])", new HashMap<String, Object>());
            return text.isSuccess() && text.result() != null ? text.result().toString().replace("\n", "\\n") : "crash";
        } catch (Throwable thrown) {
            return "crash";
        }
    }
}
