// Where lines are drawn behind bars, so that numbers beside them are round.

/** The smallest number with one digit that is not zero, and not below the largest value; 7 and 9 give way to 8 and 10. */
export function top(largest: number): number {
  if (largest <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(largest));
  return [1, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= largest) ?? largest;
}
