// The value of a variable: what is long comes cut, and all of it once somebody asks.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Variable } from "../../api/instances";
import { wholeVariable } from "../../api/variable";
import { Json } from "../../parts/Json";
import { text } from "../../text";

const t = text.instance;

interface ValueProps {
  value: string;
  /** Only its beginning is there. */
  isCut: boolean;
  load: () => void;
}

/** `isNeeded`: all of it is asked for at once. */
export function useValue(variable: Variable, isNeeded = false): ValueProps {
  const [wanted, want] = useState(false);
  const all = useQuery({ ...wholeVariable(variable.variableKey), enabled: variable.isTruncated && (wanted || isNeeded) });
  return {
    value: variable.isTruncated ? (all.data ?? variable.value) : variable.value,
    isCut: variable.isTruncated && all.data === undefined,
    load: () => want(true),
  };
}

export function Value({ value, isCut, load }: ValueProps) {
  return (
    <>
      <Json value={value} />
      {isCut ? (
        <p className="faint row">
          {t.truncated}
          <button type="button" className="button small" onClick={load}>
            {t.loadWhole}
          </button>
        </p>
      ) : null}
    </>
  );
}
