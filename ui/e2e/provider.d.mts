// What provider.mjs offers.
export interface Provider {
  url: string;
  settings: string[];
  /** Tokens, and what else no page may ever hold. */
  signed: string[];
  stop: () => void;
}
export function startProvider(people: readonly string[]): Promise<Provider>;
