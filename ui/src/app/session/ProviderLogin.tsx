// The identity providers at which one can log in, a link to each.
import { useEffect, useState } from "react";
import { type Way, wayTo, ways } from "../../api/session";
import { Problem } from "../../api/problem";
import { text } from "../../text";

const t = text.session;

interface ProviderLoginProps {
  /** A path of this server: where one goes on. */
  to: string;
  /** In a tab of its own, so that the page which is open stays. */
  apart?: boolean;
}

export function ProviderLogin({ to, apart = false }: ProviderLoginProps) {
  const [found, setFound] = useState<Way[]>();
  const [wrong, setWrong] = useState<string>();
  useEffect(() => {
    ways().then(setFound, (error: unknown) => setWrong(error instanceof Problem && error.detail !== "" ? error.detail : text.words.failure.NO_ANSWER));
  }, []);
  if (wrong !== undefined) {
    return (
      <p className="bad" role="alert">
        {wrong}
      </p>
    );
  }
  if (found === undefined) return null;
  if (found.length === 0) return <p className="muted">{t.noWay}</p>;
  return (
    <ul className="login-ways">
      {found.map((way) => (
        <li key={way.id}>
          <a className="button main" href={wayTo(way, to)} {...(apart ? { target: "_blank", rel: "opener" } : {})}>
            {way.id === way.name ? t.login : t.loginAt(way.name)}
          </a>
        </li>
      ))}
    </ul>
  );
}
