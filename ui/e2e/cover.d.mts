// What cover.mjs offers.
export const coverModel: string;
