// The page on which one logs in.
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { queries } from "../../api/live";
import { useSession } from "../../api/session";
import { Note } from "../../parts/Note";
import { text } from "../../text";
import { Bare } from "./Bare";
import { LoginForm } from "./LoginForm";
import { ProviderLogin } from "./ProviderLogin";
import { isOurs, pathOf } from "./next";

const route = getRouteApi("/login");
const t = text.session;

export function Login() {
  const { next, failed } = route.useSearch();
  const { history } = useRouter();
  const session = useSession();
  const goOn = () => {
    // Pages may be there already, and watch what they asked for.
    void queries.resetQueries();
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
      {failed === undefined ? null : (
        <p className="bad" role="alert">
          {failed === "denied" ? t.denied : failed === "expired" ? t.expired : t.failed}
        </p>
      )}
      {session.kind === "out" && session.at === "provider" ? <ProviderLogin to={pathOf(next)} /> : <LoginForm then={goOn} />}
    </Bare>
  );
}
