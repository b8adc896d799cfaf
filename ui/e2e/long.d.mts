export const longModel: string;
