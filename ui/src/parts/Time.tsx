// A moment, as people say it; the exact one on hover and to screen readers.
import { exact, fromNow } from "../text/format";
import { useNow } from "./now";

export function Time({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return null;
  return (
    <time dateTime={at} title={exact(at)} className="clip">
      {fromNow(at, now)}
    </time>
  );
}
