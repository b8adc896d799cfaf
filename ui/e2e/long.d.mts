export const longModel: string;
export const broadModel: string;
