// One person's side of the page: their places, the messages in the one that is open, and what they write.

import { Link } from "/static/link.js";
import { avatar, icon, made, messageAt, shown, words } from "/static/messages.js";
import { fill } from "/static/window.js";

const ICONS = { private: "lock", direct: "bot" };
const KINDS = { public: "public channel", private: "private channel", direct: "direct messages with the bot" };
const NEAR_END = 80;
const MOST_OFFERED = 8;
const MOST_FILES = 10; // with a message, and all of them: as the bot takes
const MOST_BYTES = 5e6;
const UNREAD = { type: "refused", why: "Your browser could not read the file. Choose it again." };
const TRY = {
  ann: {
    direct: ["remember that my boat is called Vermilion", "what do you know about my boat?",
      'use post_message {"where": "#general", "text": "The boat sails at noon."}', "remind me in 1 minute to stretch",
      "/memory", "/forget about boat"],
    private: ["@Cogency remember that the launch is on Friday", "@Cogency what do you know about the launch?"],
    public: ["@Cogency hello", "@Cogency what do you know about my boat?", "@Cogency show me some code",
      "@Cogency show me a chart"],
  },
  ben: {
    direct: ["what do you know about the boat?", "what do you know about the launch?", "/settings"],
    public: ["@Cogency hello", "@Cogency what do you know about the boat?"],
  },
};

// A file's name, and its bytes in Base64.
async function encoded(file) {
  const address = await new Promise((read, failed) => {
    const reader = new FileReader();
    reader.onload = () => read(reader.result);
    reader.onerror = failed;
    reader.readAsDataURL(file);
  });
  return [file.name.slice(-255), address.slice(address.indexOf(",") + 1)];
}

export class Column {
  constructor(person, token, told) {
    this.person = person;
    this.told = told;
    this.names = {};
    this.channels = [];
    this.open = "";
    this.thread = ""; // that is written in
    this.messages = new Map();
    this.drawn = new Map(); // the element of each message, and what it showed
    this.unread = new Map();
    this.link = new Link(person, token, {
      hello: (hello) => this.hello(hello), changed: (messages) => this.changed(messages), told: () => { this.isPast = false; },
      linked: told.linked,
    });
    this.makeElement();
  }

  connect() {
    this.link.connect();
  }

  makeElement() {
    this.title = made("h2", {}, this.person);
    this.places = made("div", { class: "places", role: "tablist", "aria-label": `Places, ${this.person}` });
    this.strip = made("div", { class: "strip" });
    this.list = made("div", { class: "list", role: "log", "aria-label": `Messages, ${this.person}`, tabindex: 0 });
    this.working = made("p", { class: "working", role: "status" });
    this.refusal = made("p", { class: "refusal", role: "alert" });
    this.tries = made("div", { class: "tries" });
    this.offered = made("ul", { class: "offered", role: "listbox", id: `offered-${this.person}`, hidden: true, "aria-label": "Commands" });
    this.input = made("textarea", {
      "aria-label": `Message, ${this.person}`, rows: 1, maxlength: 4000, role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false",
      "aria-controls": `offered-${this.person}`, onkeydown: (event) => this.typed(event), oninput: () => this.written(),
    });
    this.into = made("p", { class: "into", hidden: true });
    this.files = []; // that are sent with the next message
    this.picker = made("input", { type: "file", multiple: true, hidden: true, onchange: () => { this.attach(this.picker.files); this.picker.value = ""; } });
    this.chosen = made("ul", { class: "chosen", hidden: true, "aria-label": "Files to send" });
    const clip = made("button", { type: "button", class: "at", "aria-label": "Attach files", title: "Attach files", onclick: () => this.picker.click() }, icon("clip"));
    this.input.addEventListener("paste", (event) => { if (event.clipboardData.files.length) { event.preventDefault(); this.attach(event.clipboardData.files); } });
    const mention = made("button", { type: "button", class: "at", "aria-label": "Mention Cogency", title: "Mention Cogency", onclick: () => this.mention() }, "@");
    const send = made("button", { type: "submit", class: "send" }, "Send");
    this.form = made("form", { class: "composer", onsubmit: (event) => { event.preventDefault(); this.send(); } },
      this.into, this.offered, this.chosen, this.picker, made("div", { class: "line" }, clip, mention, this.input, send));
    this.form.addEventListener("dragover", (event) => event.preventDefault());
    this.form.addEventListener("drop", (event) => { event.preventDefault(); this.attach(event.dataTransfer.files); });
    this.element = made("section", { class: "column", "data-person": this.person, "aria-label": this.person },
      made("div", { class: "who" }, avatar(this.person, this.person), this.title, this.places), this.strip, this.list,
      this.working, this.refusal, this.tries, this.form);
    this.list.addEventListener("click", (event) => this.clicked(event));
    // A picture has its height once it is loaded.
    this.list.addEventListener("load", () => { if (this.wasAtEnd) this.list.scrollTop = this.list.scrollHeight; }, true);
  }

