// What happened in the instance, of all kinds in one list, the newest first.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { UserRound } from "lucide-react";
import { type ReactNode, useCallback, useRef, useState } from "react";
import { MOST, STEP, feed } from "../../../api/feed";
import type { Instance } from "../../../api/instances";
import type { ElementKey } from "../../../api/keys";
import { kept } from "../../../api/live";
import { Shown } from "../../../parts/Shown";
import { State } from "../../../parts/State";
import { Time } from "../../../parts/Time";
import { text } from "../../../text";
import { exact, number } from "../../../text/format";
import { type Happening, type What, feedOf } from "./feed";
import { useScope } from "../scope";

const t = text.instance;
/** Most rows are a line high. */
const HEIGHT = 33;
const BESIDE = 8;

export function FeedTab({ instance }: { instance: Instance }) {
  const [limit, more] = useState(STEP);
  const { after } = useScope();
  const before = after !== undefined && !Number.isNaN(Date.parse(after)) ? new Date(after).toISOString() : undefined;
  const found = useQuery({ ...feed(instance.processInstanceKey, limit, before), ...kept });
  return (
    <Shown query={found} rows={6}>
      {(sources) => {
        const { happenings, goesOn } = feedOf(instance, sources, limit, before);
        return (
          <>
            {before === undefined ? null : <p className="faint entries-more">{t.feedBefore(exact(before))} <Goes to={undefined}>{t.feedNewest}</Goes></p>}
            <Rows happenings={happenings} />
            {goesOn === undefined ? null : limit < MOST ? (
              <button type="button" className="button small entries-more" disabled={found.isPlaceholderData} onClick={() => more(Math.min(MOST, limit * 2))}>
                {text.words.more}
              </button>
            ) : (
              <p className="faint entries-more">
                {t.feedCut(number(happenings.length))}{" "}
                {/* As many in one moment have no older one to go on from. */}
                {goesOn === before ? t.feedMoment : <Goes to={goesOn}>{text.processes.window}</Goes>}
              </p>
            )}
            {sources.withoutDeeds ? <p className="faint entries-more">{t.feedWithout}</p> : null}
          </>
        );
      }}
    </Shown>
  );
}

/** The same feed from another moment on. */
function Goes({ to, children }: { to: string | undefined; children: string }) {
  return (
    <Link to="." search={(now) => ({ ...now, tab: "feed", after: to })}>
      {children}
    </Link>
  );
}

/** Only those that can be seen are drawn; the panel scrolls, with what stands below them. */
function Rows({ happenings }: { happenings: readonly Happening[] }) {
  const list = useRef<HTMLOListElement>(null);
  // oxlint-disable-next-line react/incompatible-library -- its answers are used here alone
  const virtual = useVirtualizer({
    count: happenings.length,
    getScrollElement: () => list.current?.closest(".tab-panel") ?? null,
    estimateSize: () => HEIGHT,
    getItemKey: useCallback((at: number) => happenings[at]?.id ?? at, [happenings]),
    overscan: BESIDE,
  });
  return (
    <ol className="feed" aria-label={t.feed} ref={list} style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(({ index, key, start }) => {
        const happening = happenings[index];
        return happening === undefined ? null : (
          <li key={key} data-index={index} ref={virtual.measureElement} aria-setsize={happenings.length} aria-posinset={index + 1} className={`feed-row ${happening.what.kind}`} style={{ transform: `translateY(${start}px)` }}>
            <Row happening={happening} />
          </li>
        );
      })}
    </ol>
  );
}

/** How it is drawn, what it is, and what is to be known of it. */
function lookOf(what: What): { icon: ReactNode; words: string; more?: string | null; element?: { key: ElementKey; name: string } } {
  switch (what.kind) {
    case "began":
      return { icon: <State name="ACTIVE" bare />, words: t.feeds.began };
    case "over":
      return { icon: <State name={what.of.state} bare />, words: t.feeds.over(text.words.state(what.of.state).toLowerCase()) };
    case "started":
      return { icon: <State name="ACTIVE" bare />, words: t.feeds.started, element: { key: what.of.elementInstanceKey, name: what.of.elementName ?? what.of.elementId } };
    case "ended":
      return { icon: <State name={what.of.state} bare />, words: text.words.state(what.of.state).toLowerCase(), element: { key: what.of.elementInstanceKey, name: what.of.elementName ?? what.of.elementId } };
    case "incident":
      return { icon: <State name="INCIDENT" bare />, words: text.words.error(what.of.errorType), more: what.of.errorMessage, element: { key: what.of.elementInstanceKey, name: what.of.elementId } };
    case "job":
      return { icon: <State name={what.of.state} bare />, words: t.feeds.job(what.of.type, text.words.state(what.of.state).toLowerCase()), more: what.of.worker === "" ? what.of.errorMessage : t.feeds.by(what.of.worker) };
    case "message":
      return { icon: <State name="CORRELATED" bare />, words: t.feeds.message(what.of.messageName), more: what.of.correlationKey };
    case "deed":
      return {
        icon: <UserRound size={14} aria-hidden="true" />,
        words: `${t.deed(text.words.kind(what.of.operationType), text.words.kind(what.of.entityType))} ${what.of.entityDescription ?? what.of.relatedEntityKey ?? ""}`,
        more: t.feeds.by(what.of.actorId ?? t.somebody),
      };
  }
}

function Row({ happening: { at, what } }: { happening: Happening }) {
  const { chooseScope } = useScope();
  const { icon, words, more, element } = lookOf(what);
  return (
    <>
      {icon}
      <span className="feed-what">
        {element === undefined ? null : (
          <button type="button" className="words-button" onClick={() => chooseScope(element.key)}>
            {element.name}
          </button>
        )}
        <span>{words}</span>
        {more === undefined || more === null || more === "" ? null : (
          <span className="faint clip" title={more}>
            {more}
          </span>
        )}
      </span>
      <span className="faint">
        <Time at={at} />
      </span>
    </>
  );
}
