// What was deleted while its history stays.

/** Of versions, the newest first, one of each thing of which no version is deployed any more. */
export function leftOver<T>(former: readonly T[], deployed: readonly T[], of: (each: T) => string): readonly T[] {
  const known = new Set(deployed.map(of));
  return former.filter((each) => !known.has(of(each)) && known.add(of(each)));
}
