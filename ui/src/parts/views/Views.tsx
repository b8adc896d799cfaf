// Saved views of a list: a button, and behind it what is saved.
import { Bookmark } from "lucide-react";
import { Suspense, lazy } from "react";
import { text } from "../../text";
import { Popup } from "../floating/Popup";
import { Skeleton } from "../Shown";
import type { Room, Search } from "./views";
import "./views.css";

const fetch = () => import("./Saved");
const Saved = lazy(fetch);
const t = text.kept;

export interface ViewsProps {
  room: Room;
  /** What is on the screen, without what is of the moment. */
  search: Search;
  open: (search: Search) => void;
}

const words = (
  <>
    <Bookmark size={14} aria-hidden="true" />
    <span className="views-word">{t.views}</span>
  </>
);

export const Views = (props: ViewsProps) => (
  <Popup className="button" label={t.saved} words={words} title={t.saved} of="views" placement="bottom start" fetch={fetch}>
    {(close) => (
      <Suspense fallback={<Skeleton rows={2} />}>
        <Saved {...props} close={close} />
      </Suspense>
    )}
  </Popup>
);
