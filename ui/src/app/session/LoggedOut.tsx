// After a logout: nothing of what was seen is left in the page.
import { Link } from "@tanstack/react-router";
import { text } from "../../text";
import { Bare } from "./Bare";

const t = text.session;

export function LoggedOut() {
  return (
    <Bare title={t.out}>
      <p className="muted">{t.outText}</p>
      <Link to="/login" search={{}} className="button main">
        {t.login}
      </Link>
    </Bare>
  );
}
