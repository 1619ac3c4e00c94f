import type { IconName } from "./icons";

/** The sections of the console: path, name and icon. */
export const sections = [
  ["", "Home", "home"],
  ["agents", "Agents", "agents"],
  ["chats", "Chats", "chat"],
  ["tests", "Tests", "tests"],
  ["knowledge", "Knowledge", "knowledge"],
  ["campaigns", "Campaigns", "campaigns"],
] as const satisfies readonly (readonly [path: string, name: string, icon: IconName])[];

/** The sections about the account. */
export const accountSections = [
  ["consumption", "Consumption", "usage"],
  ["keys", "Keys", "key"],
  ["webhooks", "Webhooks", "webhook"],
] as const satisfies readonly (readonly [path: string, name: string, icon: IconName])[];
