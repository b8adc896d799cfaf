// An address without a screen, and a screen that broke.
import { Link } from "@tanstack/react-router";
import { Compass, TriangleAlert } from "lucide-react";
import { PageTitle } from "../parts/PageTitle";
import { Note } from "../parts/Note";
import { text } from "../text";
import { roomsNow } from "./session/rights";

export function Lost() {
  return (
    <>
      <PageTitle title={text.frame.lost} />
      <Note
        icon={<Compass size={20} strokeWidth={1.75} />}
        title={text.frame.lost}
        actions={roomsNow().map((room) => (
          <Link key={room.to} to={room.to} className="button small">
            {room.name}
          </Link>
        ))}
      >
        {text.frame.lostText}
      </Note>
    </>
  );
}

export function Broken({ error }: { error: unknown }) {
  return (
    <Note
      tone="incident"
      icon={<TriangleAlert size={20} strokeWidth={1.75} />}
      title={text.frame.broke}
      actions={
        <button type="button" className="button small" onClick={() => location.reload()}>
          {text.frame.reload}
        </button>
      }
    >
      {text.frame.brokeText}
      <pre>{String(error)}</pre>
    </Note>
  );
}
