import { signOut } from "../api/session";
import { ask } from "./asking";

/** Signs out, after a question. */
export async function leave(): Promise<void> {
  const text = "Text that is not saved is lost in all of them.";
  if (await ask({ title: "Sign out of all tabs?", text, verb: "Sign out" })) await signOut();
}
