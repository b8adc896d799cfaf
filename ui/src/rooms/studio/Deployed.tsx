// What is deployed, to make a draft of: the newest version of each process, and of each file of decisions.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { decisions } from "../../api/decisions";
import { latest } from "../../api/processes";
import { Note } from "../../parts/Note";
import { Shown } from "../../parts/Shown";
import { text } from "../../text";

const t = text.studio;

export function Deployed() {
  const query = useQuery(latest());
  const tables = useQuery(decisions());
  // Each decision leads to the file that it is in.
  const files = [...new Map((tables.data?.items ?? []).map((each) => [each.decisionRequirementsId, each])).values()];
  return (
    <Shown query={query} rows={4}>
      {({ items }) =>
        items.length + files.length === 0 ? (
          <Note title={t.deployedNone} small />
        ) : (
          <ul className="studio-list">
            {items.map((each) => (
              <li key={each.processDefinitionKey}>
                <Link className="clip grow" to="/studio" search={{ definition: each.processDefinitionKey }}>
                  {each.name ?? each.processDefinitionId}
                </Link>
                <span className="faint">{t.kinds.bpmn}</span>
                <span className="faint studio-version">{text.processes.versionOf(each.version, each.versionTag)}</span>
              </li>
            ))}
            {files.map((each) => (
              <li key={each.decisionRequirementsKey}>
                <Link className="clip grow" to="/studio" search={{ decision: each.decisionDefinitionKey }}>
                  {each.decisionRequirementsName}
                </Link>
                <span className="faint">{t.kinds.dmn}</span>
                <span className="faint studio-version">{text.processes.versionOf(each.decisionRequirementsVersion, null)}</span>
              </li>
            ))}
          </ul>
        )
      }
    </Shown>
  );
}
