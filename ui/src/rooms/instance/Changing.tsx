// The bar above a change that is being made: what it is, that nothing happened yet, how to leave it, and how to go on.
import { Link, getRouteApi } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { text } from "../../text";
import "./changing.css";

const route = getRouteApi("/processes/i/$key");
const t = text.change;

export function Changing({ title, children }: { title: string; children?: ReactNode }) {
  const { key } = route.useParams();
  const { tab } = route.useSearch();
  return (
    <div className="changing" role="region" aria-label={title}>
      <div className="changing-words">
        <h2>{title}</h2>
        <span className="muted">{t.hint}</span>
      </div>
      <Link className="button" to="/processes/i/$key" params={{ key }} search={{ tab }}>
        {t.leave}
      </Link>
      {children}
    </div>
  );
}
