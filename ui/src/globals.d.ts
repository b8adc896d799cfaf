// What the build puts in place of names and files.

/** Path of the texts of licences, from `/ui/`. */
declare const __NOTICES__: string;

/** A file as the text that it is. */
declare module "*?raw" {
  const text: string;
  export default text;
}
