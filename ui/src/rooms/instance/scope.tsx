// Which part of the instance is looked at: an element of the drawing, an element instance of the history, or all of it. The
// address says it.
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, createContext, useContext, useMemo, useState } from "react";
import { type ElementInstance, type Instance, elementInstance, ofElement } from "../../api/instances";
import { type ElementKey, type ScopeKey, asKey, looksLikeKey } from "../../api/keys";
import { kept } from "../../api/live";
import { TABS, type Tab } from "./search";

const route = getRouteApi("/processes/i/$key");

interface Scope {
  /** Of variables; the instance itself when nothing is chosen. */
  key: ScopeKey;
  name: string | undefined;
  element: string | undefined;
  /** What the scope is: `SERVICE_TASK`; nothing for the instance itself, and where an element was not reached. */
  type: string | undefined;
  /** What an element that was chosen in the drawing did; the first one is the scope. */
  runs: readonly ElementInstance[];
  tab: Tab;
  /** Where the list of the tab that is shown begins. */
  after: string | undefined;
  /** Where the history of a scope begins. */
  begins: string | undefined;
  chooseElement: (element: string | undefined) => void;
  chooseScope: (scope: ScopeKey | undefined) => void;
  chooseTab: (tab: Tab) => void;
}

const Context = createContext<Scope | undefined>(undefined);

export function useScope(): Scope {
  const scope = useContext(Context);
  if (!scope) throw new Error("parts of an instance stand within its page");
  return scope;
}

const NONE: readonly ElementInstance[] = [];

export function ScopeProvider({ instance, children }: { instance: Instance; children: ReactNode }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const chosen = search.scope !== undefined && looksLikeKey(search.scope) && search.scope !== instance.processInstanceKey ? asKey<ElementKey>(search.scope) : undefined;
  const one = useQuery({ ...elementInstance(chosen ?? asKey("0")), ...kept, enabled: chosen !== undefined });
  const byElement = chosen === undefined && search.element !== undefined;
  const runs = useQuery({ ...ofElement(instance.processInstanceKey, search.element ?? ""), ...kept, enabled: byElement });
  const found = chosen === undefined ? (byElement ? runs.data?.items[0] : undefined) : one.data;
  const element = chosen === undefined ? search.element : found?.elementId;
  // The tab that was shown first stays when an incident comes or goes: somebody may be writing in it.
  const [first] = useState<Tab>(instance.hasIncident ? "incidents" : "variables");
  const tab = TABS.find((each) => each === search.tab) ?? first;
  const value = useMemo<Scope>(
    () => ({
      key: chosen ?? found?.elementInstanceKey ?? instance.processInstanceKey,
      name: found ? (found.elementName ?? found.elementId) : undefined,
      element,
      type: found?.type,
      runs: (byElement ? runs.data?.items : undefined) ?? NONE,
      tab,
      after: search.after,
      begins: search.history,
      // Variables are those of the scope; the other lists stay where they are.
      chooseElement: (next) => void navigate({ search: { ...search, scope: undefined, element: next, ...(tab === "variables" ? { after: undefined } : {}) }, replace: true }),
      chooseScope: (next) => void navigate({ search: { ...search, element: undefined, scope: next, ...(tab === "variables" ? { after: undefined } : {}) }, replace: true }),
      chooseTab: (next) => void navigate({ search: { ...search, tab: next, after: undefined }, replace: true }),
    }),
    [chosen, found, instance.processInstanceKey, element, byElement, runs.data, tab, navigate, search],
  );
  return <Context value={value}>{children}</Context>;
}
