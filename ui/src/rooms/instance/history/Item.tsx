// One row of a history: the instance itself, or something that happened within it.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { type MouseEvent, memo } from "react";
import { type ElementInstance, type Instance, called } from "../../../api/instances";
import type { ScopeKey } from "../../../api/keys";
import { State } from "../../../parts/State";
import { text } from "../../../text";
import { Bar } from "./Bar";
import type { Row } from "./rows";

const t = text.instance;

interface Props {
  row: Row & { kind: "whole" | "element" };
  instance: Instance;
  selected: boolean;
  isStop: boolean;
  open: (id: string, isOpen: boolean) => void;
  choose: (scope: ScopeKey | undefined) => void;
  focused: (id: string) => void;
}

/** What both kinds of rows show. */
function shownOf(row: Props["row"], instance: Instance) {
  if (row.kind === "whole") {
    const name = instance.processDefinitionName ?? instance.processDefinitionId;
    return { name, state: instance.hasIncident ? "INCIDENT" : instance.state, from: instance.startDate, to: instance.endDate, opens: undefined, at: 1, of: 1 };
  }
  const { element } = row;
  return { name: element.elementName ?? element.elementId, state: element.hasIncident ? "INCIDENT" : element.state, from: element.startDate, to: element.endDate, opens: row.open, at: row.at, of: row.of };
}

/** While one scrolls its rows stay as they are. */
export const Item = memo(function Item({ row, instance, selected, isStop, open, choose, focused }: Props) {
  const { name, state, from, to, opens, at, of } = shownOf(row, instance);
  const element = row.kind === "element" ? row.element : undefined;
  const times = { from: new Date(instance.startDate).getTime(), to: instance.endDate ? new Date(instance.endDate).getTime() : undefined };
  const turn = (event: MouseEvent) => {
    event.stopPropagation();
    if (opens !== undefined) open(row.id, !opens);
  };
  return (
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the tree has the keys
    <div role="treeitem" aria-level={row.level} aria-setsize={of} aria-posinset={at} aria-selected={selected} aria-expanded={opens} tabIndex={isStop ? 0 : -1} className="tree-row" onClick={() => choose(element?.elementInstanceKey)} onFocus={() => focused(row.id)}>
      <span className="tree-name" style={{ paddingLeft: (row.level - 1) * 16 }}>
        <span className={`tree-open${opens === undefined ? "" : opens ? " open" : " closed"}`} onClick={turn} aria-hidden="true">
          {opens === undefined ? null : <ChevronRight size={14} />}
        </span>
        <State name={state} bare />
        <span className="clip" title={name}>{name}</span>
        {element ? <span className="tree-kind faint clip">{text.words.kind(element.type)}</span> : null}
        {element?.type === "CALL_ACTIVITY" ? <Called element={element} /> : null}
      </span>
      <Bar times={times} from={from} to={to} />
    </div>
  );
});

function Called({ element }: { element: ElementInstance }) {
  const found = useQuery(called(element.elementInstanceKey)).data?.items[0];
  if (!found) return null;
  return (
    <Link to="/processes/i/$key" params={{ key: found.processInstanceKey }} className="tree-called" onClick={(event) => event.stopPropagation()}>
      {t.openCalled}
    </Link>
  );
}
