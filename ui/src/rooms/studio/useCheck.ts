// A draft is checked by the server whenever its drawing has rested for a moment.
import { useEffect, useState } from "react";
import { type Checked, check } from "../../api/commands";

const REST = 1_200;

/**
 * What the server said last, which stays while more is drawn, and a way to say what it said elsewhere. `undefined`: the person may not
 * deploy, the server does not answer, or it was not asked yet.
 */
export function useCheck(file: File | undefined, tenant: string | undefined): [Checked | undefined, (checked: Checked | undefined) => void] {
  const [checked, tell] = useState<Checked>();
  useEffect(() => {
    if (file === undefined) return;
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      check([file], tenant, leaving.signal).then(
        (answer) => void (leaving.signal.aborted || tell(answer)),
        // The deployment says why.
        () => void (leaving.signal.aborted || tell(undefined)),
      );
    }, REST);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [file, tenant]);
  return [checked, tell];
}
