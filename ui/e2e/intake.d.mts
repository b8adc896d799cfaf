// What intake.mjs offers.
export const intakeModel: string;
export const intakeForm: string;
export const lookForm: string;
export const PNG: string;