  hello(hello) {
    this.names = hello.names;
    this.bot = hello.bot;
    this.channels = hello.channels;
    this.isPast = hello.anew; // until all of it is told
    if (hello.anew) {
      this.messages.clear();
      this.drawn.clear();
      this.unread.clear();
    }
    const name = this.names[this.person];
    this.title.textContent = name;
    this.element.setAttribute("aria-label", name);
    this.element.querySelector(".avatar").textContent = name[0];
    this.list.setAttribute("aria-label", `Messages, ${name}`);
    this.places.setAttribute("aria-label", `Places, ${name}`);
    this.told.model(hello.model);
    this.show(this.open || this.channels[0].id);
  }

  changed(messages) {
    const touched = new Set();
    for (const message of messages) {
      const isNew = !this.messages.has(message.id);
      this.messages.set(message.id, message);
      touched.add(message.channel);
      if (isNew && !this.isPast && !message.gone && !message.status && message.author !== this.person && !this.isSeen(message.channel)) {
        this.unread.set(message.channel, (this.unread.get(message.channel) ?? 0) + 1);
      }
    }
    if (touched.has(this.open)) this.draw();
    this.drawPlaces();
  }

  isSeen(channel) {
    return channel === this.open && this.element.offsetParent !== null;
  }

  show(channel) {
    this.open = channel;
    this.unread.delete(channel);
    this.answerIn("");
    const place = this.place();
    this.strip.replaceChildren(made("span", { class: `kind ${place.kind}` }, KINDS[place.kind]), words(place.html, {}));
    this.input.placeholder = place.kind === "direct" ? "Write to Cogency, or / for commands" : `Write in #${place.name}, or / for commands`;
    this.input.setAttribute("aria-label", `Message, ${this.names[this.person]}`);
    this.list.replaceChildren();
    this.drawn.clear();
    this.draw();
    this.list.scrollTop = this.list.scrollHeight;
    this.drawPlaces();
    const tries = (TRY[this.person] ?? {})[place.kind] ?? [];
    this.tries.replaceChildren(...tries.map((text) => made("button", { class: "try", onclick: () => this.write(text) }, text)));
  }

  place() {
    return this.channels.find((one) => one.id === this.open);
  }

  drawPlaces() {
    const tabs = this.channels.map((one) => {
      const count = this.unread.get(one.id) ?? 0;
      return made("button", {
        role: "tab", "aria-selected": String(one.id === this.open), "data-channel": one.id,
        tabindex: one.id === this.open ? 0 : -1, onclick: () => this.show(one.id), onkeydown: (event) => this.turned(event, one.id),
      }, ICONS[one.kind] ? icon(ICONS[one.kind]) : made("span", { "aria-hidden": true }, "#"), ` ${one.name}`,
      count ? made("span", { class: "count" }, String(count), made("span", { class: "spoken" }, " unread")) : null);
    });
    const focused = this.places.contains(document.activeElement);
    this.places.replaceChildren(...tabs);
    if (focused) this.places.querySelector("[aria-selected=true]")?.focus();
    this.told.unseen([...this.unread.values()].reduce((sum, count) => sum + count, 0));
  }

