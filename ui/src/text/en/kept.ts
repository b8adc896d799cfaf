// What somebody keeps: views of lists, and what happens when it was changed elsewhere.

export const kept = {
  views: "Views",
  saved: "Saved views",
  none: "No views are saved yet",
  noneText: "A view is the filter and the order of this list. Save it to open it again with one click.",
  name: "Name of the view",
  save: "Save this view",
  replace: "Replace the view",
  done: (title: string) => `The view ${title} is saved`,
  by: (owner: string) => `shared by ${owner}`,
  share: (title: string) => `Share ${title} with everybody who is logged in`,
  unshare: (title: string) => `Do not share ${title} any more`,
  drop: (title: string) => `Delete the view ${title}`,
  inBrowser: "Views stay in this browser: this server has no login.",
  taken: (count: number) => (count === 1 ? "1 view that this browser had is kept on the server now" : `${count} views that this browser had are kept on the server now`),
  take: "Keep the views of this browser on the server",
  conflict: "Changed elsewhere meanwhile",
  conflictText: (title: string) => `${title} was changed in another window or browser since it was read here. Nothing was overwritten.`,
  copy: "Keep yours as a copy",
  theirs: "Take theirs",
  copyOf: (title: string) => `${title} (copy)`,
};
