// What is done more rarely with instances of the list; each opens its own question, fetched when it is asked for.
import { ChevronDown } from "lucide-react";
import { Suspense, lazy, useState } from "react";
import { Button, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";
import type { Filter, Sort } from "../../api/instances";
import type { Definition } from "../../api/processes";
import { RIGHTS } from "../../api/rights";
import { useLack } from "../../parts/MayButton";
import { text } from "../../text";

const t = text.commands;
const Ask = lazy(() => import("./more/Ask"));

export const KINDS = ["migrate", "move", "delete", "csv"] as const;
export type MoreKind = (typeof KINDS)[number];
const names: Record<MoreKind, string> = { migrate: t.moreMigrate, move: t.moreMove, delete: t.moreDelete, csv: t.moreCsv };

export interface MoreProps {
  /** Of instances at work, of those that ended, and of all that the list shows; nothing where the list has none of them. */
  filters: { work: Filter | undefined; over: Filter | undefined; all: Filter };
  terms: { work: readonly string[]; over: readonly string[] };
  /** Of which all of them are, where that is one. */
  of: Definition | undefined;
  sort: Sort[];
  /** Variables that stand as columns. */
  names: readonly string[];
}

export function More(props: MoreProps) {
  const [asked, ask] = useState<MoreKind>();
  const { work, over } = props.filters;
  const lacks = { migrate: useLack(RIGHTS.migrate), move: useLack(RIGHTS.move), delete: useLack(RIGHTS.delete), csv: undefined };
  const off = KINDS.filter((kind) => lacks[kind] !== undefined || (kind === "delete" ? !over : kind === "csv" ? false : !work || !props.of));
  const why = (kind: MoreKind) => lacks[kind] ?? (off.includes(kind) && kind !== "delete" && !props.of ? t.oneVersion : undefined);
  return (
    <>
      <MenuTrigger>
        <Button className="button small">
          {t.more}
          <ChevronDown size={14} aria-hidden="true" />
        </Button>
        <Popover className="floating" placement="bottom end">
          <Menu className="menu" aria-label={t.more} disabledKeys={off} onAction={(key) => ask(KINDS.find((kind) => kind === key))}>
            {KINDS.map((kind) => (
              <MenuItem key={kind} id={kind} className="menu-item" textValue={names[kind]}>
                <span>
                  {names[kind]}
                  {why(kind) === undefined ? null : <span className="menu-why faint">{why(kind)}</span>}
                </span>
              </MenuItem>
            ))}
          </Menu>
        </Popover>
      </MenuTrigger>
      {asked ? (
        <Suspense fallback={null}>
          <Ask key={asked} {...props} kind={asked} close={() => ask(undefined)} />
        </Suspense>
      ) : null}
    </>
  );
}
