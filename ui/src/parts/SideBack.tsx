// On phones a list and what was chosen of it are two pages: the way from the second to the first.
import { Link, type LinkComponentProps } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";

export function SideBack({ children, ...to }: Pick<LinkComponentProps, "to" | "search"> & { children: string }) {
  return (
    <Link {...to} className="side-back" aria-current={undefined}>
      <ChevronLeft size={14} aria-hidden="true" />
      {children}
    </Link>
  );
}
