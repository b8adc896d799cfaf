// A button for who may use it. To others it says which permission they need, before they try: to the pointer, to screen readers, and when
// it is pressed.
import { useQuery } from "@tanstack/react-query";
import { type ButtonHTMLAttributes, useId } from "react";
import { type Right, areGrantsChecked, lackOf, ownGrants } from "../api/rights";
import { useSession } from "../api/session";
import { text } from "../text";
import { announce } from "./announce";
import { lackText } from "./lack";

/** The sentence that names the permission; nothing for who has it, while it is not known, and where only the server knows what it takes. */
export function useLack(needs: Right | undefined): string | undefined {
  const isIn = useSession().kind === "in";
  const { data } = useQuery({ ...ownGrants(), enabled: areGrantsChecked && isIn });
  const lack = data && needs && lackOf(data, needs);
  return lack && lackText(lack);
}

export const tellLack = (lack: string) => announce("failed", text.session.lackTitle, lack);

export function MayButton({ needs, ...rest }: ButtonHTMLAttributes<HTMLButtonElement> & { needs: Right | undefined }) {
  const lack = useLack(needs);
  const id = useId();
  if (lack === undefined) return <button type="button" {...rest} />;
  return (
    <>
      {/* It can be reached by keys, as what is disabled cannot. */}
      <button {...rest} type="button" disabled={false} data-disabled="" aria-disabled="true" aria-describedby={id} title={lack} onClick={() => tellLack(lack)} />
      <span id={id} hidden>
        {lack}
      </span>
    </>
  );
}
