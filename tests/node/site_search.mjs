// Ask the search of a built site: `node site_search.mjs SITE`, with a JSON list of queries as standard input. It prints a JSON object
// of each query and the addresses that were found, best first. The program that searches is the site's own, which a browser
// runs as a worker: it is given the index (type 0), then each query (type 2), and posts its answers.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const site = process.argv[2];
const workers = path.join(site, "assets", "javascripts", "workers");
const [program] = fs.readdirSync(workers).filter((name) => /^search\..*\.js$/.test(name));
const index = JSON.parse(fs.readFileSync(path.join(site, "search.json"), "utf8"));
const queries = JSON.parse(fs.readFileSync(0, "utf8"));

let answered;
const self = { postMessage: (message) => answered(message) };
vm.runInNewContext(fs.readFileSync(path.join(workers, program), "utf8"), { self, Intl });

function ask(type, data) {
  return new Promise((resolve, reject) => {
    answered = (message) => (message.type === 4 ? reject(new Error("the search failed")) : resolve(message.data));
    self.onmessage({ data: { type, data } });
  });
}

await ask(0, index);
const found = {};
for (const input of queries) {
  const { items } = await ask(2, { input });
  found[input] = items.map((item) => index.items[item.id].location);
}
process.stdout.write(JSON.stringify(found));
