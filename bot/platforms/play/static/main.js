// Two people side by side, each with a socket of their own. The token stands behind the "#" of the address, which no
// request holds; it is kept for this tab, so that the page can be loaded again.

import { Column } from "/static/column.js";

const PEOPLE = ["ann", "ben"];
const TOKEN = "cogency-play-token";

function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(TOKEN, given);
    history.replaceState(null, "", "/");
  }
  return sessionStorage.getItem(TOKEN) ?? "";
}

const said = document.getElementById("link");
const links = new Map();

function linked(person, text) {
  links.set(person, text);
  const one = [...links.values()].find(Boolean) ?? "";
  if (said.textContent !== one) said.textContent = one;
  said.hidden = !one;
}

function chosen(person) {
  document.body.dataset.person = person;
  for (const tab of people.children) tab.setAttribute("aria-pressed", String(tab.dataset.person === person));
}

const people = document.getElementById("people");
const columns = document.getElementById("columns");
const key = token();
for (const person of PEOPLE) {
  const tab = document.createElement("button");
  tab.dataset.person = person;
  tab.textContent = person[0].toUpperCase() + person.slice(1);
  tab.addEventListener("click", () => chosen(person));
  people.append(tab);
  const column = new Column(person, key, {
    linked: (text) => linked(person, text),
    unseen: (count) => {
      tab.dataset.unseen = count || "";
      tab.setAttribute("aria-label", count ? `${tab.textContent}, ${count} unread` : tab.textContent);
    },
    model: (markdown) => {
      document.getElementById("model").textContent = markdown.replaceAll("`", "");
    },
  });
  columns.append(column.element);
  column.connect();
}
chosen(PEOPLE[0]);
