import { useEffect, useState } from "react";
import type { ChatState } from "../../logic/chat";
import { nextPiece, pieceTime } from "../../logic/reveal";

/**
 * The chat as it is shown: the agent's text appears at reading speed, even if it arrives at once. Until all of it is
 * there, a written message is shown as the draft. Messages from before the page opened show immediately.
 */
export function usePaced(state: ChatState): ChatState {
  const [released, release] = useState(() => state.messages.at(-1)?.sequence ?? 0);
  const [shown, show] = useState("");
  const [isStill] = useState(() => matchMedia("(prefers-reduced-motion: reduce)").matches);
  const held = state.messages.find((message) => message.role === "assistant" && message.sequence > released);
  const target = held?.text ?? state.draft?.text ?? "";
  const text = target.startsWith(shown) ? shown : "";
  const isWhole = text.length >= target.length || isStill;
  useEffect(() => {
    if (isWhole) {
      if (held) release(held.sequence);
      return;
    }
    const timer = setTimeout(() => show(target.slice(0, nextPiece(target, text.length))), pieceTime);
    return () => clearTimeout(timer);
  }, [isWhole, held, target, text]);
  if (isStill) return state;
  if (!held) return state.draft ? { ...state, draft: { ...state.draft, text } } : state;
  return { ...state, messages: state.messages.filter(({ sequence }) => sequence < held.sequence), draft: { turnId: "", length: text.length, text } };
}
