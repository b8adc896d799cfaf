// Messages: who waits for which, what came, timers and signals; and a way to send one.
import { Link, getRouteApi } from "@tanstack/react-router";
import { FindField } from "../../parts/FindField";
import { PageTitle } from "../../parts/PageTitle";
import { text } from "../../text";
import { Came, Waiting } from "./Subscriptions";
import { type MessageSearch, VIEWS } from "./search";
import { SendButton } from "./SendButton";
import { Waits } from "./Waits";
import "../../parts/list.css";
import "./messages.css";

const route = getRouteApi("/messages");
const t = text.messages;

export function Messages() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const view = VIEWS.find((each) => each === search.view) ?? "waiting";
  const set = (next: MessageSearch) => void navigate({ search: { ...search, after: undefined, ...next }, replace: true });
  const narrowed = view === "waiting" || view === "came";
  return (
    <div className="list-page">
      <PageTitle title={t.title} />
      <div className="list-head message-head">
        <span className="row wrap" role="group" aria-label={t.view}>
          {VIEWS.map((each) => (
            <Link key={each} to="/messages" search={{ ...search, after: undefined, sort: undefined, view: each === "waiting" ? undefined : each }} className="button small quiet" activeOptions={{ exact: true }} aria-current={each === view ? "page" : undefined}>
              {t.views[each]}
            </Link>
          ))}
        </span>
        <span className="grow" />
        <SendButton main way={view === "signals" ? "signal" : "publish"} name={search.name ?? ""} correlationKey={search.key} />
      </div>
      {narrowed ? (
        <div className="message-filter">
          <FindField main label={t.name} value={search.name ?? ""} set={(name) => set({ name })} />
          <FindField label={t.key} value={search.key ?? ""} set={(key) => set({ key })} />
          <FindField label={t.processId} value={search.process ?? ""} set={(process) => set({ process })} />
        </div>
      ) : null}
      {view === "waiting" ? <Waiting search={search} /> : null}
      {view === "came" ? <Came search={search} /> : null}
      {view === "timers" || view === "signals" || view === "conditions" ? <Waits key={view} view={view} search={search} /> : null}
    </div>
  );
}
