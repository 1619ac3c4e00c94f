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
    if (control.hasAttribute("aria-description")) unmark(control);
  };
  document.addEventListener("invalid", onInvalid, true);
  document.addEventListener("input", onInput, true);
}

function mark(control: HTMLInputElement, fault: string): void {
  control.setAttribute("aria-invalid", "true");
  control.setAttribute("aria-description", fault);
  control.closest<HTMLElement>(".field")?.setAttribute("data-fault", fault);
}

function unmark(control: HTMLInputElement): void {
  control.removeAttribute("aria-invalid");
  control.removeAttribute("aria-description");
  control.closest(".field")?.removeAttribute("data-fault");
}
