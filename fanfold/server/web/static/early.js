// Holds back dangerous commands until confirm.js is loaded. A form can be seen and clicked before the modules of a slow
// page have arrived; without this script the browser would send it at once, without asking.

(() => {
  const needsConfirmation = (form, submitter) => submitter?.dataset.confirm || form.dataset.confirm;

  window.early = {
    held: null,
    hold(event) {
      if (!needsConfirmation(event.target, event.submitter)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      window.early.held = { form: event.target, submitter: event.submitter };
    },
    /** Called by confirm.js: stop holding back and submit the held forms again, so that they are confirmed. */
    release() {
      document.removeEventListener("submit", window.early.hold, { capture: true });
      const { form, submitter } = window.early.held ?? {};
      if (form?.isConnected) form.requestSubmit(submitter);
    },
  };
  document.addEventListener("submit", window.early.hold, { capture: true });
})();
