/** The sections of the console: path and name. */
export const sections = [
  ["agents", "Agents"],
  ["chats", "Chats"],
  ["tests", "Tests"],
  ["knowledge", "Knowledge"],
  ["campaigns", "Campaigns"],
  ["consumption", "Consumption"],
  ["keys", "Keys"],
] as const;
