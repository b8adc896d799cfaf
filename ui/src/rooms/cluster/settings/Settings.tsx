// The settings of the node, to search in: what they are, and where that was said.
import { useQuery } from "@tanstack/react-query";
import { settings } from "../../../api/management";
import { FindField } from "../../../parts/FindField";
import { Filtered } from "../../../parts/Note";
import { Panel } from "../../../parts/Panel";
import { Shown } from "../../../parts/Shown";
import { cluster as t } from "../../../text/cluster";
import type { ClusterSearch } from "../search";
import { type Entry, entriesOf, isSet, matching } from "./entries";
import "./settings.css";

interface SettingsProps {
  search: ClusterSearch;
  narrow: (search: Partial<ClusterSearch>) => void;
}

export default function Settings({ search: { find = "", set }, narrow }: SettingsProps) {
  const found = useQuery(settings());
  return (
    <Panel title={t.tabs.settings} aside={t.ofNode}>
      <Shown query={found} rows={8}>
        {(all) => {
          const entries = entriesOf(all);
          const shown = matching(entries, find, set === "yes");
          return (
            <>
              <div className="settings-head">
                <FindField main label={t.find} value={find} set={(next) => narrow({ find: next })} className="settings-find" />
                <label className="row">
                  <input type="checkbox" checked={set === "yes"} onChange={(event) => narrow({ set: event.target.checked ? "yes" : undefined })} />
                  {t.onlySet}
                </label>
                <span className="faint figure" role="status">
                  {t.settingCount(shown.length, entries.length)}
                </span>
              </div>
              {shown.length === 0 ? <Filtered title={t.settingNone}>{t.settingNoneText}</Filtered> : <Entries entries={shown} />}
            </>
          );
        }}
      </Shown>
    </Panel>
  );
}

function Entries({ entries }: { entries: readonly Entry[] }) {
  return (
    <table className="settings">
      <thead>
        <tr>
          <th scope="col">{t.setting}</th>
          <th scope="col">{t.value}</th>
          <th scope="col">{t.origin}</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.name} className={isSet(entry) ? "set" : undefined}>
            <th scope="row" className="mono">
              {entry.name}
            </th>
            <td className="mono">{entry.value === "" ? <span className="faint">{t.empty}</span> : entry.value}</td>
            <td className="muted">{entry.origin}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
