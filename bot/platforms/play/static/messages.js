// A message as it stands in the page. Its HTML is made by the server, of Markdown in which no tags count.

const OFFERS = {
  stop: "Stop", continue: "Continue", regenerate: "Regenerate", good: "", bad: "", delete: "Delete",
  decide: "Decide…", answer: "Answer…", undo: "Undo", change: "Change", cancel: "Cancel it", keep: "Keep it",
  end: "End it", code: "Show code", numbers: "Show numbers",
  why: "Why this answer?",
};
const SPOKEN = { good: "Good answer", bad: "Bad answer", delete: "Delete this answer" };
const SURE_MS = 4000;
const ICONS = {
  good: "M5 21H2V10h3m0 11V10l5-8c2 0 3 1.500 2.500 3.500L12 9h7.500c1.500 0 2.500 1.500 2 3l-2 7c-.3 1.200-1.200 2-2.500 2H5",
  bad: "M19 3h3v11h-3m0-11v11l-5 8c-2 0-3-1.500-2.500-3.500L12 15H4.500c-1.500 0-2.500-1.500-2-3l2-7C4.800 3.800 5.700 3 7 3h12",
  clip: "M20 11l-8.500 8.500a5 5 0 0 1-7-7L13 4a3.500 3.500 0 0 1 5 5l-8.500 8.500a2 2 0 0 1-3-3L14 7",
  lock: "M5 11h14v10H5zM8 11V7a4 4 0 0 1 8 0v4",
  bot: "M12 2l2.400 7.600L22 12l-7.600 2.400L12 22l-2.400-7.600L2 12l7.600-2.400z",
};
const ADDRESS = /https?:\/\/[^\s<>()]*[^\s<>().,;:!?'"]/;
const OURS = /^http:\/\/(?:127\.0\.0\.1|localhost):\d+\/#message-(\d+)$/;
const SVG = "http://www.w3.org/2000/svg";

export function made(tag, attributes = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside.filter((one) => one !== null && one !== undefined && one !== ""));
  return element;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.append(path);
  return svg;
}

// The message of this workspace to which an address leads; undefined for every other address.
export function messageAt(address) {
  return OURS.exec(address)?.[1];
}

function link(address) {
  const told = messageAt(address) ? "show the message" : address;
  return made("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, told);
}

export function words(html, names) {
  const element = made("div", { class: "words" });
  element.innerHTML = html;
  const known = new RegExp(`@(?:${["nobody", ...Object.values(names)].join("|")})\\b|${ADDRESS.source}`, "gi");
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) if (!texts.currentNode.parentElement.closest("code, a")) found.push(texts.currentNode);
  for (const text of found) {
    const parts = [];
    let last = 0;
    for (const match of text.data.matchAll(known)) {
      parts.push(text.data.slice(last, match.index), match[0][0] === "@" ? made("span", { class: "mention" }, match[0]) : link(match[0]));
      last = match.index + match[0].length;
    }
    if (last) text.replaceWith(...parts.filter((one) => one !== ""), text.data.slice(last));
  }
  for (const scrolls of element.querySelectorAll("pre, table")) scrolls.tabIndex = 0;
  return element;
}

function time(text) {
  const at = new Date(text);
  return made("time", { datetime: text }, at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }));
}

export function avatar(author, name) {
  return made("span", { class: "avatar", "data-author": author, "aria-hidden": true }, name[0]);
}

// A button that asks once more, where what it does cannot be taken back.
function sure(button, question, press) {
  let until = 0;
  const before = button.textContent;
  button.addEventListener("click", () => {
    if (question === null || Date.now() < until) {
      press();
      return;
    }
    until = Date.now() + SURE_MS;
    button.textContent = `Are you sure? ${question}`.trim();
    setTimeout(() => { button.textContent = before; }, SURE_MS);
  });
  return button;
}

