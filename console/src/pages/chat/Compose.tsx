import { useId, useState, type KeyboardEvent, type ReactNode, type RefObject } from "react";
import { newKey } from "../../api/page";
import { Act, may } from "../../ui/Act";
import { count } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { keepIn, keptIn } from "../agent/draft";
import styles from "./Compose.module.css";

/** A message that is being sent. Its idempotency key lets it be sent again without arriving twice. */
export interface Pending {
  text: string;
  key: string;
  isFailed?: boolean;
  /** The sequence of the last message before it. */
  after: number;
}

/** The maximum number of characters of a message. */
const maxMessage = 4_000;

/** Where the contact's messages are written. The tab keeps an unfinished one. `suggestions` are sentences that a contact could say. */
export function Compose({ field, chatId, isEnded, isBusy, suggestions, unsent, send, children }: {
  field: RefObject<HTMLTextAreaElement | null>;
  chatId: string;
  isEnded: boolean;
  isBusy: boolean;
  suggestions: readonly string[];
  /** The text of the message that could not be sent. It returns to the field when another message is sent. */
  unsent: string;
  send: (message: Pick<Pending, "text" | "key">) => void;
  /** The content below the field, on the left. */
  children: ReactNode;
}) {
  const [text, setText] = useState(() => keptIn<string>("message", chatId) ?? "");
  const counter = useId();
  const length = [...text.trim()].length;
  const isTooLong = length > maxMessage;
  const isAble = !isBusy && !isEnded && may("simulate");
  const isReady = isAble && length > 0 && !isTooLong;
  const write = (next: string) => {
    keepIn("message", chatId, next);
    setText(next);
  };
  const say = (message: string, rest: string) => {
    send({ text: message, key: newKey() });
    write([unsent, rest].filter(Boolean).join("\n"));
    field.current?.focus();
  };
  const submit = () => {
    if (isReady) say(text.trim(), "");
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <div className={styles.compose}>
      {isAble && suggestions.length > 0 && (
        <div className={styles.suggestions} role="group" aria-label="Suggestions">
          {suggestions.map((suggestion) => (
            <button key={suggestion} type="button" onClick={() => say(suggestion, text)}>
              {suggestion}
            </button>
          ))}
        </div>
      )}
      <form
        className={styles.box}
        data-ended={isEnded}
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <textarea
          aria-label="Message"
          aria-describedby={isTooLong ? counter : undefined}
          aria-invalid={isTooLong || undefined}
          rows={1}
          value={isEnded ? "" : text}
          readOnly={isEnded}
          autoFocus={!isEnded}
          ref={field}
          placeholder={isEnded ? "The conversation has ended." : "Write as the contact"}
          onChange={(event) => write(event.target.value)}
          onKeyDown={onKey}
        />
        <Act scope="simulate" type="submit" className="primary only" aria-label="Send" disabled={!isReady} title="Send">
          <Icon name="send" />
        </Act>
      </form>
      <div className={styles.under}>
        {children}
        {length > maxMessage * 0.9 && (
          <span id={counter} className={isTooLong ? "fault" : "muted"}>
            {count(length)} of {count(maxMessage)} characters
          </span>
        )}
        <span className="push wide">
          <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> starts a line
        </span>
      </div>
    </div>
  );
}
