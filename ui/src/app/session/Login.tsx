// The page on which one logs in.
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { queries } from "../../api/live";
import { useSession } from "../../api/session";
import { Note } from "../../parts/Note";
import { text } from "../../text";
import { Bare } from "./Bare";
import { LoginForm } from "./LoginForm";
import { isOurs, pathOf } from "./next";

const route = getRouteApi("/login");
const t = text.session;

export function Login() {
  const { next } = route.useSearch();
  const { history } = useRouter();
  const session = useSession();
  const goOn = () => {
    queries.clear();
    history.replace(pathOf(next));
  };
  useEffect(() => {
    // Somebody who is logged in already and follows an old link.
    if (session.kind === "in") history.replace(pathOf(next));
  }, [session.kind, history, next]);
  if (session.kind === "open") {
    return (
      <Bare title={t.login}>
        <Note title={t.nobody} actions={<a className="button small" href={pathOf(next !== undefined && isOurs(next) ? next : undefined)}>{text.frame.home}</a>}>
          {t.nobodyText}
        </Note>
      </Bare>
    );
  }
  return (
    <Bare title={t.title}>
      <LoginForm then={goOn} />
    </Bare>
  );
}
