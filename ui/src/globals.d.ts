// What the build puts in place of names.

/** Path of the texts of licences, from `/ui/`. */
declare const __NOTICES__: string;
