// A moment as people say it, or as the clock shows it; the exact one on hover and to screen readers.
import { exact, fromNow, moment } from "../text/format";
import { useExact, useZone } from "../text/zone";
import { useNow } from "./now";

export function Time({ at }: { at: string | null | undefined }) {
  const now = useNow();
  const isExact = useExact();
  useZone();
  if (!at) return null;
  return (
    <time dateTime={at} title={exact(at)} className="clip">
      {isExact ? moment(at, now) : fromNow(at, now)}
    </time>
  );
}
