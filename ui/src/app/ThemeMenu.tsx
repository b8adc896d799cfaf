// Light, dark, or as the system is.
import { Check, Contrast } from "lucide-react";
import { useState } from "react";
import { Button, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";
import { text } from "../text";
import { setTheme, themeNow, themes } from "./theme";
import "../parts/menu.css";

export function ThemeMenu() {
  const [theme, choose] = useState(themeNow);
  return (
    <MenuTrigger>
      <Button className="button quiet icon" aria-label={text.frame.theme}>
        <Contrast size={16} aria-hidden="true" />
      </Button>
      <Popover className="floating" placement="bottom end">
        <Menu
          className="menu"
          aria-label={text.frame.theme}
          selectionMode="single"
          selectedKeys={[theme]}
          onSelectionChange={(keys) => {
            const chosen = themes.find((each) => keys !== "all" && keys.has(each)) ?? theme;
            setTheme(chosen);
            choose(chosen);
          }}
        >
          {themes.map((each) => (
            <MenuItem key={each} id={each} className="menu-item" textValue={text.frame.themes[each]}>
              <span className="menu-check">{each === theme ? <Check size={14} aria-hidden="true" /> : null}</span>
              {text.frame.themes[each]}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}
