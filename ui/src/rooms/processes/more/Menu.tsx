// What else is done with instances of the list, by name, and why not where it cannot be.
import { Button, Menu as Items, MenuItem, MenuTrigger, Popover } from "react-aria-components";
import { RIGHTS } from "../../../api/rights";
import { useOpened } from "../../../parts/floating/Later";
import { useLack } from "../../../parts/MayButton";
import { text } from "../../../text";
import { KINDS, type MoreKind, type MoreProps, words } from "../More";
import "../../../parts/menu.css";

const t = text.commands;
const names: Record<MoreKind, string> = { migrate: t.moreMigrate, move: t.moreMove, delete: t.moreDelete, csv: t.moreCsv };

export default function Menu({ filters: { work, over }, of, ask }: Pick<MoreProps, "filters" | "of"> & { ask: (kind: MoreKind | undefined) => void }) {
  const { button, open } = useOpened();
  const lacks = { migrate: useLack(RIGHTS.migrate), move: useLack(RIGHTS.move), delete: useLack(RIGHTS.delete), csv: undefined };
  const off = KINDS.filter((kind) => lacks[kind] !== undefined || (kind === "delete" ? !over : kind === "csv" ? false : !work || !of));
  const why = (kind: MoreKind) => lacks[kind] ?? (off.includes(kind) && kind !== "delete" && !of ? t.oneVersion : undefined);
  return (
    <MenuTrigger {...open}>
      <Button ref={button} className="button small">
        {words}
      </Button>
      <Popover className="floating" placement="bottom end">
        <Items className="menu" aria-label={t.more} disabledKeys={off} onAction={(key) => ask(KINDS.find((kind) => kind === key))}>
          {KINDS.map((kind) => (
            <MenuItem key={kind} id={kind} className="menu-item" textValue={names[kind]}>
              <span>
                {names[kind]}
                {why(kind) === undefined ? null : <span className="menu-why faint">{why(kind)}</span>}
              </span>
            </MenuItem>
          ))}
        </Items>
      </Popover>
    </MenuTrigger>
  );
}
