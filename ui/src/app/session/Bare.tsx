// A page without the frame: nothing of the server's is shown on it.
import { type ReactNode, useEffect } from "react";
import hive from "../../style/icon.svg";
import { LookButton } from "../LookButton";
import "./login.css";

export function Bare({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} – Skep`;
  }, [title]);
  return (
    <main className="bare" id="content">
      <div className="bare-look">
        <LookButton />
      </div>
      <div className="bare-body">
        <img src={hive} width="44" height="44" alt="" />
        <h1>{title}</h1>
        {children}
      </div>
    </main>
  );
}
