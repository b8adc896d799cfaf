// The diagram, fetched when the first one is shown.
import { type ComponentProps, Suspense, lazy } from "react";
import { Skeleton } from "../Shown";

const load = () => import("./Diagram");
const Loaded = lazy(load);

/** For pages that will show one: its code comes while they ask for the model, not after it. Who shows it is told what fails. */
export const fetchDiagram = () => void load().catch(() => undefined);

export type { Ghosts } from "./ghosts";
export type { Mark } from "./marks";

export function Diagram(props: ComponentProps<typeof Loaded>) {
  return (
    <Suspense fallback={<Skeleton rows={3} />}>
      <Loaded {...props} />
    </Suspense>
  );
}
