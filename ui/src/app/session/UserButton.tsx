// The button for who one is; what it says more is fetched when it is pressed.
import { UserRound, UserRoundX } from "lucide-react";
import { lazy } from "react";
import { useSession } from "../../api/session";
import { text } from "../../text";
import { Later } from "../../parts/floating/Later";
import "./login.css";

const t = text.session;
const fetch = () => import("./UserMenu");
const Menu = lazy(fetch);

export function UserButton() {
  const session = useSession();
  if (session.kind === "open") {
    return (
      <Later label={t.nobody} className="button quiet icon" menu={<Menu />} fetch={fetch}>
        <UserRoundX size={16} aria-hidden="true" />
      </Later>
    );
  }
  if (session.kind !== "in") return null;
  const name = session.me.displayName || session.me.username;
  return (
    <Later label={t.menu(name)} className="button quiet who-button" menu={<Menu />} fetch={fetch}>
      <UserRound size={16} aria-hidden="true" />
      <span className="clip live-word">{name}</span>
    </Later>
  );
}
