// Who one is, and the way out; or that this server asks nobody.
import { LogOut, UserRound, UserRoundX } from "lucide-react";
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";
import { type Me, leave, useSession } from "../../api/session";
import { failed } from "../../parts/failed";
import { text } from "../../text";
import { useOpened } from "../../parts/floating/Later";
import { goAway } from "../router";
import "../../parts/menu.css";

const t = text.session;

async function logOut() {
  try {
    const there = await leave();
    if (there === undefined) await goAway();
    else location.assign(there);
  } catch (error) {
    failed(error);
  }
}

export default function UserMenu() {
  const session = useSession();
  if (session.kind === "open") return <Nobody why={session.why} />;
  if (session.kind !== "in") return null;
  return <Somebody me={session.me} />;
}

function Nobody({ why }: { why: "absent" | "unprotected" }) {
  const { button, open } = useOpened();
  return (
    <DialogTrigger {...open}>
      <Button ref={button} className="button quiet icon" aria-label={t.nobody}>
        <UserRoundX size={16} aria-hidden="true" />
      </Button>
      <Popover className="floating" placement="bottom end">
        <Dialog className="who" aria-label={t.nobody}>
          <p className="who-name">{t.nobody}</p>
          <p className="muted">{t.nobodyText}</p>
          <p className="faint">{t[why]}</p>
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}

function Somebody({ me }: { me: Me }) {
  const { button, open } = useOpened();
  const rows = [
    [t.groups, me.groups],
    [t.roles, me.roles],
    [t.tenants, me.tenants.map((each) => each.name ?? each.tenantId)],
  ] as const;
  return (
    <DialogTrigger {...open}>
      <Button ref={button} className="button quiet who-button" aria-label={t.menu(me.displayName || me.username)}>
        <UserRound size={16} aria-hidden="true" />
        <span className="clip live-word">{me.displayName || me.username}</span>
      </Button>
      <Popover className="floating" placement="bottom end">
        <Dialog className="who" aria-label={t.menu(me.displayName || me.username)}>
          <p className="who-name">{me.displayName || me.username}</p>
          <p className="faint">{[me.username, me.email].filter((each) => each).join(", ")}</p>
          <dl>
            {rows.filter(([, names]) => names.length > 0).map(([name, names]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{names.join(", ")}</dd>
              </div>
            ))}
          </dl>
          {me.canLogout ? (
            <button type="button" className="button" onClick={() => void logOut()}>
              <LogOut size={14} aria-hidden="true" />
              {t.logout}
            </button>
          ) : null}
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}
