// How things look to oneself: light or dark, how times are written, and in which zone.
import { Check, Contrast } from "lucide-react";
import { Suspense, lazy, useState } from "react";
import { Button, Header, Menu, MenuItem, MenuSection, MenuTrigger, Popover } from "react-aria-components";
import { text } from "../text";
import { ownZone, setExact, setZone, useExact, useZone } from "../text/zone";
import { useOpened } from "../parts/floating/Later";
import { setTheme, themeNow, themes } from "./theme";
import "../parts/menu.css";

const AskZone = lazy(() => import("./AskZone"));
const t = text.frame;
const UTC = "UTC";

interface ChoicesProps {
  title: string;
  items: readonly (readonly [string, string])[];
  chosen: string;
}

function Choices({ title, items, chosen }: ChoicesProps) {
  return (
    <MenuSection selectionMode="single" selectedKeys={[chosen]} disallowEmptySelection>
      <Header className="menu-head">{title}</Header>
      {items.map(([id, name]) => (
        <MenuItem key={id} id={id} className="menu-item" textValue={name}>
          <span className="menu-check">{id === chosen ? <Check size={14} aria-hidden="true" /> : null}</span>
          {name}
        </MenuItem>
      ))}
    </MenuSection>
  );
}

export default function LookMenu() {
  const { button, open } = useOpened();
  const [theme, choose] = useState(themeNow);
  const [asking, ask] = useState(false);
  const zone = useZone();
  const isExact = useExact();
  const other = zone !== "" && zone !== UTC;
  const act = (key: string) => {
    const [kind, value = ""] = key.split(/ (.*)/);
    if (kind === "times") setExact(value === "exact");
    else if (kind === "zone" && value === "other") ask(true);
    else if (kind === "zone") setZone(value);
    else {
      const chosen = themes.find((each) => each === value) ?? theme;
      setTheme(chosen);
      choose(chosen);
    }
  };
  return (
    <>
      <MenuTrigger {...open}>
        <Button ref={button} className="button quiet icon" aria-label={t.theme}>
          <Contrast size={16} aria-hidden="true" />
        </Button>
        <Popover className="floating" placement="bottom end">
          <Menu className="menu" aria-label={t.theme} onAction={(key) => act(String(key))}>
            <Choices title={t.colours} items={themes.map((each) => [`look ${each}`, t.themes[each]] as const)} chosen={`look ${theme}`} />
            <Choices title={t.times} items={[["times ago", t.timesAgo], ["times exact", t.timesExact]]} chosen={`times ${isExact ? "exact" : "ago"}`} />
            <Choices
              title={t.zone}
              items={[["zone ", t.zoneLocal(ownZone())], [`zone ${UTC}`, UTC], ["zone other", other ? t.zoneIs(zone) : t.zoneOther]]}
              chosen={other ? "zone other" : `zone ${zone}`}
            />
          </Menu>
        </Popover>
      </MenuTrigger>
      {asking ? (
        <Suspense fallback={null}>
          <AskZone zone={zone} close={() => ask(false)} />
        </Suspense>
      ) : null}
    </>
  );
}
