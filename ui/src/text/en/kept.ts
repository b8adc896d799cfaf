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
  share: (title: string) => `Share ${title} with everyone who is logged in`,
  unshare: (title: string) => `Do not share ${title} any more`,
  drop: (title: string) => `Delete the view ${title}`,
  inBrowser: "Views stay in this browser: this server has no login.",
  taken: (count: number) => (count === 1 ? "1 view from this browser is now kept on the server" : `${count} views from this browser are now kept on the server`),
  take: "Keep the views of this browser on the server",
  conflict: "Changed elsewhere meanwhile",
  conflictText: (title: string) => `${title} was changed in another window or browser after it was loaded here. Nothing was overwritten.`,
  copy: "Keep yours as a copy",
  theirs: "Take theirs",
  copyOf: (title: string) => `${title} (copy)`,
};