  turned(event, channel) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = this.channels.findIndex((one) => one.id === channel);
    this.show(this.channels[(at + step + this.channels.length) % this.channels.length].id);
    this.places.querySelector("[aria-selected=true]").focus();
  }

  // Messages and, below each that began one, its thread. Only what has changed is made anew.
  draw() {
    const atEnd = this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight < NEAR_END;
    const here = [...this.messages.values()].filter((one) => one.channel === this.open && !one.gone && !one.status)
      .sort((one, other) => Number(one.id) - Number(other.id));
    const ids = new Set(here.map((one) => one.id));
    const roots = here.filter((one) => !one.thread || !ids.has(one.thread));
    const rows = roots.flatMap((root) => {
      const below = here.filter((one) => one.thread === root.id);
      const row = [this.elementOf(root)];
      if (below.length) row.push(this.threadOf(root, below));
      else if (this.place().kind !== "direct" && !root.only) row.push(this.threadOf(root, []));
      return row;
    });
    this.reconcile(this.list, rows.length ? rows : [this.empty()]);
    const doing = [...this.messages.values()].find((one) => one.status && !one.gone && one.channel === this.open);
    this.working.textContent = doing ? `${this.names[this.bot]}: ${doing.html.replace(/<[^>]*>/g, "").trim()}` : "";
    this.wasAtEnd = atEnd;
    if (atEnd) this.list.scrollTop = this.list.scrollHeight;
  }

  empty() {
    return made("p", { class: "empty" }, "No messages here yet.");
  }

  elementOf(message) {
    const state = JSON.stringify(message);
    const before = this.drawn.get(message.id);
    if (before?.state === state) return before.element;
    const element = shown(message, this);
    this.drawn.set(message.id, { state, element });
    return element;
  }

  threadOf(root, below) {
    const id = `thread-${root.id}`;
    const before = this.drawn.get(id);
    const element = before?.element ?? made("div", { class: "thread" },
      made("div", { class: "replies" }), made("button", { class: "reply", onclick: () => this.answerIn(root.id) }, "Reply in thread"));
    this.drawn.set(id, { element });
    element.classList.toggle("begun", below.length > 0);
    this.reconcile(element.firstChild, below.map((one) => this.elementOf(one)));
    return element;
  }

  reconcile(parent, children) {
    const focused = parent.contains(document.activeElement) ? document.activeElement : null;
    const wanted = new Set(children);
    for (const one of [...parent.children]) if (!wanted.has(one)) one.remove();
    children.forEach((one, at) => { if (parent.children[at] !== one) parent.insertBefore(one, parent.children[at] ?? null); });
    if (focused && !document.activeElement?.closest(".column")) this.list.focus({ preventScroll: true });
  }

  answerIn(root) {
    this.thread = root;
    this.into.hidden = !root;
    if (!root) {
      this.into.replaceChildren();
      return;
    }
    const told = this.messages.get(root);
    const text = made("div");
    text.innerHTML = told?.html ?? "";
    this.into.replaceChildren(`In the thread of “${text.textContent.trim().slice(0, 60)}” `,
      made("button", { type: "button", onclick: () => this.answerIn("") }, "Cancel"));
    this.input.focus();
  }

  // What is written.

  write(text) {
    this.input.value = text;
    this.written();
    this.input.focus();
  }

  mention() {
    const at = this.input.selectionStart;
    const before = this.input.value.slice(0, at);
    const space = before && !before.endsWith(" ") ? " " : "";
    this.input.setRangeText(`${space}@${this.names[this.bot]} `, at, this.input.selectionEnd, "end");
    this.written();
    this.input.focus();
  }

  attach(files) {
    const all = [...this.files, ...files];
    const size = all.reduce((sum, file) => sum + file.size, 0);
    this.refusal.textContent = all.length > MOST_FILES ? `You can attach up to ${MOST_FILES} files to a message.`
      : size > MOST_BYTES ? `The files in a message can be up to ${MOST_BYTES / 1e6} MB in total.` : "";
    if (!this.refusal.textContent) this.choose(all);
    this.input.focus();
  }

  choose(files) {
    this.files = files;
    this.chosen.hidden = !files.length;
    this.chosen.replaceChildren(...files.map((file) => made("li", {}, file.name, made("button", {
      type: "button", "aria-label": `Remove ${file.name}`, onclick: () => { this.choose(this.files.filter((one) => one !== file)); this.input.focus(); },
    }, "×"))));
  }

  written() {
    this.refusal.textContent = "";
    this.input.rows = Math.min(6, this.input.value.split("\n").length);
    const typed = this.input.value;
    const offered = this.offers(typed);
    this.offered.replaceChildren(...offered.map(([text, hint, summary], at) =>
      made("li", { role: "option", id: `${this.offered.id}-${at}`, "aria-selected": String(at === 0), "data-text": text, onclick: () => this.take(text) },
        made("b", {}, text), hint ? made("code", {}, ` ${hint}`) : null, made("small", {}, summary))));
    this.offered.hidden = !offered.length;
    this.input.setAttribute("aria-expanded", String(offered.length > 0));
    this.marked(0);
  }

  offers(typed) {
    const word = typed.toLowerCase();
    if (/^\/[a-z]*$/.test(word)) {
      return this.place().commands.filter(([name]) => `/${name}`.startsWith(word))
        .map(([name, hint, summary]) => [`/${name}`, hint, summary]).slice(0, word === "/" ? undefined : MOST_OFFERED);
    }
    const begun = /(?:^|\s)(@[a-z]*)$/.exec(word);
    if (!begun) return [];
    return Object.values(this.names).filter((name) => `@${name.toLowerCase()}`.startsWith(begun[1]))
      .map((name) => [`@${name}`, "", name === this.names[this.bot] ? "the bot" : "a person"]);
  }

  marked(step) {
    const options = [...this.offered.children];
    if (!options.length) {
      this.input.removeAttribute("aria-activedescendant");
      return null;
    }
    const at = options.findIndex((one) => one.getAttribute("aria-selected") === "true");
    const next = (at + step + options.length) % options.length;
    options.forEach((one, number) => one.setAttribute("aria-selected", String(number === next)));
    options[next].scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", options[next].id);
    return options[next];
  }

  take(text) {
    const value = this.input.value;
    this.write(text.startsWith("/") ? `${text} ` : `${value.replace(/@[a-z]*$/i, "")}${text} `);
  }

  typed(event) {
    if (event.isComposing) return;
    const open = !this.offered.hidden;
    if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.marked(event.key === "ArrowDown" ? 1 : -1);
    } else if (open && event.key === "Escape") {
      event.preventDefault();
      this.offered.hidden = true;
      this.input.setAttribute("aria-expanded", "false");
    } else if (open && (event.key === "Tab" || event.key === "Enter") && !event.shiftKey) {
      const marked = this.marked(0);
      const whole = marked.dataset.text.toLowerCase() === this.input.value.trim().toLowerCase();
      if (event.key === "Tab" || !whole) {
        event.preventDefault();
        this.take(marked.dataset.text);
      } else {
        event.preventDefault();
        this.send();
      }
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.send();
    } else if (event.key === "Escape" && (this.thread || this.editing)) {
      this.stopEditing();
      this.answerIn("");
    }
  }

  async send() {
    const text = this.input.value;
    const editing = this.editing;
    const files = editing ? [] : this.files;
    if (!text.trim() && !files.length) return;
    const { open, thread } = this;
    this.write("");
    if (!editing) this.choose([]);
    this.stopEditing();
    this.list.scrollTop = this.list.scrollHeight;
    const told = editing ? await this.link.ask("edit", { message: editing, text })
      : await this.link.ask("say", { channel: open, thread, text, files: await Promise.all(files.map(encoded)) }).catch(() => UNREAD);
    if (told.type === "refused") {
      this.refusal.textContent = told.why;
      if (!this.input.value) this.input.value = text;
      if (!this.files.length) this.choose(files);
    }
  }

  // What is done about messages.

  edit(message) {
    this.answerIn("");
    this.editing = message.id;
    this.into.hidden = false;
    this.into.replaceChildren("Editing your message. ", made("button", { type: "button", onclick: () => { this.stopEditing(); this.write(""); } }, "Cancel"));
    this.write(message.text);
  }

  stopEditing() {
    if (!this.editing) return;
    this.editing = "";
    this.answerIn("");
  }

  remove(message) {
    this.asks("remove", { message: message.id });
  }

  offer(message, offer) {
    this.asks("offer", { message: message.id, offer });
  }

  async press(message, button, values, ticked) {
    const told = await this.asks("press", { message: message.id, button, values, ticked });
    if (!told?.window) return;
    fill(told.window, this.names[this.person], async (filled) => {
      const sent = await this.asks("press", { message: message.id, button, filled });
      return sent?.mistakes ?? (sent ? null : { "": this.refusal.textContent });
    });
  }

  async asks(type, what) {
    const told = await this.link.ask(type, what);
    this.refusal.textContent = told.type === "refused" ? told.why : "";
    return told.type === "refused" ? null : told;
  }

  // A link to a message of this workspace leads there.
  clicked(event) {
    const link = event.target.closest("a[href]");
    const found = link && messageAt(link.href);
    if (!found) return;
    event.preventDefault();
    const message = this.messages.get(found);
    if (!message || message.gone) {
      this.refusal.textContent = "That message no longer exists.";
      return;
    }
    if (message.channel !== this.open) this.show(message.channel);
    const element = document.getElementById(`${this.person}-${message.id}`);
    element.scrollIntoView({ block: "center" });
    element.focus({ preventScroll: true });
    element.classList.remove("found");
    requestAnimationFrame(() => element.classList.add("found"));
  }
}
