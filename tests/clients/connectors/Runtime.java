package skep.connectors;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** The official runtime as its starter sets it up, with what is on the class path and the connectors beside this class. */
@SpringBootApplication
public class Runtime {
  public static void main(String[] arguments) {
    SpringApplication.run(Runtime.class, arguments);
  }
}
