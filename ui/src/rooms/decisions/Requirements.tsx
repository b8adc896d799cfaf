// What decides what: the decisions of a file with their inputs, as a drawing whose decisions are links.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { decision as definitionOf, decisionsOf } from "../../api/decisions";
import { type DecisionKey, type RequirementsKey, asKey } from "../../api/keys";
import { text } from "../../text";
import { HEIGHT, WIDTH, layout } from "./layout";
import type { Model } from "./model";

const t = text.decisions;
const EDGE = 8;

interface RequirementsProps {
  model: Model;
  decision: string;
  name: string;
  /** The version that is looked at, of which the others are those that were deployed with it; nothing: the newest of each. */
  of?: DecisionKey;
}

/** The version of each decision, by its id. */
function useVersions(of: DecisionKey | undefined): ReadonlyMap<string, string> {
  const file = useQuery({ ...definitionOf(of ?? asKey<DecisionKey>("0")), enabled: of !== undefined }).data?.decisionRequirementsKey;
  const together = useQuery({ ...decisionsOf(file ?? asKey<RequirementsKey>("0")), enabled: file !== undefined }).data;
  return new Map(together?.items.map((each) => [each.decisionDefinitionId, String(each.version)]));
}

export function Requirements({ model, decision, name, of }: RequirementsProps) {
  const versions = useVersions(of);
  const drawn = useMemo(() => layout(model), [model]);
  // One decision alone is no drawing.
  if (drawn.lines.length === 0) return null;
  const size = { width: drawn.width + 2 * EDGE, height: drawn.height + 2 * EDGE };
  return (
    <section className="decision-part" aria-label={t.drd}>
      <h2 className="decision-pad">{t.drd}</h2>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what is wider than the page is scrolled by keys as well */}
      <div className="decision-scroll drd" tabIndex={0} role="region" aria-label={t.drdLabel(name)}>
        <div className="drd-paper" style={size}>
          <svg aria-hidden="true" width={size.width} height={size.height}>
            <defs>
              <marker id="drd-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">
                <path d="M0 0 8 4 0 8Z" />
              </marker>
            </defs>
            {drawn.lines.map(({ id, from, to }) => (
              <path key={id} className="drd-line" d={`M${from.x + WIDTH / 2 + EDGE} ${from.y + EDGE}L${to.x + WIDTH / 2 + EDGE} ${to.y + HEIGHT + EDGE}`} markerEnd="url(#drd-arrow)" />
            ))}
          </svg>
          {drawn.nodes.map((node) => {
            const place = { left: node.x + EDGE, top: node.y + EDGE, width: WIDTH, height: HEIGHT };
            return node.kind === "decision" ? (
              <Link key={node.id} style={place} to="/decisions" search={{ decision: node.id, version: versions.get(node.id), tab: "table" }} className="drd-node decision" aria-current={node.id === decision ? "true" : undefined} title={node.name}>
                <span className="clip">{node.name}</span>
              </Link>
            ) : (
              <span key={node.id} style={place} className={`drd-node ${node.kind}`} title={node.name}>
                <span className="clip">{node.name}</span>
              </span>
            );
          })}
        </div>
      </div>
    </section>
  );
}
