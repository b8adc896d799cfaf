// The field above a list at the side, which narrows it: nothing is asked for it, so each letter goes into the address at once.

interface SideFindProps {
  label: string;
  /** As the address has it. */
  value: string | undefined;
  set: (value: string | undefined) => void;
}

export const SideFind = ({ label, value, set }: SideFindProps) => (
  <div className="side-find">
    <input className="field" type="search" data-filter="" placeholder={label} aria-label={label} value={value ?? ""} onChange={(event) => set(event.target.value || undefined)} />
  </div>
);
