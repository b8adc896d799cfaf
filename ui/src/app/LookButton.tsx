// The button for how things look to oneself.
import { Contrast } from "lucide-react";
import { lazy } from "react";
import { text } from "../text";
import { Later } from "../parts/floating/Later";

const fetch = () => import("./LookMenu");
const Menu = lazy(fetch);

export const LookButton = () => (
  <Later label={text.frame.theme} className="button quiet icon" menu={<Menu />} fetch={fetch}>
    <Contrast size={16} aria-hidden="true" />
  </Later>
);
