// Shares what somebody keeps with everybody who is logged in, or takes that back.
import { Users } from "lucide-react";
import { text } from "../text";
import "./share.css";

interface ShareProps {
  title: string;
  shared: boolean;
  busy: boolean;
  share: () => void;
}

export function ShareButton({ title, shared, busy, share }: ShareProps) {
  const label = shared ? text.kept.unshare(title) : text.kept.share(title);
  return (
    <button type="button" className="button quiet icon small share" aria-pressed={shared} aria-label={label} title={label} disabled={busy} onClick={share}>
      <Users size={14} aria-hidden="true" />
    </button>
  );
}
