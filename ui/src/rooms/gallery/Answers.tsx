// An answer in its states: not there yet, there, and refused.
import { useQuery } from "@tanstack/react-query";
import { once } from "../../api/live";
import { Problem } from "../../api/problem";
import { Shown } from "../../parts/Shown";

const refusal = new Problem(503, "UNAVAILABLE", "Partition 1 has no leader at the moment.");

export function Answers() {
  const pending = useQuery(once<string>(["gallery", "pending"], () => new Promise(() => undefined)));
  const there = useQuery(once(["gallery", "there"], () => Promise.resolve("It is there.")));
  const refused = useQuery({ ...once<string>(["gallery", "refused"], () => Promise.reject(refusal)), retry: false });
  return (
    <>
      {[pending, there, refused].map((query, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- they are always the same three
        <Shown key={at} query={query}>{(text) => <p>{text}</p>}</Shown>
      ))}
    </>
  );
}
