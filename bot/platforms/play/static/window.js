// A window whose fields are filled in. What is wrong with them is said beside them, and it stays open.

import { made } from "/static/messages.js";

const dialog = document.getElementById("window");

function input(field, id) {
  const required = !field.optional;
  const common = { id, name: field.name, required, maxlength: field.max, "aria-describedby": `${id}-hint` };
  switch (field.kind) {
    case "LINES":
      return made("textarea", { ...common, rows: 4 }, field.value);
    case "CHOICE":
    case "PICK":
    case "PICKS": {
      const chosen = field.value.split(" ");
      const options = field.choices.map(([value, label]) => made("option", { value, selected: chosen.includes(value) }, label));
      const none = field.kind === "PICK" || (field.optional && field.kind !== "PICKS") ? [made("option", { value: "" }, "–")] : [];
      return made("select", { ...common, maxlength: null, multiple: field.kind === "PICKS" }, ...none, ...options);
    }
    case "BOX":
      return made("input", { ...common, maxlength: null, required: false, type: "checkbox", value: "yes", checked: Boolean(field.value) });
    case "SECRET":
      return made("input", { ...common, type: "password", autocomplete: "off" });
    default:
      return made("input", { ...common, value: field.value });
  }
}

function value(element) {
  if (element.type === "checkbox") return element.checked ? element.value : "";
  if (element.multiple) return [...element.selectedOptions].map((one) => one.value).join(" ");
  return element.value;
}

// `send` is given what was filled in, and says what is wrong with it, by the fields' names; null for nothing.
export function fill(told, whose, send) {
  const fields = told.fields.map((field, at) => ({ field, element: input(field, `field-${at}`), wrong: made("p", { class: "wrong", role: "alert" }) }));
  const all = made("p", { class: "wrong", role: "alert" });
  const rows = fields.map(({ field, element, wrong }) =>
    made("div", { class: "field" }, made("label", { for: element.id }, field.label), element,
      made("small", { id: `${element.id}-hint` }, field.hint), wrong));
  const form = made("form", {
    onsubmit: async (event) => {
      event.preventDefault();
      const filled = Object.fromEntries(fields.map(({ field, element }) => [field.name, value(element)]));
      const mistakes = await send(filled);
      if (!mistakes) {
        dialog.close();
        return;
      }
      for (const { field, wrong } of fields) wrong.textContent = mistakes[field.name] ?? "";
      all.textContent = mistakes[""] ?? "";
    },
  }, made("h2", { id: "window-title" }, told.title), made("p", { class: "whose" }, `As ${whose}`), ...rows, all,
  made("div", { class: "buttons" }, made("button", { type: "submit", class: "send" }, told.submit),
    made("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Close")));
  dialog.replaceChildren(form);
  dialog.showModal();
}
