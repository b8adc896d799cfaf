// What people.mjs offers.
export const damageModel: string;
export const damageForm: string;
export function damage(n: number, policy: string): string;
