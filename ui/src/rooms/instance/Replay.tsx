// Time is moved: from one moment at which something happened to the next, by hand or by itself. The address says when.
import { getRouteApi } from "@tanstack/react-router";
import { History as Clock, Pause, Play, SkipBack, SkipForward, X } from "lucide-react";
import { useEffect, useState } from "react";
import type { Past } from "../../api/past";
import { text } from "../../text";
import { exact, number, span } from "../../text/format";
import { useZone } from "../../text/zone";
import { indexAt } from "./replay";
import "./replay.css";

const route = getRouteApi("/processes/i/$key");
const t = text.instance.replay;
const STEP = 700;

/** When is looked at, in milliseconds; nothing: now. */
export function useAt(): [number | undefined, (time: number | undefined) => void] {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const time = search.at === undefined ? Number.NaN : Date.parse(search.at);
  const set = (next: number | undefined) => void navigate({ search: { ...search, at: next === undefined ? undefined : new Date(next).toISOString() }, replace: true });
  return [Number.isNaN(time) ? undefined : time, set];
}

export function ReplayButton({ from }: { from: string }) {
  const [, set] = useAt();
  return (
    <button type="button" className="button small replay-open" onClick={() => set(Date.parse(from))}>
      <Clock size={14} aria-hidden="true" />
      {t.open}
    </button>
  );
}

/** What of a long history was read, and the way on. */
function HowMuch({ past: { count, more, busy, error, goOn, retry } }: { past: Past }) {
  if (error) {
    return (
      <>
        <span role="alert">{error.status === 0 ? text.words.failure.NO_ANSWER : text.words.kind(error.title)}</span>
        <button type="button" className="button small" onClick={retry}>
          {text.words.retry}
        </button>
      </>
    );
  }
  const known = count === 0 && !busy ? text.instance.historyGone : more ? t.read(number(count)) : "";
  const said = [known, busy ? t.reading : ""].filter((each) => each !== "").join(" · ");
  return (
    <>
      <span className="faint figure" role="status">
        {said}
      </span>
      {goOn ? (
        <button type="button" className="button small" onClick={goOn}>
          {t.goOn}
        </button>
      ) : null}
    </>
  );
}

export function Replay({ moments, past }: { moments: Float64Array; past: Past }) {
  const [time = 0, set] = useAt();
  const [playing, play] = useState(false);
  useZone();
  const last = Math.max(0, moments.length - 1);
  const index = indexAt(moments, time);
  const moment = moments[index] ?? time;
  const go = (to: number) => set(moments[Math.min(last, Math.max(0, to))]);
  useEffect(() => {
    if (!playing) return;
    // At the end of what was read so far it waits for what comes behind it.
    const timer = setTimeout(() => (index < last ? set(moments[index + 1]) : past.busy ? undefined : past.goOn ? past.goOn() : play(false)), STEP);
    return () => clearTimeout(timer);
  });
  const said = `${exact(new Date(moment).toISOString())}, ${t.after(span(moment - (moments[0] ?? moment)))}`;
  return (
    <div className="replay" role="group" aria-label={t.open}>
      <button type="button" className="button icon small" aria-label={t.back} disabled={index === 0} onClick={() => go(index - 1)}>
        <SkipBack size={14} aria-hidden="true" />
      </button>
      <button type="button" className="button icon small" aria-label={playing ? t.pause : t.play} onClick={() => (index === last && !playing ? (set(moments[0]), play(true)) : play(!playing))}>
        {playing ? <Pause size={14} aria-hidden="true" /> : <Play size={14} aria-hidden="true" />}
      </button>
      <button type="button" className="button icon small" aria-label={t.forward} disabled={index >= last} onClick={() => go(index + 1)}>
        <SkipForward size={14} aria-hidden="true" />
      </button>
      <input type="range" className="replay-range" aria-label={t.when} aria-valuetext={said} min={0} max={last} value={index} onChange={(event) => go(Number(event.target.value))} />
      <span className="replay-when figure">{said}</span>
      <HowMuch past={past} />
      <button type="button" className="button small" onClick={() => set(undefined)}>
        <X size={14} aria-hidden="true" />
        {t.now}
      </button>
    </div>
  );
}
