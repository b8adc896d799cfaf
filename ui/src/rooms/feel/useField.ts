// A field whose text goes into the address once somebody pauses; what is too long for an address stays on the page.
import { useEffect, useState } from "react";

const PAUSE = 300;
/** Proxies refuse addresses of some tens of thousands of characters. */
const LONGEST = 6_000;

export interface Field {
  written: string;
  /** As it was at the last pause. */
  settled: string;
  /** The address does not hold it. */
  cut: boolean;
  write: (text: string) => void;
  /** Writes, and waits for no pause. */
  put: (text: string) => void;
  settle: () => void;
}

const forAddress = (text: string): string => (encodeURIComponent(text).length > LONGEST ? "" : text);

export function useField(value: string, set: (text: string) => void): Field {
  const [written, write] = useState(value);
  const [settled, setSettled] = useState(value);
  const [known, know] = useState(value);
  // Somebody followed a link to this page with another text.
  if (known !== value) {
    know(value);
    if (forAddress(settled) !== value) {
      write(value);
      setSettled(value);
    }
  }
  const put = (next: string) => {
    write(next);
    setSettled(next);
    if (forAddress(next) !== value) set(forAddress(next));
  };
  useEffect(() => {
    if (written === settled) return;
    const later = setTimeout(() => put(written), PAUSE);
    return () => clearTimeout(later);
  });
  return { written, settled, cut: forAddress(written) !== written, write, put, settle: () => put(written) };
}
