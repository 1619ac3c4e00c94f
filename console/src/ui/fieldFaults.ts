/**
 * Shows the browser's errors of a form's fields below the fields, instead of in the browser's bubbles. The first
 * field with an error gets the focus.
 */
export function showFieldFaults(): void {
  let isFocused = false;
  const onInvalid = (event: Event) => {
    const control = event.target as HTMLInputElement;
    event.preventDefault();
    mark(control, control.validity.valueMissing ? "Fill in this field." : control.validationMessage);
    if (isFocused) return;
    isFocused = true;
    setTimeout(() => (isFocused = false));
    control.focus();
  };
  const onInput = (event: Event) => {
    const control = event.target as HTMLInputElement;
    const message = messages.get(control);
    if (message) unmark(control, message);
  };
  document.addEventListener("invalid", onInvalid, true);
  document.addEventListener("input", onInput, true);
}

/** The control's message, by the control. It is an element of its own, which screen readers can reach and translate. */
const messages = new WeakMap<HTMLInputElement, HTMLElement>();

function mark(control: HTMLInputElement, fault: string): void {
  const message = messages.get(control) ?? document.createElement("span");
  message.className = "fault small";
  message.id ||= `fault-${++last}`;
  message.textContent = fault;
  messages.set(control, message);
  (control.closest(".field") ?? control.parentElement)?.append(message);
  control.setAttribute("aria-invalid", "true");
  describe(control, [...describing(control).filter((id) => id !== message.id), message.id]);
}

function unmark(control: HTMLInputElement, message: HTMLElement): void {
  messages.delete(control);
  message.remove();
  control.removeAttribute("aria-invalid");
  describe(control, describing(control).filter((id) => id !== message.id));
}

let last = 0;

function describing(control: HTMLInputElement): string[] {
  return control.getAttribute("aria-describedby")?.split(" ") ?? [];
}

function describe(control: HTMLInputElement, ids: readonly string[]): void {
  if (ids.length > 0) control.setAttribute("aria-describedby", ids.join(" "));
  else control.removeAttribute("aria-describedby");
}
