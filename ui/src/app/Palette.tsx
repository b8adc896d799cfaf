// Ctrl K: rooms and processes by name, and whatever has the key that somebody pasted.
import { useQuery } from "@tanstack/react-query";
import { type LinkProps } from "@tanstack/react-router";
import { Boxes, CornerDownLeft, FlaskConical, Key, Search, Workflow } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { Autocomplete, Dialog, Input, Menu, MenuItem, Modal, ModalOverlay, SearchField } from "react-aria-components";
import { looksLikeKey } from "../api/keys";
import { leftOver } from "../api/leftover";
import { type Found, lookup } from "../api/lookup";
import { deleted, latest, processOf } from "../api/processes";
import { reasonOf } from "../parts/reason";
import { text } from "../text";
import { roomsNow } from "./session/rights";
import { router } from "./router";
import "../parts/dialog.css";
import "../parts/menu.css";
import "./palette.css";

interface Item {
  id: string;
  name: string;
  aside: string;
  icon: ReactNode;
  link: Pick<LinkProps, "to" | "params" | "search">;
}

const begins = (name: string, words: string): number => Number(name.toLowerCase().startsWith(words.toLowerCase()));

/** Where an instance shows such a thing. */
const TABS: Partial<Record<Found["kind"], string>> = { incident: "incidents", job: "jobs", messageSubscription: "messages", message: "messages" };

function linkOf(found: Found): Item["link"] {
  if (found.kind === "batch") return { to: "/batches/$key", params: { key: found.batch } };
  if (found.kind === "userTask") return { to: "/tasks", search: { task: found.task } };
  if (found.kind === "processDefinition") return { to: "/processes", search: { process: found.id, version: String(found.version) } };
  if (found.kind === "decisionDefinition") return { to: "/decisions", search: { decision: found.id, version: String(found.version), tab: "table" } };
  if (found.kind === "form") return { to: "/studio", search: { form: found.form } };
  if (found.kind === "decisionEvaluation") return { to: "/decisions/i/$id", params: { id: found.evaluation } };
  if (found.instance === null) return { to: "/messages" };
  return { to: "/processes/i/$key", params: { key: found.instance }, search: { scope: found.scope ?? undefined, tab: TABS[found.kind] } };
}

export default function Palette({ close }: { close: () => void }) {
  const [typed, type] = useState("");
  const wanted = typed.trim();
  const isKey = looksLikeKey(wanted);
  const definitions = useQuery(latest());
  const gone = useQuery(deleted());
  const found = useQuery({ queryKey: ["lookup", wanted], queryFn: ({ signal }) => lookup(wanted, signal), enabled: isKey, retry: false });
  const items = useMemo((): Item[] => {
    const all: Item[] = roomsNow().map(({ to, name, icon: Icon }) => ({ id: to, name, aside: "", icon: <Icon size={16} />, link: { to } }));
    for (const each of definitions.data?.items ?? []) {
      const id = each.processDefinitionId;
      all.push({ id: `p ${id}`, name: each.name ?? id, aside: id, icon: <Workflow size={16} />, link: { to: "/processes", search: { process: id } } });
    }
    for (const each of definitions.data === undefined ? [] : leftOver(gone.data?.items ?? [], definitions.data.items, processOf)) {
      const id = each.processDefinitionId;
      all.push({ id: `p ${id}`, name: each.name ?? id, aside: text.deleted.mark(id), icon: <Workflow size={16} />, link: { to: "/processes", search: { process: id } } });
    }
    const words = wanted.toLowerCase().split(/\s+/);
    const matching = all.filter((item) => words.every((word) => `${item.name} ${item.aside}`.toLowerCase().includes(word)))
      .toSorted((a, b) => begins(b.name, wanted) - begins(a.name, wanted))
      .slice(0, 50);
    if (wanted.startsWith("=") && wanted.length > 1) return [{ id: "feel", name: text.feel.tryThis, aside: wanted, icon: <FlaskConical size={16} />, link: { to: "/feel", search: { expression: wanted } } }];
    if (!isKey || !found.data) return matching;
    const kind = found.data.kind === "processDefinition" && found.data.isDeleted ? text.deleted.mark(text.frame.processDefinition) : text.frame[found.data.kind];
    return [{ id: "found", name: kind, aside: wanted, icon: <Key size={16} />, link: linkOf(found.data) }, ...matching];
  }, [definitions.data, gone.data, found.data, isKey, wanted]);
  const nothing = !isKey ? text.frame.findNothing : found.isFetching ? text.frame.findAsking : found.error ? reasonOf(found.error) : text.frame.findNoKey(wanted);
  return (
    <ModalOverlay className="veil" isOpen onOpenChange={(open) => (open ? undefined : close())} isDismissable>
      <Modal className="modal palette">
        <Dialog className="palette-dialog" aria-label={text.frame.find}>
          <Autocomplete inputValue={typed} onInputChange={type}>
            <SearchField autoFocus className="palette-field" aria-label={text.frame.findHint}>
              <Search size={18} aria-hidden="true" />
              <Input placeholder={text.frame.findHint} spellCheck="false" />
            </SearchField>
            <Menu
              className="menu palette-menu"
              aria-label={text.frame.find}
              items={items}
              renderEmptyState={() => <p className="palette-none">{nothing}</p>}
              onAction={(id) => {
                const item = items.find((item) => item.id === id);
                close();
                if (item) void router.navigate(item.link);
              }}
            >
              {(item) => (
                <MenuItem className="menu-item" textValue={item.name}>
                  <span className="palette-icon">{item.icon ?? <Boxes size={16} />}</span>
                  <span className="clip grow">{item.name}</span>
                  <span className="faint clip mono">{item.aside}</span>
                  <CornerDownLeft size={14} className="palette-enter" aria-hidden="true" />
                </MenuItem>
              )}
            </Menu>
          </Autocomplete>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
