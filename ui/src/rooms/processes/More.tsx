// What is done more rarely with instances of the list; each opens its own question, fetched when it is asked for.
import { ChevronDown } from "lucide-react";
import { Suspense, lazy, useState } from "react";
import type { Filter, Sort } from "../../api/instances";
import type { Definition } from "../../api/processes";
import { Later } from "../../parts/floating/Later";
import { text } from "../../text";
import type { VariableSort } from "./columns/order";

const Ask = lazy(() => import("./more/Ask"));
const fetch = () => import("./more/Menu");
const Menu = lazy(fetch);

export const KINDS = ["migrate", "move", "delete", "csv"] as const;
export type MoreKind = (typeof KINDS)[number];

export interface MoreProps {
  /** Of instances at work, of those that ended, and of all that the list shows; nothing where the list has none of them. */
  filters: { work: Filter | undefined; over: Filter | undefined; all: Filter };
  terms: { work: readonly string[]; over: readonly string[] };
  /** Of which all of them are, where that is one. */
  of: Definition | undefined;
  sort: Sort[];
  /** A variable that they are sorted by, on the page. */
  by: VariableSort | undefined;
  /** Variables that stand as columns. */
  names: readonly string[];
}

/** On the button. */
export const words = (
  <>
    {text.commands.more}
    <ChevronDown size={14} aria-hidden="true" />
  </>
);

export function More(props: MoreProps) {
  const [asked, ask] = useState<MoreKind>();
  return (
    <>
      <Later className="button small" fetch={fetch} menu={<Menu filters={props.filters} of={props.of} ask={ask} />}>
        {words}
      </Later>
      {asked ? (
        <Suspense fallback={null}>
          <Ask key={asked} {...props} kind={asked} close={() => ask(undefined)} />
        </Suspense>
      ) : null}
    </>
  );
}