function offers(message, page) {
  if (!message.offers.length) return null;
  const buttons = message.offers.map((offer) =>
    made("button", {
      class: `offer ${offer}`, "aria-label": SPOKEN[offer], title: SPOKEN[offer],
      onclick: () => page.offer(message, offer),
    }, OFFERS[offer] || icon(offer)));
  return made("div", { class: "buttons" }, ...buttons);
}

function steps(message) {
  if (!message.steps.length) return null;
  const rows = message.steps.map(([title, state, output]) =>
    made("li", { class: state }, title,
      output ? made("small", {}, ` ${output}`) : null));
  return made("ul", { class: "steps" }, ...rows);
}

function panel(message, page) {
  const told = message.panel;
  if (!told) return null;
  const ticked = () => [...element.querySelectorAll("input:checked")].map((one) => one.value);
  const button = (number) => {
    const one = told.buttons[number];
    const shown = made("button", { class: one.danger ? "danger" : "plain" }, one.label);
    return sure(shown, one.confirm || null, () => page.press(message, number, [], ticked()));
  };
  const menu = (one) => {
    const options = one.options.map(([value, label]) => made("option", { value, selected: value === one.chosen }, label));
    const label = told.buttons[one.button].label;
    return made("select", {
      "aria-label": label, onchange: (event) => page.press(message, one.button, [event.target.value], ticked()),
    }, one.chosen ? null : made("option", { value: "" }, label), ...options);
  };
  const parts = told.parts.map((part) => {
    const below = [...part.buttons.map(button), ...(part.menu ? [menu(part.menu)] : [])];
    const text = part.text ? words(part.html, page.names) : null;
    return made("div", { class: "part" }, text, below.length ? made("div", { class: "buttons" }, ...below) : null);
  });
  const boxes = told.boxes.map(([name, label, on]) =>
    made("label", { class: "box" }, made("input", { type: "checkbox", value: name, checked: on }), ` ${label}`));
  const element = made("div", { class: "panel" }, ...boxes, ...parts);
  return element;
}

function files(message) {
  return message.files.map(([name, content, type, alt]) => {
    const bytes = type ? Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0)) : content;
    const address = URL.createObjectURL(new Blob([bytes], { type: type || "text/plain;charset=utf-8" }));
    const link = made("a", { class: "file", download: name, href: address }, `⤓ ${name}`);
    if (!type?.startsWith("image/")) return link;
    const picture = made("img", { class: "picture", src: `data:${type};base64,${content}`, alt: alt || name });
    return made("figure", { class: "shared" }, picture, made("figcaption", {}, link));
  });
}

export function shown(message, page) {
  const name = page.names[message.author] ?? message.author;
  const isOwn = message.author === page.person;
  const alone = message.only ? made("p", { class: "alone" }, `Only ${page.names[message.only]} sees this`) : null;
  const asked = message.asked ? made("p", { class: "asked" }, "used ", made("code", {}, message.asked)) : null;
  const tools = isOwn ? made("div", { class: "tools" },
    made("button", { onclick: () => page.edit(message) }, "Edit"),
    sure(made("button", {}, "Delete"), "", () => page.remove(message))) : null;
  const head = made("header", {}, made("b", {}, name),
    message.author === page.bot ? made("span", { class: "badge" }, "app") : null, time(message.time),
    message.edited ? made("small", {}, "edited") : null, message.note ? made("small", {}, message.note) : null);
  const body = message.html ? words(message.html, page.names) : null;
  const marks = message.marks.length ? made("p", { class: "marks" }, message.marks.join(" ")) : null;
  return made("article", {
    id: `${page.person}-${message.id}`, "data-id": message.id, tabindex: -1,
    class: [message.only && "private", message.grows && "grows", message.author === page.bot && "bot"].filter(Boolean).join(" "),
  }, avatar(message.author, name), made("div", { class: "said" }, asked, head, steps(message), body, ...files(message),
    panel(message, page), marks, alone, offers(message, page), tools));
}
