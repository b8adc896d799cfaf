// Help: the keys, the API, and what the interface is made of.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { base } from "../api/client";
import { once } from "../api/live";
import { problemOf } from "../api/problem";
import { PageTitle } from "../parts/PageTitle";
import { Panel } from "../parts/Panel";
import { Shown } from "../parts/Shown";
import { text } from "../text";
import { singleKeys } from "./keys";
import { roomsNow } from "./session/rights";
import "./help.css";

const t = text.frame;
const keys: readonly (readonly [string, string])[] = [
  ["Ctrl K", t.shortcuts.palette],
  ...roomsNow().map(({ key, name }) => [`g ${key}`, name] as const),
  ["/", t.shortcuts.filter],
  ["j k x", t.shortcuts.rows],
  ["← → ↑ ↓", t.shortcuts.diagram],
  ["p", t.shortcuts.pause],
  ["?", t.shortcuts.help],
];

export function Help() {
  const [on, set] = useState(singleKeys.on);
  return (
    <div className="reading">
      <PageTitle title={t.help} />
      <Panel title={t.keys}>
        <p className="help-text">{t.keysText}</p>
        <dl className="keys">
          {keys.map(([key, what]) => (
            <div key={key}>
              <dt>{key.split(" ").map((each) => <kbd key={each}>{each}</kbd>)}</dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <label className="help-text row">
          <input
            type="checkbox"
            checked={on}
            onChange={(event) => {
              singleKeys.set(event.target.checked);
              set(event.target.checked);
            }}
          />
          {t.singleKeys}
        </label>
      </Panel>
      <Panel title={t.apiText}>
        <p className="help-text">
          <a href={`${base}/v2/openapi.json`}>{`${base}/v2/openapi.json`}</a>
        </p>
      </Panel>
      <Panel title={t.codes}>
        <p className="help-text">
          <Link to="/help/errors">{t.codesText}</Link>
        </p>
      </Panel>
      <Licences />
    </div>
  );
}

interface Notice {
  name: string;
  version: string;
  identifier?: string | null;
  text?: string | null;
}

/** The build collects the texts (vite.config.ts). */
const notices = once(["licences"], async ({ signal }) => {
  const answer = await fetch(`${base}/ui/${__NOTICES__}`, { signal });
  if (!answer.ok) throw await problemOf(answer);
  return (await answer.json()) as Notice[];
});

function Licences() {
  const found = useQuery(notices);
  return (
    <Panel title={t.licences}>
      <Shown query={found}>
        {(packages) => (
          <ul className="licences">
            {packages.map(({ name, version, identifier, text: words }) => (
              <li key={`${name} ${version}`}>
                <details>
                  <summary>
                    <span className="clip">{name}</span>
                    <span className="faint">{version}</span>
                    <span className="muted clip">{identifier}</span>
                  </summary>
                  <pre>{words}</pre>
                </details>
              </li>
            ))}
          </ul>
        )}
      </Shown>
    </Panel>
  );
}
