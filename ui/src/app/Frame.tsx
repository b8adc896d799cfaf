// The frame around all screens: the rail with the rooms, the bar with the name of the screen and what concerns all of it.
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { CircleHelp, CircleDot, Clock, PanelLeft, Pause, Search } from "lucide-react";
import { Suspense, lazy, useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { behind } from "../api/client";
import { repeating, usePaused } from "../api/live";
import { nameOf, useSession } from "../api/session";
import { Announcements } from "../parts/announce";
import { TITLE_PLACE } from "../parts/PageTitle";
import { Skeleton } from "../parts/Shown";
import { text } from "../text";
import { useKeys } from "./keys";
import { LookButton } from "./LookButton";
import { Closed } from "./session/Closed";
import { closedRoom, useRooms } from "./session/rights";
import { TenantMenu } from "./TenantMenu";
import { UserButton } from "./session/UserButton";
import hive from "../style/icon.svg";
import "./frame.css";

const SessionOver = lazy(() => import("./session/SessionOver"));
const Palette = lazy(() => import("./Palette"));
const OPEN = "skep-rail";

export function Frame() {
  const [open, setOpen] = useState(() => localStorage.getItem(OPEN) === "open");
  const [finding, setFinding] = useState(false);
  const [placed, setPlaced] = useState(false);
  const find = useCallback(() => setFinding(true), []);
  useKeys(find);
  const session = useSession();
  const closed = closedRoom(session, useLocation({ select: (at) => at.pathname }));
  const toggle = () => {
    localStorage.setItem(OPEN, open ? "closed" : "open");
    setOpen(!open);
  };
  return (
    <div className={`frame${open ? " open" : ""}`}>
      <a className="skip" href="#content">
        {text.frame.skip}
      </a>
      <Rail open={open} toggle={toggle} />
      <header className="bar">
        <div id={TITLE_PLACE} className="bar-title" ref={(element) => setPlaced(element !== null)} />
        <TenantMenu />
        <button type="button" className="find" onClick={find} aria-keyshortcuts="Control+K">
          <Search size={16} aria-hidden="true" />
          <span className="find-word">{text.frame.find}</span>
          <kbd>Ctrl K</kbd>
        </button>
        <Behind />
        <Live />
        <LookButton />
        <UserButton />
      </header>
      <main id="content" className="content" tabIndex={-1}>
        <Suspense fallback={<Skeleton rows={6} />}>{placed ? closed ? <Closed room={closed} /> : <Outlet /> : null}</Suspense>
      </main>
      <Announcements />
      {session.kind === "over" ? (
        <Suspense fallback={null}>
          <SessionOver name={nameOf(session)} />
        </Suspense>
      ) : null}
      {finding ? (
        <Suspense fallback={null}>
          <Palette close={() => setFinding(false)} />
        </Suspense>
      ) : null}
    </div>
  );
}

function Rail({ open, toggle }: { open: boolean; toggle: () => void }) {
  const rail = useRef<HTMLElement>(null);
  const room = useLocation({ select: (at) => at.pathname.split("/")[1] ?? "" });
  // On phones the rail is wider than the screen: where one is, is seen. Newer browsers answer with a promise, which is no clean-up.
  useEffect(() => {
    void rail.current?.querySelector(`.room[href$="/${CSS.escape(room)}"]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [room]);
  return (
    <nav className="rail" aria-label={text.frame.rooms} ref={rail}>
      <Link to="/" className="brand" aria-label={`${text.frame.product}: ${text.frame.home}`}>
        <img src={hive} width="26" height="26" alt="" />
        <span className="rail-word">{text.frame.product}</span>
      </Link>
      <ul>
        {useRooms().map(({ to, name, icon: Icon }) => (
          <li key={to}>
            <Link to={to} className="room" activeOptions={{ exact: to === "/", includeSearch: false }} title={open ? undefined : name}>
              <Icon size={20} strokeWidth={1.75} aria-hidden="true" />
              <span className="rail-word">{name}</span>
            </Link>
          </li>
        ))}
      </ul>
      <span className="grow" />
      <Link to="/help" className="room" title={open ? undefined : text.frame.help}>
        <CircleHelp size={20} strokeWidth={1.75} aria-hidden="true" />
        <span className="rail-word">{text.frame.help}</span>
      </Link>
      <button type="button" className="room rail-toggle" aria-expanded={open} onClick={toggle} title={open ? text.frame.closed : text.frame.open}>
        <PanelLeft size={20} strokeWidth={1.75} aria-hidden="true" />
        <span className="rail-word">{open ? text.frame.closed : text.frame.open}</span>
      </button>
    </nav>
  );
}

function Behind() {
  const ms = useSyncExternalStore(behind.listen, behind.now);
  if (ms < 1_000) return null;
  return (
    <span className="state waiting bar-behind" title={text.frame.behindHint} role="status">
      <Clock size={14} aria-hidden="true" />
      {text.frame.behind(ms)}
    </span>
  );
}

function Live() {
  const paused = usePaused();
  const Icon = paused ? Pause : CircleDot;
  return (
    <button type="button" className={`button quiet live${paused ? " paused" : ""}`} aria-pressed={paused} title={paused ? text.frame.resume : text.frame.pause} onClick={repeating.toggle}>
      <Icon size={16} aria-hidden="true" />
      <span className="live-word">{paused ? text.frame.paused : text.frame.live}</span>
    </button>
  );
}
