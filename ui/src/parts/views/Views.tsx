// Saved views of a list: a button, and behind it what is saved.
import { Bookmark } from "lucide-react";
import { Suspense, lazy } from "react";
import { Button, Dialog, DialogTrigger, Popover } from "react-aria-components";
import { text } from "../../text";
import { Skeleton } from "../Shown";
import type { Room, Search } from "./views";
import "./views.css";

const Saved = lazy(() => import("./Saved"));
const t = text.kept;

export interface ViewsProps {
  room: Room;
  /** What is on the screen, without what is of the moment. */
  search: Search;
  open: (search: Search) => void;
}

export function Views(props: ViewsProps) {
  return (
    <DialogTrigger>
      <Button className="button" aria-label={t.saved}>
        <Bookmark size={14} aria-hidden="true" />
        <span className="views-word">{t.views}</span>
      </Button>
      <Popover className="floating" placement="bottom start">
        <Dialog className="views" aria-label={t.saved}>
          {({ close }) => (
            <Suspense fallback={<Skeleton rows={2} />}>
              <Saved {...props} close={close} />
            </Suspense>
          )}
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}
