// The diagram, fetched when the first one is shown.
import { type ComponentProps, useEffect, useState } from "react";
import { Skeleton } from "../Shown";
import type Loaded from "./Diagram";

let loaded: typeof Loaded | undefined;
const load = async () => (loaded = (await import("./Diagram")).default);

/** For pages that will show one: its code comes while they ask for the model, not after it. Who shows it is told what fails. */
export const fetchDiagram = () => void load().catch(() => undefined);

export type { Ghosts } from "./ghosts";
export type { Mark } from "./marks";

/** Without `lazy`: React would hold back what comes behind a fallback until that was seen for 300 ms. */
export function Diagram(props: ComponentProps<typeof Loaded>) {
  const [Made, make] = useState(() => loaded);
  const [failed, fail] = useState<Error>();
  useEffect(() => {
    if (Made) return;
    let gone = false;
    load().then(
      (made) => gone || make(() => made),
      (error: Error) => gone || fail(error),
    );
    return () => {
      gone = true;
    };
  }, [Made]);
  if (failed) throw failed;
  return Made ? <Made {...props} /> : <Skeleton rows={3} />;
}
