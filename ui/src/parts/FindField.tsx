// A field that narrows a list: what is written goes into the address once somebody pauses.
import { useEffect, useState } from "react";

const PAUSE = 300;

interface FindProps {
  label: string;
  /** As the address has it. */
  value: string;
  set: (value: string | undefined) => void;
  autoFocus?: boolean;
  /** The one that the key / leads to. */
  main?: boolean;
  className?: string;
}

export function FindField({ label, value, set, autoFocus = false, main = false, className = "" }: FindProps) {
  const [written, write] = useState(value);
  const [known, know] = useState(value);
  // Somebody went back, or elsewhere.
  if (known !== value) {
    know(value);
    if (written.trim() !== value) write(value);
  }
  useEffect(() => {
    if (written.trim() === value) return;
    const later = setTimeout(() => set(written.trim() || undefined), PAUSE);
    return () => clearTimeout(later);
  });
  return (
    <input className={`field ${className}`} type="search" data-filter={main ? "" : undefined} autoFocus={autoFocus} placeholder={label} aria-label={label} spellCheck="false" value={written} onChange={(event) => write(event.target.value)} />
  );
}
