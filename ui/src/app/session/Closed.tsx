// A room that is not open to the person who is logged in.
import { Lock } from "lucide-react";
import { Note } from "../../parts/Note";
import { PageTitle } from "../../parts/PageTitle";
import { text } from "../../text";
import type { Room } from "./rights";

const t = text.session;

export function Closed({ room }: { room: Room }) {
  return (
    <>
      <PageTitle title={room.name} />
      <Note icon={<Lock size={20} strokeWidth={1.75} />} title={t.notYours(room.name)}>
        {t.lack("ACCESS", `${t.lackAny("COMPONENT")} \`${"needs" in room ? room.needs : ""}\``)}
      </Note>
    </>
  );
}
