// Processes and decisions that were deleted while their history stays.
export const deleted = {
  word: "Deleted",
  /** In a choice, behind the version. */
  mark: (name: string) => `${name}, deleted`,
  group: "Deleted, with history",
  text: {
    process: "It was deleted: no instance starts by it any more. Its history stays.",
    decision: "It was deleted, and is not evaluated any more. Its history stays.",
  },
  drawn: (version: number) => `Version ${version} was deleted: no instance starts by it any more`,
  noTry: "This version was deleted",
  noTryText: "It is not evaluated any more. What it came to is still listed under Evaluations.",
  noModel: "The model is gone",
  noModelText: "Its definition was deleted with its history, and the model with it. What is left is shown without a drawing.",
} as const;
