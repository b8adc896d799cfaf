// What happened, as a tree with a bar of time for each: only the rows that can be seen are drawn, and asked for.
import type { Instance } from "../../../api/instances";
import { text } from "../../../text";
import { useScope } from "../scope";
import { Rows } from "./Rows";
import { useTree } from "./useTree";
import "./history.css";

const t = text.instance;

export function History({ instance }: { instance: Instance }) {
  const { key, begins, chooseScope } = useScope();
  const tree = useTree(instance, begins);
  return (
    <section className="history" aria-label={t.history}>
      <h2 className="part-title">{t.history}</h2>
      <Rows key={begins ?? ""} instance={instance} {...tree} selected={key} choose={chooseScope} />
    </section>
  );
}
