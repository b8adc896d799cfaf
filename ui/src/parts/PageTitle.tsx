// The name of a screen: in the bar, and in the browser's tab.
import { type ReactNode, useEffect } from "react";
import { createPortal } from "react-dom";

export const TITLE_PLACE = "page-title";

export function PageTitle({ title, children }: { title: string; children?: ReactNode }) {
  useEffect(() => {
    document.title = title === "Home" ? "Skep" : `${title} – Skep`;
  }, [title]);
  const place = document.getElementById(TITLE_PLACE);
  if (!place) return null;
  return createPortal(
    <>
      <h1 className="clip">{title}</h1>
      {children}
    </>,
    place,
  );
}
