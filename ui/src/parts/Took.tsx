// How long a thing took, or has been at work until now.
import { between } from "../text/format";
import { useNow } from "./now";

export function Took({ from, to }: { from: string | null | undefined; to: string | null | undefined }) {
  const now = useNow(to ? 3_600_000 : 1_000);
  if (!from) return null;
  return <span className={`figure${to ? "" : " faint"}`}>{between(from, to, now)}</span>;
}
