// Name and password, and what was wrong with them.
import { type FormEvent, useState } from "react";
import { enter } from "../../api/session";
import { text } from "../../text";

const t = text.session;

interface LoginFormProps {
  /** Whose session it was; nobody else's goes on with it. */
  name?: string;
  then: () => void;
}

export function LoginForm({ name: given, then }: LoginFormProps) {
  const [name, setName] = useState(given ?? "");
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState<string>();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy || name.trim() === "" || password === "") return;
    setBusy(true);
    const entry = await enter(name.trim(), password);
    setBusy(false);
    if (entry.kind === "in") {
      then();
      return;
    }
    setPassword("");
    const problem = entry.kind === "failed" ? entry.problem : undefined;
    setWrong(problem === undefined ? t.wrong : problem.title === "NO_SESSION" ? t.noSession : problem.status === 0 ? text.words.failure.NO_ANSWER : problem.detail || t.notNow);
  };
  return (
    <form className="login-form" onSubmit={(event) => void submit(event)}>
      <label>
        <span className="label">{t.name}</span>
        <input className="field" name="username" autoComplete="username" autoCapitalize="none" spellCheck="false" autoFocus={given === undefined} readOnly={given !== undefined} value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <label>
        <span className="label">{t.password}</span>
        <input className="field" name="password" type="password" autoComplete="current-password" autoFocus={given !== undefined} value={password} aria-invalid={wrong !== undefined} onChange={(event) => setPassword(event.target.value)} />
      </label>
      {wrong === undefined ? null : (
        <p className="bad" role="alert">
          {wrong}
        </p>
      )}
      <button type="submit" className="button main" disabled={busy || name.trim() === "" || password === ""}>
        {t.login}
      </button>
    </form>
  );
}
