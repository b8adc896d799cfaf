// The diagram, fetched when the first one is shown.
import { type ComponentProps, Suspense, lazy } from "react";
import { Skeleton } from "../Shown";

const Loaded = lazy(() => import("./Diagram"));
export type { Ghosts } from "./ghosts";
export type { Mark } from "./marks";

export function Diagram(props: ComponentProps<typeof Loaded>) {
  return (
    <Suspense fallback={<Skeleton rows={3} />}>
      <Loaded {...props} />
    </Suspense>
  );
}
