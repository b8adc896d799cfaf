// Why the server did not do what was asked, or whether it did is not known, in words: the permission that it takes, or what it says itself.
import { Problem } from "../api/problem";
import { text } from "../text";
import { lackText } from "./lack";

export function reasonOf(error: unknown): string {
  if (!(error instanceof Problem)) return String(error);
  if (error.status === 0) return `${text.words.failure.NO_ANSWER}. ${text.commands.doubtText}`;
  return error.lack ? lackText(error.lack) : error.detail || error.title;
}

/** Whether a command may have been carried out although this was its answer. */
export const isDoubtful = (error: unknown): boolean => error instanceof Problem && error.isDoubtful;
