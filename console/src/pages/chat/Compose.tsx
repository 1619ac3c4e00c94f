import { useRef, useState, type KeyboardEvent } from "react";
import { newKey } from "../../api/page";
import { Act, may } from "../../ui/Act";

/** A message that is being sent. Its idempotency key lets it be sent again without arriving twice. */
export interface Pending {
  text: string;
  key: string;
  isFailed?: boolean;
  /** The sequence of the last message before it. */
  after: number;
}

export function Compose({ isEnded, isBusy, send }: { isEnded: boolean; isBusy: boolean; send: (message: Pick<Pending, "text" | "key">) => void }) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const isReady = text.trim() !== "" && !isBusy && !isEnded && may("simulate");
  const submit = () => {
    if (!isReady) return;
    send({ text: text.trim(), key: newKey() });
    setText("");
    field.current?.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      className="stack tight"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        aria-label="Message"
        rows={2}
        value={text}
        disabled={isEnded}
        autoFocus
        ref={field}
        placeholder={isEnded ? "The conversation has ended." : "Write as the contact…"}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
      />
      <div className="row">
        <Act scope="simulate" type="submit" className="primary" disabled={!isReady}>
          Send
        </Act>
        <span className="muted small">Enter sends, Shift-Enter starts a new line</span>
      </div>
    </form>
  );
}
