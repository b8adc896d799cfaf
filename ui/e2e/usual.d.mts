export const PACK: string;
